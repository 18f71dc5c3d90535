// Sums over a whole cluster: the largest numbers a file may hold, and leaves that are part full.
#include "fabric/summary.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "fabric/testing_fabrics.hpp"
#include "model/load.hpp"

namespace weft::fabric {
namespace {

using namespace testing;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(Summary, OfTheLargestAcceptedNumbersDoesNotOverflow) {
  std::string groups;
  for (int i = 0; i < 8; ++i)
    groups +=
        "  - {kind: hgx-h100, gpus: 1, count: 2000000, nics: 1, power: 10MW, price: $1000000/h, purchase: $100M,\n"
        "     scale_up: {link: nvlink4, switches: 1}, gpu: {power: 100kW},\n"
        "     nic: {kind: connectx-7, rate: 100Tbps, power: 100kW}}\n";
  const Built built(
      cluster_of("version: 1\nservers:\n" + groups +
                 "fabric:\n  kind: tor-clos\n  servers_per_leaf: 4000\n  spines: 64\n  parallel_links: 1\n"
                 "  switch: {kind: tomahawk-5, ports: 4096, rate: 1Pbps, power: 100kW, breakout: []}\n"
                 "  spine_switch: {kind: tomahawk-5, ports: 4096, rate: 1Pbps, power: 100kW, breakout: []}\n"));
  const Summary summary = summarise(built.fabric);
  EXPECT_EQ(built.cluster->gpus, 16'000'000U);
  EXPECT_EQ(summary.nic_bandwidth.count(), kMost);  // 1.6e21 does not fit
  EXPECT_EQ(summary.bisection.count(), kMost / 2);
  EXPECT_EQ(summary.costs.servers_power.count(), 160'000'000'000'000'000);
  EXPECT_GT(summary.costs.switches_power.count(), 0);
  ASSERT_TRUE(summary.costs.price);
  EXPECT_EQ(summary.costs.price->count(), kMost);       // 1.6e19 does not fit either
  EXPECT_EQ(summary.costs.purchase()->count(), kMost);  // nor does 1.6e21
}

TEST(Summary, OnlyAwsCardsAreCalledEfa) {
  EXPECT_NE(scale_step(8, Owner::aws).implies.find("standard EFA"), std::string::npos);
  for (const std::uint32_t servers : {1u, 8u, 64u, 512u, 513u})
    EXPECT_EQ(scale_step(servers, Owner::provider).implies.find("EFA"), std::string::npos) << servers;
}

TEST(Summary, NobodyAsksForAQuotaOfWhatIsOwned) {
  for (const std::uint32_t servers : {1u, 8u, 64u, 512u, 513u})
    for (const char* word : {"quota", "provider", "EFA", "UltraCluster"})
      EXPECT_EQ(scale_step(servers, Owner::oneself).implies.find(word), std::string::npos) << servers;
  EXPECT_NE(scale_step(64, Owner::provider).implies.find("quota request required"), std::string::npos);
  const auto owner = [](const std::string& servers) {
    return owner_of(*Built(cluster_of("version: 1\nservers: " + servers + "\nfabric: {kind: tor-clos}\n")).cluster);
  };
  EXPECT_EQ(owner("{kind: hgx-h200, count: 64}"), Owner::oneself);
  EXPECT_EQ(owner("{kind: hgx-h200, count: 64, price: $80/h}"), Owner::provider);
  EXPECT_EQ(owner("{kind: p5.48xlarge, count: 64}"), Owner::aws);
}

TEST(Summary, CountsOfAPartFullLeafOnlyWhatItsNicsSend) {
  const auto bisection = [](int servers) {
    const Built built(cluster_of("version: 1\nservers: {kind: hgx-h100, count: " + std::to_string(servers) +
                                 "}\nfabric: {kind: tor-clos, servers_per_leaf: 4, spines: 4, oversubscription: 2}\n"));
    return summarise(built.fabric).bisection;
  };
  // A full leaf has 32 NICs of 400 Gb/s and half of that upwards; one server more has 8 NICs.
  EXPECT_EQ(bisection(8), gigabits_per_second(2 * 16 * 400 / 2));
  EXPECT_EQ(bisection(9), gigabits_per_second((2 * 16 + 8) * 400 / 2));
  EXPECT_EQ(bisection(10), gigabits_per_second((2 * 16 + 16) * 400 / 2));
  EXPECT_EQ(bisection(12), gigabits_per_second(3 * 16 * 400 / 2));
}

TEST(Summary, OfAnHtsimFileAddsNothingInTheHosts) {
  spec::Diagnostics diagnostics;
  const model::Catalog catalog = model::Catalog::embedded(diagnostics);
  const std::uint32_t source =
      diagnostics.sources().add("t.topo",
                                "Nodes 16\nTiers 3\nPodsize 4\n"
                                "Tier 0\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\n"
                                "Tier 1\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\n"
                                "Tier 2\nDownlink_speed_Gbps 200\nRadix_Down 4\nDownlink_Latency_ns 1000\n");
  auto cluster = model::load_cluster(source, "t", {}, catalog, diagnostics);
  ASSERT_TRUE(cluster) << spec::render_text(diagnostics, false);
  const Built built(std::move(*cluster));
  const auto path = built.fabric.path(0, 15, 0, built.fabric.no_failures());
  ASSERT_TRUE(path);
  EXPECT_EQ(path_latency(built.fabric, *path), microseconds(6));
}

TEST(Summary, TakesOneCrossingOfASwitchOnce) {
  const Built built(cluster_of("version: 1\nservers: {kind: hgx-h100, count: 1}\nfabric: {kind: none}\n"));
  const auto path = built.fabric.path(0, 1, 0, built.fabric.no_failures());
  ASSERT_TRUE(path);
  EXPECT_EQ(path_latency(built.fabric, *path), nanoseconds(500));  // through one NVSwitch
}

}  // namespace
}  // namespace weft::fabric
