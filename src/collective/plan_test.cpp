#include "collective/plan.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "collective/chunks.hpp"
#include "collective/direct.hpp"
#include "collective/gates.hpp"
#include "collective/planner.hpp"
#include "collective/ring.hpp"
#include "collective/sharing.hpp"
#include "collective/testing_dataflow.hpp"
#include "collective/testing_team.hpp"
#include "collective/timing.hpp"
#include "collective/tuner.hpp"

namespace weft::collective {
namespace {

using testing::Dataflow;
using testing::Machines;

const Stack& ib() { return *stack_named("ib"); }

double busbw(const Team& team, Operation operation, std::uint64_t bytes, Choice choice, bool pxn = true) {
  PlanOptions given{.operation = operation, .bytes = bytes, .choice = choice, .stack = &ib()};
  given.pxn = pxn;
  const Timing timing = time_of(team, given, testing::by_lanes);
  const Ratio factor = bus_factor(operation, team.ranks());
  return static_cast<double>(bytes) * 1e3 / static_cast<double>(timing.time.count()) *
         static_cast<double>(factor.over) / static_cast<double>(factor.under);
}

// With LL, where a flag goes with every word, NCCL's figure of a hop is of the whole way between two nodes; of Simple
// it is of what is handed over at both ends. A ring of one rank to a node waits as a tree does.
TEST(Plan, AHopOfLlIsTheWholeWay) {
  const Machines machines("{kind: hgx-h100, count: 4}");
  const auto outside = [&](const std::vector<std::uint32_t>& gpus, Choice choice) {
    const Team team(machines.fabric, gpus);
    const PlanOptions given{.operation = Operation::all_reduce, .bytes = 4096, .choice = choice, .stack = &ib()};
    return std::pair(make_plan(team, given).outside, team.network_latency());
  };
  const std::vector<std::uint32_t> all = pick_gpus(*machines.cluster, 16, 0);
  const std::vector<std::uint32_t> one_each = {0, 8, 16, 24};
  const auto figure = [](Algorithm algorithm, Protocol protocol) {
    return hop_latency(Hop::network, algorithm, protocol);
  };
  for (const Algorithm each : {Algorithm::ring, Algorithm::tree}) {
    const auto [ll, latency] = outside(all, {each, Protocol::ll, 1});
    ASSERT_GT(latency, Duration(0));
    ASSERT_LE(latency, microseconds(2)) << "one switch";
    EXPECT_EQ(ll, figure(each, Protocol::ll));
    EXPECT_EQ(outside(all, {each, Protocol::simple, 1}).first, figure(each, Protocol::simple) + latency);
  }
  EXPECT_EQ(outside(one_each, {Algorithm::ring, Protocol::ll, 1}).first, figure(Algorithm::tree, Protocol::ll));
}

//  NIC0 beside GPU 0, NIC1 beside GPU 4; six GPUs have none
TEST(Team, PortsAreTheCardsNextToAGpu) {
  const Machines reference("{kind: hgx-h100, count: 2}");
  const Team eight(reference.fabric, pick_gpus(*reference.cluster, 16, 0));
  ASSERT_EQ(eight.nodes(), 2u);
  ASSERT_EQ(eight.domain(1).ports.size(), 8u);
  EXPECT_EQ(eight.domain(1).ports[3].rank, 11u);
  EXPECT_TRUE(eight.domain(1).ports[3].direct);

  const Machines acp("{kind: acp-h100-2nic, count: 2}");
  const Team two(acp.fabric, pick_gpus(*acp.cluster, 16, 0));
  ASSERT_EQ(two.domain(0).ports.size(), 2u);
  EXPECT_EQ(two.domain(0).ports[0].rank, 0u);
  EXPECT_EQ(two.domain(0).ports[1].rank, 4u);
  EXPECT_EQ(two.port_of(6), 1u);
  EXPECT_FALSE(two.direct(6));

  const Machines p5("{kind: p5.48xlarge, count: 2}");  // four NICs of 100G beside each GPU are one port
  const Team efa(p5.fabric, pick_gpus(*p5.cluster, 16, 0));
  ASSERT_EQ(efa.domain(0).ports.size(), 8u);
  EXPECT_EQ(efa.domain(0).ports[0].nic_rate, gigabits_per_second(400));
}

TEST(Team, ARackIsOneDomainAndServersCanGiveAPart) {
  const Machines racks("{kind: gb200-nvl72, count: 36}");
  const Team team(racks.fabric, pick_gpus(*racks.cluster, 144, 0));
  EXPECT_EQ(team.nodes(), 2u);
  EXPECT_EQ(team.domain(0).ranks, 72u);
  const Machines servers("{kind: hgx-h100, count: 4}");
  const Team part(servers.fabric, pick_gpus(*servers.cluster, 8, 2));
  EXPECT_EQ(part.nodes(), 4u);
  EXPECT_EQ(part.gpu(7), 25u);
}

// PXN is the sender's: on the way in, a GPU without a near NIC is reached through host memory.
TEST(Sharing, OnlyTheSenderHandsDataOver) {
  const Machines acp("{kind: acp-h100-2nic, count: 2}");
  const Team team(acp.fabric, pick_gpus(*acp.cluster, 16, 0));
  const Generation& hopper = generation_of("h100-sxm");
  const Sharing with(team, hopper, ib(), {.pxn = true});
  EXPECT_FALSE(with.to_network(1, 0).host_memory);
  EXPECT_TRUE(with.from_network(1, 0).host_memory);
  EXPECT_FALSE(with.from_network(0, 0).host_memory);
  const Sharing without(team, hopper, ib(), {.pxn = false});
  EXPECT_TRUE(without.to_network(1, 0).host_memory);
  EXPECT_FALSE(without.to_network(0, 0).host_memory);
}

TEST(Sharing, ALinkIsSharedEvenly) {
  const Machines machines("{kind: hgx-h100, count: 1}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 8, 0));
  Sharing sharing(team, generation_of("h100-sxm"), ib(), {});
  sharing.load(sharing.inside(0, 1), 2);
  sharing.load(sharing.inside(0, 2));
  const Bandwidth whole = sharing.share(sharing.inside(5, 6));
  EXPECT_EQ(whole.count(), std::int64_t{450} * 8 * 824 * 1'000'000);
  EXPECT_EQ(sharing.share(sharing.inside(0, 1)), whole / 3);
  EXPECT_EQ(sharing.share(sharing.inside(3, 1)), whole / 2);
}

// One thread of a port posts what goes out of it and completes what comes in.
TEST(Sharing, APortCountsWhatItPosts) {
  const Machines machines("{kind: hgx-h100, count: 2}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 16, 0));
  Sharing sharing(team, generation_of("h100-sxm"), ib(), {});
  const Path out = sharing.across(0, 0, 8, 0);
  sharing.load(out, 3);
  sharing.load(sharing.across(8, 0, 0, 0), 2);
  EXPECT_EQ(sharing.posted(out), 5u);
  EXPECT_EQ(sharing.posted(sharing.across(1, 1, 9, 1)), 0u);
  EXPECT_EQ(sharing.posted(sharing.inside(0, 1)), 0u);
}

// The chunks that NCCL's published rules give (src/enqueue.cc), and what aws-ofi-nccl makes of them.
TEST(Chunks, FollowThePublishedRules) {
  ChunkRule nvls{.algorithm = Algorithm::nvls, .channels = 16, .heads = 8, .ranks = 8};
  const auto of = [](ChunkRule rule, std::uint64_t mebibytes) {
    rule.bytes = mebibytes << 20;
    return chunk_size(rule) >> 10;
  };
  EXPECT_EQ(of(nvls, 4), 16u);
  EXPECT_EQ(of(nvls, 8), 32u);
  EXPECT_EQ(of(nvls, 64), 64u);
  EXPECT_EQ(of(nvls, 1024), 128u);
  nvls.nvls_chunk = 512 << 10;
  EXPECT_EQ(of(nvls, 2048), 64u);
  EXPECT_EQ(of(nvls, 4096), 512u);
  ChunkRule tree{.algorithm = Algorithm::nvls_tree, .channels = 16, .heads = 8, .ranks = 16, .nodes = 2};
  EXPECT_EQ(of(tree, 4), 32u);
  EXPECT_EQ(of(tree, 8), 64u);
  EXPECT_EQ(of(tree, 64), 128u);
  tree.nodes = 4;
  EXPECT_EQ(of(tree, 1024), 64u);
}

// Whatever the machines, sizes and choices: everybody ends with everything exactly once.
RC_GTEST_PROP(Plan, EveryProgramOfEveryPlanIsRight, ()) {
  static const Machines hgx("{kind: hgx-h100, count: 9}");
  static const Machines acp("{kind: acp-h100-2nic, count: 9}");
  static const Machines pcie("{kind: h100-pcie-8, count: 9}");
  const Machines& machines = **rc::gen::element(&hgx, &acp, &pcie);
  const auto per_server = *rc::gen::inRange(1u, 9u);
  const auto gpus = *rc::gen::inRange(2u, std::min(40u, 9 * per_server) + 1);
  const Team team(machines.fabric, pick_gpus(*machines.cluster, gpus, per_server));
  const auto operation = *rc::gen::elementOf(kOperations);
  const auto algorithm = *rc::gen::elementOf(kAlgorithms);
  const auto protocol = *rc::gen::elementOf(kProtocols);
  if (!why_not(team, operation, algorithm, protocol).empty() || algorithm == Algorithm::direct) RC_DISCARD("cannot be");
  PlanOptions given{.operation = operation,
                    .bytes = *rc::gen::inRange<std::uint64_t>(1, 1 << 16),
                    .choice = {algorithm, protocol, *rc::gen::inRange(1u, 5u)},
                    .stack = &ib()};
  given.chunk = *rc::gen::inRange<std::uint64_t>(200, 100'000);
  given.root = *rc::gen::inRange(0u, team.ranks());
  const Plan plan = make_plan(team, given);
  RC_ASSERT(plan.gpus == team.ranks());
  RC_ASSERT(!plan.different.empty());
  for (const auto& program : plan.programs) {
    const std::uint32_t blocks = program->blocks();
    // Of an all-gather's block, whoever sends it without having taken it is the owner: here only sums are looked at.
    if (operation == Operation::all_gather) continue;
    const auto holds = [&](std::uint32_t rank, std::uint32_t) {
      return operation != Operation::broadcast || rank == given.root;
    };
    Dataflow flow(*program, plan.ranks, plan.gpus, holds);
    RC_ASSERT(flow.run());
    std::uint32_t whole = 0;
    for (std::uint32_t rank = 0; rank < plan.gpus; ++rank)
      for (std::uint32_t block = 0; block < blocks; ++block)
        whole += operation == Operation::broadcast ? flow.has_only(rank, block, given.root) : flow.has_all(rank, block);
    if (operation == Operation::all_reduce || operation == Operation::broadcast) RC_ASSERT(whole == plan.gpus * blocks);
    if (operation == Operation::reduce) RC_ASSERT(flow.has_all(given.root, 0));
    if (operation == Operation::reduce_scatter) RC_ASSERT(whole >= blocks);
  }
}

// Laws that hold for any machine, from 10 % below to the bound itself.
TEST(Plan, RingsAreBoundByTheirNarrowestLinks) {
  const Machines machines("{kind: hgx-h100, count: 8}");
  const Team one(machines.fabric, pick_gpus(*machines.cluster, 8, 0));
  const double inside =
      busbw(one, Operation::all_reduce, std::uint64_t{8} << 30, {Algorithm::ring, Protocol::simple, 0});
  EXPECT_LT(inside, 371);
  EXPECT_GT(inside, 371 * 0.9);
  const Team eight(machines.fabric, pick_gpus(*machines.cluster, 64, 0));
  for (const Operation operation : {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter}) {
    const double outside = busbw(eight, operation, std::uint64_t{8} << 30, {Algorithm::ring, Protocol::simple, 0});
    EXPECT_LT(outside, 400) << name(operation);
    EXPECT_GT(outside, 400 * 0.95) << name(operation);
  }
}

TEST(Plan, BetweenTwoNodesATreeMovesWhatTheCardsCarry) {
  const Machines acp("{kind: acp-h100-2nic, count: 4}");
  const Team two(acp.fabric, pick_gpus(*acp.cluster, 16, 0));
  const double algbw =
      busbw(two, Operation::all_reduce, std::uint64_t{8} << 30, {Algorithm::tree, Protocol::simple, 0}) * 16 / 30;
  EXPECT_LT(algbw, 100);
  EXPECT_GT(algbw, 85);
  const double ring =
      busbw(two, Operation::all_reduce, std::uint64_t{8} << 30, {Algorithm::ring, Protocol::simple, 0}) * 16 / 30;
  EXPECT_LT(ring, 54) << "a ring crosses each NIC nearly twice";
}

// busbw = N / (N - 1) x the NIC's rate for N domains.
TEST(Plan, AllToAllFollowsTheLawOfDomains) {
  const Machines machines("{kind: hgx-h100, count: 4}");
  for (const std::uint32_t nodes : {2u, 4u}) {
    const Team team(machines.fabric, pick_gpus(*machines.cluster, 8 * nodes, 0));
    const double got =
        busbw(team, Operation::all_to_all, std::uint64_t{4} << 30, {Algorithm::direct, Protocol::simple, 0});
    const double ranks = 8 * nodes;
    const double law = 50.0 * static_cast<double>(ib().network.nic_per_mille) / 1e3 * (ranks - 1) / (ranks - 8);
    EXPECT_NEAR(got / law, 0.98, 0.03) << nodes;
  }
}

// GPUs 1 and 2 of each server have no NIC near them: what comes for them bounces, whatever the sender does.
TEST(Plan, AJobAwayFromTheCardsGoesThroughHostMemory) {
  const Machines acp("{kind: acp-h100-2nic, count: 2}");
  const auto bounces = [&](std::vector<std::uint32_t> gpus) {
    const Team team(acp.fabric, std::move(gpus));
    return make_plan(team, {.operation = Operation::all_reduce, .bytes = 1 << 20, .choice = {}, .stack = &ib()})
        .host_memory;
  };
  EXPECT_FALSE(bounces({0, 4, 8, 12}));
  EXPECT_FALSE(bounces({0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_TRUE(bounces({1, 2, 9, 10}));
}

// Eight NICs of 400G are more than NVLink has room for beside the ring itself, so rings leave by each other's NICs,
// from the GPU next to it, and cables join ports of the same number. Fewer or slower NICs do not ask for that.
TEST(Plan, RingsLeaveByEachOthersCardsWhereNvlinkIsNarrow) {
  const Machines machines("{kind: hgx-h100, count: 2}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 16, 0));
  PlanOptions given{.bytes = 1 << 30, .choice = {Algorithm::ring, Protocol::simple, 0}, .stack = &ib()};
  const Plan plan = make_plan(team, given);
  ASSERT_TRUE(plan.alternate);
  for (std::uint32_t channel = 0; channel < plan.programs.size(); ++channel) {
    const auto& order = static_cast<const Ring&>(*plan.programs[channel]).shape().order;
    EXPECT_EQ(std::set<std::uint32_t>(order.begin(), order.end()).size(), 16u);
    const Gates there = gates(team, order[7], order[8], plan.port_of[channel], true, true);
    const Gates back = gates(team, order[15], order[0], plan.port_of[channel], true, true);
    EXPECT_EQ(there.leaves, order[7]);
    EXPECT_EQ(there.enters, order[8]);
    EXPECT_EQ(there.leaves + 8, there.enters) << "the same rail";
    EXPECT_EQ(back.enters + 8, back.leaves) << "the same rail";
    EXPECT_FALSE(there.handed || back.handed);
  }
  EXPECT_GT(busbw(team, Operation::all_reduce, std::uint64_t{8} << 30, given.choice), 0.96 * 400);
  given.stack = stack_named("ib-nccl2.18");
  EXPECT_FALSE(make_plan(team, given).alternate);
  for (const std::string kind : {"acp-h100-2nic", "hgx-b200"}) {
    const Machines others("{kind: " + kind + ", count: 2}");
    const Team roomy(others.fabric, pick_gpus(*others.cluster, 16, 0));
    given.stack = &ib();
    EXPECT_FALSE(make_plan(roomy, given).alternate) << kind;
  }
}

// One process issues to its GPUs one after another; up to 2.8 as a group, which costs every operation more for each
// channel.
TEST(Plan, AnOperationIsNotIssuedFaster) {
  const Machines machines("{kind: dgx-a100, count: 1}");
  const auto plan = [&](std::uint32_t gpus, std::string_view stack, std::uint32_t channels) {
    const Team team(machines.fabric, pick_gpus(*machines.cluster, gpus, 0));
    return make_plan(team,
                     {.bytes = 8, .choice = {Algorithm::ring, Protocol::ll, channels}, .stack = stack_named(stack)});
  };
  const Launch& launch = stack_named("ib-one-process")->launch;
  EXPECT_EQ(plan(8, "ib-one-process", 1).least, nanoseconds(8 * launch.gpu_ns));
  EXPECT_EQ(plan(4, "ib-one-process", 24).least, nanoseconds(4 * launch.gpu_ns));
  const Plan group = plan(8, "ib-one-process-nccl2.8", 24);
  EXPECT_EQ(group.least, nanoseconds(8 * (launch.gpu_ns + 24 * launch.channel_ns)));
  EXPECT_EQ(group.launch - plan(8, "ib-one-process", 24).launch, nanoseconds(8 * 24 * launch.channel_ns));
  EXPECT_EQ(plan(8, "ib", 24).least, Duration(0));
}

// What a far GPU sends rests in host memory, and goes up from one PCIe switch and down to another: those links have
// room for a NIC, so rings lose what resting takes and no more.
TEST(Plan, WithoutPxnRingsOfFewCardsGoThroughHostMemory) {
  const Machines acp("{kind: acp-h100-2nic, count: 4}");
  const Team team(acp.fabric, pick_gpus(*acp.cluster, 32, 0));
  const Choice ring{Algorithm::ring, Protocol::simple, 0};
  const auto rests = [&](bool pxn) {
    PlanOptions options{.bytes = 1 << 30, .choice = ring, .stack = &ib()};
    options.pxn = pxn;
    return make_plan(team, options).host_memory;
  };
  EXPECT_FALSE(rests(true));
  EXPECT_TRUE(rests(false));
  EXPECT_NEAR(busbw(team, Operation::all_reduce, std::uint64_t{4} << 30, ring, false) /
                  busbw(team, Operation::all_reduce, std::uint64_t{4} << 30, ring, true),
              static_cast<double>(kBouncedPerMille) / 1000, 0.01);
}

// Eight NICs of 400G have sent and received twice through the memory of two sockets, 491 GB/s, before PCIe is full.
TEST(Plan, WithoutGpudirectManyCardsWaitForHostMemory) {
  const auto rate = [](const char* nics) {
    const Machines machines("{kind: hgx-h100, count: 4, nics: " + std::string(nics) + ", gpudirect: false}");
    const Team team(machines.fabric, pick_gpus(*machines.cluster, 32, 0));
    return busbw(team, Operation::all_reduce, std::uint64_t{4} << 30, {Algorithm::ring, Protocol::simple, 0}, true);
  };
  EXPECT_GT(rate("2"), 50);
  EXPECT_LT(rate("8"), 491.0 / 4 * 1.02);
  EXPECT_GT(rate("8"), 491.0 / 4 * 0.85);
}

// GPUs 0 to 3 are of one socket, 4 to 7 of the other.
TEST(Plan, GpusOfOneSocketShareItsMemory) {
  const Machines machines("{kind: hgx-h100, count: 4, gpudirect: false}");
  const auto rate = [&](std::vector<std::uint32_t> local) {
    std::vector<std::uint32_t> gpus;
    for (std::uint32_t server = 0; server < 4; ++server)
      for (const std::uint32_t gpu : local) gpus.push_back(8 * server + gpu);
    const Team team(machines.fabric, gpus);
    return busbw(team, Operation::all_reduce, std::uint64_t{4} << 30, {Algorithm::ring, Protocol::simple, 0}, true);
  };
  EXPECT_LT(rate({0, 1, 2, 3}), 245.0 / 4 * 1.02);
  EXPECT_GT(rate({0, 1, 4, 5}), 1.5 * rate({0, 1, 2, 3}));
}

TEST(Chunks, NvlsShrinksAtTheKinksOfTheH100Table) {
  const auto chunk = [](std::uint64_t bytes) {
    return chunk_size({.algorithm = Algorithm::nvls, .bytes = bytes, .channels = 16, .heads = 8, .ranks = 8});
  };
  EXPECT_EQ(chunk((8 << 20) - 1), 16u << 10);
  EXPECT_EQ(chunk(8 << 20), 32u << 10);
  EXPECT_EQ(chunk((64 << 20) - 1), 32u << 10);
  EXPECT_EQ(chunk(64 << 20), 64u << 10);
  EXPECT_EQ(chunk((1 << 30) - 1), 64u << 10);
  EXPECT_EQ(chunk(1 << 30), 128u << 10);
}

// Up to 2.21 NVLSTree begins with a whole step of the buffer, up to 2.18 however many nodes there are.
TEST(Chunks, OfNvlsTreeDependOnTheRelease) {
  const auto chunk = [](std::string_view stack, std::uint32_t nodes, std::uint64_t mebibytes) {
    return chunk_size({.algorithm = Algorithm::nvls_tree,
                       .bytes = mebibytes << 20,
                       .channels = 16,
                       .heads = 8,
                       .nodes = nodes,
                       .release = stack_named(stack)->release}) >>
           10;
  };
  EXPECT_EQ(chunk("ib-nccl2.18", 2, 2048), 512u);
  EXPECT_EQ(chunk("ib-nccl2.18", 2, 2047), 256u);
  EXPECT_EQ(chunk("ib-nccl2.18", 2, 511), 128u);
  EXPECT_EQ(chunk("ib-nccl2.18", 8, 2048), 512u);
  EXPECT_EQ(chunk("ib-nccl2.26", 2, 2048), 128u);
  EXPECT_EQ(chunk("ib-nccl2.26", 8, 2048), 64u);
  EXPECT_EQ(chunk("ib", 8, 2048), 64u);
}

TEST(Plan, AJobMaySayHowManyChannelsAreSetUp) {
  const Machines machines("{kind: hgx-h100, count: 4}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 32, 0));
  const auto channels = [&](Algorithm algorithm, std::uint64_t bytes, ChannelLimits limits) {
    PlanOptions given{
        .operation = Operation::all_reduce, .bytes = bytes, .choice = {algorithm, Protocol::simple, 0}, .stack = &ib()};
    given.limits = limits;
    return make_plan(team, given).choice.channels;
  };
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::nvls_tree}) {
    EXPECT_EQ(channels(algorithm, 1 << 30, {}), 16u) << name(algorithm);
    EXPECT_EQ(channels(algorithm, 1 << 30, {.least = 24}), 24u) << name(algorithm);
    EXPECT_EQ(channels(algorithm, 1 << 30, {.most = 8}), 8u) << name(algorithm);
    EXPECT_EQ(channels(algorithm, 1 << 30, {.least = 24, .most = 8}), 24u) << "as in NCCL";
    EXPECT_EQ(channels(algorithm, 1 << 10, {.least = 24}), 1u) << "of a small message they are not worth it";
  }
}

TEST(Chunks, ASmallMessageIsWorthOneChannel) {
  EXPECT_EQ(channels_used(24, Algorithm::ring, Protocol::ll, 8, 8), 1u);
  EXPECT_EQ(channels_used(24, Algorithm::ring, Protocol::ll, 1 << 20, 8), 24u);
  EXPECT_EQ(channels_used(24, Algorithm::ring, Protocol::simple, 128 << 10, 8), 4u);
}

// Point-to-point messages: all channels among peers, fewer where a part would be small, and all of them before 2.9.
TEST(Chunks, PeersShareTheChannelsThatNcclGivesThem) {
  const Release newest = releases().front();
  const Release old = stack_named("ib-nccl2.8")->release;
  const auto channels = [](bool one_peer, std::uint64_t bytes, const Release& release, std::uint32_t nodes = 1) {
    return pair_cut({24, 8 * nodes, nodes, one_peer, bytes, release}, Protocol::simple).channels;
  };
  EXPECT_EQ(channels(false, 8, old), 32u);
  EXPECT_EQ(channels(false, 8, newest), 8u);
  EXPECT_EQ(channels(false, std::uint64_t{1} << 30, newest), 32u);
  EXPECT_EQ(channels(true, 8, newest), 1u);
  EXPECT_EQ(channels(true, std::uint64_t{128} << 20, newest), 8u);
  EXPECT_EQ(channels(true, std::uint64_t{256} << 20, newest), 16u);
  EXPECT_EQ(channels(true, std::uint64_t{256} << 20, newest, 2), 2u) << "of the network";
}

// The threshold of LL (16 KiB) is of a channel; from 2.22 to 2.28 of each that a peer could have had, 32 here.
TEST(Chunks, PeersGetLlByTheRulesOfTheirRelease) {
  const auto most = [](std::string_view release, std::uint32_t nodes = 1) {
    std::uint64_t bytes = 0;  // to a peer, of which LL is the last to carry
    for (std::uint64_t each = 1024; each <= 4 << 20; each *= 2)
      if (pair_protocol({24, 8 * nodes, nodes, true, each, stack_named(release)->release}) == Protocol::ll)
        bytes = each;
    return bytes;
  };
  EXPECT_EQ(most("ib-nccl2.13"), 0u);
  EXPECT_EQ(most("ib-nccl2.14"), 16u << 10);
  EXPECT_EQ(most("ib-nccl2.21"), 16u << 10);
  EXPECT_EQ(most("ib-nccl2.22"), 512u << 10);
  EXPECT_EQ(most("ib-nccl2.28"), 512u << 10);
  EXPECT_EQ(most("ib-nccl2.29"), 16u << 10);
  EXPECT_EQ(most("ib-nccl2.26", 2), 0u) << "no buffers of LL between nodes";
  const PairRule rule{24, 8, 1, false, 8 * (64 << 10), stack_named("ib-nccl2.26")->release};
  EXPECT_EQ(pair_cut(rule, Protocol::ll).each, 4u) << "parts of 8 KiB would be eight, and eight peers share 32";
  EXPECT_EQ(pair_cut(rule, Protocol::simple).each, 1u);
}

// Fitted from 512 MiB up, a hop of a rack's NVLS says nothing of less: NCCL's own figure stands in.
TEST(Plan, ARackIsNotSlowWhereNobodyMeasuredIt) {
  const Machines rack("{kind: gb200-nvl72, count: 18}");
  const Team team(rack.fabric, pick_gpus(*rack.cluster, 72, 0));
  const auto inside = [&](std::uint64_t bytes) {
    const Choice nvls{Algorithm::nvls, Protocol::simple, 0};
    return make_plan(team, {.bytes = bytes, .choice = nvls, .stack = &ib()}).inside;
  };
  EXPECT_EQ(inside(8), nanoseconds(25'000) / 4);
  EXPECT_LT(inside(std::uint64_t{8} << 20), nanoseconds(10'000));
  EXPECT_EQ(inside(std::uint64_t{512} << 20), nanoseconds(102'000));
  EXPECT_EQ(inside(std::uint64_t{8} << 30), nanoseconds(102'000));
}

struct Pick {
  std::string servers;
  std::uint32_t gpus;
  std::uint64_t bytes;
  Algorithm algorithm;
  std::string stack = "ib";
};

// What NCCL is known to choose: NVLS from 5 GPUs of an H200 server on, not yet with 5 of B200; rings or trees below;
// NVLSTree or a tree between two nodes; between many, until 2.27, rings for what is large enough.
TEST(Tuner, ChoosesWhatNcclIsKnownToChoose) {
  const std::uint64_t large = std::uint64_t{8} << 30;
  const std::vector<Pick> known = {
      {"{kind: hgx-h200, count: 1}", 4, large, Algorithm::ring, "ib-nccl2.26"},
      {"{kind: hgx-h200, count: 1}", 5, large, Algorithm::nvls, "ib-nccl2.26"},
      {"{kind: hgx-h200, count: 1}", 8, large, Algorithm::nvls},
      {"{kind: hgx-b200, count: 1}", 5, large, Algorithm::ring, "ib-nccl2.26"},
      {"{kind: hgx-b200, count: 1}", 8, large, Algorithm::nvls},
      {"{kind: dgx-a100, count: 1}", 8, large, Algorithm::ring},
      {"{kind: hgx-h100, count: 2}", 16, large, Algorithm::nvls_tree},
      {"{kind: p4de.24xlarge, count: 2}", 16, large, Algorithm::tree},
      {"{kind: hgx-b200, count: 4}", 32, large, Algorithm::ring, "ib-nccl2.26"},
      {"{kind: hgx-h100, count: 8}", 64, std::uint64_t{512} << 20, Algorithm::nvls_tree, "ib-nccl2.26"},
      {"{kind: hgx-h100, count: 8}", 64, std::uint64_t{1} << 30, Algorithm::ring, "ib-nccl2.26"},
      {"{kind: hgx-h100, count: 8}", 64, std::uint64_t{1} << 30, Algorithm::nvls_tree},
      {"{kind: hgx-h100, count: 16}", 128, 1024, Algorithm::tree},
  };
  for (const Pick& pick : known) {
    const Machines machines(pick.servers);
    const Team team(machines.fabric, pick_gpus(*machines.cluster, pick.gpus, 0));
    const Estimate best = estimates(team, Operation::all_reduce, pick.bytes, *stack_named(pick.stack)).front();
    EXPECT_EQ(best.algorithm, pick.algorithm) << pick.servers << " " << pick.gpus << ": " << name(best.algorithm);
  }
}

TEST(Tuner, KeepsToSimpleWhereTheNetworkDoesNotKeepOrder) {
  const Machines p4("{kind: p4de.24xlarge, count: 2}");
  const Team team(p4.fabric, pick_gpus(*p4.cluster, 16, 0));
  for (const Estimate& each : estimates(team, Operation::all_reduce, 8, *stack_named("efa")))
    EXPECT_EQ(each.protocol, Protocol::simple);
  const Machines p5("{kind: p5.48xlarge, count: 2}");
  const Team newer(p5.fabric, pick_gpus(*p5.cluster, 16, 0));
  EXPECT_EQ(estimates(newer, Operation::all_reduce, 8, *stack_named("efa")).front().protocol, Protocol::ll);
}

TEST(Names, OfVariablesAreThoseThatNcclKnows) {
  EXPECT_EQ(refused_word("NCCL_ALGO", "Foo"), "Foo");
  EXPECT_EQ(refused_word("NCCL_ALGO", "ring,Foo"), "Foo");
  EXPECT_EQ(refused_word("NCCL_ALGO", "^NVLS,CollnetDirect"), "");
  EXPECT_EQ(refused_word("NCCL_ALGO", "allreduce:tree;broadcast:ringo"), "ringo");
  EXPECT_EQ(refused_word("NCCL_PROTO", "LL128,simple"), "");
  EXPECT_EQ(refused_word("NCCL_PROTO", "LL256"), "LL256");
  EXPECT_EQ(refused_word("NCCL_IB_HCA", "Foo"), "");
  EXPECT_EQ(refused_word("NCCL_P2P_LEVEL", "PXB"), "");
  EXPECT_EQ(refused_word("NCCL_P2P_LEVEL", "4"), "");
  EXPECT_EQ(refused_word("NCCL_P2P_LEVEL", "NVLINK"), "NVLINK");
  EXPECT_EQ(refused_word("NCCL_P2P_DISABLE", "yes"), "yes");
  EXPECT_EQ(refused_word("NCCL_IB_TC", "0x6a"), "");
  EXPECT_EQ(words_for("NCCL_NVLS_ENABLE"), "a whole number");
  EXPECT_EQ(list_for(Operation::all_reduce, "ring;allreduce:tree,nvls;broadcast:ring"), "tree,nvls");
  EXPECT_EQ(list_for(Operation::all_gather, "allreduce:tree;ring"), "ring");
  EXPECT_EQ(list_for(Operation::all_gather, "allreduce:tree"), "");
  EXPECT_EQ(not_modelled("COLLNETCHAIN"), "COLLNETCHAIN");
  EXPECT_EQ(not_modelled("Ring,CollnetChain"), "") << "Ring is left";
  EXPECT_EQ(not_modelled("^CollnetChain"), "");
  EXPECT_TRUE(listed("CollnetDirect", "CollNet")) << "the same by its newer name";
  EXPECT_TRUE(listed("", "Ring"));
  EXPECT_TRUE(listed("ring,tree", "Ring"));
  EXPECT_FALSE(listed("^ring", "Ring"));
}

TEST(Names, AreReadInEitherCaseAndCountBandwidthAsNcclTests) {
  EXPECT_EQ(operation_named("all-reduce"), Operation::all_reduce);
  EXPECT_EQ(algorithm_named("nvls_tree"), Algorithm::nvls_tree);
  EXPECT_EQ(protocol_named("simple"), Protocol::simple);
  EXPECT_EQ(algorithm_named("NVLSTre"), std::nullopt);
  const Ratio ring = bus_factor(Operation::all_reduce, 8);
  EXPECT_EQ(ring.over * 4, ring.under * 7);  // 1.75
  EXPECT_EQ(bus_factor(Operation::all_to_all, 4).over * 4, bus_factor(Operation::all_to_all, 4).under * 3);
  EXPECT_EQ(bus_factor(Operation::broadcast, 8).over, bus_factor(Operation::broadcast, 8).under);
}

// GPU 0 stands next to one of two NICs, GPU 3 reaches it through host memory: the links have room for that, and still
// it takes longer.
TEST(Plan, ANicThatIsReachedThroughHostMemoryGivesLess) {
  const Machines machines("{kind: hgx-h100, count: 2, nics: 2}");
  const auto rate = [&](std::vector<std::uint32_t> gpus) {
    const Team team(machines.fabric, std::move(gpus));
    const PlanOptions options{.operation = Operation::send_recv,
                              .bytes = 64 << 20,
                              .choice = {Algorithm::direct, Protocol::simple, 2},
                              .stack = stack_named("ib")};
    Step step;
    EXPECT_TRUE(make_plan(team, options).programs[0]->step(0, 1, 0, step));
    return static_cast<double>(step.edge.rate.count());
  };
  EXPECT_NEAR(rate({3, 11}) / rate({0, 8}), 0.87, 0.001);
}

// Each rail is a network of its own: of eight GPUs that a rank sends to without PXN, it reaches one by its own NIC and
// the others through the root complexes, which all ranks of the server share.
TEST(Plan, WithoutPxnOtherRailsAreReachedThroughHostMemory) {
  const auto rate = [](const char* fabric, bool pxn) {
    const Machines machines("{kind: hgx-h100, count: 4}", fabric);
    const Team team(machines.fabric, pick_gpus(*machines.cluster, 32, 0));
    const PlanOptions options{.operation = Operation::all_to_all,
                              .bytes = 64 << 20,
                              .choice = {Algorithm::direct, Protocol::simple, 8},
                              .stack = stack_named("ib"),
                              .pxn = pxn};
    Step step;
    const Plan plan = make_plan(team, options);
    EXPECT_TRUE(plan.programs[0]->step(0, 1, 0, step));
    return std::pair(static_cast<double>(step.edge.rate.count()), plan.host_memory);
  };
  const char* const kApart = "{kind: rail-only, servers_per_leaf: 4}";
  const char* const kJoined = "{kind: rail-optimized, scalable_unit: 4}";
  EXPECT_EQ(rate(kApart, true), rate(kJoined, true));
  EXPECT_EQ(rate(kJoined, false), rate(kJoined, true));
  EXPECT_FALSE(rate(kJoined, false).second);
  EXPECT_TRUE(rate(kApart, false).second);
  EXPECT_LT(rate(kApart, false).first, 0.9 * rate(kApart, true).first);
}

// Ranks of a ring have a part each, of which chunks are cut; where the whole goes from one to all or from all to one,
// they pass on all of it.
TEST(Plan, AChainIsNotCutIntoTheRanksParts) {
  const Machines machines("{kind: hgx-h100, count: 1}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 8, 0));
  constexpr std::uint64_t kBytes = 8 << 20;
  for (const Operation operation : {Operation::broadcast, Operation::reduce, Operation::all_reduce,
                                    Operation::all_gather, Operation::reduce_scatter}) {
    const auto [channels, chunk] = cut_of(team, {.operation = operation,
                                                 .bytes = kBytes,
                                                 .choice = {Algorithm::ring, Protocol::simple, 0},
                                                 .stack = stack_named("ib")});
    const std::uint64_t part = (kBytes + channels * 8 - 1) / (channels * 8);
    if (operation == Operation::broadcast || operation == Operation::reduce)
      EXPECT_GT(chunk, part) << name(operation);
    else
      EXPECT_LE(chunk, part) << name(operation);
  }
}

}  // namespace
}  // namespace weft::collective
