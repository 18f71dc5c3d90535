#include "sim/run/lane_sim.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "schedule/testing_script.hpp"
#include "sim/run/message_sim.hpp"

namespace weft::sim {
namespace {

using schedule::Instruction;
using schedule::Script;

constexpr std::int64_t kLatency = 1000;

LaneConfig config() {
  LaneConfig made;
  made.transfer = [](std::uint32_t, std::uint32_t) { return TransferCost{Duration(kLatency), {}, {}}; };
  return made;
}

Instruction occupying(std::uint32_t peer, std::uint64_t tag, std::int64_t time) {
  Instruction made = Instruction::send(peer, 1, tag);
  made.time = Duration(time);
  made.detached = true;
  return made;
}

TEST(LaneSim, SendsOfALaneLeaveOneAfterAnother) {
  Script script(2);
  script.add(0, {occupying(1, 0, 300), occupying(1, 0, 300)});
  script.add(1, {Instruction::recv(0, 0), Instruction::wait(1), Instruction::recv(0, 0), Instruction::wait(1)});
  const LaneResult result = run_lanes(script, config());
  EXPECT_EQ(result.ends[0].count(), 600);
  EXPECT_EQ(result.ends[1].count(), 600 + kLatency);
  EXPECT_EQ(result.messages, 2u);
  EXPECT_EQ(result.run.unfinished, 0u);
}

TEST(LaneSim, WaitsForWhatWasBegunAndNothingElse) {
  Script script(2);
  script.add(0,
             {Instruction::compute(Duration(5000)), Instruction::recv(1, 7), Instruction::wait(1), occupying(1, 9, 1)});
  script.add(1, {occupying(0, 7, 1), Instruction::recv(0, 9), Instruction::wait(1)});
  // The computation goes on while rank 0 answers, and counts at the end.
  const LaneResult result = run_lanes(script, config());
  EXPECT_EQ(result.ends[1].count(), 2 + 2 * kLatency);
  EXPECT_EQ(result.ends[0].count(), 5000);
}

TEST(LaneSim, WaitsForOlderOnesAndAddsWhatAMessageLags) {
  Script script(2);
  Instruction send = occupying(1, 0, 1);
  send.lag = Duration(70);
  script.add(
      0, {Instruction::compute(Duration(500)), Instruction::compute(Duration(9000)), Instruction::wait_older(1), send});
  script.add(1, {Instruction::recv(0, 0), Instruction::wait(1)});
  EXPECT_EQ(run_lanes(script, config()).ends[1].count(), 501 + 70 + kLatency);
}

// It is there before its lane is free for the next one, and the next one waits for the lane all the same.
TEST(LaneSim, AMessageThatLeadsLeavesBeforeItsLaneIsFree) {
  Script script(2);
  Instruction first = occupying(1, 0, 100);
  first.lag = Duration(-60);
  const Instruction second = occupying(1, 1, 100);
  script.add(0, {first, second});
  script.add(1, {Instruction::recv(0, 0), Instruction::wait(1), Instruction::compute(Duration(1))});
  script.add(1, {Instruction::recv(0, 1), Instruction::wait(1)});
  std::vector<schedule::FlowRecord> flows;
  LaneConfig watching = config();
  watching.sent = [&](const schedule::FlowRecord& flow) { flows.push_back(flow); };
  run_lanes(script, watching);
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].received.count(), 40 + kLatency);
  EXPECT_EQ(flows[1].received.count(), 200 + kLatency);
}

TEST(LaneSim, AMessageThatNeverComesIsUnfinishedWork) {
  Script script(2);
  script.add(0, {Instruction::recv(1, 7), Instruction::wait_all()});
  script.add(1, {occupying(0, 8, 1)});
  EXPECT_EQ(run_lanes(script, config()).run.unfinished, 1u);
}

TEST(LaneSim, WhoeverWatchesCanStopIt) {
  Script script(2);
  std::vector<Instruction> lane(200'000, occupying(1, 0, 1));
  script.add(0, lane);
  LaneConfig stopping = config();
  stopping.keep_going = [](std::int64_t, std::uint64_t, std::uint64_t) { return false; };
  const LaneResult result = run_lanes(script, stopping);
  EXPECT_FALSE(result.run.stopped_by.empty());
  EXPECT_LT(result.messages, 200'000u);
}

// Random talk between pairs, each under its own tag, with computations and waits in between: the executor with an event
// queue has every message come at the same time.
RC_GTEST_PROP(LaneSim, AgreesWithTheExecutorOfEvents, ()) {
  const auto pairs = *rc::gen::inRange(1u, 6u);
  Script first(2 * pairs);
  Script second(2 * pairs);
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    std::vector<Instruction> a;
    std::vector<Instruction> b;
    const auto steps = *rc::gen::inRange(1u, 90u);
    for (std::uint32_t i = 0; i < steps; ++i) {
      const bool forth = *rc::gen::arbitrary<bool>();
      std::vector<Instruction>& from = forth ? a : b;
      std::vector<Instruction>& to = forth ? b : a;
      if (*rc::gen::inRange(0, 3) == 0)
        from.push_back(Instruction::compute(Duration(*rc::gen::inRange<std::int64_t>(1, 5000))));
      from.push_back(occupying(2 * pair + (forth ? 1 : 0), pair, *rc::gen::inRange<std::int64_t>(1, 2000)));
      to.push_back(Instruction::recv(2 * pair + (forth ? 0 : 1), pair));
      if (*rc::gen::inRange(0, 2) == 0) to.push_back(Instruction::wait(*rc::gen::inRange(1u, 4u)));
    }
    for (Script* script : {&first, &second}) {
      script->add(2 * pair, a);
      script->add(2 * pair + 1, b);
    }
  }
  const LaneResult lanes = run_lanes(first, config());
  MessageConfig events;
  events.transfer = [](std::uint32_t, std::uint32_t) { return TransferCost{Duration(kLatency), {}, {}}; };
  const schedule::RunResult result = run_messages(second, events);
  std::int64_t last = 0;
  for (const schedule::FlowRecord& flow : result.flows) last = std::max(last, flow.received.count());
  RC_ASSERT(result.unfinished == 0u);
  RC_ASSERT(lanes.run.unfinished == 0u);
  RC_ASSERT(std::max(lanes.run.end, result.end).count() == lanes.run.end.count());
  RC_ASSERT(lanes.run.end.count() >= last);
  RC_ASSERT(lanes.messages == result.flows.size());
  RC_ASSERT(lanes.run.end.count() == std::max(result.end.count(), last));
}

}  // namespace
}  // namespace weft::sim
