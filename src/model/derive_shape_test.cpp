#include "model/derive_shape.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <chrono>
#include <cmath>

#include "model/load.hpp"

namespace weft::model {
namespace {

const Catalog& catalog() {
  static spec::Diagnostics diagnostics;
  static const Catalog catalog = Catalog::embedded(diagnostics);
  return catalog;
}

std::optional<Cluster> load(const std::string& yaml, std::string* text = nullptr) {
  spec::Diagnostics diagnostics;
  for (int i = 0; i < 6; ++i) diagnostics.sources().add("catalog", "");
  auto cluster = load_cluster(diagnostics.sources().add("t.weft.yaml", yaml), "t", {}, catalog(), diagnostics);
  if (text != nullptr) *text = spec::render_text(diagnostics, false);
  return cluster;
}

std::optional<Cluster> load(const std::string& servers, const std::string& fabric) {
  return load("version: 1\nservers: " + servers + "\nfabric: " + fabric + "\n");
}

const ClosShape& clos(const Cluster& cluster) { return std::get<ClosShape>(cluster.shape.layout); }

std::uint32_t leaves(const Cluster& cluster) {
  std::uint32_t n = 0;
  for (const SiteShape& site : clos(cluster).sites) n += site.leaves;
  return n;
}

//   spine0 .. spine3          each leaf: 16 NICs of 400G below, 4 x 4 links above
//      |||| x 4
//   leaf0 leaf1 leaf2 leaf3   2 scalable units of 16 servers, 2 rails each
TEST(DeriveShape, TheAcpExampleClosesWithFourParallelLinks) {
  const auto cluster = load("{kind: acp-h100-2nic, count: 32}", "{kind: rail-optimized, scalable_unit: 16, spines: 4}");
  ASSERT_TRUE(cluster);
  EXPECT_EQ(leaves(*cluster), 4U);
  EXPECT_EQ(clos(*cluster).tiers, 2U);
  EXPECT_EQ(clos(*cluster).leaf_down, 16U);
  EXPECT_EQ(clos(*cluster).spines_per_pod, 4U);
  EXPECT_EQ(clos(*cluster).bundle, 4U);
}

TEST(DeriveShape, OneChassisHasOneTier) {
  const auto cluster = load("{kind: hgx-h100, count: 16}", "{kind: single-chassis}");
  ASSERT_TRUE(cluster);
  EXPECT_EQ(clos(*cluster).tiers, 1U);
  EXPECT_EQ(clos(*cluster).leaf_down, 128U);
}

TEST(DeriveShape, RailOnlyIsAFabricPerRail) {
  const auto cluster = load("{kind: hgx-h100, count: 256}", "{kind: rail-only, servers_per_leaf: 32}");
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->shape.planes(), 8U);
  EXPECT_EQ(leaves(*cluster), 8U);
}

TEST(DeriveShape, TheFatTreeIsTheTextbookOne) {
  const auto cluster = load("{kind: hgx-h100, count: 128, nics: 1}", "{kind: fat-tree, k: 8}");
  ASSERT_TRUE(cluster);
  EXPECT_EQ(clos(*cluster).spines_per_pod, 4U);
  EXPECT_EQ(clos(*cluster).super_groups * clos(*cluster).supers_per_group, 16U);
  EXPECT_EQ(clos(*cluster).sites[0].pods, 8U);
  EXPECT_FALSE(load("{kind: hgx-h100, count: 129, nics: 1}", "{kind: fat-tree, k: 8}"));
}

TEST(DeriveShape, FullBandwidthIsTheDefault) {
  const auto cluster = load("{kind: hgx-h100, count: 128}", "{kind: tor-clos, servers_per_leaf: 8}");
  ASSERT_TRUE(cluster);
  EXPECT_EQ(clos(*cluster).spines_per_pod * clos(*cluster).bundle, 64U);
}

//   10,000 servers: 25 pods of 50 leaves and 64 spines, every spine with 50 uplinks. 80,000 links of 400G need 625
//   super-spines of 128; 640 (64 groups of 10, 5 links each) is the least that they can be spread over evenly.
TEST(DeriveShape, NoMoreSuperSpinesThanTheLinksOfThePodsFill) {
  const auto cluster = load("{kind: hgx-h200, count: 10000}", "{kind: tor-clos, servers_per_leaf: 8, pod: 50}");
  ASSERT_TRUE(cluster);
  EXPECT_EQ(clos(*cluster).sites[0].pods, 25U);
  EXPECT_EQ(clos(*cluster).spines_per_pod, 64U);
  EXPECT_EQ(clos(*cluster).supers_per_group * clos(*cluster).super_bundle, 50U) << "nothing is oversubscribed";
  EXPECT_EQ(clos(*cluster).super_groups * clos(*cluster).supers_per_group, 640U);
}

TEST(DeriveShape, SuperSpinesKeepPortsForTheGateways) {
  // A site of 6 pods of 8 spines: 96 links to them and 32 gateways fill the 128 ports of 32 super-spines.
  const auto supers = [](int gateways) {
    const auto cluster = load(
        fmt::format("version: 1\nservers:\n  - {{kind: hgx-h200, count: 384, site: a}}\n"
                    "  - {{kind: hgx-h200, count: 384, site: b}}\n"
                    "fabric:\n  {{kind: tor-clos, servers_per_leaf: 8, pod: 8, sites: {{latency: 1ms, rate: 400Gbps,\n"
                    "    gateways: {}, uplinks: 1}}}}\n",
                    gateways));
    return cluster ? clos(*cluster).super_groups * clos(*cluster).supers_per_group : 0;
  };
  EXPECT_EQ(supers(32), 32U);
  EXPECT_EQ(supers(33), 64U);
}

TEST(DeriveShape, EverySpineHasTwoSuperSpinesWherePossible) {
  const auto cluster = load("{kind: hgx-h200, count: 32}", "{kind: tor-clos, servers_per_leaf: 8, pod: 2}");
  ASSERT_TRUE(cluster);
  EXPECT_EQ(clos(*cluster).super_groups, 1U);
  EXPECT_EQ(clos(*cluster).supers_per_group, 2U);
}

TEST(DeriveShape, GroupsOfDifferentRatesAreCheckedEach) {
  // 8 x 800G takes whole ports: 8 servers of hgx-b300 need 64 ports for NICs alone.
  std::string text;
  EXPECT_FALSE(
      load("version: 1\nservers:\n  - {kind: hgx-h100, count: 32}\n  - {kind: hgx-b300, count: 32}\n"
           "fabric: {kind: tor-clos, servers_per_leaf: 8, oversubscription: 64, link: {rate: 800Gbps}}\n",
           &text));
  EXPECT_NE(text.find("E0401"), std::string::npos) << text;
}

TEST(PortsNeeded, SharesPortsBySplits) {
  SwitchKind kind;
  kind.ports = 4;
  kind.rate = gigabits_per_second(800);
  kind.breakout = {"2x400Gbps", "4x200Gbps"};
  EXPECT_EQ(ports_needed(kind, {{gigabits_per_second(800), 3}}), 3);
  EXPECT_EQ(ports_needed(kind, {{gigabits_per_second(400), 3}}), 2);
  EXPECT_EQ(ports_needed(kind, {{gigabits_per_second(100), 5}}), 2);
  EXPECT_EQ(ports_needed(kind, {{gigabits_per_second(400), 1}, {gigabits_per_second(200), 1}}), 2);
  EXPECT_EQ(ports_needed(kind, {{gigabits_per_second(1600), 1}}), -1);
  EXPECT_EQ(ports_needed(kind, {}), 0);
}

// Ports of a switch by independent count: links of a rate that fit one port, by the catalog's splits.
double ports_taken(const SwitchKind& kind, std::initializer_list<std::pair<Bandwidth, double>> links) {
  double total = 0;
  for (const auto& [rate, count] : links) {
    if (count == 0) continue;
    double paths = kind.rate >= rate ? 1 : 0;
    for (const std::string& split : kind.breakout) {
      const auto x = split.find('x');
      if (*parse<BandwidthDimension>(split.substr(x + 1)) >= rate)
        paths = std::max(paths, std::stod(split.substr(0, x)));
    }
    if (paths == 0) return 1e9;
    total += std::ceil(count / paths);
  }
  return total;
}

TEST(DeriveShape, WhatLoadsKeepsItsPortBudgetAndJoinsEveryNic) {
  int loaded = 0;
  EXPECT_TRUE(rc::check([&] {
    const auto maybe = [](const std::string& key, std::int64_t low, std::int64_t high) {
      return *rc::gen::inRange(0, 2) == 0 ? "" : fmt::format(", {}: {}", key, *rc::gen::inRange(low, high));
    };
    const std::string kind = *rc::gen::element<std::string>("rail-optimized", "tor-clos", "rail-only");
    std::string fabric = "{kind: " + kind + ", switch: " +
                         *rc::gen::element<std::string>("tomahawk-5", "tomahawk-4", "quantum-2", "spectrum-4");
    if (kind == "rail-optimized") fabric += fmt::format(", scalable_unit: {}", *rc::gen::element(4, 8, 16, 32));
    if (kind != "rail-optimized") fabric += maybe("servers_per_leaf", 1, 20);
    fabric += maybe("spines", 1, 17) + maybe("oversubscription", 1, 4);
    if (kind != "rail-only") fabric += maybe("pod", 1, 5);
    const std::string servers = fmt::format("{{kind: hgx-h100, count: {}, nics: {}}}", *rc::gen::inRange(1, 300),
                                            *rc::gen::element(1, 2, 4, 8));
    const auto cluster = load(servers, fabric + "}");
    if (!cluster) return;
    ++loaded;
    const ClosShape& shape = clos(*cluster);
    const Shape& all = cluster->shape;
    const Wiring& wiring = all.wiring[0];
    const double nics = wiring.servers_per_block * wiring.nics_per_leaf * wiring.ports_per_plane;
    const double up = shape.spines_per_pod * shape.bundle;
    RC_ASSERT(ports_taken(all.switches[0], {{wiring.wire.rate, nics}, {shape.spine_wire.rate, up}}) <=
              static_cast<double>(all.switches[0].ports));
    const std::uint32_t blocks = (cluster->servers + wiring.servers_per_block - 1) / wiring.servers_per_block;
    RC_ASSERT(shape.sites[0].leaves == blocks * wiring.leaves_per_block);
    RC_ASSERT(wiring.leaves_per_block * wiring.nics_per_leaf * all.rail_planes >= cluster->groups[0].nics());
    if (shape.tiers >= 2) {
      const double down = shape.leaves_per_pod * shape.bundle;
      const double above = shape.tiers == 3 ? shape.supers_per_group * shape.super_bundle : 0;
      RC_ASSERT(ports_taken(all.switches[1], {{shape.spine_wire.rate, down}, {shape.super_wire.rate, above}}) <=
                static_cast<double>(all.switches[1].ports));
      RC_ASSERT(shape.sites[0].pods * shape.leaves_per_pod >= shape.sites[0].leaves);
    }
    if (shape.tiers == 3) {
      RC_ASSERT(shape.spines_per_pod % shape.super_groups == 0U);
      const double down = shape.sites[0].pods * (shape.spines_per_pod / shape.super_groups) * shape.super_bundle;
      RC_ASSERT(ports_taken(all.switches[2], {{shape.super_wire.rate, down}}) <=
                static_cast<double>(all.switches[2].ports));
    }
  }));
  EXPECT_GT(loaded, 10);
}

TEST(DeriveShape, HugeNumbersNeitherOverflowNorTakeLong) {
  const std::string big = "{kind: tomahawk-5, ports: 4096, rate: 1Pbps, breakout: [999x1Gbps]}";
  for (const std::string& fabric :
       {"{kind: tor-clos, switch: " + big + "}",
        "{kind: tor-clos, switch: " + big + ", servers_per_leaf: 2000000, link: {rate: 1Gbps}}",
        "{kind: rail-optimized, scalable_unit: 2000000, pod: 2000000, spines: 1000000, parallel_links: 4096, switch: " +
            big + "}",
        "{kind: tor-clos, switch: " + big +
            ", spines: 1000000, super_spines: 1000000, pod: 2000000, oversubscription: 1:1000000}",
        "{kind: tor-clos, switch: " + big + ", oversubscription: 0.000001, spine_link: {rate: 1Gbps}}",
        "{kind: dragonfly, switch: " + big +
            ", servers_per_router: 4096, routers_per_group: 4096, global_links: 4096, groups: 1000000}"}) {
    const auto start = std::chrono::steady_clock::now();
    load("{kind: hgx-h100, count: 2000000, nics: 1, gpus: 1, nic: {kind: connectx-7, rate: 1Pbps}}", fabric);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10)) << fabric;
  }
}

TEST(DeriveShape, KeysOfAThirdTierNeedOne) {
  const std::string head =
      "version: 1\nservers: {kind: hgx-h200, count: 64}\nfabric: {kind: tor-clos, servers_per_leaf: 2";
  for (const std::string key : {"super_parallel_links: 1", "super_oversubscription: 1",
                                "super_spine_link: {cable: 30m}", "super_spine_switch: tomahawk-5"}) {
    std::string said;
    EXPECT_FALSE(load(head + ", " + key + "}\n", &said)) << key;
    EXPECT_NE(said.find("there are no super-spines"), std::string::npos) << said;
    EXPECT_NE(said.find(key.substr(0, key.find(':'))), std::string::npos) << said;
    EXPECT_TRUE(load(head + ", pod: 8, " + key + "}\n", &said)) << key << said;
  }
}

}  // namespace
}  // namespace weft::model
