#include "sim/message_sim.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "schedule/testing_script.hpp"

namespace weft::sim {
namespace {

using schedule::FlowRecord;
using schedule::Instruction;
using schedule::RunResult;
using schedule::Script;

constexpr std::int64_t kLatency = 1'500'000;       // ps
constexpr std::int64_t kAcknowledgement = 400'000;
constexpr std::int64_t kPsPerByte = 20;            // 400 Gb/s
constexpr std::int64_t kReducePsPerByte = 8;       // 1 Tb/s

MessageConfig config() {
  MessageConfig made;
  made.transfer = [](std::uint32_t, std::uint32_t) {
    return TransferCost{Duration(kLatency), gigabits_per_second(400), Duration(kAcknowledgement)};
  };
  made.reduce_rate = gigabits_per_second(1000);
  return made;
}

std::int64_t transfer(std::uint64_t bytes) { return kLatency + static_cast<std::int64_t>(bytes) * kPsPerByte; }

std::int64_t last_received(const RunResult& result) {
  std::int64_t last = 0;
  for (const FlowRecord& flow : result.flows) last = std::max(last, flow.received);
  return last;
}

TEST(MessageSim, ATransferTakesLatencyPlusBytesAtTheRate) {
  Script script(2);
  script.add(0, {Instruction::put(1, 1000)});
  const RunResult result = run_messages(script, config());
  ASSERT_EQ(result.flows.size(), 1u);
  EXPECT_EQ(result.flows[0].received, kLatency + 1000 * kPsPerByte);
  EXPECT_EQ(result.flows[0].sent, result.flows[0].received + kAcknowledgement);
  EXPECT_EQ(result.flows[0].unloaded, result.flows[0].sent);
  EXPECT_EQ(result.end, result.flows[0].sent);
  EXPECT_EQ(result.executor, "message");
  EXPECT_EQ(result.stopped_by, "");
}

// Each rank passes on what it got from the one before it: (n - 1) steps of latency and one chunk each.
Script ring(std::uint32_t ranks, std::uint64_t bytes) {
  Script script(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::vector<Instruction> lane;
    for (std::uint32_t step = 0; step + 1 < ranks; ++step) {
      lane.push_back(Instruction::send((rank + 1) % ranks, bytes, step));
      lane.push_back(Instruction::recv((rank + ranks - 1) % ranks, step));
      lane.push_back(Instruction::wait(1));
    }
    script.add(rank, lane);
  }
  return script;
}

RC_GTEST_PROP(MessageSim, ARingTakesItsStepsTimesATransfer, ()) {
  const auto ranks = *rc::gen::inRange(2u, 20u);
  const auto bytes = *rc::gen::inRange<std::uint64_t>(0, 1 << 20);
  Script script = ring(ranks, bytes);
  const RunResult result = run_messages(script, config());
  RC_ASSERT(last_received(result) == (ranks - 1) * transfer(bytes));
  RC_ASSERT(result.stopped_by.empty());
}

// Chunks through a chain of ranks, each of which reduces a chunk before it sends it on. Transfers share
// nothing here, so what paces the pipeline is the reduction; stages overlap:
//   rank 0   |c0|c1|c2|
//   rank 1      |--c0--|--c1--|--c2--|
RC_GTEST_PROP(MessageSim, APipelineOfChunksOverlapsItsStages, ()) {
  const auto ranks = *rc::gen::inRange(2u, 10u);
  const auto chunks = *rc::gen::inRange(1u, 40u);
  const auto bytes = *rc::gen::inRange<std::uint64_t>(1, 1 << 20);
  const std::int64_t reduction = static_cast<std::int64_t>(bytes) * kReducePsPerByte;
  Script script(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::vector<Instruction> lane;
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      if (rank > 0) lane.insert(lane.end(), {Instruction::recv(rank - 1, chunk), Instruction::wait(1)});
      lane.insert(lane.end(), {Instruction::reduce(bytes), Instruction::wait(1)});
      if (rank + 1 < ranks) lane.push_back(Instruction::send(rank + 1, bytes, chunk));
    }
    script.add(rank, lane);
  }
  const RunResult result = run_messages(script, config());
  // The last chunk is reduced once per rank and sent once per hop; before it, rank 0 reduced the others.
  const std::int64_t last = ranks * reduction + (ranks - 1) * transfer(bytes) + (chunks - 1) * reduction;
  RC_ASSERT(last_received(result) == last - reduction);
  RC_ASSERT(result.flows.size() == std::size_t{ranks - 1} * chunks);
}

RC_GTEST_PROP(MessageSim, EqualRunsHaveEqualDigestsAndOtherWorkAnother, ()) {
  const auto ranks = *rc::gen::inRange(2u, 12u);
  const auto bytes = *rc::gen::inRange<std::uint64_t>(1, 1 << 20);
  const auto digest = [&](std::uint64_t size) {
    Script script = ring(ranks, size);
    return run_messages(script, config()).digest;
  };
  RC_ASSERT(digest(bytes) == digest(bytes));
  RC_ASSERT(digest(bytes) != digest(bytes + 1));
}

TEST(MessageSim, WaitingForWhatNeverComesIsSaid) {
  Script script(2);
  script.add(0, {Instruction::recv(1, 0), Instruction::wait(1), Instruction::put(1, 1)});
  const RunResult result = run_messages(script, config());
  EXPECT_EQ(result.stopped_by, "a wait that never ends");
  EXPECT_TRUE(result.flows.empty());
}

TEST(MessageSim, ARunThatIsStoppedGivesWhatWasDone) {
  Script script(2);
  std::vector<Instruction> lane;
  for (int i = 0; i < 10'000; ++i) lane.insert(lane.end(), {Instruction::put(1, 1), Instruction::wait(1)});
  script.add(0, lane);
  MessageConfig limited = config();
  limited.keep_going = [](std::int64_t, std::uint64_t events, std::uint64_t) { return events < 5000; };
  const RunResult result = run_messages(script, limited);
  EXPECT_EQ(result.stopped_by, "request");
  EXPECT_GE(result.counters.events, 5000u);
  EXPECT_LT(result.flows.size(), 10'000u);
  EXPECT_EQ(result.flows[0].sent, transfer(1) + kAcknowledgement);
}

}  // namespace
}  // namespace weft::sim
