// What SRD promises on a whole fabric: nearly ideal where links are shared, and what is left of the
// capacity where a part of it dies without notice.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "base/random.hpp"
#include "sim/packet/testing_sim.hpp"

namespace weft::sim {
namespace {

using namespace testing;

constexpr std::int64_t kMicrosecond = 1'000'000;
constexpr std::uint32_t kLeaves = 16;

//   4 spines                      cables of 1 us, all links equal
//   16 leaves, `hosts` on each    4 uplinks per leaf: 16 hosts make it 4:1 oversubscribed
Built leaf_spine(std::uint32_t hosts, std::uint32_t gbps = 100) {
  const std::string rate = std::to_string(gbps);
  return build("os.topo", "Nodes " + std::to_string(kLeaves * hosts) + "\nTiers 2\nPodsize " +
                              std::to_string(kLeaves * hosts) + "\nTier 0\nDownlink_speed_Gbps " + rate +
                              "\nRadix_Down " + std::to_string(hosts) +
                              "\nRadix_Up 4\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\n"
                              "Tier 1\nDownlink_speed_Gbps " +
                              rate + "\nRadix_Down 16\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\n");
}

// A permutation in which nobody sends to its own leaf, so that every uplink carries the same.
std::vector<Flow> across_leaves(std::uint32_t hosts, std::uint64_t bytes, std::uint64_t seed) {
  Random random(seed, 0, 0);
  std::vector<std::uint32_t> to(kLeaves * hosts);
  for (std::uint32_t i = 0; i < to.size(); ++i) to[i] = (i + hosts) % static_cast<std::uint32_t>(to.size());
  const auto apart = [&](std::uint32_t from, std::uint32_t target) { return from / hosts != target / hosts; };
  for (std::uint32_t swaps = 0; swaps < 20 * to.size(); ++swaps) {
    const std::uint32_t a = random.below(static_cast<std::uint32_t>(to.size()));
    const std::uint32_t b = random.below(static_cast<std::uint32_t>(to.size()));
    if (apart(a, to[b]) && apart(b, to[a])) std::swap(to[a], to[b]);
  }
  std::vector<Flow> flows;
  for (std::uint32_t i = 0; i < to.size(); ++i) flows.push_back({i, to[i], bytes, 0});
  return flows;
}

std::int64_t wire_time(std::uint64_t bytes) {  // at 100G, with a header of 64 bytes for every 4086
  return static_cast<std::int64_t>(bytes + (bytes + 4085) / 4086 * 64) * 80;
}

TEST(SrdOnFabric, AFourToOneOversubscribedPermutationIsNearlyIdeal) {
  const Built built = leaf_spine(16);
  for (const std::uint64_t bytes : {2'000'000u, 6'000'000u}) {
    PacketSim sim(built.fabric, {});
    const Outcome out = run_on(sim, across_leaves(16, bytes, 1));
    EXPECT_TRUE(delivered_once(out, 256));
    const std::int64_t ideal = 4 * wire_time(bytes);
    EXPECT_GE(out.last(), ideal);
    EXPECT_LT(out.last(), ideal * 110 / 100) << bytes;
  }
}

//   1 spine                two leaves with one uplink each, all links of 100G
//   2 leaves, `flows` hosts on each, each of which sends to the one opposite
Outcome through_one_uplink(std::uint32_t flows, std::uint64_t bytes) {
  const std::string hosts = std::to_string(2 * flows);
  const Built built = build("up.topo", "Nodes " + hosts + "\nTiers 2\nPodsize " + hosts +
                                           "\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down " + std::to_string(flows) +
                                           "\nRadix_Up 1\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\n"
                                           "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 1000\n"
                                           "Switch_Latency_ns 0\n");
  std::vector<Flow> all;
  for (std::uint32_t i = 0; i < flows; ++i) all.push_back({i, flows + i, bytes, 0});
  PacketSim sim(built.fabric, {});
  return run_on(sim, all);
}

// With steps of the same length for ever, four flows sent 71 % again and sixteen all of it. Compared are flows of a
// length and of twice that: what is between them is the steady state.
TEST(SrdOnFabric, FlowsThatShareAnUplinkForLongSendHardlyAnythingAgain) {
  for (const std::uint32_t flows : {2u, 4u, 8u, 16u}) {
    const std::uint64_t bytes = flows <= 4 ? 40'000'000 : 20'000'000;
    const Outcome half = through_one_uplink(flows, bytes);
    const Outcome whole = through_one_uplink(flows, 2 * bytes);
    EXPECT_TRUE(delivered_once(whole, flows));
    const auto& before = half.result.counters;
    const auto& after = whole.result.counters;
    EXPECT_LT(after.data_resent, before.data_resent + (after.data_sent - before.data_sent) / 100) << flows;
    EXPECT_LT(whole.last(), flows * wire_time(2 * bytes) * 101 / 100) << flows;
  }
}

// The link and its queue hold 58 packets: each of 64 flows has less than one of them, and waits for its turn. With a
// packet each, they sent one and a half times as much again as they had to, for ever.
TEST(SrdOnFabric, MoreFlowsThanALinkHoldsPacketsTakeTurns) {
  constexpr std::uint64_t kBytes = 3'000'000;
  const Outcome half = through_one_uplink(64, kBytes);
  const Outcome whole = through_one_uplink(64, 2 * kBytes);
  EXPECT_TRUE(delivered_once(whole, 64));
  const auto& before = half.result.counters;
  const auto& after = whole.result.counters;
  EXPECT_LT(after.data_resent, before.data_resent + (after.data_sent - before.data_sent) / 10);
  EXPECT_LT(whole.last(), 64 * wire_time(2 * kBytes) * 102 / 100);
}

// The table of docs/simulator.md: weft_sim_test --gtest_also_run_disabled_tests --gtest_filter=SrdOnFabric.DISABLED_*
TEST(SrdOnFabric, DISABLED_Uplinks) {
  for (const auto& [flows, bytes] : {std::pair{2u, 40'000'000u},
                                     {4u, 40'000'000u},
                                     {8u, 20'000'000u},
                                     {16u, 20'000'000u},
                                     {64u, 6'000'000u},
                                     {512u, 1'500'000u}}) {
    const Outcome half = through_one_uplink(flows, bytes);
    const Outcome whole = through_one_uplink(flows, 2 * bytes);
    const auto percent = [](std::uint64_t part, std::uint64_t all) {
      return 100 * static_cast<double>(part) / static_cast<double>(all);
    };
    const auto& before = half.result.counters;
    const auto& after = whole.result.counters;
    std::printf("| %u, %.1f MB | %.1f %% | %.1f %% | %lld |\n", flows, bytes / 1e6,
                percent(before.data_resent, before.data_sent),
                percent(after.data_resent - std::min(after.data_resent, before.data_resent),
                        after.data_sent - before.data_sent),
                static_cast<long long>(half.last() / kMicrosecond));
  }
}

// At 400G a round trip holds a hundred packets, and what a lost one keeps open is a thousand.
TEST(SrdOnFabric, ASpineThatDiesSilentlyCostsItsShareAndLittleMore) {
  constexpr std::int64_t kDeath = 200 * kMicrosecond;
  for (const auto& [gbps, seeds] : {std::pair{100u, 8u}, {400u, 3u}}) {
    const Built built = leaf_spine(4, gbps);
    std::int64_t kept = 0;  // percent of what three quarters of the rate would have done
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      SimConfig config;
      config.seed = seed;
      const std::vector<Flow> flows = across_leaves(4, 80'000 * gbps, seed);
      PacketSim healthy(built.fabric, config);
      const std::int64_t whole = run_on(healthy, flows).last();
      PacketSim sim(built.fabric, config);
      sim.add_to_switch(kLeaves, {Condition::Kind::blackhole, kDeath, kForever, 0});
      const Outcome out = run_on(sim, flows);
      EXPECT_TRUE(delivered_once(out, flows.size()));
      const std::int64_t percent = (whole - kDeath) * 4 / 3 * 100 / (out.last() - kDeath);
      EXPECT_GE(percent, 90) << gbps << "G, seed " << seed;
      kept += percent;
    }
    EXPECT_GE(kept, 95 * std::int64_t{seeds}) << gbps << "G";
  }
}

// Half of the ways are dead in the end, and so are half of the ways back.
TEST(SrdOnFabric, TwoSpinesThatDieInTurnCostTheirShareAndLittleMore) {
  constexpr std::uint64_t kBytes = 8'000'000;
  constexpr std::int64_t kFirst = 200 * kMicrosecond;
  constexpr std::int64_t kSecond = 400 * kMicrosecond;
  constexpr std::uint64_t kSeeds = 6;
  const Built built = leaf_spine(4);
  std::int64_t kept = 0;  // percent of what three quarters and then half of the rate would have done
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SimConfig config;
    config.seed = seed;
    const std::vector<Flow> flows = across_leaves(4, kBytes, seed);
    PacketSim healthy(built.fabric, config);
    const std::int64_t whole = run_on(healthy, flows).last();
    PacketSim sim(built.fabric, config);
    sim.add_to_switch(kLeaves, {Condition::Kind::blackhole, kFirst, kForever, 0});
    sim.add_to_switch(kLeaves + 1, {Condition::Kind::blackhole, kSecond, kForever, 0});
    const Outcome out = run_on(sim, flows);
    EXPECT_TRUE(delivered_once(out, flows.size()));
    const std::int64_t left = (whole - kFirst) - (kSecond - kFirst) * 3 / 4;  // at the second death, of the whole rate
    const std::int64_t percent = (kSecond - kFirst + 2 * left) * 100 / (out.last() - kFirst);
    EXPECT_GE(percent, 85) << "seed " << seed;
    kept += percent;
  }
  EXPECT_GE(kept, 90 * std::int64_t{kSeeds});
}

}  // namespace
}  // namespace weft::sim
