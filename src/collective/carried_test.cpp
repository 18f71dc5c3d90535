#include "collective/carried.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "collective/gates.hpp"
#include "collective/testing_carried.hpp"
#include "collective/timing.hpp"

namespace weft::collective {
namespace {

using testing::by_flows;
using testing::by_packets;
using testing::kRails;
using testing::Machines;
using testing::Network;

constexpr std::uint64_t kMiB = 1 << 20;

PlanOptions all_reduce(std::uint64_t bytes, Choice choice, std::string_view stack = "ib") {
  return {.operation = Operation::all_reduce, .bytes = bytes, .choice = choice, .stack = stack_named(stack)};
}

double us(Duration time) { return static_cast<double>(time.count()) / 1e6; }

double message_level(const Team& team, const PlanOptions& options) {
  return us(time_of(team, options, testing::by_lanes).time);
}

double carried(const Machines& machines, const Team& team, const PlanOptions& options, const Carry& execute) {
  return us(carry(machines.fabric, {{&team, options}}, {}, execute).jobs.at(0).time);
}

// All servers below the same leaves: nothing collides, so all that a step takes is its share of the links inside
// servers and of the NICs, which is the same to all.
TEST(Carried, WithoutCongestionAllFidelitiesAgree) {
  const Machines machines("{kind: hgx-h100, count: 4}", kRails);
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 32, 0));
  struct Case {
    Algorithm algorithm;
    std::uint64_t bytes;
    std::string_view stack = "ib";
  };
  for (const auto& [algorithm, bytes, stack] :
       {Case{Algorithm::ring, 4096 * kMiB, "ib-nccl2.18"}, Case{Algorithm::ring, 4096 * kMiB},
        Case{Algorithm::hierarchical, 1024 * kMiB}, Case{Algorithm::tree, 4096 * kMiB},
        Case{Algorithm::nvls_tree, 4096 * kMiB, "efa"}, Case{Algorithm::nvls_tree, 4096 * kMiB}}) {
    const PlanOptions options = all_reduce(bytes, {algorithm, Protocol::simple, 0}, stack);
    const double flow = carried(machines, team, options, by_flows(machines.fabric, Network::spread));
    EXPECT_NEAR(flow / message_level(team, options), 1, 0.02) << name(algorithm) << " " << stack;
  }
}

TEST(Carried, PacketsAgreeWithFlowsWhereNothingCollides) {
  const Machines machines("{kind: hgx-h100, count: 4}", kRails);
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 32, 0));
  struct Case {
    Algorithm algorithm;
    double apart = 0.05;
  };
  for (const auto& [algorithm, apart] :
       {Case{Algorithm::ring}, Case{Algorithm::tree}, Case{Algorithm::nvls_tree, 0.06}, Case{Algorithm::hierarchical}})
    for (const std::uint64_t bytes : {64 * kMiB, 256 * kMiB}) {
      const PlanOptions options = all_reduce(bytes, {algorithm, Protocol::simple, 0});
      const double flow = carried(machines, team, options, by_flows(machines.fabric, Network::spread));
      const double packet = carried(machines, team, options, by_packets(machines.fabric, Network::spread));
      EXPECT_NEAR(packet / flow, 1, apart) << name(algorithm) << " " << bytes;
    }
}

// A chain leaves a rack by a GPU that need not be in the server of the channel's NIC. Without PXN nothing leads there:
// it was sent nowhere, and waited for.
TEST(Carried, WithoutPxnARackIsLeftByTheNicsOfTheSender) {
  const Machines machines("{kind: gb200-nvl72, count: 36}", "{kind: rail-optimized, scalable_unit: 36}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, machines.cluster->gpus, 0));
  PlanOptions options{.operation = Operation::broadcast,
                      .bytes = 4 * kMiB,
                      .choice = {Algorithm::ring, Protocol::ll128, 4},
                      .stack = stack_named("ib")};
  options.pxn = false;
  const double message = us(time_among_many(team, options, testing::by_lanes).time);
  const double flow = carried(machines, team, options, by_flows(machines.fabric, Network::spread));
  EXPECT_NEAR(flow / message, 1, 0.1);
  EXPECT_NEAR(carried(machines, team, options, by_packets(machines.fabric, Network::spread)) / flow, 1, 0.1);
}

// Their way is longer than eight of them take one after the other, and the first of them meet windows that are not
// open.
TEST(Carried, AChainOfSmallChunksKeepsItsPace) {
  const Machines machines("{kind: hgx-h100, count: 4}", kRails);
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 32, 0));
  const PlanOptions options{.operation = Operation::broadcast,
                            .bytes = 64 * kMiB,
                            .choice = {Algorithm::ring, Protocol::ll128, 4},
                            .stack = stack_named("ib")};
  const double message = us(time_among_many(team, options, testing::by_lanes).time);
  for (const Carry& execute :
       {by_flows(machines.fabric, Network::spread), by_packets(machines.fabric, Network::spread)})
    EXPECT_NEAR(carried(machines, team, options, execute) / message, 1, 0.03);
}

// Where data rest in host memory, what they share is the links between PCIe switches and root complexes: of the same
// switch where NICs stand next to their GPUs (and do not reach them), of different ones in ACP's servers.
TEST(Carried, ThroughHostMemoryAllFidelitiesAgree) {
  struct Case {
    const char* servers;
    std::vector<std::uint32_t> gpus;
  };
  for (const auto& [servers, gpus] : {Case{"{kind: hgx-h100, count: 2, gpudirect: false}", {0, 1, 2, 3, 8, 9, 10, 11}},
                                      Case{"{kind: acp-h100-2nic, count: 4}", {1, 2, 9, 10, 17, 18, 25, 26}}}) {
    const Machines machines(servers, kRails);
    const Team team(machines.fabric, gpus);
    const PlanOptions options = all_reduce(512 * kMiB, {Algorithm::ring, Protocol::simple, 0});
    ASSERT_TRUE(make_plan(team, options).host_memory);
    const double message = message_level(team, options);
    EXPECT_NEAR(carried(machines, team, options, by_flows(machines.fabric, Network::spread)) / message, 1, 0.1)
        << servers;
    EXPECT_NEAR(carried(machines, team, options, by_packets(machines.fabric, Network::spread)) / message, 1, 0.1)
        << servers;
  }
}

// Eight NICs that do not reach their GPUs: before any link is full, the memory of the sockets is, which every byte
// enters and leaves on its way out, and again on its way in.
TEST(Carried, HostMemoryIsAsFastForAllFidelities) {
  const Machines machines("{kind: hgx-h100, count: 2, gpudirect: false}", kRails);
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 16, 0));
  const PlanOptions options = all_reduce(512 * kMiB, {Algorithm::ring, Protocol::simple, 0});
  const double bound = 512.0 * kMiB * 2 * 15 / 16 / (2 * 245e3 / 4);  // us: 245 GB/s of each socket, four times
  const double message = message_level(team, options);
  EXPECT_GT(message, bound);
  for (const Carry& execute :
       {by_flows(machines.fabric, Network::spread), by_packets(machines.fabric, Network::spread)}) {
    const double time = carried(machines, team, options, execute);
    EXPECT_GT(time, bound);
    EXPECT_NEAR(time / message, 1, 0.05);
  }
}

// Four NICs of 50 GB/s for eight GPUs: NVLink has room, the NICs are what a ring is bound by. Headers are 64 of 4160
// bytes. Each of 32 blocks crosses a NIC 62 times, over four NICs.
TEST(Carried, ARingNeverBeatsItsCardsAndNearlyReachesThem) {
  const Machines machines("{kind: hgx-h100, count: 4, nics: 4}", kRails);
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 32, 0));
  const PlanOptions options = all_reduce(512 * kMiB, {Algorithm::ring, Protocol::simple, 0});
  const double bound = 512.0 * kMiB * 2 * 31 / 32 / (4 * 50e3);  // us
  for (const Carry& execute :
       {by_flows(machines.fabric, Network::spread), by_packets(machines.fabric, Network::spread)}) {
    const double time = carried(machines, team, options, execute);
    EXPECT_GT(time, bound * 4160 / 4096);
    EXPECT_LT(time, bound * 1.12);
  }
}

//   leaf0: servers 0 and 1    leaf1: servers 2 and 3     eight uplinks each; a ring sends eight flows up, one per NIC
TEST(Carried, WhereFlowsCollideTheFullestLinkDecides) {
  const Machines machines("{kind: hgx-h100, count: 4}",
                          "{kind: tor-clos, servers_per_leaf: 2, spines: 8, oversubscription: 2, "
                          "link: {rate: 400Gbps, cable: 5m}}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 32, 0));
  const PlanOptions options = all_reduce(256 * kMiB, {Algorithm::ring, Protocol::simple, 8});
  const double spread = carried(machines, team, options, by_packets(machines.fabric, Network::spread));
  double slowest = 0;
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    std::uint64_t fullest = 0;
    std::uint64_t nic = 0;
    const auto flows = by_flows(machines.fabric, Network::hashed, seed);
    const CarriedResult flow = carry(machines.fabric, {{&team, options}}, {}, flows);
    for (const schedule::LinkRecord& link : flow.run.links) {
      if (link.from.starts_with("leaf") && link.to.starts_with("spine")) fullest = std::max(fullest, link.bytes);
      if (link.from.find("/nic") != std::string::npos) nic = std::max(nic, link.bytes);
    }
    const auto balls = static_cast<double>(fullest) / static_cast<double>(nic);  // flows on the fullest uplink
    const double packet = carried(machines, team, options, by_packets(machines.fabric, Network::hashed, seed));
    EXPECT_GE(balls, 1.9) << "eight flows hardly ever find eight links";
    // Each flow carries 62 of 32 blocks of its channel; headers are 64 of 4160 bytes.
    const double bound = balls * 256.0 * kMiB / 8 * 62 / 32 * 4160 / 4096 / 50e3;  // us
    EXPECT_GT(packet, bound) << seed << ": " << balls;
    EXPECT_LT(packet, bound * 1.1) << seed << ": " << balls;
    EXPECT_NEAR(us(flow.jobs[0].time) / packet, 1, 0.15) << seed;
    slowest = std::max(slowest, packet);
  }
  EXPECT_GT(slowest, 1.5 * spread);
}

// What is left out is what would have been.
TEST(Carried, SkippedRoundsTakeWhatTheyWouldHaveTaken) {
  const Machines machines("{kind: hgx-h100, count: 2}", kRails);
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 16, 0));
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::nvls_tree}) {
    // Eight heads have a part each: as many rounds take more bytes.
    const std::uint64_t bytes = (algorithm == Algorithm::nvls_tree ? 256 : 64) * kMiB;
    PlanOptions options = all_reduce(bytes, {algorithm, Protocol::simple, 4});
    options.chunk = 32 << 10;
    const Carry execute = by_flows(machines.fabric, Network::spread);
    const CarriedResult some = carry(machines.fabric, {{&team, options}}, {}, execute);
    EXPECT_GT(some.jobs[0].skipped, 0u) << name(algorithm);
    const Conditions whole{.ranks = {{0, 1000}}, .starts = {}};  // a rank that is as fast as it should be
    options.conditions = &whole;
    const CarriedResult all = carry(machines.fabric, {{&team, options}}, {}, execute);
    EXPECT_EQ(all.jobs[0].skipped, 0u);
    EXPECT_NEAR(us(some.jobs[0].time) / us(all.jobs[0].time), 1, 0.02) << name(algorithm);
  }
}

// Rounds are alike at once, but packets are marked: what senders will do about it shows later only.
TEST(Carried, NoRoundsAreSkippedBeforeSendersHaveFoundTheirRates) {
  const Machines machines("{kind: hgx-h100, count: 2}", kRails);
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 16, 0));
  PlanOptions options = all_reduce(64 * kMiB, {Algorithm::ring, Protocol::simple, 4});
  options.chunk = 32 << 10;
  std::uint64_t marked = 0;
  const Carry execute = [&, flows = by_flows(machines.fabric, Network::spread)](schedule::Schedule& work) {
    schedule::RunResult made = flows(work);
    made.counters.marked = marked;
    return made;
  };
  const auto skipped = [&](Duration settles) {
    return carry(machines.fabric, {{&team, options}}, {.messages = 0, .settles = settles}, execute).jobs.at(0).skipped;
  };
  EXPECT_GT(skipped(nanoseconds(1'000'000'000)), 0u) << "nobody is told to slow down";
  marked = 1;
  EXPECT_GT(skipped(Duration(0)), 0u);
  EXPECT_GT(skipped(nanoseconds(1)), 0u);
  EXPECT_EQ(skipped(nanoseconds(1'000'000'000)), 0u);
}

TEST(Carried, WhatSwitchesReduceNeedsThem) {
  const Machines with("{kind: hgx-h100, count: 2}", kRails);
  const Machines without("{kind: hgx-h100, count: 2, p2p: false}", kRails);
  const Team joined(with.fabric, pick_gpus(*with.cluster, 16, 0));
  const Team apart(without.fabric, pick_gpus(*without.cluster, 16, 0));
  for (const Algorithm each : {Algorithm::ring, Algorithm::tree}) {
    EXPECT_EQ(why_not_carried(joined, each), "");
    EXPECT_EQ(why_not_carried(apart, each), "");
  }
  for (const Algorithm each : {Algorithm::nvls, Algorithm::nvls_tree}) {
    EXPECT_EQ(why_not_carried(joined, each), "");
    EXPECT_NE(why_not_carried(apart, each), "");
  }
  EXPECT_NE(why_not_carried(joined, Algorithm::collnet), "") << "at message level only";
}

TEST(Carried, MessagesHaveALimit) {
  const Machines machines("{kind: hgx-h100, count: 2}", kRails);
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 16, 0));
  const Carry never = [](schedule::Schedule&) -> schedule::RunResult { throw std::logic_error("begun"); };
  const CarriedResult result =
      carry(machines.fabric, {{&team, all_reduce(kMiB, {Algorithm::ring, Protocol::ll, 1})}}, {.messages = 400}, never);
  EXPECT_EQ(result.stopped_by, "messages");
}

// ACP: NICs next to GPUs 0 and 4. Channel 1 comes in at GPU 4 and leaves by its NIC, whoever is last in the node.
TEST(Gates, ChannelsLeaveByTheirPortAndArriveWhereItStands) {
  const Machines acp("{kind: acp-h100-2nic, count: 2}");
  const Team team(acp.fabric, pick_gpus(*acp.cluster, 16, 0));
  const Gates out = gates(team, 3, 12, 1, true);
  EXPECT_EQ(out.leaves, 4u);
  EXPECT_EQ(out.enters, 12u);
  EXPECT_TRUE(out.handed);
  EXPECT_FALSE(gates(team, 4, 12, 1, true).handed) << "it stands next to the NIC";
  EXPECT_FALSE(gates(team, 3, 12, 1, false).handed);
  EXPECT_EQ(gates(team, 3, 12, 1, false).leaves, 4u);
  // Everybody to everybody: in by the receiver's NIC, out by the same one of the sender's server.
  EXPECT_EQ(gates(team, 0, 14, kByReceiver, true).leaves, 4u);
  EXPECT_EQ(gates(team, 0, 14, kByReceiver, false).leaves, 0u);
  EXPECT_EQ(gates(team, 0, 14, kByReceiver, true).enters, 12u);
}

// One channel over two servers: of the eight NICs of each it comes in by one and leaves by another, of the same rail.
TEST(Carried, PacketsLeaveByTheCardsThatThePlanNames) {
  const Machines machines("{kind: hgx-h100, count: 2}", kRails);
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 16, 0));
  std::vector<std::string> used;
  const Carry execute = [&](schedule::Schedule& work) {
    sim::PacketSim engine(machines.fabric, {});
    schedule::RunResult result = sim::PacketRun(work, engine, true, testing::host_rates()).run();
    engine.collect_links(result, 100);
    used.clear();
    for (const schedule::LinkRecord& link : result.links)
      if (link.bytes > kMiB && link.from.find("/nic") != std::string::npos) used.push_back(link.from);
    return result;
  };
  carry(machines.fabric, {{&team, all_reduce(16 * kMiB, {Algorithm::ring, Protocol::simple, 1})}}, {}, execute);
  std::sort(used.begin(), used.end());
  EXPECT_EQ(used, (std::vector<std::string>{"s0/nic1", "s1/nic0"}));
}

// Two jobs on GPUs of the same servers: beside each other on the NICs where both use the same ones, and without a
// trace of each other where each has its own.
TEST(Carried, JobsThatShareCardsShareTheirRate) {
  const Machines machines("{kind: hgx-h100, count: 4}", kRails);
  const auto every_eighth = [&](std::uint32_t first) {
    return std::vector<std::uint32_t>{first, first + 8, first + 16, first + 24};
  };
  const Team a(machines.fabric, every_eighth(0));
  const Team b(machines.fabric, every_eighth(1));
  const PlanOptions options = all_reduce(64 * kMiB, {Algorithm::ring, Protocol::simple, 2});
  for (const Carry& execute :
       {by_flows(machines.fabric, Network::spread), by_packets(machines.fabric, Network::spread)}) {
    const double alone = carried(machines, a, options, execute);
    const CarriedResult apart = carry(machines.fabric, {{&a, options}, {&b, options}}, {}, execute);
    EXPECT_NEAR(us(apart.jobs[1].time) / alone, 1, 0.01);
    const CarriedResult together = carry(machines.fabric, {{&a, options}, {&a, options}}, {}, execute);
    EXPECT_GT(us(together.jobs[0].time) / alone, 1.75) << "latencies are not shared";
    EXPECT_LT(us(together.jobs[0].time) / alone, 2.05);
  }
}

// The same at message level, where jobs are told what the others take.
TEST(Sharing, JobsBesideEachOtherShareLinks) {
  const Machines machines("{kind: hgx-h100, count: 4}");
  const Team a(machines.fabric, {0, 8, 16, 24});
  const Team b(machines.fabric, {1, 9, 17, 25});
  PlanOptions options = all_reduce(1024 * kMiB, {Algorithm::ring, Protocol::simple, 2});
  const double alone = message_level(a, options);
  const auto taken_by = [&](const Team& team) {
    TakenByOthers taken;
    const Timing timing = time_of(team, options, testing::by_lanes);
    add_to(taken, timing.plan, timing.time);
    return taken;
  };
  const TakenByOthers same = taken_by(a);
  const TakenByOthers other = taken_by(b);
  options.beside = &other;
  EXPECT_EQ(message_level(a, options), alone);
  options.beside = &same;
  EXPECT_NEAR(message_level(a, options) / alone, 2, 0.1);
}

// A link is shared by what crosses it: four steps beside one of another job have four fifths, and one beside four what
// the others leave or an equal part.
TEST(Sharing, ALinkIsSharedByStepsAndNotByJobsAlone) {
  const Bandwidth link(100);
  const Taken one{link, 1, NetworkLinks::kWhole};
  EXPECT_EQ(one.left_of(link, 4 * NetworkLinks::kWhole), Bandwidth(80));
  EXPECT_EQ(one.left_of(link, NetworkLinks::kWhole), Bandwidth(50));
  const Taken four{link, 1, 4 * NetworkLinks::kWhole};
  EXPECT_EQ(four.left_of(link, NetworkLinks::kWhole), Bandwidth(50));
  const Taken little{Bandwidth(10), 1, 4 * NetworkLinks::kWhole};
  EXPECT_EQ(little.left_of(link, NetworkLinks::kWhole), Bandwidth(90));
}

// NVLink within a rack of 72, NICs between racks.
TEST(Carried, RacksAreDomainsLikeServers) {
  const Machines racks("{kind: gb200-nvl72, count: 36}",
                       "{kind: single-chassis, switch: {kind: quantum-2, ports: 4096, rate: 800Gbps}}");
  const Team team(racks.fabric, {0, 5, 10, 15, 20, 71, 72, 77, 82, 87, 92, 143});  // from trays all over the racks
  ASSERT_EQ(team.nodes(), 2u);
  const PlanOptions options = all_reduce(256 * kMiB, {Algorithm::ring, Protocol::simple, 4});
  const double flow = carried(racks, team, options, by_flows(racks.fabric, Network::spread));
  EXPECT_NEAR(flow / message_level(team, options), 1, 0.1);
}

}  // namespace
}  // namespace weft::collective
