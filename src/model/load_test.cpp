#include "model/load.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace weft::model {
namespace {

const Catalog& catalog() {
  static spec::Diagnostics diagnostics;
  static const Catalog catalog = Catalog::embedded(diagnostics);
  return catalog;
}

std::optional<Cluster> load(const std::string& yaml, const std::vector<std::string>& set,
                            spec::Diagnostics& diagnostics) {
  for (int i = 0; i < 6; ++i) diagnostics.sources().add("catalog", "");  // its places come first
  return load_cluster(diagnostics.sources().add("t.weft.yaml", yaml), "t", {set}, catalog(), diagnostics);
}

Cluster good(const std::string& yaml, const std::vector<std::string>& set = {}) {
  spec::Diagnostics diagnostics;
  auto cluster = load(yaml, set, diagnostics);
  EXPECT_TRUE(cluster) << spec::render_text(diagnostics, false);
  return cluster.value_or(Cluster{});
}

const std::string kAcp =
    "version: 1\nservers:\n  kind: acp-h100-2nic\n  count: 32\nfabric:\n  kind: rail-optimized\n"
    "  scalable_unit: 16\n  spines: 4\n";

TEST(Load, NumbersServersGroupByGroup) {
  const Cluster cluster = good(
      "version: 1\nname: mixed\nservers:\n  - {kind: hgx-h100, count: 3}\n  - {kind: acp-h100-2nic, count: 2}\n"
      "fabric: {kind: tor-clos}\n");
  EXPECT_EQ(cluster.name, "mixed");
  EXPECT_EQ(cluster.servers, 5U);
  EXPECT_EQ(cluster.gpus, 40U);
  EXPECT_EQ(cluster.nics, 28U);
  EXPECT_EQ(cluster.groups[0].spec.name, "a");
  EXPECT_EQ(cluster.groups[1].first_gpu, 24U);
  EXPECT_EQ(cluster.groups[1].first_nic, 24U);
}

TEST(Load, NamesManyGroupsApart) {
  std::string yaml = "version: 1\nfabric: {kind: tor-clos}\nservers:\n";
  for (int i = 0; i < 60; ++i) yaml += "  - {kind: hgx-h100, count: 1}\n";
  const Cluster cluster = good(yaml);
  EXPECT_EQ(cluster.groups[25].spec.name, "z");
  EXPECT_EQ(cluster.groups[26].spec.name, "aa");
  EXPECT_EQ(cluster.groups[59].spec.name, "bh");
}

TEST(Load, SetReachesNestedKeysAndKinds) {
  EXPECT_EQ(good(kAcp, {"servers.count=64"}).servers, 64U);
  const Cluster cluster = good(kAcp, {"servers.gpu.power=600W", "fabric.link.cable=30m"});
  EXPECT_EQ(cluster.groups[0].spec.gpu.power, Power(600'000));
  EXPECT_EQ(cluster.groups[0].spec.gpu.kind, "h100-sxm");
  EXPECT_EQ(cluster.file.fabric.link.cable, metres(30));
}

TEST(Load, SetReachesListPositions) {
  const std::string two =
      "version: 1\nservers: [{kind: hgx-h100, count: 1}, {kind: hgx-h200, count: 1}]\nfabric: {kind: tor-clos}\n";
  EXPECT_EQ(good(two, {"servers.1.count=7"}).servers, 8U);
}

TEST(Load, ANewCountOfNicsSpreadsThemEvenly) {
  const Cluster cluster = good(kAcp, {"servers.nics=4", "fabric.spines=4"});
  EXPECT_EQ(cluster.groups[0].diagram.nic_switch, (std::vector<std::uint32_t>{0, 2, 4, 6}));
}

TEST(Load, AFileIsEitherAClusterOrAnErrorInsideIt) {
  const std::string valid[] = {
      kAcp,
      "version: 1\nservers:\n  - {kind: hgx-h100, count: 8, site: a}\n  - {kind: hgx-h100, count: 8, site: b}\n"
      "fabric: {kind: rail-optimized, scalable_unit: 8, spines: 4, sites: {latency: 1ms}}\n",
      "version: 1\nservers: {kind: hgx-h100, count: 64}\nfabric:\n  kind: dragonfly\n  routers_per_group: 4\n"
      "  global_links: 4\ntenants: [{name: x, servers: '0..3,8'}]\nrun: {all_reduce: {sizes: 8B..1GiB}}\n"};
  const std::vector<std::string> tokens = {": ",
                                           "- ",
                                           "\n",
                                           "  ",
                                           "[",
                                           "]",
                                           "{",
                                           "}",
                                           "&a ",
                                           "*a",
                                           "\"",
                                           "'",
                                           "#",
                                           "? ",
                                           "!!",
                                           "---\n",
                                           "0",
                                           "-1",
                                           "99999999999999999999",
                                           "1e9",
                                           "Gbps",
                                           "kind",
                                           "count",
                                           "null",
                                           "~",
                                           "\t",
                                           "\r\n",
                                           "..",
                                           ",",
                                           "\xC3\xA9",
                                           "<<"};
  EXPECT_TRUE(rc::check([&] {
    std::string text = valid[*rc::gen::inRange<std::size_t>(0, 3)];
    const int changes = *rc::gen::inRange(1, 6);
    for (int i = 0; i < changes && !text.empty(); ++i) {
      const std::size_t at = *rc::gen::inRange<std::size_t>(0, text.size());
      switch (*rc::gen::inRange(0, 5)) {
        case 0:
          text[at] = static_cast<char>(*rc::gen::inRange(0, 256));
          break;
        case 1:
          text.resize(at);
          break;
        case 2:
          text.insert(at, *rc::gen::elementOf(tokens));
          break;
        case 3:
          text.erase(at, *rc::gen::inRange<std::size_t>(1, 20));
          break;
        case 4:
          text.insert(at, text.substr(*rc::gen::inRange<std::size_t>(0, text.size()), 30));
          break;
      }
    }
    spec::Diagnostics diagnostics;
    const auto cluster = load(text, {}, diagnostics);
    RC_ASSERT(cluster.has_value() != diagnostics.has_errors());
    for (const spec::Diagnostic& d : diagnostics.sorted()) {
      RC_ASSERT(d.place.source > 0U);
      if (d.place.line == 0) continue;
      RC_ASSERT(d.place.column >= 1U);
      RC_ASSERT(d.place.column <= diagnostics.sources().line(d.place).size() + 1);
    }
  }));
}

TEST(Load, AMappingThatIsNotWrittenHasItsDefaults) {
  const Cluster without = good(kAcp);
  const Cluster with = good(kAcp, {"fabric.link.cable=5m"});
  EXPECT_EQ(without.file.fabric.link.cable, metres(5));
  EXPECT_EQ(without.file.fabric.link.medium.kind, "fiber");
  EXPECT_EQ(without.shape.wiring[0].wire.latency, with.shape.wiring[0].wire.latency);
  EXPECT_GT(without.shape.wiring[0].wire.latency.count(), 0);
  EXPECT_EQ(without.file.transport.kind, TransportKind::srd);
}

TEST(Load, WarnsOfCablesThatAreNotSoldThatLong) {
  const auto warnings = [](const std::string& set) {
    spec::Diagnostics diagnostics;
    EXPECT_TRUE(load(kAcp, {"fabric.link.medium=dac", set}, diagnostics));
    return spec::render_text(diagnostics, false);
  };
  EXPECT_EQ(warnings("fabric.link.cable=3m"), "");
  EXPECT_NE(warnings("fabric.link.cable=50m").find("W0505"), std::string::npos);
}

}  // namespace
}  // namespace weft::model
