#pragma once
// The message executor: every transfer takes its path's unloaded latency plus its bytes at the rate of
// the slowest link, whatever else is on the way. Nothing is shared, so nothing queues: a lower bound that
// costs two events per message, and the closed forms of textbooks to the picosecond.

#include <cstdint>
#include <functional>

#include "base/units.hpp"
#include "schedule/horizon.hpp"
#include "schedule/result.hpp"
#include "schedule/schedule.hpp"

namespace weft::sim {

struct TransferCost {
  Duration latency;          // of the first byte
  Bandwidth rate;            // of the slowest link; 0: takes no time
  Duration acknowledgement;  // from the last byte's arrival until the sender knows

  Duration until_there(std::uint64_t bytes) const {
    const auto size = Bytes(static_cast<std::int64_t>(bytes));
    return rate.count() == 0 ? latency : latency + transfer_time(size, rate);
  }
};

using TransferCosts = std::function<TransferCost(std::uint32_t from, std::uint32_t to)>;
// Of a copy or a reduction on a rank.
using LocalCosts = std::function<Duration(std::uint32_t rank, schedule::Instruction::Kind kind, std::uint64_t bytes)>;

struct MessageConfig {
  std::uint64_t seed = 1;       // noted in the result; nothing is drawn
  TransferCosts transfer = {};  // between two ranks; empty: no time but what sends say
  // Messages of which their sends say all that they cost, by tag; empty: there are none where `transfer` is given.
  std::function<bool(std::uint64_t tag)> costs_itself = {};
  LocalCosts local = {};  // empty: takes no time
  // Asked now and then; false stops the run, and the result is partial.
  std::function<bool(std::int64_t now, std::uint64_t events, std::uint64_t delivered_bytes)> keep_going = {};
  schedule::Horizon horizon = {};  // it is asked there in any case
};

schedule::RunResult run_messages(schedule::Schedule& schedule, const MessageConfig& config);

}  // namespace weft::sim
