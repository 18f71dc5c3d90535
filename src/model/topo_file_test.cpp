#include "model/topo_file.hpp"

#include <gtest/gtest.h>

namespace weft::model {
namespace {

// Two pods of two leaves with four nodes each; a leaf has two links to each of its two spines, a spine one to
// each of its two cores.
const std::string kThreeTiers =
    "# a comment\n"
    "Nodes 16\n"
    "Tiers 3\n"
    "Podsize 8\n"
    "Tier 0\n"
    "Downlink_speed_Gbps 200\n"
    "Radix_Down 4\n"
    "Radix_Up 4\n"
    "Downlink_Latency_ns 1000\n"
    "Tier 1\n"
    "Downlink_speed_Gbps 400\n"
    "Radix_Down 4\n"
    "Radix_Up 2\n"
    "Downlink_Latency_ns 0\n"
    "Switch_Latency_ns 7\n"
    "Bundle 2\n"
    "Tier 2\n"
    "Downlink_speed_Gbps 800\n"
    "Radix_Down 2\n"
    "Downlink_Latency_ns 3\n";

struct Loaded {
  std::optional<Cluster> cluster;
  std::string text;
};

Loaded load(const std::string& topo, const std::vector<std::string>& set = {}) {
  static spec::Diagnostics of_catalog;
  static const Catalog catalog = Catalog::embedded(of_catalog);
  spec::Diagnostics diagnostics;
  for (int i = 0; i < 6; ++i) diagnostics.sources().add("catalog", "");  // its places come first
  Loaded out;
  out.cluster = load_topo(diagnostics.sources().add("t.topo", topo), "t", set, catalog, diagnostics);
  out.text = spec::render_text(diagnostics, false);
  return out;
}

std::string changed(const std::string& before, const std::string& after) {
  std::string text = kThreeTiers;
  const std::size_t at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  return text.replace(at, before.size(), after);
}

TEST(TopoFile, ThreeTiersAreAFatTree) {
  const Loaded loaded = load(kThreeTiers);
  ASSERT_TRUE(loaded.cluster) << loaded.text;
  const Cluster& cluster = *loaded.cluster;
  EXPECT_EQ(cluster.servers, 16u);
  EXPECT_EQ(cluster.gpus, 16u);
  EXPECT_EQ(cluster.groups[0].spec.nic.rate, gigabits_per_second(200));
  const auto& clos = std::get<ClosShape>(cluster.shape.layout);
  EXPECT_EQ(clos.tiers, 3u);
  EXPECT_EQ(clos.leaf_down, 4u);
  EXPECT_EQ(clos.leaves_per_pod, 2u);
  EXPECT_EQ(clos.spines_per_pod, 2u);
  EXPECT_EQ(clos.bundle, 2u);
  EXPECT_EQ(clos.super_bundle, 1u);
  EXPECT_EQ(clos.supers_per_group, 2u);
  EXPECT_EQ(clos.super_groups, 2u);
  EXPECT_EQ(clos.spine_wire.rate, gigabits_per_second(400));
  EXPECT_EQ(clos.super_wire.rate, gigabits_per_second(800));
  EXPECT_EQ(clos.super_wire.latency, nanoseconds(3));
  EXPECT_EQ(cluster.shape.wiring[0].wire.latency, nanoseconds(1000));
  ASSERT_EQ(cluster.shape.switches.size(), 3u);
  EXPECT_EQ(cluster.shape.switches[0].ports, 8);
  EXPECT_EQ(cluster.shape.switches[0].rate, gigabits_per_second(400)) << "its uplinks are faster";
  EXPECT_EQ(cluster.shape.switches[1].ports, 6);
  EXPECT_EQ(cluster.shape.switches[1].latency, nanoseconds(7));
  EXPECT_EQ(cluster.shape.switches[2].ports, 2);
  EXPECT_EQ(cluster.shape.switches[2].rate, gigabits_per_second(800));
}

TEST(TopoFile, TwoTiersAreOnePod) {
  const Loaded loaded = load(changed("Tiers 3\nPodsize 8\n", "Tiers 2\n"));
  EXPECT_FALSE(loaded.cluster) << "a spine then needs a port for each of four leaves";
  EXPECT_NE(loaded.text.find("Radix_Down 8 in tier 1"), std::string::npos) << loaded.text;
  std::string text = changed("Tiers 3\nPodsize 8\n", "Tiers 2\n");
  text.replace(text.rfind("Radix_Down 4"), 12, "Radix_Down 8");
  const Loaded two = load(text);
  ASSERT_TRUE(two.cluster) << two.text;
  EXPECT_EQ(std::get<ClosShape>(two.cluster->shape.layout).leaves_per_pod, 4u);
  EXPECT_EQ(two.cluster->shape.switches.size(), 2u);
}

TEST(TopoFile, IsAsInHtsimWhereNothingIsSaid) {
  const Loaded loaded = load(kThreeTiers, {"transport.paths=4"});
  ASSERT_TRUE(loaded.cluster) << loaded.text;
  EXPECT_EQ(loaded.cluster->file.transport.mtu, Bytes(4086));
  EXPECT_EQ(loaded.cluster->file.transport.paths, 4);
  EXPECT_EQ(load(kThreeTiers, {"transport.mtu=9000B"}).cluster->file.transport.mtu, Bytes(9000));
  for (const char* kind : {"rocev2", "infiniband"})
    EXPECT_FALSE(load(kThreeTiers, {std::string("transport.kind=") + kind}).cluster->file.transport.mtu)
        << "4086 is none of the five sizes";
}

TEST(TopoFile, SaysWhereItIsWrong) {
  const auto expect = [](const std::string& topo, const std::string& error) {
    const Loaded loaded = load(topo);
    EXPECT_FALSE(loaded.cluster) << error;
    EXPECT_NE(loaded.text.find(error), std::string::npos) << loaded.text;
  };
  expect("", "the file describes nothing");
  expect(changed("Nodes 16\n", ""), "'Nodes' is missing");
  expect(changed("Radix_Up 4\n", ""), "t.topo:5:1: error E0409: 'Radix_Up' of tier 0 is missing");
  expect(changed("Nodes 16", "Nodes 0"), "t.topo:2:1: error E0409: 'nodes' cannot be '0'");
  expect(changed("Nodes 16", "Nodes"), "'nodes' has no value");
  expect(changed("Nodes 16", "Nodes 16x"), "'nodes' cannot be '16x'");
  expect(changed("Nodes 16", "Nodes 1000001"), "'nodes' cannot be '1000001'");
  expect(changed("Nodes 16", "Nods 16"), "did you mean 'nodes'?");
  expect(changed("Nodes 16", "Wheels 4"), "before the first Tier stand Nodes");
  expect(changed("Radix_Up 4", "Wheels 4"), "a tier has Radix_*");
  expect(changed("Nodes 16", "Nodes 20"), "20 nodes are no whole number of pods of 8");
  expect(changed("Tiers 3", "Tiers 4"), "Tiers is 4");
  expect(changed("Tiers 3", "Tiers 3\nTiers 3"), "'tiers' stands here a second time");
  expect(changed("Tiers 3", "Radix_Up 3"), "'radix_up' belongs to a tier");
  expect(changed("Radix_Up 4", "Podsize 8"), "'podsize' belongs to the whole file");
  expect(changed("Radix_Down 4", "Radix_Down 3"), "a pod of 8 nodes is no whole number of leaves with 3");
  expect(changed("Radix_Up 4", "Radix_Up 3"), "3 uplinks of a leaf cannot be bundles of 2");
  expect(changed("Radix_Up 2", "Radix_Up 2\nSwitch_Latency_ns x"), "'switch_latency_ns' cannot be 'x'");
}

// What stands below a tier that is not there is not taken for the tier before.
TEST(TopoFile, KeysOfATierThatIsNotThereAreOfNobody) {
  const Loaded loaded = load(changed("Tier 2", "Tier 3"));
  EXPECT_NE(loaded.text.find("there is no tier 3"), std::string::npos) << loaded.text;
  EXPECT_EQ(loaded.text.find("a second time"), std::string::npos) << loaded.text;
}

TEST(TopoFile, SetIsForWhatTheFileDoesNotHave) {
  const Loaded loaded = load(kThreeTiers, {"servers.count=3"});
  EXPECT_FALSE(loaded.cluster);
  EXPECT_NE(loaded.text.find("--set cannot change 'servers' of a .topo file"), std::string::npos) << loaded.text;
}

}  // namespace
}  // namespace weft::model
