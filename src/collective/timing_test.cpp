#include "collective/timing.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "collective/testing_team.hpp"
#include "sim/message_sim.hpp"

namespace weft::collective {
namespace {

using testing::Machines;

PlanOptions options(Operation operation, std::uint64_t bytes, Choice choice) {
  return {.operation = operation, .bytes = bytes, .choice = choice, .stack = stack_named("ib")};
}

// A ring of one node, one channel, one chunk: each of 2 (n - 1) steps takes its bytes at the channel's rate, the
// overhead and the latency of a hop.
TEST(Timing, ARingTakesItsSteps) {
  const Machines machines("{kind: hgx-h100, count: 1}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 8, 0));
  const PlanOptions given = options(Operation::all_reduce, 8 << 10, {Algorithm::ring, Protocol::ll, 1});
  const Timing timing = time_of(team, given, testing::by_lanes);
  const std::int64_t step = 1024 * 8 * 1'000 / (141 * 8) + 600'000;  // 141 GB/s is what LL gets on one node
  EXPECT_NEAR(static_cast<double>(timing.time.count()), 6'600'000.0 + 14.0 * static_cast<double>(step), 14.0);
  EXPECT_EQ(timing.messages, 14u * 8);
}

// What skipping says is what running everything says, to the picosecond.
RC_GTEST_PROP(Timing, SkippedRoundsTakeWhatTheyWouldHaveTaken, ()) {
  static const Machines machines("{kind: hgx-h100, count: 4}");
  static const Team two(machines.fabric, pick_gpus(*machines.cluster, 16, 0));
  static const Team one(machines.fabric, pick_gpus(*machines.cluster, 8, 0));
  const auto algorithm = *rc::gen::element(Algorithm::ring, Algorithm::tree, Algorithm::nvls, Algorithm::nvls_tree,
                                           Algorithm::collnet, Algorithm::hierarchical);
  const Team& team = algorithm == Algorithm::nvls ? one : two;
  PlanOptions given = options(Operation::all_reduce, *rc::gen::inRange<std::uint64_t>(1 << 20, 4 << 20),
                              {algorithm, Protocol::simple, 2});
  given.chunk = *rc::gen::inRange<std::uint64_t>(1000, 5000);
  const Timing skipping = time_of(team, given, testing::by_lanes);
  const Plan whole = make_plan(team, given);
  Work work(whole.ranks, whole.different, Pace::timed);
  const auto ends = testing::by_lanes(work, whole).ends;
  RC_ASSERT(skipping.time.count() == *std::max_element(ends.begin(), ends.end()) + whole.launch.count());
  RC_TAG(skipping.skipped > 0);
}

// Every kind of plan through the executor with an event queue: the last message comes at the same picosecond.
RC_GTEST_PROP(Timing, LanesAndEventsAgree, ()) {
  static const Machines machines("{kind: hgx-h100, count: 4}");
  static const Team team(machines.fabric, pick_gpus(*machines.cluster, 32, 0));
  const auto algorithm =
      *rc::gen::element(Algorithm::ring, Algorithm::tree, Algorithm::nvls_tree, Algorithm::hierarchical);
  PlanOptions given =
      options(Operation::all_reduce, *rc::gen::inRange<std::uint64_t>(1, 1 << 20), {algorithm, Protocol::simple, 2});
  given.chunk = *rc::gen::inRange<std::uint64_t>(4000, 50'000);
  const Plan plan = make_plan(team, given);
  Work first(plan.ranks, plan.programs, Pace::timed);
  Work second(plan.ranks, plan.programs, Pace::timed);
  const Ends ends = testing::by_lanes(first, plan);
  sim::MessageConfig config;
  config.transfer = [&](std::uint32_t from, std::uint32_t to) {
    return sim::TransferCost{plan.latency(from, to), {}, {}};
  };
  const schedule::RunResult result = sim::run_messages(second, config);
  std::vector<std::int64_t> last(plan.ranks);
  for (const schedule::FlowRecord& flow : result.flows) {
    last[flow.destination] = std::max(last[flow.destination], flow.received);
    last[flow.source] = std::max(last[flow.source], flow.start);  // when it left
  }
  RC_ASSERT(result.unfinished == 0u);
  RC_ASSERT(result.flows.size() == ends.messages);
  RC_ASSERT(last == ends.ends);
}

}  // namespace
}  // namespace weft::collective
