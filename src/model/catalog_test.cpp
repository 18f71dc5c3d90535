#include "model/catalog.hpp"

#include <gtest/gtest.h>

#include "model/kinds.hpp"
#include "model/load.hpp"

namespace weft::model {
namespace {

std::string text(const spec::Diagnostics& diagnostics) { return spec::render_text(diagnostics, false); }

TEST(Catalog, EveryEntryLoadsAndEveryNumberHasASource) {
  spec::Diagnostics diagnostics;
  const Catalog catalog = Catalog::embedded(diagnostics);
  catalog.check(diagnostics);
  EXPECT_EQ(text(diagnostics), "");
  for (const std::string& section : Catalog::sections()) EXPECT_FALSE(catalog.names(section).empty()) << section;
}

TEST(Catalog, EveryServerWorksInACluster) {
  spec::Diagnostics loading;
  const Catalog catalog = Catalog::embedded(loading);
  for (const std::string& name : catalog.names("servers")) {
    spec::Diagnostics diagnostics;
    const auto kind = catalog.load<ServerKind>("servers", name, diagnostics);
    ASSERT_TRUE(kind) << name;
    const std::int64_t domain = kind->scale_up ? kind->scale_up->servers : 1;
    const std::uint32_t source = diagnostics.sources().add("t.weft.yaml", "version: 1\nservers: {kind: " + name +
                                                                              ", count: " + std::to_string(2 * domain) +
                                                                              "}\nfabric: {kind: tor-clos}\n");
    const auto cluster = load_cluster(source, "t", {}, catalog, diagnostics);
    ASSERT_TRUE(cluster) << name << "\n" << text(diagnostics);
    EXPECT_EQ(cluster->gpus, 2 * domain * kind->gpus) << name;
    EXPECT_EQ(cluster->groups[0].spec.kind, name);
  }
}

struct Own {
  spec::Diagnostics diagnostics;
  Catalog catalog = Catalog::embedded(diagnostics);
  void add(const std::string& yaml) { catalog.add_source(diagnostics.sources().add("own.yaml", yaml), diagnostics); }
};

// However late a section is read, and whatever else has been loaded before the catalog.
TEST(Catalog, EntriesKnowTheirFile) {
  spec::Diagnostics diagnostics;
  diagnostics.sources().add("before.yaml", "x: 1\n");
  const Catalog catalog = Catalog::embedded(diagnostics);
  diagnostics.sources().add("behind.yaml", "x: 1\n");
  for (const std::string& section : Catalog::sections())
    for (const std::string& name : catalog.names(section))
      EXPECT_EQ(diagnostics.sources().name(catalog.own(section, name)->place.source), "catalog/" + section + ".yaml");
}

// One entry is read where it is asked for; a catalog with files of its own has read all.
TEST(Catalog, AnEntryReadAloneIsThatOfItsSection) {
  Own own;
  const Catalog alone = own.catalog;
  std::string more;
  for (const std::string& section : Catalog::sections()) more += section + ": {mine: {text: none}}\n";
  own.add(more);
  for (const std::string& section : Catalog::sections()) {
    for (const std::string& name : alone.names(section)) {
      const spec::Node& one = *alone.own(section, name);
      const spec::Node& same = *own.catalog.own(section, name);
      ASSERT_EQ(one.entries.size(), same.entries.size()) << name;
      for (std::size_t i = 0; i < one.entries.size(); ++i) {
        EXPECT_EQ(one.entries[i].key, same.entries[i].key) << name;
        EXPECT_EQ(one.entries[i].key_place.line, same.entries[i].key_place.line) << name;
        EXPECT_EQ(one.entries[i].value.text, same.entries[i].value.text) << name;
      }
    }
  }
  EXPECT_EQ(alone.own("gpus", "h100"), nullptr) << "the beginning of a name";
  EXPECT_EQ(alone.own("gpus", ""), nullptr);
}

TEST(Catalog, WhatACopyIsGivenIsItsOwn) {
  Own own;
  const Catalog before = own.catalog;
  own.add("gpus: {mine: {base: h100-sxm}}\n");
  EXPECT_NE(own.catalog.own("gpus", "mine"), nullptr);
  EXPECT_EQ(before.own("gpus", "mine"), nullptr);
  EXPECT_NE(before.own("gpus", "h100-sxm"), nullptr);
}

TEST(Catalog, LaterFilesWinOverEqualNames) {
  Own own;
  own.add("gpus: {h100-sxm: {memory: 96GB, power: 650W}}\n");
  EXPECT_EQ(own.catalog.load<GpuKind>("gpus", "h100-sxm", own.diagnostics)->memory, Bytes(96'000'000'000));
  EXPECT_EQ(text(own.diagnostics), "");
}

TEST(Catalog, EntriesBuildOnOthers) {
  Own own;
  own.add("servers:\n  mine: {base: acp-h100-2nic, memory: 1TiB}\n  yours: {base: mine, nics: 4}\n");
  const auto mine = own.catalog.load<ServerKind>("servers", "mine", own.diagnostics);
  const auto yours = own.catalog.load<ServerKind>("servers", "yours", own.diagnostics);
  ASSERT_TRUE(mine && yours);
  EXPECT_EQ(mine->nic_switch, (std::vector<std::int64_t>{0, 4}));
  EXPECT_EQ(yours->nic_switch.size(), 0U) << "the list of two NICs means nothing for four";
  EXPECT_EQ(yours->memory, mine->memory);
  EXPECT_EQ(yours->kind, "yours");
}

TEST(Catalog, ChecksThatNumbersHaveExactlyOneSource) {
  Own own;
  own.add(
      "cables:\n  none: {latency_per_metre: 5ns}\n"
      "  two:\n    latency_per_metre: 5ns\n    sources:\n      - {fields: [latency_per_metre], from: a}\n"
      "      - {fields: [latency_per_metre], from: b}\n"
      "  ghost:\n    latency_per_metre: 5ns\n    sources: [{fields: [latency_per_metre, colour], from: a}]\n");
  EXPECT_EQ(text(own.diagnostics), "");
  own.catalog.check(own.diagnostics);
  ASSERT_EQ(own.diagnostics.sorted().size(), 3U) << text(own.diagnostics);
  for (const spec::Diagnostic& d : own.diagnostics.sorted()) {
    EXPECT_EQ(spec::info(d.error).code, "E0203");
    EXPECT_FALSE(d.help.empty()) << d.message;
  }
}

}  // namespace
}  // namespace weft::model
