// What must come out, from arithmetic or from measurements: closed forms of the unloaded path, balls in
// bins for ECMP, and a latency that was measured.

#include <gtest/gtest.h>

#include <cmath>

#include "sim/packet/testing_sim.hpp"

namespace weft::sim {
namespace {

using namespace testing;

TEST(CutThrough, OnlyTheLastLinkIsWaitedFor) {
  // Across pods: 6 cables of 1 us; a switch waits for the 64 bytes of the header, the host for all.
  SimConfig config;
  config.cut_through = true;
  const Outcome one = run({{0, 63, 4086, 0}}, config);
  EXPECT_EQ(one.received.at(0), 6 * 1'000'000 + 5 * 64 * 80 + 4150 * 80);
  EXPECT_EQ(one.sent.at(0), one.received.at(0) + 6 * 1'000'000 + 6 * 64 * 80);
}

TEST(CutThrough, AFasterLinkBehindASlowerOneDoesNotRunDry) {
  // The links to and from the super-spines are four times as fast; everything in picoseconds of the tail.
  const Built built = build("tree.topo", fat_tree_text(400));
  SimConfig config;
  config.cut_through = true;
  PacketSim sim(built.fabric, config);
  const Outcome one = run_on(sim, {{0, 63, 4086, 0}});
  // Host to leaf, leaf to spine at 80 ps per byte; spine up, super-spine down at 20; then 80 again twice.
  std::int64_t tail = 0;
  std::int64_t begin = 0;
  const std::int64_t rates[] = {80, 80, 20, 20, 80, 80};
  for (int hop = 0; hop < 6; ++hop) {
    if (hop > 0)
      begin = rates[hop] < rates[hop - 1] ? tail - rates[hop] * (4150 - 64) : tail - rates[hop - 1] * (4150 - 64);
    tail = begin + rates[hop] * 4150 + 1'000'000;
  }
  EXPECT_EQ(one.received.at(0), tail);
  EXPECT_EQ(one.sent.at(0), sim.unloaded({0, 63, 4086, 0}));
}

TEST(Fifo, AcknowledgementsWaitBehindData) {
  // Host 1 sends long before and long after it has to acknowledge one packet of host 0.
  SimConfig fifo;
  fifo.fifo = true;
  SimConfig two;  // classes; without trimming, as there is none with one, so that senders start alike
  two.trimming = false;
  const std::vector<Flow> both = {{0, 1, 4086, 50'000'000}, {1, 0, 2'000'000, 0}};
  // Behind the packet on the wire it waits in any case, behind the one that the NIC took ahead only here.
  EXPECT_EQ(run(both, fifo).sent.at(0), run(both, two).sent.at(0) + 4150 * 80);
  EXPECT_TRUE(delivered_once(run(shifted(21, 500'000), fifo), 64));
}

TEST(Nic, LatencyAndPacketRateCount) {
  const auto cluster = [](const std::string& nic) {
    return build("nic.weft.yaml", "version: 1\nservers: {kind: hgx-h100, count: 4, nic: {kind: connectx-7, " + nic +
                                      "}}\n" + "fabric: {kind: rail-only, link: {rate: 400Gbps, cable: 5m}}\n");
  };
  const auto took = [](const Built& built, std::uint64_t bytes) {
    PacketSim sim(built.fabric, {});
    return run_on(sim, {{0, 8, bytes, 0}}).received.at(0);
  };
  const Built plain = cluster("latency: 0ns");
  const Built slow = cluster("latency: 700ns");
  EXPECT_EQ(took(slow, 100), took(plain, 100) + 2 * 700'000);
  // A million packets a second: a thousand packets take a millisecond.
  const Built few = cluster("latency: 0ns, packet_rate: 1Mpps");
  const std::int64_t thousand = took(few, 1000 * 4086);
  EXPECT_GE(thousand, took(few, 4086) + 999 * 1'000'000);
  EXPECT_LE(thousand, took(few, 4086) + 1001 * 1'000'000);
}

// n flows from one leaf to another over n spines: with ECMP the slowest shares its uplink with as many
// as the fullest of n bins holds after n balls. Expected 0.41, 0.35 and 0.30 of the line rate.
struct Uplinks {
  std::uint32_t flows;
  double expected;
  double deviation;  // of one draw
};

TEST(Balance, EcmpIsBallsInBinsAndSprayIsNot) {
  constexpr std::uint32_t kSeeds = 60;
  for (const Uplinks& each : {Uplinks{8, 0.410, 0.099}, Uplinks{16, 0.345, 0.086}, Uplinks{32, 0.296, 0.060}}) {
    const std::string n = std::to_string(each.flows);
    const Built built = build(
        "leaf.topo",
        "Nodes " + std::to_string(2 * each.flows) + "\nTiers 2\nPodsize " + std::to_string(2 * each.flows) +
            "\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down " + n + "\nRadix_Up " + n +
            "\nDownlink_Latency_ns 500\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 500\n");
    const auto flows_of = [&](std::uint64_t packets) {
      std::vector<Flow> flows;
      for (std::uint32_t i = 0; i < each.flows; ++i) flows.push_back({i, each.flows + i, packets * 4086, 0});
      return flows;
    };
    const std::vector<Flow> flows = flows_of(300);
    const std::vector<Flow> long_flows = flows_of(4000);  // so long that the last round trip does not count
    double sum = 0;
    double least_spray = 1;
    for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
      SimConfig config;
      config.seed = seed;
      config.stack.srd.paths = 1;
      config.balance = Balance::ecmp;
      PacketSim ecmp(built.fabric, config);
      const double alone = static_cast<double>(ecmp.unloaded(flows[0]));
      sum += alone / static_cast<double>(run_on(ecmp, flows).last());
      if (seed > 5) continue;
      config.balance = Balance::spray;
      PacketSim spray(built.fabric, config);
      least_spray = std::min(least_spray, static_cast<double>(spray.unloaded(long_flows[0])) /
                                              static_cast<double>(run_on(spray, long_flows).last()));
    }
    // Four standard deviations of the mean, and what a transport loses while shares settle.
    EXPECT_NEAR(sum / kSeeds, each.expected, 4 * each.deviation / std::sqrt(kSeeds) + 0.02) << n;
    EXPECT_GE(least_spray, 0.95) << n;
  }
}

// LINE Yahoo's ACP, 400G RoCE tester: 1.13 us through one leaf, 2.98 to 4.20 us over the spine (seed
// 002, slide 53). The leaf's figure sets the switch latency; the spine's must follow.
TEST(Acp, TheWayOverTheSpineFollowsFromTheLeaf) {
  const auto cluster = [](std::int64_t picoseconds) {
    return build("acp.weft.yaml",
                 "version: 1\nservers: {kind: hgx-h100, count: 32, nics: 2, nic: {kind: connectx-7, latency: 0ns}}\n"
                 "fabric: {kind: rail-optimized, scalable_unit: 16, spines: 4, switch: {kind: tomahawk-4, latency: " +
                     std::to_string(picoseconds) + "ps}, link: {rate: 400Gbps, cable: 5m}}\n");
  };
  SimConfig config;
  config.cut_through = true;
  // Servers 0 and 1 share a leaf of each rail, server 16 is in the other unit.
  const auto one_way = [&](const Built& built, std::uint32_t to) {
    PacketSim sim(built.fabric, config);
    return run_on(sim, {{0, to, 64, 0}}).received.at(0);
  };
  const std::int64_t nothing = one_way(cluster(0), 2);
  const Built measured = cluster(1'130'000 - nothing);
  EXPECT_EQ(one_way(measured, 2), 1'130'000);
  EXPECT_GE(one_way(measured, 32), 2'980'000);
  EXPECT_LE(one_way(measured, 32), 4'200'000);
}

// Many Poisson sources into one port make M/D/1: packets of one length S at load r wait r S / (2 (1 - r))
// on average (Pollaczek and Khinchine).
TEST(Queueing, WaitingTimesAreThoseOfMD1) {
  constexpr std::uint32_t kRuns = 8;
  constexpr std::uint32_t kSources = 63;
  constexpr std::int64_t kService = 4150 * 80;
  // All on one leaf: links on the way would sort the packets before they come to the port.
  const Built leaf =
      build("leaf.topo",
            "Nodes 128\nTiers 2\nPodsize 128\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 64\nRadix_Up 1\n"
            "Downlink_Latency_ns 500\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 500\n");
  for (const double load : {0.3, 0.6, 0.8}) {
    double sum = 0;
    double squares = 0;
    for (std::uint32_t run = 1; run <= kRuns; ++run) {
      SimConfig config;
      config.seed = run;
      config.queue_bytes = 100'000'000;  // as good as endless
      PacketSim sim(leaf.fabric, config);
      for (std::uint32_t source = 1; source <= kSources; ++source)
        sim.start_raw(source,
                      {.peer = 0,
                       .packets = 1500,
                       .bytes = 4086,
                       .interval = Duration(static_cast<std::int64_t>(static_cast<double>(kService * kSources) / load)),
                       .poisson = true});
      Recorder nobody;
      sim.run(nobody);
      EXPECT_EQ(sim.raw_counters().received, std::uint64_t{kSources} * 1500);
      const Port& last = sim.port(sim.layout().reverse(sim.layout().port_of_endpoint(0)));
      const double mean = static_cast<double>(last.waited) / static_cast<double>(last.packets);
      sum += mean;
      squares += mean * mean;
    }
    const double mean = sum / kRuns;
    const double error = std::sqrt(std::max(0.0, squares / kRuns - mean * mean) / (kRuns - 1));
    const double expected = load * kService / (2 * (1 - load));
    // Four standard errors, and two per cent because 63 sources that cannot overlap themselves are not quite Poisson.
    EXPECT_NEAR(mean, expected, 4 * error + 0.02 * expected) << load;
    EXPECT_LT(error, 0.06 * expected) << "or the bound above says nothing";
  }
}

// Lower bounds are never beaten, and nearly reached.
TEST(Bounds, RingAndAllToAll) {
  const std::vector<Flow> ring = shifted(1, 1'000'000);
  const PacketSim sim(fat_tree(), {});
  const std::int64_t alone = sim.unloaded(ring[15]);  // to another pod
  EXPECT_GE(run(ring).last(), alone);
  EXPECT_LE(run(ring).last(), alone * 103 / 100);

  std::vector<Flow> all;
  for (std::uint32_t by = 1; by < 16; ++by)
    for (std::uint32_t i = 0; i < 16; ++i) all.push_back({i, (i + by) % 16, 200'000, 0});
  // A host receives 15 x 200 kB in packets of 4,086 bytes with 64 of header.
  const std::int64_t bytes = 15 * (200'000 + 49 * 64);
  EXPECT_GE(run(all).last(), bytes * 80);
  EXPECT_LE(run(all).last(), bytes * 80 * 110 / 100);
}

}  // namespace
}  // namespace weft::sim
