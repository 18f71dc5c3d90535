#include "model/load.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

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

// ---- what is wrong with a group of servers

std::string error_of(const std::string& yaml) {
  spec::Diagnostics diagnostics;
  EXPECT_FALSE(load(yaml, {}, diagnostics)) << yaml;
  return spec::render_text(diagnostics, false);
}
void expect_error(const std::string& servers, const std::string& text) {
  const std::string said = error_of("version: 1\nservers: " + servers + "\nfabric: {kind: tor-clos}\n");
  EXPECT_NE(said.find(text), std::string::npos) << servers << "\n" << said;
}

TEST(Load, PlacesOfPartsExist) {
  expect_error("{kind: hgx-h100, count: 1, gpu_switch: [0, 1]}", "'gpu_switch' has 2 numbers for 8 GPUs");
  expect_error("{kind: hgx-h100, count: 1, nics: 1, nic_switch: [4], pcie_switches: 4}",
               "'nic_switch' names PCIe switch 4, but the server has 4 PCIe switches");
  expect_error("{kind: hgx-h100, count: 1, pcie_switches: 2, switch_socket: [0, 2]}",
               "'switch_socket' names CPU 2, but the server has 2 CPUs");
  EXPECT_EQ(good("version: 1\nservers: {kind: hgx-h100, count: 1, pcie_switches: 2, switch_socket: [0, 1]}\n"
                 "fabric: {kind: tor-clos}\n")
                .groups[0]
                .diagram.switch_socket,
            (std::vector<std::uint32_t>{0, 1}));
}

TEST(Load, SeveralCpusAreJoined) {
  const std::string server =
      "{gpu: h100-sxm, gpus: 2, nic: connectx-7, nics: 2, pcie_gen: 5, pcie_switches: 0, count: 1, "
      "sockets: ";
  expect_error(server + "2}", "2 CPUs need a 'socket_link' between them");
  EXPECT_EQ(good("version: 1\nservers: " + server + "1}\nfabric: {kind: tor-clos}\n").servers, 1U);
}

TEST(Load, ScaleUpDomainsAreWhole) {
  expect_error("{kind: gb200-nvl72, count: 17}", "17 servers cannot fill scale-up domains of 18");
  expect_error("{kind: gb200-nvl72, count: 4}", "count is of servers, not of domains");
  expect_error("{kind: gb200-nvl72, count: 4}", "count: 72 (4 domains) or 18 (1 domain) would work");
  expect_error("{kind: gb200-nvl72, count: 40}", "count: 36 or 54 would work");
  expect_error("{kind: hgx-h100, count: 1, scale_up: {link: nvlink4, switches: 4, torus: [2, 4]}}",
               "a scale-up network has either switches or a torus");
  expect_error("{kind: hgx-h100, count: 1, scale_up: {link: nvlink4, switches: 0, torus: [2, 3]}}",
               "the torus has 6 positions for 8 GPUs of one domain");
}

TEST(Load, GroupsHaveNamesThatKeepTheirServersApart) {
  const auto two = [](const std::string& a, const std::string& b) {
    return "[{kind: hgx-h100, count: 20, name: " + a + "}, {kind: hgx-h100, count: 1, name: " + b + "}]";
  };
  expect_error(two("x", "x"), "two groups of servers are called 'x'");
  expect_error(two("x", "x1"), "groups 'x' and 'x1' both have a server x10");
  expect_error(two("'a b'", "x"), "servers cannot be called 'a b'");
  EXPECT_EQ(good("version: 1\nservers: " + two("x", "x2") + "\nfabric: {kind: tor-clos}\n").servers, 21U)
      << "there is no x20";
}

TEST(Load, EveryServerHasAPortOnTwoLeavesOfTheFrontend) {
  const std::string before = "version: 1\nservers: {kind: hgx-h100, count: 100}\nfabric: {kind: tor-clos}\nfrontend: ";
  EXPECT_EQ(good(before + "{switch: tomahawk-4}\n").frontend_leaves(), 2U);
  EXPECT_EQ(good(before + "{switch: tomahawk-4, servers_per_leaf: 40}\n").frontend_leaves(), 6U);
  EXPECT_EQ(good(kAcp).frontend_leaves(), 0U);
  EXPECT_NE(error_of(before + "{switch: tomahawk-4, rate: 400Gbps}\n").find("servers_per_leaf: 64 would work"),
            std::string::npos);
  EXPECT_NE(error_of(before + "{switch: tomahawk-4, rate: 1600Gbps}\n").find("400Gbps at most"), std::string::npos);
  EXPECT_NE(error_of(before + "{switch: {kind: tomahawk-4, breakout: [9x400Gbps]}}\n").find("cannot be split"),
            std::string::npos);
}

TEST(Load, TenantsHaveServersThatExist) {
  const std::string before = "version: 1\nservers: {kind: hgx-h100, count: 4}\nfabric: {kind: tor-clos}\ntenants: ";
  EXPECT_NE(error_of(before + "[{name: a, servers: '4'}]\n").find("there is no server 4"), std::string::npos);
  EXPECT_NE(error_of(before + "[{name: a, servers: '4'}]\n").find("numbered 0 to 3"), std::string::npos);
  EXPECT_NE(error_of(before + "[{name: a, servers: '0'}, {name: a, servers: '1'}]\n").find("two tenants"),
            std::string::npos);
  EXPECT_EQ(good(before + "[{name: a, servers: '3'}]\n").file.tenants.size(), 1U);
}

// What else is wrong does not hide it, as long as servers can be counted.
TEST(Load, JobsAndTenantsAreCheckedBesideOtherFaults) {
  const auto said = [](const std::string& rest) {
    return error_of("version: 1\nservers: {kind: hgx-h100, count: 4}\nfabric: {kind: tor-clos, colour: red}\n" + rest);
  };
  EXPECT_NE(said("run: {all_reduce: {gpus: 33}}\n").find("33"), std::string::npos);
  EXPECT_EQ(said("run: {all_reduce: {gpus: 32}}\n"), said(""));
  EXPECT_NE(said("tenants: [{name: a, servers: '4'}]\n").find("there is no server 4"), std::string::npos);
  EXPECT_EQ(said("tenants: [{name: a, servers: '3'}]\n"), said(""));
}

TEST(Load, LimitsAreInclusive) {
  const auto refused = [](const std::string& key, const std::vector<std::string>& set) {
    spec::Diagnostics diagnostics;
    EXPECT_FALSE(load(kAcp, set, diagnostics)) << key;
    EXPECT_NE(spec::render_text(diagnostics, false).find(key), std::string::npos) << key;
  };
  good(kAcp, {"servers.nic.packet_rate=1000Gpps"});
  refused("packet_rate", {"servers.nic.packet_rate=1000000000001pps"});
  good(kAcp, {"transport.kind=rocev2", "transport.rocev2.qps=16"});
  refused("qps", {"transport.kind=rocev2", "transport.rocev2.qps=17"});
}

// Where nought says that there is none of it, a user may say so.
TEST(Load, NoughtIsAValueWhereItMeansNone) {
  for (const std::string set :
       {"servers.nvme_count=0", "servers.nic.latency=0ns", "servers.nic.purchase=$0", "fabric.link.cable=0m",
        "switching.mark_from=0%", "switching.reaction=0ns", "transport.trim_cut=0", "transport.rocev2.retries=0",
        "transport.rocev2.cnp_interval=0ns", "transport.tcp.timer_least=0ns", "transport.tcp.delayed_ack=0ns",
        "transport.tcp.plb_rounds=0", "transport.uet.recycle=0", "transport.uet.proportional=0",
        "transport.uet.fair=0"}) {
    spec::Diagnostics diagnostics;
    EXPECT_TRUE(load(kAcp, {set}, diagnostics)) << spec::render_text(diagnostics, false);
  }
}

TEST(Load, RulesThatContradictEachOtherAreSaid) {
  const std::string said = error_of(kAcp + "switching: {mark_from: 50%, mark_to: 10%}\n");
  EXPECT_NE(said.find("mark_from of at most 10%"), std::string::npos) << said;
}

TEST(Load, ATenantHasServers) {
  const std::string said = error_of(kAcp + "tenants: [{name: a}]\n");
  EXPECT_NE(said.find("needs the key 'servers'"), std::string::npos) << said;
}

// ---- sites

std::string two_sites(const std::string& sites) {
  return "version: 1\nservers:\n  - {kind: hgx-h100, count: 16, site: east}\n"
         "  - {kind: hgx-h100, count: 16, site: west}\n  - {kind: hgx-h100, count: 16, site: east}\n"
         "fabric: {kind: rail-optimized, switch: tomahawk-4, scalable_unit: 16, spines: 8, sites: {latency: 1ms, " +
         sites + "}}\n";
}

TEST(Load, AGroupKnowsItsSite) {
  const Cluster cluster = good(two_sites("links: 1"));
  EXPECT_EQ(cluster.sites, (std::vector<std::string>{"east", "west"}));
  ASSERT_EQ(cluster.groups.size(), 3u);
  EXPECT_EQ(cluster.groups[0].site, 0u);
  EXPECT_EQ(cluster.groups[1].site, 1u);
  EXPECT_EQ(cluster.groups[2].site, 0u);
}

TEST(Load, GatewaysAreJoined) {
  const std::string said = error_of(two_sites("links: 0"));
  EXPECT_NE(said.find("'links'"), std::string::npos) << said;
}

// ---- what is not in a file

TEST(Load, AnOptionIsAMappingWhoseFirstKeyIsNotWritten) {
  spec::Diagnostics diagnostics;
  const FaultSpec bare = read_fault("spine0", catalog(), diagnostics);
  EXPECT_EQ(bare.part, "spine0");
  EXPECT_EQ(bare.kind, FaultKind::down);
  const FaultSpec fault = read_fault("s0/nic1,kind=flapping,every=20us,for=5us", catalog(), diagnostics);
  EXPECT_EQ(fault.part, "s0/nic1");
  EXPECT_EQ(fault.kind, FaultKind::flapping);
  EXPECT_EQ(fault.every, microseconds(20));
  EXPECT_EQ(fault.lasts, microseconds(5));
  const TrafficRun traffic = read_traffic("x,pattern=ring,size=1MB", catalog(), diagnostics);
  EXPECT_EQ(traffic.name, "x");
  EXPECT_EQ(traffic.pattern, TrafficPattern::ring);
  EXPECT_EQ(traffic.size.count(), 1'000'000);
  EXPECT_FALSE(diagnostics.has_errors()) << spec::render_text(diagnostics, false);
}

TEST(Load, WhatIsWrongWithAnOptionIsSaid) {
  const std::pair<std::string, std::string> wrong[] = {{"spine0,kind=green", "green"},
                                                       {"spine0,colour=red", "colour"},
                                                       {"spine0,kind", "kind"},
                                                       {"spine0,at=soon", "soon"}};
  for (const auto& [text, word] : wrong) {
    spec::Diagnostics diagnostics;
    read_fault(text, catalog(), diagnostics);
    ASSERT_TRUE(diagnostics.has_errors()) << text;
    const std::string said = spec::render_text(diagnostics, false);
    EXPECT_NE(said.find(word), std::string::npos) << said;
    EXPECT_NE(said.find("--fault"), std::string::npos) << said;
  }
}

// The only cluster file of a folder need not be named; where there are several, none is guessed.
TEST(Load, TheOneClusterFileOfAFolderIsFound) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("weft_load_test." + std::to_string(::getpid()));
  fs::create_directories(folder);
  const auto touch = [&](const std::string& name) { std::ofstream(folder / name) << "version: 1\n"; };
  const auto find = [&] {
    spec::Diagnostics diagnostics;
    const auto found = find_cluster_file(folder, diagnostics);
    EXPECT_NE(found.has_value(), diagnostics.has_errors());
    return found ? found->string() : diagnostics.sorted().at(0).message + diagnostics.sorted().at(0).help;
  };
  touch("other.yaml");
  EXPECT_NE(find().find("none is here"), std::string::npos) << find();
  touch("b.weft.yaml");
  EXPECT_EQ(find(), "b.weft.yaml");
  for (const char* name : {"a.weft.yaml", "c.weft.yaml"}) touch(name);
  const std::string several = find();
  for (const char* word : {"3 here", "a.weft.yaml", "b.weft.yaml", "c.weft.yaml"})
    EXPECT_NE(several.find(word), std::string::npos) << several;
  for (int i = 0; i < 7; ++i) touch("d" + std::to_string(i) + ".weft.yaml");
  EXPECT_NE(find().find("10 here"), std::string::npos) << find();
  fs::remove_all(folder);
  EXPECT_NE(find().find("none is here"), std::string::npos) << "a folder that is not there";
}

// What goes on beside something needs a collective before it; traffic is none.
TEST(Load, ACollectiveAlongsideNeedsOneBeforeIt) {
  const std::string beside = "  - all_reduce: {alongside: true}\n";
  for (const std::string before : {"", "  - traffic: {pattern: ring, size: 1MB}\n"}) {
    const std::string said = error_of(kAcp + "run:\n" + before + beside);
    EXPECT_NE(said.find("there is no collective before it"), std::string::npos) << said;
  }
  good(kAcp + "run:\n  - all_gather: {}\n" + beside);
}

}  // namespace
}  // namespace weft::model
