#include "fabric/path_cost.hpp"

#include <gtest/gtest.h>

#include "fabric/testing_fabrics.hpp"

namespace weft::fabric {
namespace {

using namespace testing;

PathCost cost_of(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  const auto path = fabric.path(from, to, 0, fabric.no_failures());
  EXPECT_TRUE(path.has_value());
  return path_cost(fabric, path.value_or(Path{}));
}

TEST(PathCost, ToItselfIsNothing) {
  const Built built(cluster_of("version: 1\nservers: {kind: hgx-h100, count: 1}\nfabric: {kind: none}\n"));
  EXPECT_EQ(cost_of(built.fabric, 3, 3).of(Bytes(1'000'000)), Duration{});
}

// A path crosses one of four NVSwitches, data all of them: 450 GB/s, and two links of 250 ns.
TEST(PathCost, NvLinkIsStripedOverItsSwitches) {
  const Built built(cluster_of("version: 1\nservers: {kind: hgx-h100, count: 1}\nfabric: {kind: none}\n"));
  const PathCost cost = cost_of(built.fabric, 0, 7);
  EXPECT_EQ(cost.rate.count(), 3'600'000'000'000);
  EXPECT_EQ(cost.of(Bytes(450'000'000)), microseconds(1000) + nanoseconds(500));
}

// A torus has no switches: a quarter of a chip's 192 GB/s one way on each of its four links.
TEST(PathCost, ATorusGivesOneLinksRateAndEveryHopsLatency) {
  const Built built(cluster_of("version: 1\nservers: {kind: trn1.32xlarge, count: 1}\nfabric: {kind: none}\n"));
  const PathCost near = cost_of(built.fabric, 0, 1);
  const PathCost far = cost_of(built.fabric, 0, 10);  // two steps in each dimension
  EXPECT_EQ(near.rate.count(), 384'000'000'000);
  EXPECT_EQ(far.rate, near.rate);
  EXPECT_EQ(far.latency, near.latency * 4);
}

//   GPU 0 - PCIe - NIC - leaf - NIC - PCIe - GPU 8: two slots of 57.5 ns x 2, two cables, two NICs
TEST(PathCost, OverTheNetworkTheNicIsTheNarrowestAndEveryPartAddsItsLatency) {
  const Built built(
      cluster_of("version: 1\nservers: {kind: hgx-h100, count: 2}\n"
                 "fabric: {kind: rail-only, switch: {kind: quantum-2, latency: 300ns}}\n"));
  const PathCost cost = cost_of(built.fabric, 0, 8);
  const Duration cable = built.fabric.wire(LinkTier::nic).latency;
  const Duration nic = built.cluster->groups[0].spec.nic.latency;
  EXPECT_EQ(cost.rate, gigabits_per_second(400));
  EXPECT_EQ(cost.latency, nanoseconds(230) + cable * 2 + nic * 2 + nanoseconds(300));
}

// With a NIC faster than its slot, PCIe is what counts.
TEST(PathCost, ANarrowSlotIsTheBottleneck) {
  const Built built(
      cluster_of("version: 1\nservers: {kind: hgx-h100, count: 2, pcie_gen: 4}\nfabric: {kind: rail-only}\n"));
  const PathCost cost = cost_of(built.fabric, 0, 8);
  EXPECT_LT(cost.rate, gigabits_per_second(256));
  EXPECT_GT(cost.rate, gigabits_per_second(250));
}

}  // namespace
}  // namespace weft::fabric
