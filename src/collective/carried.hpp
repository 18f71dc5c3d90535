#pragma once
// How long collectives take, carried out at once by an executor that knows links: flows or packets.
//
// A long one goes through rounds that are alike but not exactly, so what is left out is an estimate: rounds are doubled
// until two doublings in turn say the same time for a round, within a fiftieth, and the rest is taken to be so as well.
// Before congestion control has done its work all rounds are as fast as the first: two of them say nothing then, and
// neither do rounds that are fewer than a tree has under way at once.
// Only collectives that go through the same number of rounds are shortened; nothing is where ranks are late or slow.

#include <functional>
#include <string>
#include <vector>

#include "collective/plan.hpp"
#include "schedule/result.hpp"
#include "schedule/schedule.hpp"

namespace weft::collective {

struct CarriedJob {
  const Team* team = nullptr;
  PlanOptions options;
};

struct CarriedTime {
  Plan plan;
  Duration time;              // of one among many
  std::uint64_t skipped = 0;  // rounds that were not simulated
  Duration carried;           // of one alone, from the first step on
};

struct CarriedResult {
  std::vector<CarriedTime> jobs;
  std::uint64_t messages = 0;  // in all runs
  schedule::RunResult run;     // the last and longest; its tags as schedule::Composed has them
  std::string stopped_by;      // not empty: the times are not to be used; "unfinished": something never came
};

struct CarriedLimits {
  std::uint64_t messages = 0;  // of one run; more are not begun, and "messages" stopped it
  // Where packets are marked, senders look for their rates for so long: no round before that stands for later ones.
  Duration settles = {};
};

using Carry = std::function<schedule::RunResult(schedule::Schedule& schedule)>;

// Why an algorithm can be run at message level only; empty: it cannot.
std::string why_not_carried(const Team& team, Algorithm algorithm);

// Messages of the runs without which nothing is known of a job.
std::uint64_t least_carried(const CarriedJob& job);

CarriedResult carry(const fabric::Fabric& fabric, const std::vector<CarriedJob>& jobs, const CarriedLimits& limits,
                    const Carry& execute);

}  // namespace weft::collective
