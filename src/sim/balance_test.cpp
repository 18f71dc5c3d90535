// How packets are spread over equal paths, scheme by scheme.

#include <gtest/gtest.h>

#include "sim/testing_sim.hpp"

namespace weft::sim {
namespace {

using namespace testing;

//   16 spines
//   2 leaves x 16 hosts at 100G, cables of 0.5 us
const fabric::Fabric& leaf_spine() {
  static const Built built = build("leaf.topo",
                                   "Nodes 32\nTiers 2\nPodsize 32\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 16\nRadix_Up 16\n"
                                   "Downlink_Latency_ns 500\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 500\n");
  return built.fabric;
}

std::vector<Flow> across(std::uint64_t packets) {
  std::vector<Flow> flows;
  for (std::uint32_t i = 0; i < 16; ++i) flows.push_back({i, 16 + i, packets * 4086, 0});
  return flows;
}

// The slowest flow's share of the line rate; the mean over seeds.
double slowest(Balance balance, bool exact = false) {
  constexpr std::uint32_t kSeeds = 10;
  double sum = 0;
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    SimConfig config;
    config.seed = seed;
    config.balance = balance;
    config.stack.srd.paths = 1;
    config.flowlet_gap = 500'000;
    config.load_interval = 2'000'000;
    config.exact.on = exact;
    config.exact.buffer = 32 << 20;
    PacketSim sim(leaf_spine(), config);
    const std::vector<Flow> flows = across(2000);
    sum += static_cast<double>(sim.unloaded(flows[0])) / static_cast<double>(run_on(sim, flows).last());
  }
  return sum / kSeeds;
}

TEST(Balance, FromHashingToTheShortestQueue) {
  const double ecmp = slowest(Balance::ecmp);
  const double flowlet = slowest(Balance::flowlet);
  EXPECT_NEAR(ecmp, 0.345, 0.08);
  EXPECT_GT(flowlet, 1.2 * ecmp);
  EXPECT_GE(slowest(Balance::spray), 0.95);
  EXPECT_GE(slowest(Balance::adaptive), 0.95);
  EXPECT_GE(slowest(Balance::adaptive, true), 0.95);
  // As many queue pairs as uplinks, each with its own: nothing collides.
  EXPECT_GE(slowest(Balance::pinned), 0.99);
}

// Four hosts of leaf 2 fill four spines' links to leaf 1, which leaf 0 cannot see on its own ports.
TEST(Balance, GlobalFlowletsSeeTheNextSwitch) {
  const Built built = build("three.topo",
                            "Nodes 24\nTiers 2\nPodsize 24\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\nRadix_Up 8\n"
                            "Downlink_Latency_ns 500\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 3\nDownlink_Latency_ns 500\n");
  const auto slowest_of = [&](Balance balance) {
    std::int64_t sum = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      SimConfig config;
      config.seed = seed;
      config.balance = balance;
      config.stack.srd.paths = 1;
      config.flowlet_gap = 2'000'000;
      config.load_interval = 1'000'000;
      PacketSim sim(built.fabric, config);
      for (std::uint32_t i = 0; i < 4; ++i) sim.start_raw(16 + i, {.peer = 8 + i, .packets = 2000, .bytes = 4086, .interval = 4150 * 90});
      std::vector<Flow> flows;
      for (std::uint32_t i = 0; i < 4; ++i) flows.push_back({i, 12 + i, 500 * 4086, 20'000'000});
      sum += run_on(sim, flows).last();
    }
    return sum;
  };
  EXPECT_LT(slowest_of(Balance::flowlet_global) * 10, slowest_of(Balance::flowlet) * 9);
}

TEST(Balance, AnyNumberOfThreadsGivesTheSame) {
  for (const Balance balance : {Balance::flowlet, Balance::flowlet_global, Balance::adaptive, Balance::pinned}) {
    for (const bool exact : {false, true}) {
      SimConfig config;
      config.balance = balance;
      config.flowlet_gap = 500'000;
      config.load_interval = 2'000'000;
      config.exact.on = exact;
      config.exact.buffer = 4 << 20;
      const std::vector<Flow> flows = shifted(21, 300'000);
      const Outcome one = run(flows, config);
      EXPECT_TRUE(delivered_once(one, flows.size()));
      for (const std::uint32_t threads : {2u, 5u}) {
        config.threads = threads;
        EXPECT_EQ(one.result.digest, run(flows, config).result.digest) << threads;
      }
    }
  }
}

}  // namespace
}  // namespace weft::sim
