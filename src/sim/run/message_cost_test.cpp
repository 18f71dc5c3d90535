#include "sim/run/message_cost.hpp"

#include <gtest/gtest.h>

#include "model/load.hpp"

namespace weft::sim {
namespace {

model::Cluster cluster_like(const std::string& file, const std::string& text) {
  spec::Diagnostics diagnostics;
  const auto catalog = model::Catalog::embedded(diagnostics);
  const auto cluster = model::load_cluster(diagnostics.sources().add(file, text), "test", {}, catalog, diagnostics);
  EXPECT_TRUE(cluster) << spec::render_text(diagnostics, false);
  return *cluster;
}

//   4 pods x (2 spines, 2 leaves x 2 hosts); cables of 1 us, leaves take 100 ns, spines 200 ns, super-spines 400 ns
TEST(MessageCost, LatencyIsThatOfTheCablesAndSwitchesOnTheWay) {
  const model::Cluster cluster = cluster_like(
      "tree.topo",
      "Nodes 16\nTiers 3\nPodsize 4\n"
      "Tier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 100\n"
      "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 200\n"
      "Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 400\n");
  const fabric::Fabric fabric(cluster);
  const auto latency = [&](std::uint32_t to) {
    const auto cost = unloaded_cost(fabric, 0, to);
    EXPECT_TRUE(cost);
    EXPECT_EQ(cost->rate, gigabits_per_second(100));
    EXPECT_EQ(cost->acknowledgement, cost->latency);
    return cost->latency;
  };
  EXPECT_EQ(latency(1), nanoseconds(2 * 1000 + 100));
  EXPECT_EQ(latency(2), nanoseconds(4 * 1000 + 100 + 200 + 100));
  EXPECT_EQ(latency(15), nanoseconds(6 * 1000 + 100 + 200 + 400 + 200 + 100));
}

TEST(MessageCost, ARelayCostsLatencyAndStripesAddUp) {
  const model::Cluster rails =
      cluster_like("rails.weft.yaml",
                   "version: 1\nservers: {kind: hgx-h100, count: 4}\n"
                   "fabric: {kind: rail-only, switch: tomahawk-4, link: {rate: 400Gbps, cable: 10m}}\n");
  const fabric::Fabric fabric(rails);
  const auto own_rail = unloaded_cost(fabric, 0, 8);
  const auto other_rail = unloaded_cost(fabric, 0, 9);
  const auto scale_up = unloaded_cost(fabric, 0, 1);
  ASSERT_TRUE(own_rail && other_rail && scale_up);
  EXPECT_EQ(own_rail->rate, gigabits_per_second(400));
  EXPECT_EQ(other_rail->rate, gigabits_per_second(400));
  EXPECT_EQ(other_rail->latency, own_rail->latency + scale_up->latency);
  EXPECT_EQ(scale_up->rate, gigabits_per_second(3600));
  EXPECT_EQ(scale_up->acknowledgement, Duration(0)) << "nobody acknowledges what stays inside";

  const model::Cluster p5 = cluster_like("p5.weft.yaml",
                                         "version: 1\nservers: {kind: p5.48xlarge, count: 8}\n"
                                         "fabric: {kind: tor-clos, servers_per_leaf: 4, switch: tomahawk-4}\n");
  EXPECT_EQ(unloaded_cost(fabric::Fabric(p5), 0, 63)->rate, gigabits_per_second(400));
}

}  // namespace
}  // namespace weft::sim
