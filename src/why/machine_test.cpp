#include "why/machine.hpp"

#include <gtest/gtest.h>

#include <set>

#include "why/testing_why.hpp"

namespace weft::why {
namespace {

using collective::Algorithm;
using testing::Bench;

double bus(Bench& bench, const Job& job, const Variant& variant, std::uint64_t bytes = 1 << 30) {
  const auto made = bench.machine->predict(job, variant, {bytes});
  return made.empty() ? 0 : bus_bandwidth(job, bytes, made[0].time);
}

TEST(Machine, WithoutGpudirectNicsAreSlower) {
  Bench bench("{kind: hgx-h100, count: 4}");
  const Job job = bench.job(32);
  EXPECT_LT(bus(bench, job, {.set = {"servers.gpudirect=false"}}), 0.6 * bus(bench, job, {}));
  EXPECT_NEAR(bus(bench, bench.job(8), {.set = {"servers.gpudirect=false"}}), bus(bench, bench.job(8), {}), 1e-9)
      << "within a server there is no NIC";
}

TEST(Machine, WithoutP2pGpusMeetInHostMemory) {
  Bench bench("{kind: hgx-h100, count: 1}");
  const double slow = bus(bench, bench.job(8), {.set = {"servers.p2p=false"}});
  EXPECT_GT(slow, 10);
  EXPECT_LT(slow, 0.1 * bus(bench, bench.job(8), {})) << "PCIe and not NVLink";
  Bench nics("{kind: h100-pcie-8, count: 1}");
  EXPECT_LT(bus(nics, nics.job(8), {.set = {"servers.p2p=false"}}), bus(nics, nics.job(8), {}));
}

TEST(Machine, AVariantThatIsNoClusterPredictsNothing) {
  Bench bench("{kind: hgx-h100, count: 2}");
  EXPECT_TRUE(bench.machine->predict(bench.job(16), {.set = {"servers.nics=many"}}, {1 << 20}).empty());
  EXPECT_TRUE(bench.machine->predict(bench.job(16), {.algorithm = Algorithm::nvls}, {1 << 20}).empty())
      << "one domain only";
  EXPECT_TRUE(bench.machine->predict(bench.job(64), {}, {1 << 20}).empty()) << "more GPUs than there are";
  EXPECT_TRUE(bench.machine->predict(bench.job(16), {.stack = "none"}, {1 << 20}).empty());
}

TEST(Variant, OfTwoHasWhatEitherChanges) {
  const Variant none;
  EXPECT_TRUE(none.changes_nothing());
  EXPECT_TRUE(both(none, none).changes_nothing());
  const Variant all{.text = "all",
                    .set = {"servers.nics=1"},
                    .algorithm = collective::Algorithm::tree,
                    .protocol = collective::Protocol::ll,
                    .protocol_below = 7,
                    .nvls = false,
                    .channels = 3,
                    .pxn = false,
                    .even = true,
                    .stack = "tcp",
                    .nic_per_mille = 500,
                    .per_hop = nanoseconds(5),
                    .launch = nanoseconds(6)};
  for (const Variant& made : {both(all, none), both(none, all)}) {
    EXPECT_EQ(made.set, all.set);
    EXPECT_EQ(made.algorithm, all.algorithm);
    EXPECT_EQ(made.protocol, all.protocol);
    EXPECT_EQ(made.protocol_below, 7u);
    EXPECT_FALSE(made.nvls);
    EXPECT_EQ(made.channels, 3u);
    EXPECT_FALSE(made.pxn);
    EXPECT_TRUE(made.even);
    EXPECT_EQ(made.stack, "tcp");
    EXPECT_EQ(made.nic_per_mille, 500);
    EXPECT_EQ(made.per_hop, nanoseconds(5));
    EXPECT_EQ(made.launch, nanoseconds(6));
  }
  EXPECT_EQ(both(all, all).nic_per_mille, 250);
  EXPECT_EQ(both(all, all).per_hop, nanoseconds(10));
  EXPECT_EQ(both(all, {.text = "other", .channels = 5}).channels, 5u) << "the second chooses";
}

TEST(Machine, FindsItsServersInAList) {
  Bench bench("[{kind: hgx-h100, count: 2}]");
  EXPECT_EQ(bench.machine->servers(), "servers.0");
  EXPECT_NE(bench.machine->cluster({"servers.0.gpudirect=false"}), nullptr);
}

TEST(Machine, WithoutNvlsNeitherKindOfItIsChosen) {
  std::set<Algorithm> with;
  std::set<Algorithm> without;
  for (const std::uint32_t servers : {1u, 2u, 4u}) {
    Bench bench("{kind: hgx-h100, count: " + std::to_string(servers) + "}");
    const std::vector<std::uint64_t> sizes = {1 << 16, 1 << 20, 1 << 23, 1 << 26, 1 << 30};
    for (const Prediction& each : bench.machine->predict(bench.job(8 * servers), {}, sizes))
      with.insert(each.choice.algorithm);
    for (const Prediction& each : bench.machine->predict(bench.job(8 * servers), {.nvls = false}, sizes))
      without.insert(each.choice.algorithm);
  }
  EXPECT_TRUE(with.contains(Algorithm::nvls) && with.contains(Algorithm::nvls_tree));
  EXPECT_EQ(without, (std::set{Algorithm::ring, Algorithm::tree}));
}

}  // namespace
}  // namespace weft::why
