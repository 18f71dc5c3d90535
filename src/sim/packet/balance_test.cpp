// How packets are spread over equal paths, scheme by scheme.

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <tuple>

#include "sim/packet/testing_sim.hpp"

namespace weft::sim {
namespace {

using namespace testing;

//   16 spines
//   2 leaves x 16 hosts at 100G, cables of 0.5 us
const fabric::Fabric& leaf_spine() {
  static const Built built =
      build("leaf.topo",
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
    config.flowlet_gap = nanoseconds(500);
    config.load_interval = microseconds(2);
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
  const Built built =
      build("three.topo",
            "Nodes 24\nTiers 2\nPodsize 24\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\nRadix_Up 8\n"
            "Downlink_Latency_ns 500\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 3\nDownlink_Latency_ns 500\n");
  const auto slowest_of = [&](Balance balance) {
    std::int64_t sum = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      SimConfig config;
      config.seed = seed;
      config.balance = balance;
      config.stack.srd.paths = 1;
      config.flowlet_gap = microseconds(2);
      config.load_interval = microseconds(1);
      PacketSim sim(built.fabric, config);
      for (std::uint32_t i = 0; i < 4; ++i)
        sim.start_raw(16 + i, {.peer = 8 + i, .packets = 2000, .bytes = 4086, .interval = Duration(4150 * 90)});
      std::vector<Flow> flows;
      for (std::uint32_t i = 0; i < 4; ++i) flows.push_back({i, 12 + i, 500 * 4086, 20'000'000});
      sum += run_on(sim, flows).last();
    }
    return sum;
  };
  EXPECT_LT(slowest_of(Balance::flowlet_global) * 10, slowest_of(Balance::flowlet) * 9);
}

// ---- a rail-optimized fabric, a permutation across rails

//   4 spines                            8 servers with 8 NICs at 400G in two scalable units:
//   2 x 8 leaves, one per rail          a leaf has 4 NICs below it and 4 links up
const fabric::Fabric& rails() {
  static const Built built =
      build("rails.weft.yaml",
            "version: 1\nservers: {kind: hgx-h100, count: 8}\n"
            "fabric: {kind: rail-optimized, scalable_unit: 4, spines: 4, link: {rate: 400Gbps, cable: 5m}}\n");
  return built.fabric;
}

// Every NIC to one of another rail in the other unit.
std::vector<Flow> across_rails(std::uint64_t packets) {
  std::vector<Flow> flows;
  for (std::uint32_t server = 0; server < 8; ++server)
    for (std::uint32_t rail = 0; rail < 8; ++rail)
      flows.push_back({server * 8 + rail, (server + 4) % 8 * 8 + (rail + 1 + server % 7) % 8, packets * 4086, 0});
  return flows;
}

double slowest_across_rails(Balance balance) {
  constexpr std::uint32_t kSeeds = 5;
  double sum = 0;
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    SimConfig config;
    config.seed = seed;
    config.balance = balance;
    config.cut_through = true;
    config.stack.srd.paths = 1;
    config.flowlet_gap = nanoseconds(500);
    PacketSim sim(rails(), config);
    const std::vector<Flow> flows = across_rails(4000);
    sum += static_cast<double>(sim.unloaded(flows[0])) / static_cast<double>(run_on(sim, flows).last());
  }
  return sum / kSeeds;
}

// Each flow draws a spine: the one on the fullest link gets its part of it.
double balls_in_bins() {
  constexpr int kDraws = 2000;
  Random random(1, 2, 3);
  double sum = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::map<std::tuple<bool, std::uint32_t, std::uint32_t>, int> load;  // up or down, leaf, spine
    int most = 0;
    for (const Flow& flow : across_rails(1)) {
      const std::uint32_t spine = random.below(4);
      const auto leaf = [](std::uint32_t end) { return end / 32 * 8 + end % 8; };
      most = std::max({most, ++load[{true, leaf(flow.source), spine}], ++load[{false, leaf(flow.destination), spine}]});
    }
    sum += 1.0 / most;
  }
  return sum / kDraws;
}

TEST(Balance, APermutationAcrossRailsFromBallsInBinsToLineRate) {
  const double ecmp = slowest_across_rails(Balance::ecmp);
  const double flowlet = slowest_across_rails(Balance::flowlet);
  const double spray = slowest_across_rails(Balance::spray);
  const double adaptive = slowest_across_rails(Balance::adaptive);
  EXPECT_NEAR(ecmp, balls_in_bins(), 0.2 * balls_in_bins());
  EXPECT_GT(flowlet, ecmp);
  EXPECT_LT(flowlet, spray);
  EXPECT_GE(spray, 0.95);
  EXPECT_GE(adaptive, 0.95);
  std::printf("slowest of 64 flows: ecmp %.3f (balls in bins %.3f), flowlet %.3f, spray %.3f, adaptive %.3f\n", ecmp,
              balls_in_bins(), flowlet, spray, adaptive);
}

TEST(Balance, AnyNumberOfThreadsGivesTheSame) {
  for (const Balance balance : {Balance::flowlet, Balance::flowlet_global, Balance::adaptive, Balance::pinned}) {
    for (const bool exact : {false, true}) {
      SimConfig config;
      config.balance = balance;
      config.flowlet_gap = nanoseconds(500);
      config.load_interval = microseconds(2);
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
