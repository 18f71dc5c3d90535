#include "sim/flow/flow_sim.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "schedule/testing_script.hpp"
#include "sim/flow/flow_scatter.hpp"
#include "sim/host/testing_hosts.hpp"
#include "sim/packet/packet_run.hpp"
#include "sim/packet/testing_sim.hpp"
#include "sim/testing_filling.hpp"

namespace weft::sim {
namespace {

using schedule::FlowRecord;
using schedule::Instruction;
using schedule::RunResult;
using schedule::Script;
using testing::fat_tree;

constexpr std::uint64_t kPayload = 4096;

FlowConfig ecmp() {
  FlowConfig config;
  config.split = false;
  return config;
}

Script one_message(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, std::uint32_t ranks = 64) {
  Script script(ranks);
  script.add(from, {Instruction::put(to, bytes)});
  return script;
}

Script all_shifted(std::uint32_t by, std::uint64_t bytes, std::uint32_t ranks = 64) {
  Script script(ranks);
  for (std::uint32_t i = 0; i < ranks; ++i) script.add(i, {Instruction::put((i + by) % ranks, bytes)});
  return script;
}

RunResult run_script(Script script, const FlowConfig& config, const fabric::Fabric& fabric = fat_tree()) {
  FlowRoutes routes(fabric, config);
  return run_flows(script, routes, {true, {}});
}

SimConfig packets_of(const FlowConfig& config) {
  SimConfig packets;
  packets.stack.srd.payload = config.payload;
  packets.stack.srd.header = config.header;
  packets.header = config.header;
  packets.full_packet = config.payload + config.header;
  packets.cut_through = config.cut_through;
  packets.balance = config.split ? Balance::spray : Balance::ecmp;
  return packets;
}

// ---- alone

RC_GTEST_PROP(FlowSim, AMessageAloneTakesWhatPacketsTake, ()) {
  const auto from = *rc::gen::inRange(0u, 64u);
  const auto to = (from + *rc::gen::inRange(1u, 64u)) % 64;
  const auto packets = *rc::gen::inRange<std::uint64_t>(1, 2000);
  FlowConfig config;
  config.split = *rc::gen::arbitrary<bool>();
  config.cut_through = *rc::gen::arbitrary<bool>();
  const PacketSim engine(fat_tree(), packets_of(config));
  const RunResult result = run_script(one_message(from, to, packets * kPayload), config);
  const std::int64_t expected = engine.unloaded({from, to, packets * kPayload, 0});
  RC_ASSERT(result.flows.at(0).sent.count() >= expected);
  RC_ASSERT(result.flows[0].sent.count() <= expected + 1);  // rates are rounded down
  RC_ASSERT(result.flows[0].unloaded.count() == result.flows[0].sent.count());
  RC_ASSERT(result.end.count() == result.flows[0].sent.count());
}

TEST(FlowSim, AShortPacketCountsWithItsOwnHeader) {
  const FlowConfig config = ecmp();
  const PacketSim engine(fat_tree(), packets_of(config));
  for (const std::uint64_t bytes : {0u, 1u, 100u, 4095u}) {
    const RunResult result = run_script(one_message(0, 63, bytes), config);
    EXPECT_NEAR(static_cast<double>(result.flows.at(0).sent.count()),
                static_cast<double>(engine.unloaded({0, 63, bytes, 0})), 1)
        << bytes;
  }
}

// ---- connections

// A connection keeps the order of its messages: the first comes as if it were alone, and not when both do.
TEST(FlowSim, MessagesBetweenTheSameRanksAndCardsGoOneAfterAnother) {
  const std::uint64_t bytes = 1000 * kPayload;
  Script script(64);
  script.add(0, {Instruction::put(63, bytes), Instruction::put(63, bytes), Instruction::wait_all()});
  const RunResult both = run_script(std::move(script), ecmp());
  const std::int64_t alone = run_script(one_message(0, 63, bytes), ecmp()).flows.at(0).received.count();
  EXPECT_EQ(both.flows.at(0).received.count(), alone);
  EXPECT_GT(both.flows.at(1).received.count(), alone * 19 / 10);
  EXPECT_LT(both.flows.at(1).received.count(), alone * 2);
}

// To different ranks they share the sender's NIC.
TEST(FlowSim, MessagesToDifferentRanksGoSideBySide) {
  const std::uint64_t bytes = 1000 * kPayload;
  Script script(64);
  script.add(0, {Instruction::put(63, bytes), Instruction::put(62, bytes), Instruction::wait_all()});
  const RunResult both = run_script(std::move(script), ecmp());
  const std::int64_t alone = run_script(one_message(0, 63, bytes), ecmp()).flows.at(0).received.count();
  EXPECT_GT(both.flows.at(0).received.count(), alone * 19 / 10);
  EXPECT_NEAR(static_cast<double>(both.flows[1].received.count()) / static_cast<double>(both.flows[0].received.count()),
              1, 0.01);
}

// Where messages of two channels wait for each other, both have their share: 2/3 of the NIC beside a third message, and
// half of it when only one of them is left.
TEST(FlowSim, ChannelsThatShareAConnectionHaveAShareEach) {
  const std::uint64_t bytes = 1000 * kPayload;
  Script script(64);
  for (const std::uint32_t channel : {0u, 1u}) {
    Instruction put = Instruction::put(63, bytes);
    put.channel = channel;
    script.add(0, {put});
  }
  script.add(0, {Instruction::put(62, bytes)});
  const RunResult all = run_script(std::move(script), ecmp());
  const auto alone = static_cast<double>(run_script(one_message(0, 63, bytes), ecmp()).flows.at(0).received.count());
  const double expected[] = {1.5, 3, 2.5};
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(static_cast<double>(all.flows.at(i).received.count()) / alone, expected[i], 0.05 * expected[i]) << i;
}

// ---- paths

RC_GTEST_PROP(FlowSim, EcmpTakesThePathThatPacketsTake, ()) {
  const auto from = *rc::gen::inRange(0u, 64u);
  const auto to = (from + *rc::gen::inRange(1u, 64u)) % 64;
  FlowConfig config = ecmp();
  config.seed = *rc::gen::inRange<std::uint64_t>(1, 1000);
  SimConfig packets = packets_of(config);
  packets.seed = config.seed;
  packets.stack.srd.paths = 1;
  const std::uint64_t bytes = 100 * kPayload;
  PacketSim engine(fat_tree(), packets);
  const auto seen = testing::run_on(engine, {{from, to, bytes, 0}});
  std::set<std::pair<std::string, std::string>> expected;
  for (const auto& link : seen.result.links)
    if (link.bytes > bytes) expected.insert({link.from, link.to});  // not those of acknowledgements
  std::set<std::pair<std::string, std::string>> got;
  const RunResult result = run_script(one_message(from, to, bytes), config);
  for (const auto& link : result.links) {
    got.insert({link.from, link.to});
    RC_ASSERT(link.bytes == 100 * (kPayload + config.header));
  }
  RC_ASSERT(got == expected);
}

// Each of several queue pairs or connections has its path; messages take them in turn, or all at once.
RC_GTEST_PROP(FlowSim, QueuesTakeThePathsThatPacketsTake, ()) {
  using transport::Protocol;
  const Protocol protocol = *rc::gen::element(Protocol::rocev2, Protocol::tcp);
  SimConfig packets = testing::over(protocol);
  packets.balance = *rc::gen::element(Balance::ecmp, Balance::pinned);
  packets.seed = *rc::gen::inRange<std::uint64_t>(1, 1000);
  packets.stack.roce.control = transport::RoceConfig::Control::none;
  packets.stack.roce.qps = packets.stack.tcp.connections = *rc::gen::inRange(1u, 5u);
  packets.stack.roce.split = *rc::gen::arbitrary<bool>();
  packets.pins = packets.stack.roce.qps;
  packets.queue_bytes = 100'000'000;
  FlowConfig config = ecmp();
  config.seed = packets.seed;
  config.header = packets.header;
  config.payload = packets.payload();
  config.queues = packets.pins;
  if (packets.balance == Balance::pinned) config.pins = packets.pins;
  if (protocol == Protocol::rocev2) {
    if (packets.stack.roce.split) config.whole = packets.stack.roce.split_above;
    config.path_of = [](std::uint32_t, std::uint32_t, std::uint32_t queue) {
      return static_cast<std::uint16_t>(queue);
    };
  } else {
    config.path_of = transport::tcp_path;
  }
  const auto from = *rc::gen::inRange(0u, 64u);
  const auto to = (from + *rc::gen::inRange(1u, 64u)) % 64;
  const auto messages = *rc::gen::inRange(1u, 6u);
  const std::uint64_t bytes = 60 * config.payload;
  const auto script = [&] {
    Script all(64);
    std::vector<Instruction> each(messages, Instruction::put(to, bytes));
    each.push_back(Instruction::wait_all());
    all.add(from, each);
    return all;
  };
  using Links = std::map<std::pair<std::string, std::string>, std::uint64_t>;
  const auto used = [&](const RunResult& result) {
    Links links;
    for (const auto& link : result.links)
      if (link.bytes > bytes / 20) links[{link.from, link.to}] = link.bytes;  // not those of acknowledgements
    return links;
  };
  Script sent = script();
  PacketSim engine(fat_tree(), packets);
  PacketRun as_packets(sent, engine, false);
  RunResult expected = as_packets.run();
  engine.collect_links(expected, 10'000);
  RC_ASSERT(used(run_script(script(), config)) == used(expected));
}

// Over 4 leaf uplinks, 16 ways to super-spines and as many down, 4 to the leaf, and the two NICs.
TEST(FlowSim, AnEvenSplitUsesEveryPathWithItsPart) {
  FlowRoutes routes(fat_tree(), {});
  const auto paths = routes.find({0, 63, kPayload, 0});
  ASSERT_EQ(paths.size(), 1u);
  std::map<std::uint64_t, int> links;
  for (const auto& [link, weight] : paths[0].stages[0].shares) {
    const std::uint32_t members = routes.members(link);  // of a bundle, all alike
    links[MaxMinRates::kWhole / weight * members] += static_cast<int>(members);
  }
  EXPECT_EQ(links, (std::map<std::uint64_t, int>{{1, 2}, {4, 8}, {16, 32}}));
}

// ---- shares

TEST(FlowSim, AnIncastSharesTheLastLink) {
  constexpr std::uint64_t kBytes = 250 * kPayload;
  Script script(64);
  for (std::uint32_t i = 1; i <= 8; ++i) script.add(i * 4, {Instruction::put(0, kBytes)});
  const RunResult result = run_script(std::move(script), ecmp());
  const std::int64_t wire = 250 * (4096 + 64) * 80;  // ps at 100 Gb/s
  ASSERT_EQ(result.flows.size(), 8u);
  for (const FlowRecord& flow : result.flows) {
    EXPECT_GE(flow.received.count(), 8 * wire);
    EXPECT_LE(flow.received.count(), 8 * wire + 8'000'000);
  }
}

// Two flows into one NIC; when the short one ends the long one has it alone.
TEST(FlowSim, RatesFollowWhenAFlowEnds) {
  Script script(64);
  script.add(4, {Instruction::put(0, 100 * kPayload)});
  script.add(8, {Instruction::put(0, 300 * kPayload)});
  const RunResult result = run_script(std::move(script), ecmp());
  const std::int64_t packet = (4096 + 64) * 80;
  const std::int64_t latency = result.flows.at(0).sent.count() - 200 * packet;
  EXPECT_NEAR(static_cast<double>(result.flows.at(1).sent.count()), static_cast<double>(400 * packet + latency), 2);
}

// After every start and end, on the links of a real fabric.
void come_and_go(const fabric::Fabric& fabric, const FlowConfig& config, std::uint64_t seed) {
  Random random(seed, 0, 0);
  FlowRoutes routes(fabric, config);
  testing::WatchedRates watched(routes.rates());
  const std::uint32_t gpus = fabric.cluster().gpus;
  for (int step = 0; step < 60; ++step) {
    if (watched.flows().size() > 4 && random.below(2) == 0) {
      watched.remove_flow(
          std::next(watched.flows().begin(), random.below(static_cast<std::uint32_t>(watched.flows().size())))->first);
    } else {
      // Few receivers, so that flows meet.
      const std::uint32_t from = random.below(gpus);
      const std::uint32_t to = random.below(std::max(2u, gpus / 8));
      for (const FlowPath& path : routes.find({from, to, 1 << 20, static_cast<std::uint32_t>(step)}))
        for (std::size_t i = 0; i < path.count; ++i) watched.add_flow(path.stages[i].shares);
    }
    while (watched.known_links() < routes.rates().links()) watched.know_link(routes.capacity(watched.known_links()));
    RC_ASSERT(watched.settle_tells_all());
    RC_ASSERT(watched.is_fair());
    RC_ASSERT(watched.distance() <= 1e-9L);
  }
}

RC_GTEST_PROP(FlowSim, EveryAllocationOnAFabricIsThatOfProgressiveFilling, ()) {
  static const auto rails =
      testing::cluster_of("{kind: hgx-h100, count: 8}", "{kind: rail-optimized, scalable_unit: 4, spines: 4}");
  static const auto two_nics =
      testing::cluster_of("{kind: acp-h100-2nic, count: 8}", "{kind: rail-optimized, scalable_unit: 4, spines: 4}");
  static const auto groups = testing::cluster_of("{kind: hgx-h100, nics: 1, count: 8}",
                                                 "{kind: dragonfly, routers_per_group: 4, global_links: 2}");
  static const fabric::Fabric of_rails(*rails);
  static const fabric::Fabric of_groups(*groups);
  static const fabric::Fabric of_two_nics(*two_nics);
  const fabric::Fabric& fabric = **rc::gen::element(&fat_tree(), &of_rails, &of_two_nics, &of_groups);
  FlowConfig config;
  config.hosts = &fabric != &fat_tree();
  config.split = *rc::gen::arbitrary<bool>();
  come_and_go(fabric, config, *rc::gen::arbitrary<std::uint64_t>());
}

// ---- beside packets

std::int64_t end_of_packets(Script script, const SimConfig& config, const fabric::Fabric& fabric, bool hosts) {
  PacketSim engine(fabric, config);
  return PacketRun(script, engine, hosts).run().end.count();
}

TEST(FlowSim, APermutationWithSprayIsWithinFivePercentOfPackets) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    FlowConfig config;
    config.seed = seed;
    SimConfig packets = packets_of(config);
    packets.seed = seed;
    const auto flows = static_cast<double>(run_script(all_shifted(21, 2'000'000), config).end.count());
    const auto ended = static_cast<double>(end_of_packets(all_shifted(21, 2'000'000), packets, fat_tree(), false));
    EXPECT_NEAR(flows / ended, 1, 0.05) << seed;
  }
}

TEST(FlowSim, CollisionsOfEcmpSlowTheSameFlowsDown) {
  const FlowConfig config = ecmp();
  SimConfig packets = packets_of(config);
  packets.stack.srd.paths = 1;
  const auto flows = static_cast<double>(run_script(all_shifted(21, 2'000'000), config).end.count());
  EXPECT_NEAR(flows / static_cast<double>(end_of_packets(all_shifted(21, 2'000'000), packets, fat_tree(), false)), 1,
              0.05);
  EXPECT_GT(flows, 1.5 * static_cast<double>(run_script(all_shifted(21, 2'000'000), {}).end.count()));
}

// Inside servers: two NICs for eight GPUs, so four GPUs share one.
TEST(FlowSim, GpusThatShareANicShareItsRate) {
  static const auto cluster =
      testing::cluster_of("{kind: acp-h100-2nic, count: 2}", "{kind: rail-optimized, scalable_unit: 2, spines: 2}");
  static const fabric::Fabric fabric(*cluster);
  FlowConfig config;
  config.hosts = true;
  const auto alone = static_cast<double>(run_script(one_message(0, 8, 8'000'000, 16), config, fabric).end.count());
  const auto shared = static_cast<double>(run_script(all_shifted(8, 8'000'000, 16), config, fabric).end.count());
  EXPECT_GT(shared, 3.5 * alone);
  const auto packets =
      static_cast<double>(end_of_packets(all_shifted(8, 8'000'000, 16), packets_of(config), fabric, true));
  EXPECT_NEAR(shared / packets, 1, 0.1);
}

// GPU 9 is far from its server's NICs: what comes for it rests in host memory, in parts that move on while others
// arrive.
TEST(FlowSim, WhatArrivesRestsInPartsAsPacketsDo) {
  static const auto cluster =
      testing::cluster_of("{kind: hgx-h100, nics: 2, count: 2}", "{kind: rail-optimized, scalable_unit: 2, spines: 2}");
  static const fabric::Fabric fabric(*cluster);
  FlowConfig config;
  config.hosts = true;
  for (const std::uint64_t bytes : {64'000u, 500'000u, 8'000'000u}) {
    const auto flow = static_cast<double>(run_script(one_message(0, 9, bytes, 16), config, fabric).end.count());
    const auto packets =
        static_cast<double>(end_of_packets(one_message(0, 9, bytes, 16), packets_of(config), fabric, true));
    EXPECT_NEAR(flow / packets, 1, 0.05) << bytes;
  }
}

// One NIC near each GPU, and PCIe faster than it: servers add their latency and nothing else.
TEST(FlowSim, ServersAddTheirLatency) {
  static const auto cluster =
      testing::cluster_of("{kind: hgx-h100, count: 2}", "{kind: rail-optimized, scalable_unit: 2, spines: 2}");
  static const fabric::Fabric fabric(*cluster);
  FlowConfig config;
  config.hosts = true;
  const auto alone =
      static_cast<double>(run_script(one_message(0, 8, 100 * kPayload, 16), config, fabric).flows.at(0).sent.count());
  const PacketSim engine(fabric, packets_of(config));
  HostRoutes routes(fabric);
  const auto inside = [&](fabric::NodeId from, fabric::NodeId to) { return routes.find(from, to)->latency.count(); };
  const auto nic = [&](std::uint32_t gpu) { return fabric.nic_of(gpu); };  // of one port
  const std::int64_t expected =
      inside(fabric.gpu(0), nic(0)) + engine.unloaded({0, 8, 100 * kPayload, 0}) + inside(nic(8), fabric.gpu(8));
  EXPECT_NEAR(alone, static_cast<double>(expected), 1);
}

TEST(FlowSim, WithinAServerTheNetworkIsNotTouched) {
  static const auto cluster =
      testing::cluster_of("{kind: hgx-h100, count: 2}", "{kind: rail-optimized, scalable_unit: 2, spines: 2}");
  static const fabric::Fabric fabric(*cluster);
  FlowConfig config;
  config.hosts = true;
  const RunResult result = run_script(one_message(0, 1, 90'000'000, 16), config, fabric);
  ASSERT_EQ(result.flows.size(), 1u);
  EXPECT_EQ(result.flows[0].sent.count(), result.flows[0].received.count());
  ASSERT_EQ(result.links.size(), 2u) << "to the NVSwitches and from them";
  EXPECT_EQ(result.links[0].bytes, 90'000'000u);
}

// ---- spreading at random

TEST(FlowScatter, AloneOrBesideRoomNothingIsLate) {
  const std::int64_t packet = 166'000;
  EXPECT_EQ(scatter_delay(80'000'000, packet, 875'000, 2650), 0);
  EXPECT_EQ(scatter_delay(80'000'000, packet, 200'000, 2650), 0);
  EXPECT_EQ(scatter_delay(80'000'000, packet, 0, 0), 0) << "it got its part";
  EXPECT_EQ(scatter_delay(packet, packet, 0, 2650), 0) << "a packet does not wait for itself";
}

TEST(FlowScatter, OnFullLinksItGrowsAsTheRoot) {
  // 484 packets ahead of the last, 22 is the root.
  EXPECT_NEAR(static_cast<double>(scatter_delay(485'000, 1000, 0, 2595)), 22 * 2595, 3);
  EXPECT_NEAR(static_cast<double>(scatter_delay(4 * 484'000 + 1000, 1000, 0, 2595)), 44 * 2595, 3);
  EXPECT_EQ(whole_root(99), 9);
  EXPECT_EQ(whole_root(100), 10);
}

TEST(FlowScatter, LinksDeviateAsNormalVariablesDo) {
  const auto exceeded = [](double probability) {
    return static_cast<double>(normal_above_zero(static_cast<std::uint32_t>(probability * 4294967296.0)));
  };
  EXPECT_EQ(exceeded(0.6), 0);
  EXPECT_NEAR(exceeded(0.25), 674, 1);
  EXPECT_NEAR(exceeded(0.158655), 970, 30);
  EXPECT_NEAR(exceeded(0.0227501), 1985, 15);
  EXPECT_NEAR(exceeded(0.00134990), 2985, 15);
  EXPECT_NEAR(exceeded(0.0000316712), 3985, 15);
}

// ---- faults

TEST(FlowSim, ASlowLinkIsSlowForWhoeverTakesIt) {
  const auto end = [](std::uint32_t millionths) {
    FlowRoutes routes(fat_tree(), ecmp());
    if (millionths > 0) {
      EXPECT_TRUE(routes.add_condition(routes.layout().port_of_endpoint(0),
                                       {Condition::Kind::degraded, 0, kForever, millionths, 0}));
    }
    Script script = one_message(0, 63, 4000 * kPayload);
    return static_cast<double>(run_flows(script, routes).flows.at(0).received.count());
  };
  EXPECT_NEAR(end(250'000) / end(0), 4, 0.1);
}

//   Of four spines one has a quarter of its rate: whoever knows sends it a quarter of what the others get, so that the
//   slow link takes 1/13 and the host's whole rate fits; an even split is as slow as its slowest part.
TEST(FlowSim, ThoseWhoChoosePathsSendLessOverASlowOne) {
  const auto end = [](bool adapts, std::uint32_t millionths) {
    FlowConfig config;
    config.adapts = adapts;
    FlowRoutes routes(fat_tree(), config);
    // Every host of leaf 0 sends, so that its uplinks are full.
    const Condition slow{Condition::Kind::degraded, 0, kForever, millionths, 0};
    if (millionths < 1'000'000) {
      EXPECT_TRUE(routes.add_condition(routes.layout().port_of(0, 4), slow));
    }
    Script script(64);
    for (std::uint32_t i = 0; i < 4; ++i) script.add(i, {Instruction::put(60 + i, 4000 * kPayload)});
    return static_cast<double>(run_flows(script, routes).end.count());
  };
  EXPECT_NEAR(end(false, 250'000) / end(false, 1'000'000), 4, 0.1);
  EXPECT_NEAR(end(true, 250'000) / end(true, 1'000'000), 4 / 3.25, 0.05);
  EXPECT_EQ(end(true, 1'000'000), end(false, 1'000'000));
}

//   Two leaves with two links to each of two spines, and both links between spine 0 and leaf 1 have a quarter of their
//   rate: of what goes to leaf 1, spine 0 gets a fifth, whichever of the two links to it that takes.
TEST(FlowSim, LinksSideBySideShareWhatLeadsOnFromBehindThem) {
  const auto cluster = testing::cluster_of("{kind: hgx-h100, count: 4}",
                                           "{kind: tor-clos, servers_per_leaf: 2, oversubscription: 4, spines: 2}");
  const fabric::Fabric fabric(*cluster);
  FlowConfig config;
  config.adapts = true;
  FlowRoutes routes(fabric, config);
  const Condition slow{Condition::Kind::degraded, 0, kForever, 250'000, 0};
  const Layout& layout = routes.layout();
  std::uint32_t slowed = 0;
  for (std::uint32_t port = 0; port < layout.ports(); ++port)
    if (layout.name_of_end(port) == "spine0" && layout.name_of_end(layout.reverse(port)) == "leaf1") {
      ASSERT_TRUE(routes.add_condition(port, slow));
      ++slowed;
    }
  ASSERT_EQ(slowed, 2u);
  std::map<std::string, std::uint64_t> into_leaf;
  const auto paths = routes.find({0, 24, kPayload, 0});
  ASSERT_EQ(paths.size(), 1u);
  for (const auto& [link, weight] : paths[0].stages[0].shares)
    if (const schedule::LinkRecord record = routes.describe(link); record.to == "leaf1")
      into_leaf[record.from] += weight;
  EXPECT_NEAR(static_cast<double>(into_leaf["spine0"]) / static_cast<double>(MaxMinRates::kWhole), 0.2, 1e-6);
  EXPECT_NEAR(static_cast<double>(into_leaf["spine1"]) / static_cast<double>(MaxMinRates::kWhole), 0.8, 1e-6);
}

TEST(FlowSim, ALinkThatIsDownIsAvoidedByAllPaths) {
  FlowRoutes routes(fat_tree(), {});
  // The first uplink of leaf 0: what is left is three spines.
  ASSERT_TRUE(routes.add_condition(routes.layout().port_of(0, 4), {}));
  const auto paths = routes.find({0, 63, kPayload, 0});
  ASSERT_EQ(paths.size(), 1u);
  int uplinks = 0;
  for (const auto& [link, weight] : paths[0].stages[0].shares) {
    const auto record = routes.describe(link);
    EXPECT_FALSE(record.from == "leaf0" && record.to == "spine0");
    if (record.from != "leaf0") continue;
    ++uplinks;
    EXPECT_NEAR(static_cast<double>(weight) / static_cast<double>(MaxMinRates::kWhole), 1.0 / 3, 1e-9);
  }
  EXPECT_EQ(uplinks, 3);
}

TEST(FlowSim, FaultsThatNoConstantRateCanShowAreRefused) {
  FlowRoutes routes(fat_tree(), {});
  using Kind = Condition::Kind;
  EXPECT_FALSE(routes.add_condition(0, {Kind::down, 1, kForever, 0, 0}));
  EXPECT_FALSE(routes.add_condition(0, {Kind::down, 0, 1000, 0, 0}));
  EXPECT_FALSE(routes.add_condition(0, {Kind::blackhole, 0, kForever, 0, 0}));
  EXPECT_FALSE(routes.add_condition(0, {Kind::loss, 0, kForever, 1000, 0}));
  EXPECT_FALSE(routes.add_condition(0, {Kind::corrupt, 0, kForever, 1000, 0}));
}

TEST(FlowSim, WhoIsCutOffNeverEnds) {
  FlowRoutes routes(fat_tree(), {});
  routes.remove_link(routes.layout().port_of_endpoint(5));
  Script script(64);
  script.add(5, {Instruction::put(9, 1000), Instruction::wait_all()});
  script.add(6, {Instruction::put(5, 1000)});
  script.add(7, {Instruction::put(9, 1000)});
  const RunResult result = run_flows(script, routes);
  EXPECT_EQ(result.unfinished, 2u);
  ASSERT_EQ(result.flows.size(), 3u);
  EXPECT_EQ(result.flows[0].sent, schedule::kNotYet);
  EXPECT_EQ(result.flows[1].sent, schedule::kNotYet);
  EXPECT_NE(result.flows[2].sent, schedule::kNotYet);
}

// ---- the run

TEST(FlowSim, AStoppedRunLeavesWhatWasDone) {
  Script script(64);
  std::vector<Instruction> lane;
  for (int i = 0; i < 1000; ++i) {
    lane.push_back(Instruction::put(1, 10 * kPayload));
    lane.push_back(Instruction::wait(1));
  }
  script.add(0, lane);
  FlowRoutes routes(fat_tree(), {});
  std::uint64_t delivered = 0;
  const auto few = [&](const schedule::Progress& progress) {
    delivered = progress.delivered_bytes;
    return progress.now < Duration(200'000'000);
  };
  const RunResult result = run_flows(script, routes, {true, few});
  EXPECT_FALSE(result.stopped_by.empty());
  EXPECT_GE(result.end.count(), 200'000'000);
  EXPECT_LT(result.flows.size(), 1000u);
  EXPECT_GT(delivered, 0u);
  EXPECT_EQ(result.unfinished, 1u);
}

TEST(FlowSim, EqualSeedsGiveEqualDigests) {
  const auto digest = [](std::uint64_t seed) {
    FlowConfig config = ecmp();
    config.seed = seed;
    return run_script(all_shifted(21, 100'000), config).digest;
  };
  EXPECT_EQ(digest(1), digest(1));
  EXPECT_NE(digest(1), digest(2)) << "other hashes, other collisions";
}

// Bytes that no cluster would ever move: an end that does not fit is no end.
TEST(FlowSim, AMessageOfAnySizeIsCarried) {
  const RunResult huge = run_script(one_message(0, 63, ~std::uint64_t{0} >> 2), ecmp());
  EXPECT_EQ(huge.flows.size(), 1u);
}

// ---- many at once

// Messages of any size from everybody to everybody, each rank with some at a time.
Script everybody(std::uint32_t ranks, std::uint32_t at_once) {
  Script script(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::vector<Instruction> work;
    for (std::uint32_t away = 1; away < ranks; ++away) {
      const std::uint64_t bytes = kPayload * (64 + mix64(rank * 64 + away) % 64);
      work.push_back(Instruction::put((rank + away) % ranks, bytes));
      if (away >= at_once) work.push_back(Instruction::wait_older(at_once - 1));
    }
    script.add(rank, std::move(work));
  }
  return script;
}

// A fault that changes nothing makes routes look at every link by itself.
TEST(FlowSim, LinksThatAreTakenTogetherAreOneAndGiveTheSame) {
  FlowRoutes together(fat_tree(), {});
  FlowRoutes apart(fat_tree(), {});
  Condition nothing;
  nothing.kind = Condition::Kind::degraded;
  nothing.from = 0;
  nothing.to = kForever;
  nothing.amount = 1'000'000;
  ASSERT_TRUE(apart.add_condition(0, nothing));
  Script first = everybody(64, 4);
  Script second = everybody(64, 4);
  const RunResult a = run_flows(first, together, {true, {}});
  const RunResult b = run_flows(second, apart, {true, {}});
  EXPECT_LT(together.rates().links() * 2, apart.rates().links());
  EXPECT_NEAR(static_cast<double>(a.end.count()), static_cast<double>(b.end.count()),
              static_cast<double>(b.end.count()) * 1e-4);
  ASSERT_EQ(a.links.size(), b.links.size());
  std::map<std::string, std::uint64_t> carried;
  for (const auto& link : b.links) carried[link.from + ">" + link.to] += link.bytes;
  for (const auto& link : a.links) carried[link.from + ">" + link.to] -= link.bytes;
  for (const auto& [link, difference] : carried)
    EXPECT_LT(std::abs(static_cast<std::int64_t>(difference)), 10'000) << link;  // parts are rounded
}

//   64 NICs of a pod send to another at 400 Gb/s each over 64 links between them: 25.6 Tb/s, and nobody waits
//   but for packets that do not spread evenly.
TEST(FlowSim, ABundleCarriesAsMuchAsItsLinks) {
  const auto cluster =
      testing::cluster_of("{kind: hgx-h100, count: 16}", "{kind: rail-optimized, scalable_unit: 8, pod: 1}");
  const fabric::Fabric fabric(*cluster);
  const auto end = [&](std::uint32_t senders, schedule::LinkRecord& up) {
    Script script(128);
    for (std::uint32_t i = 0; i < senders; ++i) script.add(i, {Instruction::put(64 + i, 1000 * kPayload)});
    FlowRoutes routes(fabric, {});
    const RunResult result = run_flows(script, routes, {true, {}});
    for (const schedule::LinkRecord& link : result.links)
      if (link.to.starts_with("super")) up = link;
    return static_cast<double>(result.flows.at(0).received.count());
  };
  schedule::LinkRecord up;
  const double one = end(1, up);
  EXPECT_NEAR(end(64, up), one, one * 0.1);
  EXPECT_NEAR(static_cast<double>(up.bytes), 1000.0 * (kPayload + 64), 1000);  // of every link
}

TEST(FlowSim, WhereManyComeAndGoRatesAreFoundForSeveralAtATime) {
  const auto end = [](std::uint32_t many) {
    FlowRoutes routes(fat_tree(), ecmp());
    Script script = everybody(64, 32);
    std::uint64_t asked = 0;
    FlowOptions options;
    options.keep_going = [&](const schedule::Progress&) { return ++asked > 0; };
    options.many = many;
    const RunResult result = run_flows(script, routes, options);
    EXPECT_EQ(result.unfinished, 0u);
    return static_cast<double>(result.end.count());
  };
  const double exactly = end(UINT32_MAX);
  EXPECT_NEAR(end(256), exactly, exactly * 0.02);
  EXPECT_NE(end(256), exactly);
}

}  // namespace
}  // namespace weft::sim
