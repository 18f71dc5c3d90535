#pragma once
// The message executor for schedules whose lanes have nothing to do with each other but the messages they exchange:
// what comes from one rank under one tag is sent by one lane at a time, taken by one lane, and never overtaken.
// Collectives are such; computations on a processor of their rank, which wait for other lanes', are not. Then no event
// queue is needed: a lane runs by its own clock for as long as what it waits for is there, and a message is a number,
// its time of arrival, kept until it is asked for. A message costs some tens of nanoseconds.
//
// To the picosecond it says what message_sim.hpp says. Collectives have all that a message costs in its send
// (schedule.hpp): its bytes occupy the lane, and its latency is a lag.

#include <cstdint>
#include <functional>
#include <vector>

#include "schedule/result.hpp"
#include "schedule/schedule.hpp"
#include "sim/run/message_sim.hpp"

namespace weft::sim {

struct LaneConfig {
  TransferCosts transfer = {};  // empty: no time but what sends say
  LocalCosts local = {};        // empty: takes no time
  // Asked now and then; false stops the run, and the result is partial.
  std::function<bool(std::int64_t now, std::uint64_t messages, std::uint64_t bytes)> keep_going = {};
  // Told of every message between two ranks: from `start` it occupies its lane, and it is there at `received`.
  std::function<void(const schedule::FlowRecord& message)> sent = {};
};

struct LaneResult {
  schedule::RunResult run;     // without flows
  std::uint64_t messages = 0;  // between two ranks
  std::vector<Duration> ends;  // by rank: when the last of its lanes was done
};

// The schedule has no signals.
LaneResult run_lanes(schedule::Schedule& schedule, const LaneConfig& config);

}  // namespace weft::sim
