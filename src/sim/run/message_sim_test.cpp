#include "sim/run/message_sim.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "schedule/testing_script.hpp"
#include "workload/matrix_schedule.hpp"
#include "workload/patterns.hpp"

namespace weft::sim {
namespace {

using schedule::FlowRecord;
using schedule::Instruction;
using schedule::RunResult;
using schedule::Script;

constexpr std::int64_t kLatency = 1'500'000;  // ps
constexpr std::int64_t kAcknowledgement = 400'000;
constexpr std::int64_t kPsPerByte = 20;       // 400 Gb/s
constexpr std::int64_t kReducePsPerByte = 8;  // 1 Tb/s

MessageConfig config() {
  MessageConfig made;
  made.transfer = [](std::uint32_t, std::uint32_t) {
    return TransferCost{Duration(kLatency), gigabits_per_second(400), Duration(kAcknowledgement)};
  };
  made.local = [](std::uint32_t, Instruction::Kind, std::uint64_t bytes) {
    return Duration(static_cast<std::int64_t>(bytes) * kReducePsPerByte);
  };
  return made;
}

std::int64_t transfer(std::uint64_t bytes) { return kLatency + static_cast<std::int64_t>(bytes) * kPsPerByte; }

std::int64_t last_received(const RunResult& result) {
  std::int64_t last = 0;
  for (const FlowRecord& flow : result.flows) last = std::max(last, flow.received.count());
  return last;
}

TEST(MessageSim, ATransferTakesLatencyPlusBytesAtTheRate) {
  Script script(2);
  script.add(0, {Instruction::put(1, 1000)});
  const RunResult result = run_messages(script, config());
  ASSERT_EQ(result.flows.size(), 1u);
  EXPECT_EQ(result.flows[0].received.count(), kLatency + 1000 * kPsPerByte);
  EXPECT_EQ(result.flows[0].sent.count(), result.flows[0].received.count() + kAcknowledgement);
  EXPECT_EQ(result.flows[0].unloaded.count(), result.flows[0].sent.count());
  EXPECT_EQ(result.end.count(), result.flows[0].sent.count());
  EXPECT_EQ(result.fidelity, schedule::Fidelity::message);
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
      if (rank + 1 == ranks) continue;
      lane.push_back(Instruction::send(rank + 1, bytes, chunk));
      lane.back().detached = true;
    }
    script.add(rank, lane);
  }
  const RunResult result = run_messages(script, config());
  // The last chunk is reduced once per rank and sent once per hop; before it, rank 0 reduced the others.
  const std::int64_t last = ranks * reduction + (ranks - 1) * transfer(bytes) + (chunks - 1) * reduction;
  RC_ASSERT(last_received(result) == last - reduction);
  RC_ASSERT(result.flows.size() == std::size_t{ranks - 1} * chunks);
}

// A node has `window` flows going; each takes a transfer and its acknowledgement, and they go in step.
RC_GTEST_PROP(MessageSim, AWindowedAllToAllTakesItsRounds, ()) {
  const auto nodes = *rc::gen::inRange(2u, 40u);
  const auto window = *rc::gen::inRange(1u, 65u);
  const auto bytes = *rc::gen::inRange<std::uint64_t>(1, 1 << 20);
  spec::Diagnostics diagnostics;
  model::TrafficRun run;
  run.pattern = model::TrafficPattern::all_to_all;
  run.size = Bytes(static_cast<std::int64_t>(bytes));
  run.window = window;
  const auto traffic = workload::make_traffic(run, {.nodes = nodes}, diagnostics);
  const RunResult result = run_messages(*traffic, config());
  const std::int64_t rounds = (nodes - 1 + window - 1) / window;
  RC_ASSERT(result.end.count() == rounds * (transfer(bytes) + kAcknowledgement));
  RC_ASSERT(result.flows.size() == std::size_t{nodes} * (nodes - 1));
  // At no time has a node more than its window unfinished.
  for (std::uint32_t node = 0; node < nodes; ++node)
    for (std::int64_t round = 0; round < rounds; ++round) {
      const std::int64_t begin = round * (transfer(bytes) + kAcknowledgement);
      const auto going = std::count_if(result.flows.begin(), result.flows.end(), [&](const FlowRecord& flow) {
        return flow.source == node && flow.start.count() <= begin && flow.sent.count() > begin;
      });
      RC_ASSERT(going <= window);
    }
}

//   0 --sent--> trigger 0: 1->2 at once; that --received--> barrier of two with 3->0: 2->3
TEST(MessageSim, TriggersOfAMatrixActWithoutDelay) {
  workload::Matrix matrix;
  matrix.nodes = 4;
  matrix.flows = {{.source = 0, .destination = 1, .bytes = 1000, .when_sent = 0},
                  {.source = 1, .destination = 2, .bytes = 2000, .started_by = 0, .when_received = 1},
                  {.source = 3, .destination = 0, .bytes = 10, .start = Duration(500), .when_sent = 1},
                  {.source = 2, .destination = 3, .bytes = 3000, .started_by = 1}};
  matrix.triggers = {{workload::MatrixTrigger::Kind::oneshot, 1, {1}},
                     {workload::MatrixTrigger::Kind::barrier, 2, {3}}};
  workload::MatrixSchedule traffic(matrix);
  const RunResult result = run_messages(traffic, config());
  ASSERT_EQ(result.flows.size(), 4u);
  EXPECT_EQ(result.flows[0].sent.count(), transfer(1000) + kAcknowledgement);
  EXPECT_EQ(result.flows[1].start.count(), result.flows[0].sent.count());
  EXPECT_EQ(result.flows[1].received.count(), result.flows[0].sent.count() + transfer(2000));
  EXPECT_EQ(result.flows[3].source, 3u);
  EXPECT_EQ(result.flows[3].start.count(), 500);
  EXPECT_EQ(result.flows[2].start.count(), result.flows[1].received.count())
      << "the later of the two the barrier is for";
}

TEST(MessageSim, PoissonTrafficIsTheSameEveryTime) {
  const auto digest = [](std::uint64_t seed) {
    model::TrafficRun run;
    run.pattern = model::TrafficPattern::poisson;
    run.size = Bytes(100'000);
    run.load = Share(500'000);
    spec::Diagnostics diagnostics;
    const auto traffic = workload::make_traffic(
        run, {.nodes = 20, .line_rate = gigabits_per_second(400), .seed = seed, .flows = 2000}, diagnostics);
    const RunResult result = run_messages(*traffic, config());
    EXPECT_EQ(result.flows.size(), 2000u);
    for (const FlowRecord& flow : result.flows) EXPECT_EQ((flow.sent - flow.start).count(), flow.unloaded.count());
    return result.digest;
  };
  EXPECT_EQ(digest(1), digest(1));
  EXPECT_NE(digest(1), digest(2));
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
  EXPECT_GT(result.unfinished, 0u);
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
  EXPECT_EQ(result.flows[0].sent.count(), transfer(1) + kAcknowledgement);
}

TEST(MessageSim, ALimitIsKeptToTheEventAndThePicosecond) {
  const auto run = [](schedule::Horizon horizon) {
    Script script(2);
    script.add(0, {Instruction::put(1, 1000), Instruction::wait(1), Instruction::put(1, 1)});
    MessageConfig limited = config();
    limited.horizon = horizon;
    limited.keep_going = [=](std::int64_t now, std::uint64_t events, std::uint64_t) {
      return now < horizon.time.count() && events < horizon.events;
    };
    return run_messages(script, limited);
  };
  const RunResult early = run({.time = Duration(transfer(1000) + 1)});
  EXPECT_EQ(early.stopped_by, "request");
  EXPECT_EQ(early.end.count(), transfer(1000) + 1);
  EXPECT_EQ(early.counters.events, 1u);
  EXPECT_EQ(early.flows[0].received.count(), transfer(1000));
  EXPECT_EQ(early.flows[0].sent, schedule::kNotYet);
  EXPECT_EQ(run({.time = Duration(transfer(1000))}).counters.events, 1u) << "the last moment counts";
  EXPECT_EQ(run({.events = 3}).counters.events, 3u);
  EXPECT_EQ(run({}).stopped_by, "");
}

}  // namespace
}  // namespace weft::sim
