// What changes when ranks are on several nodes: processors look at flags, threads hand work to proxies, and one rank to
// a node has nothing to hide latencies behind.
#include <gtest/gtest.h>

#include <algorithm>

#include "collective/plan.hpp"
#include "collective/testing_team.hpp"
#include "collective/tuner.hpp"

namespace weft::collective {
namespace {

using testing::Machines;

// The fastest of a plan's sends within nodes, and the slowest between them. (What goes to several at once is as slow as
// the slowest of them.)
std::pair<Bandwidth, Bandwidth> extremes(const Plan& plan) {
  Bandwidth inside{0}, outside{INT64_MAX};
  for (const auto& program : plan.programs)
    for (std::uint32_t rank = 0; rank < plan.ranks; ++rank)
      for (std::uint32_t lane = 0; lane < program->lanes(rank); ++lane) {
        Step step;
        for (std::uint64_t at = 0; program->step(rank, lane, at, step); ++at) {
          if (step.kind != Step::Kind::send || step.joined) continue;
          if (plan.node[rank] == plan.node[step.peer])
            inside = std::max(inside, step.edge.rate);
          else
            outside = std::min(outside, step.edge.rate);
        }
      }
  return {inside, outside};
}

// A processor of the node looks at LL's flags before it sends, and all channels share what it can do. On NVLink nobody
// does: a second node makes no channel slower there.
TEST(BetweenNodes, LlIsSlowOnTheNetworkAlone) {
  const Machines two("{kind: hgx-h100, count: 2}");
  const Team team(two.fabric, pick_gpus(*two.cluster, 16, 0));
  const Plan plan = make_plan(team, {.operation = Operation::all_reduce,
                                     .bytes = 64 << 10,
                                     .choice = {Algorithm::tree, Protocol::ll, 16},
                                     .stack = stack_named("ib")});
  const auto [inside, outside] = extremes(plan);
  EXPECT_EQ(inside, Bandwidth(std::int64_t{141'000} * 8'000'000 / 16));  // NCCL's figures: of Hopper on one node,
  EXPECT_EQ(outside, Bandwidth(std::int64_t{39'000} * 8'000'000 / 16));  // and of Intel's processors
}

// One process for all GPUs: the thread that launches also hands each channel's work to a proxy, where there are any.
TEST(BetweenNodes, OneProcessHandsEveryChannelToAProxy) {
  const auto least = [](const char* servers, std::uint32_t gpus, std::uint32_t channels) {
    const Machines machines(servers);
    const Team team(machines.fabric, pick_gpus(*machines.cluster, gpus, 0));
    return make_plan(team, {.operation = Operation::all_reduce,
                            .bytes = 64 << 10,
                            .choice = {Algorithm::tree, Protocol::ll, channels},
                            .stack = stack_named("ib-one-process")})
        .least;
  };
  EXPECT_EQ(least("{kind: hgx-h100, count: 1}", 8, 16), least("{kind: hgx-h100, count: 1}", 8, 1));
  const Launch launch = stack_named("ib-one-process")->launch;
  EXPECT_EQ(least("{kind: hgx-h100, count: 2}", 16, 16) - least("{kind: hgx-h100, count: 2}", 16, 1),
            nanoseconds(15 * 8 * launch.channel_ns));
}

double ring_latency(const Team& team, Protocol protocol) {
  for (const Estimate& each : estimates(team, Operation::all_gather, 1 << 20, *stack_named("ib")))
    if (each.algorithm == Algorithm::ring && each.protocol == protocol) return each.latency_us;
  return 0;
}

TEST(BetweenNodes, OneRankToANodeWaitsAsATreeDoes) {
  const Machines machines("{kind: hgx-h100, count: 2}");
  const Team one_each(machines.fabric, pick_gpus(*machines.cluster, 2, 1));
  EXPECT_DOUBLE_EQ(ring_latency(one_each, Protocol::ll), 6.6 + 5.0);
  EXPECT_DOUBLE_EQ(ring_latency(one_each, Protocol::ll128), 14.0 + 8.5);
  const Team two_each(machines.fabric, pick_gpus(*machines.cluster, 4, 2));
  EXPECT_DOUBLE_EQ(ring_latency(two_each, Protocol::ll), 6.6 + 2 * 1.0 + 2.7);
}

TEST(BetweenNodes, NvlsGathersAmongThirtyTwoAtMost) {
  const Machines rack("{kind: gb200-nvl72, count: 18}");
  const auto why = [&](std::uint32_t gpus, Operation operation) {
    const Team team(rack.fabric, pick_gpus(*rack.cluster, gpus, 0));
    return why_not(team, operation, Algorithm::nvls, Protocol::simple);
  };
  EXPECT_EQ(why(32, Operation::all_gather), "");
  EXPECT_NE(why(36, Operation::all_gather), "");
  EXPECT_NE(why(36, Operation::reduce_scatter), "");
  EXPECT_EQ(why(72, Operation::all_reduce), "");
}

}  // namespace
}  // namespace weft::collective
