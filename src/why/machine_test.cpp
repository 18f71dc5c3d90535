#include "why/machine.hpp"

#include <gtest/gtest.h>

#include <set>

#include "why/testing_why.hpp"
#include "why/what_if.hpp"

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

TEST(WhatIf, OffersWhatThisMachineLacks) {
  Bench bench("{kind: acp-h100-2nic, count: 4}");
  const Job job = bench.job(32);
  const auto has = [&](const std::string& text) {
    for (const WhatIf& each : what_ifs(job, Algorithm::ring, true, *bench.machine))
      if (each.text == text) return true;
    return false;
  };
  EXPECT_TRUE(has("4 NICs per server"));
  EXPECT_TRUE(has("8 NICs per server"));
  EXPECT_TRUE(has("GPUs on the PCIe switch of a NIC"));
  EXPECT_TRUE(has("without PXN"));
  EXPECT_TRUE(has("Tree"));
  EXPECT_FALSE(has("Ring")) << "that is what it does";
  Bench full("{kind: hgx-h100, count: 4}");
  for (const WhatIf& each : what_ifs(full.job(32), Algorithm::ring, true, *full.machine))
    EXPECT_EQ(each.text.find("NICs per server"), std::string::npos) << "it has one for each GPU";
}

TEST(WhatIf, OffersCollNetOnlyWhereSwitchesReduce) {
  const auto offered = [](const std::string& server, const std::string& fabric) {
    Bench bench(server, fabric);
    const Job job = bench.job(32);
    for (const WhatIf& each : what_ifs(job, Algorithm::ring, true, *bench.machine))
      if (each.text.starts_with("CollNet") && !bench.machine->predict(job, each.variant, {64 << 20}).empty())
        return true;
    return false;
  };
  const auto clos = [](const std::string& box) {
    return "fabric: {kind: tor-clos, servers_per_leaf: 2, switch: " + box + "}\n";
  };
  EXPECT_TRUE(offered("{kind: hgx-h100, count: 4}", clos("quantum-2")));
  EXPECT_FALSE(offered("{kind: hgx-h100, count: 4}", clos("tomahawk-5")));
  EXPECT_FALSE(offered("{kind: p5.48xlarge, count: 4}", clos("tomahawk-5")));
  EXPECT_FALSE(
      offered("{kind: hgx-h100, count: 4}", clos("quantum-2, spine_switch: {kind: quantum-2, reduces: false}")));
}

// PXN is off, a rank is slow and another late: each change but those that are about it leaves that so.
TEST(WhatIf, ChangesOneThingAtATime) {
  Bench bench("{kind: acp-h100-2nic, count: 4}");
  Job job = bench.job(32);
  job.conditions.ranks.push_back({3, 500});
  job.conditions.starts.assign(32, Duration(0));
  job.conditions.starts[7] = microseconds(50);
  const auto time = [&](const Job& each, const Variant& variant) {
    return bench.machine->predict(each, variant, {64 << 20}).at(0).time.count();
  };
  std::size_t found = 0;
  for (const WhatIf& each : what_ifs(job, Algorithm::ring, false, *bench.machine)) {
    EXPECT_EQ(each.variant.pxn, each.text == "with PXN") << each.text;
    EXPECT_EQ(each.variant.even, each.text == "all ranks in time and equally fast") << each.text;
    if (!each.variant.even) continue;
    ++found;
    EXPECT_EQ(time(job, each.variant), time(bench.job(32), {.pxn = false}));
    EXPECT_LT(time(job, each.variant), time(job, {.pxn = false}));
  }
  EXPECT_EQ(found, 1u);
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
