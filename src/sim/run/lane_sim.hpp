#pragma once
// The message executor for schedules whose lanes have nothing to do with each other but the messages they exchange:
// what comes from one rank under one tag is sent by one lane, taken by one lane, and never overtaken. Collectives are
// such. Then no event queue is needed: a lane runs by its own clock for as long as what it waits for is there, and a
// message is a number, its time of arrival, kept until it is asked for. A message costs some tens of nanoseconds.
//
// Messages take the latency of their way. What their bytes cost is in the send (schedule.hpp): a lane's sends leave one
// after another.

#include <cstdint>
#include <functional>
#include <vector>

#include "base/units.hpp"
#include "schedule/result.hpp"
#include "schedule/schedule.hpp"

namespace weft::sim {

struct LaneConfig {
  std::function<Duration(std::uint32_t from, std::uint32_t to)> latency;
  // Asked now and then; false stops the run, and the result is partial.
  std::function<bool(std::int64_t now, std::uint64_t messages, std::uint64_t bytes)> keep_going;
  // Told of every message: it leaves at `start` and is there at `received`.
  std::function<void(const schedule::FlowRecord& message)> sent = {};
};

struct LaneResult {
  schedule::RunResult run;  // without flows
  std::uint64_t messages = 0;
  std::vector<std::int64_t> ends;  // by rank: when the last of its lanes was done, ps
};

// The schedule has no signals, and no one-sided messages that anybody would have to be told of.
LaneResult run_lanes(schedule::Schedule& schedule, const LaneConfig& config);

}  // namespace weft::sim
