#include "collective/timing.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "collective/ring.hpp"
#include "collective/testing_team.hpp"
#include "sim/run/message_sim.hpp"

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
  const Generation& hopper = generation_of("h100-sxm");
  const std::int64_t step = 1024 * 8 * 1'000 / (141 * 8) + hopper.ll_hop_ns * 1'000;  // 141 GB/s is what LL gets
  EXPECT_NEAR(static_cast<double>(timing.time.count()),
              static_cast<double>(hopper.start_ns) * 1e3 + 14.0 * static_cast<double>(step), 14.0);
  EXPECT_EQ(timing.messages, 14u * 8);
}

// With Simple, a chunk is cut in two, the sender waits for a fence behind each half, and what came last of all is
// copied out of the buffer.
TEST(Timing, ARingOfSimpleLandsWhatItTook) {
  const Machines machines("{kind: hgx-h100, count: 1}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 2, 0));
  const Generation& hopper = generation_of("h100-sxm");
  const std::uint64_t chunk = 2 << 20;
  const auto time = [&](std::uint64_t rounds) {
    const PlanOptions given =
        options(Operation::all_gather, 2 * rounds * chunk, {Algorithm::ring, Protocol::simple, 1});
    return static_cast<double>(time_of(team, given, testing::by_lanes).time.count());
  };
  const double wire = static_cast<double>(chunk) / 36.7e9 * 1e12;  // a channel's threads move no more
  const double fences = 2e3 * static_cast<double>(hopper.slice_ns);
  const double landing = static_cast<double>(chunk) / (static_cast<double>(hopper.copy_mbps) * 1e6) * 1e12;
  const double hop = static_cast<double>(hopper.simple_hop_ns) * 1e3;
  EXPECT_NEAR(time(5) - time(4), wire + fences + hop, 20);
  const double start = static_cast<double>(hopper.start_ns + 1'800) * 1e3;  // NCCL: Simple starts 1.8 us later than LL
  EXPECT_NEAR(time(1), start + wire + fences + hop + landing, 20);
}

// Small ones that follow each other are so many messages of that size. Taken as one long message, which every rank
// hands on as a whole, 8 KiB would take longer over 64 ranks than 256 KiB.
TEST(Timing, MoreBytesTakeNoLessTimeWhereSeveralFollowEachOther) {
  const Machines machines("{kind: p4d.24xlarge, count: 8, nics: 2}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 64, 0));
  for (const Operation operation : {Operation::broadcast, Operation::reduce}) {
    double before = 0;
    for (std::uint64_t bytes = 1 << 10; bytes <= 1 << 20; bytes *= 2) {
      const PlanOptions given = options(operation, bytes, {Algorithm::ring, Protocol::simple, 1});
      const auto time = static_cast<double>(time_among_many(team, given, testing::by_lanes).time.count());
      EXPECT_GE(time, 0.99 * before) << name(operation) << " " << bytes;
      before = time;
    }
  }
}

// Operations that follow each other overlap where data go one way: how long the chain is does not count.
TEST(Timing, OfOneAmongManyTheWayThroughAChainDoesNotCount) {
  const Machines machines("{kind: dgx-a100, count: 1}");
  const auto time = [&](Operation operation, std::uint32_t gpus) {
    const Team team(machines.fabric, pick_gpus(*machines.cluster, gpus, 0));
    const PlanOptions given = options(operation, 64 << 20, {Algorithm::ring, Protocol::simple, 24});
    return static_cast<double>(time_among_many(team, given, testing::by_lanes).time.count());
  };
  for (const Operation operation : {Operation::broadcast, Operation::reduce}) {
    EXPECT_NEAR(time(operation, 8) / time(operation, 3), 1, 0.01) << name(operation);
    // 12 links of 20 GB/s.
    EXPECT_NEAR(static_cast<double>(64 << 20) * 1e12 / 240e9 / time(operation, 8), 1, 0.06) << name(operation);
  }
}

// What skipping says is what running everything says, to the picosecond where all rounds delay every rank alike.
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
  Work work(whole, whole.different);
  const auto ends = testing::by_lanes(work, whole).ends;
  RC_ASSERT(skipping.time.count() == (*std::max_element(ends.begin(), ends.end()) + whole.launch).count());
  RC_TAG(skipping.skipped > 0);
}

// With LL's slices ranks take turns at being late, and the mean is all there is.
TEST(Timing, RoundsThatAreNearlyAlikeAreSkippedToo) {
  const Machines machines("{kind: hgx-h100, count: 4, nics: 2}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 32, 0));
  const PlanOptions given = options(Operation::all_reduce, 256 << 20, {Algorithm::ring, Protocol::ll, 4});
  const Timing skipping = time_of(team, given, testing::by_lanes);
  EXPECT_GT(skipping.skipped, 0u);
  const Plan whole = make_plan(team, given);
  Work work(whole, whole.different);
  const auto ends = testing::by_lanes(work, whole).ends;
  const Duration all = whole.launch + *std::max_element(ends.begin(), ends.end());
  EXPECT_NEAR(static_cast<double>(skipping.time.count()) / static_cast<double>(all.count()), 1, 0.001);
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
  Work first(plan, plan.programs);
  Work second(plan, plan.programs);
  const Ends ends = testing::by_lanes(first, plan);
  const schedule::RunResult result = sim::run_messages(second, {});
  std::vector<Duration> last(plan.ranks);
  for (const schedule::FlowRecord& flow : result.flows) {
    last[flow.destination] = std::max(last[flow.destination], flow.received);
    last[flow.source] = std::max(last[flow.source], flow.start);  // when it left
  }
  RC_ASSERT(result.unfinished == 0u);
  RC_ASSERT(result.flows.size() == ends.messages);
  RC_ASSERT(last == ends.ends);
}

// A port keeps its lanes for all that goes through it, but a chunk of NVLSTree is through before: its bytes share the
// NIC with those that go the same way, and it waits for half of what the port's thread posts.
TEST(Timing, AChunkOfNvlsTreeIsThroughBeforeItsPortIsFree) {
  // Of what goes up, which has the thread's time for both ways: how long it keeps its lane, and until it is through,
  // us.
  const auto times = [](std::uint32_t nodes, std::uint64_t bytes, std::int64_t message, bool racks = false) {
    const Machines machines((racks ? "{kind: gb200-nvl72, count: " : "{kind: hgx-h100, count: ") +
                            std::to_string(racks ? 18 * nodes : nodes) + "}");
    const Team team(machines.fabric, pick_gpus(*machines.cluster, (racks ? 72 : 8) * nodes, 0));
    PlanOptions given = options(Operation::all_reduce, bytes, {Algorithm::nvls_tree, Protocol::simple, 16});
    given.chunk = 64 << 10;
    Stack stack = *stack_named("ib");
    stack.network.message_ns = message;
    given.stack = &stack;
    const Plan plan = make_plan(team, given);
    const Program& program = *plan.different[0];
    Step step;
    for (std::uint32_t rank = 0; rank < plan.gpus; ++rank)
      for (std::uint32_t lane = 0; lane < program.lanes(rank); ++lane)
        for (std::uint64_t at = 0; at < 4 && program.step(rank, lane, at, step); ++at)
          if (step.kind == Step::Kind::send && step.tag % 2 == 0 && plan.node[step.peer] != plan.node[rank])
            return std::pair(static_cast<double>(occupancy(step.edge, 64 << 10)) / 1e6,
                             static_cast<double>(passage(step.edge, 64 << 10)) / 1e6);
    return std::pair(0.0, 0.0);
  };
  const std::uint64_t many = 256 << 20;
  const double wire = 16 * 65536 / 49e3;  // 16 chunks on a NIC of 400G, 98 % of which arrives
  for (const std::uint32_t nodes : {4u, 8u}) {
    const auto [kept, through] = times(nodes, many, 1000);  // of 64 messages a thread makes 64 us
    EXPECT_NEAR(kept, 64, 0.1) << nodes;
    EXPECT_NEAR(through, 32, 0.1) << nodes;
    const auto [shared, alone] = times(nodes, many, 1);
    EXPECT_NEAR(shared, 2 * wire, 0.1) << nodes;
    EXPECT_NEAR(alone, wire, 0.1) << nodes;
    const auto [first, single] = times(nodes, 1 << 20, 4000);  // a single chunk goes up before it comes down
    EXPECT_NEAR(first, 128, 0.1) << nodes;
    EXPECT_NEAR(single, 64, 0.1) << nodes;
  }
  const auto [kept, through] = times(2, many, 1000);  // one level is all there is
  EXPECT_EQ(kept, through);
  const auto [of_racks, there] = times(3, many, 1000, true);  // and of racks nobody has shown it
  EXPECT_EQ(of_racks, there);
  EXPECT_GT(of_racks, 0);
}

TEST(Timing, AnotherLevelOfNvlsTreeCostsThePassageOfOneChunk) {
  const auto time = [](std::uint32_t nodes, std::uint64_t bytes) {
    const Machines machines("{kind: hgx-h100, count: " + std::to_string(nodes) + "}");
    const Team team(machines.fabric, pick_gpus(*machines.cluster, 8 * nodes, 0));
    PlanOptions given = options(Operation::all_reduce, bytes, {Algorithm::nvls_tree, Protocol::simple, 16});
    given.chunk = 64 << 10;
    return static_cast<double>(time_of(team, given, testing::by_lanes).time.count()) / 1e6;
  };
  const double level = time(16, 32 << 20) - time(8, 32 << 20);
  EXPECT_NEAR(time(32, 32 << 20) - time(16, 32 << 20), level, 0.02 * level);
  EXPECT_NEAR(time(16, 256 << 20) - time(8, 256 << 20), level, 0.05 * level) << "whatever the size";
  // 16 chunks on a NIC of 400G take 21 us, and half of its thread's round 32 messages; and a hop, up and down.
  const double posted = 32e-3 * static_cast<double>(stack_named("ib")->network.message_ns);
  const double hop = static_cast<double>(hop_latency(Hop::network, Algorithm::tree, Protocol::simple).count()) / 1e6;
  EXPECT_NEAR(level, 2 * (std::max(21.4, posted) + hop), 6);
}

// A chunk of Simple takes longer through EFA, one of LL128 does not, and the first EFA, which has another protocol,
// neither.
TEST(Timing, ThroughEfaAChunkOfSimpleTakesLonger) {
  const auto longer = [](const char* kind, Protocol protocol) {
    const Machines machines(std::string("{kind: ") + kind + ", count: 2}");
    const Team team(machines.fabric, pick_gpus(*machines.cluster, 16, 0));
    PlanOptions given = options(Operation::all_reduce, 1 << 20, {Algorithm::tree, protocol, 8});
    Stack stack = *stack_named("efa");
    given.stack = &stack;
    const Duration with = time_of(team, given, testing::by_lanes).time;
    stack.network.simple_ns = 0;
    return with - time_of(team, given, testing::by_lanes).time;
  };
  EXPECT_EQ(longer("p5.48xlarge", Protocol::simple), nanoseconds(2 * stack_named("efa")->network.simple_ns))
      << "up and down";
  EXPECT_EQ(longer("p5.48xlarge", Protocol::ll128), Duration(0));
  EXPECT_EQ(longer("p4d.24xlarge", Protocol::simple), Duration(0));
}

// One chunk around a ring of eight: what comes last is what the last to come has sent first, all the way round.
TEST(Timing, SkewAddsToTheTime) {
  const Machines machines("{kind: hgx-h100, count: 1}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 8, 0));
  PlanOptions given = options(Operation::all_reduce, 8 << 10, {Algorithm::ring, Protocol::ll, 1});
  const Duration even = time_of(team, given, testing::by_lanes).time;
  Conditions conditions;
  conditions.starts.assign(8, Duration(0));
  conditions.starts[5] = microseconds(10);
  conditions.starts[2] = microseconds(4);
  given.conditions = &conditions;
  EXPECT_EQ(time_of(team, given, testing::by_lanes).time, even + microseconds(10));
}

// Rank r of a ring of n with one chunk sends in step s what came in step s - 1, slice by slice, and no slice before the
// one before it has left: the recurrence, written out.
TEST(Timing, ASlowRankDelaysARingAsTheRecurrenceSays) {
  const Machines machines("{kind: hgx-h100, count: 1}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 8, 0));
  PlanOptions given = options(Operation::all_reduce, 512 << 10, {Algorithm::ring, Protocol::ll, 1});
  given.chunk = 1 << 20;
  const Plan plan = make_plan(team, given);
  const Ring::Shape& shape = static_cast<const Ring&>(*plan.programs.at(0)).shape();
  for (const std::int64_t speed : {900, 500, 100}) {
    Conditions conditions;
    conditions.ranks.push_back({3, speed});
    given.conditions = &conditions;
    std::vector<std::int64_t> left(8);
    std::vector<std::vector<std::int64_t>> came(8, std::vector<std::int64_t>(shape.slices));
    for (int step = 0; step < 14; ++step) {
      std::vector<std::vector<std::int64_t>> next(8, std::vector<std::int64_t>(shape.slices));
      for (std::size_t slice = 0; slice < shape.slices; ++slice)
        for (std::size_t rank = 0; rank < 8; ++rank) {
          const std::int64_t whole = occupancy(shape.edges[rank], (64 << 10) / shape.slices);
          left[rank] = std::max(left[rank], came[rank][slice]) + (rank == 3 ? whole * 1000 / speed : whole);
          next[(rank + 1) % 8][slice] = left[rank] + plan.inside.count();
        }
      came = next;
    }
    std::int64_t last = 0;
    for (const auto& slices : came) last = std::max(last, slices.back());
    EXPECT_EQ(time_of(team, given, testing::by_lanes).time.count() - plan.launch.count(), last) << speed;
  }
}

}  // namespace
}  // namespace weft::collective
