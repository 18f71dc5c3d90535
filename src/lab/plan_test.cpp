#include "lab/plan.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <stdexcept>

#include "model/load.hpp"
#include "spec/diagnostics.hpp"

namespace weft::lab {
namespace {

Plan plan_of(const std::string& yaml, Bandwidth rate = kDefaultRate) {
  static const model::Catalog catalog = [] {
    spec::Diagnostics own;
    return model::Catalog::embedded(own);
  }();
  spec::Diagnostics diagnostics;
  const std::uint32_t source = diagnostics.sources().add("test.weft.yaml", "version: 1\n" + yaml);
  const auto cluster = model::load_cluster(source, "test", {}, catalog, diagnostics);
  if (!cluster) throw std::runtime_error(spec::render_text(diagnostics, false));
  const fabric::Fabric fabric(*cluster);
  return *plan_lab(*render::Addressing::of(fabric), "test", rate);
}

// Two units of two servers with two rails: leaves 0 and 2 carry rail 0, leaves 1 and 3 rail 1; two spines above.
const std::string kTwoUnits =
    "servers: {kind: hgx-h100, count: 4, nics: 2}\n"
    "fabric: {kind: rail-optimized, scalable_unit: 2, spines: 2, switch: tomahawk-4, link: {rate: 400Gbps, cable: "
    "5m}}\n";

const Reach& reach_of(const Plan& plan, const std::string& device, const std::string& address) {
  for (const Reach& reach : plan.find(device)->reach)
    for (const std::string& each : reach.addresses)
      if (each == address) return reach;
  static const Reach none;
  return none;
}

TEST(LabPlan, EveryCableIsALinkOnce) {
  const Plan plan = plan_of(kTwoUnits);
  EXPECT_EQ(plan.devices.size(), 10u);
  EXPECT_EQ(plan.links.size(), 16u);  // 8 of NICs, 4 leaves with 2 spines
  std::set<std::pair<std::uint32_t, std::string>> ends;
  for (const Link& link : plan.links)
    for (const End& end : {link.a, link.b})
      EXPECT_TRUE(ends.emplace(end.device, end.interface).second) << plan.devices[end.device].name << end.interface;
}

TEST(LabPlan, DevicesReachNicsByThePortsOfTheFabric) {
  const Plan plan = plan_of(kTwoUnits);
  using Names = std::vector<std::string>;
  EXPECT_EQ(reach_of(plan, "leaf0", "10.128.0.1").interfaces, Names{"Ethernet0"});
  EXPECT_EQ(reach_of(plan, "leaf0", "10.128.0.33").interfaces, (Names{"Ethernet16", "Ethernet24"}));
  EXPECT_EQ(reach_of(plan, "spine1", "10.192.0.33").interfaces, Names{"Ethernet24"});
  EXPECT_EQ(reach_of(plan, "s0", "10.192.0.33").interfaces, Names{"pf2"}) << "each rail by its own NIC";
  EXPECT_TRUE(reach_of(plan, "s0", "10.128.0.1").interfaces.empty()) << "its own address";
  EXPECT_EQ(plan.find("leaf0")->planned_width(), 2u);
  EXPECT_EQ(plan.find("spine0")->planned_width(), 1u);
}

TEST(LabPlan, ServersReachEachOtherByBothLeavesOfTheFrontend) {
  const Plan plan = plan_of(kTwoUnits + "frontend: {switch: tomahawk-4, rate: 100Gbps, servers_per_leaf: 3}\n");
  using Names = std::vector<std::string>;
  EXPECT_EQ(plan.links.size(), 16u + 8);
  EXPECT_EQ(reach_of(plan, "s0", "10.0.0.3").interfaces, (Names{"mgmt1", "mgmt2"}));
  EXPECT_EQ(reach_of(plan, "s0", "10.48.0.2").interfaces, Names{"mgmt2"}) << "the second leaf";
  EXPECT_TRUE(reach_of(plan, "s0", "10.0.0.4").interfaces.empty()) << "of another pair";
  EXPECT_EQ(reach_of(plan, "frontend-leaf1", "10.0.0.2").interfaces, Names{"Ethernet2"});
  EXPECT_EQ(plan.planned, gigabits_per_second(400)) << "of links between switches of the fabric";
  EXPECT_EQ(overlays(plan).size() + 1, overlays(plan_of(kTwoUnits)).size()) << "nothing to say of the frontend";
}

TEST(LabPlan, RailsThatAreNotJoinedAreNotReachedByEachOther) {
  const Plan plan =
      plan_of("servers: {kind: hgx-h100, count: 4, nics: 2}\nfabric: {kind: rail-only, switch: tomahawk-4}\n");
  EXPECT_EQ(reach_of(plan, "s0", "10.192.0.17").interfaces, std::vector<std::string>{"pf2"});
  for (const Device& device : plan.devices) {
    if (device.is_server) continue;
    for (const Reach& reach : device.reach) EXPECT_EQ(reach.addresses.size(), 1u) << device.name;
  }
}

// Two routers a group, three groups, a server each: from router0 to router3 it is as far by its own global link and
// over router1's.
TEST(LabPlan, ADragonflyTakesAnyOfTheShortestWays) {
  const Plan plan = plan_of(
      "servers: {kind: hgx-h100, count: 6, nics: 1}\n"
      "fabric: {kind: dragonfly, switch: tomahawk-4, servers_per_router: 1, routers_per_group: 2, global_links: 2, "
      "routing: minimal, link: {rate: 400Gbps, cable: 15m}}\n");
  const Reach& far = reach_of(plan, "router0", "10.128.0.49");
  EXPECT_TRUE(far.any);
  EXPECT_EQ(far.interfaces, (std::vector<std::string>{"Ethernet16", "Ethernet8"}));
  EXPECT_EQ(reach_of(plan, "router3", "10.128.0.49").interfaces, std::vector<std::string>{"Ethernet0"});
  EXPECT_EQ(plan.find("router0")->planned_width(), 1u);
}

TEST(LabPlan, AllRatesAreScaledByOneFactor) {
  const Plan plan = plan_of(
      "servers: {kind: hgx-h100, count: 4, nics: 1}\n"
      "fabric: {kind: tor-clos, switch: tomahawk-4, servers_per_leaf: 2, spines: 2, spine_link: {rate: 100Gbps, cable: "
      "20m}}\n",
      Bandwidth(200'000'000));
  for (const Link& link : plan.links)
    EXPECT_EQ(link.rate.count(), link.is_nic ? 800'000'000 : 200'000'000) << "NICs of 400 Gb/s, spines of 100 Gb/s";
  EXPECT_EQ(plan.planned, gigabits_per_second(100));
}

TEST(LabPlan, WithoutSwitchesAboveTheRateIsThatOfNics) {
  const Plan plan =
      plan_of("servers: {kind: hgx-h100, count: 2, nics: 1}\nfabric: {kind: single-chassis, switch: tomahawk-4}\n");
  for (const Link& link : plan.links) EXPECT_EQ(link.rate, kDefaultRate);
}

TEST(LabPlan, NamesFitNamespacesAndFolders) {
  EXPECT_EQ(lab_name("small ACP"), "small-acp");
  EXPECT_EQ(lab_name("../../etc"), "etc");
  EXPECT_EQ(lab_name("--"), "lab");
  EXPECT_EQ(lab_name(std::string(100, 'x')).size(), 32u);
  EXPECT_EQ(plan_of(kTwoUnits).netns(0), "weft-test-leaf0");
}

TEST(LabPlan, LinksAreMadeInTheirNamespacesAndNowhereElse) {
  const std::string batch = links_batch(plan_of(kTwoUnits));
  EXPECT_TRUE(
      batch.starts_with("link add name pf1 netns weft-test-s0 mtu 9000 type veth peer name Ethernet0 mtu 9000 netns "
                        "weft-test-leaf0\n"))
      << batch;
  EXPECT_EQ(std::count(batch.begin(), batch.end(), '\n'), 16);
}

TEST(LabPlan, BothEndsAreShaped) {
  const Plan plan = plan_of(kTwoUnits);
  const std::string line = "qdisc add dev Ethernet16 root tbf rate 500000000bit burst 32768b limit 282768b\n";
  EXPECT_NE(shaping_batch(plan, 0).find(line), std::string::npos) << shaping_batch(plan, 0);
  EXPECT_NE(shaping_batch(plan, 4).find(line), std::string::npos) << shaping_batch(plan, 4);
}

// What the rendered file says comes first, so that the lab's own settings win.
TEST(LabPlan, KernelSettingsAreTheRenderedOnesThenTheLabs) {
  const auto settings =
      kernel_settings("# a comment = 1\nnet.ipv4.fib_multipath_hash_policy = 1\nnet.ipv4.ip_forward = 1\n");
  ASSERT_GT(settings.size(), 3u);
  EXPECT_EQ(settings[0], (std::pair<std::string, std::string>("net.ipv4.fib_multipath_hash_policy", "1")));
  EXPECT_EQ(settings[1].first, "net.ipv4.ip_forward");
  EXPECT_EQ(settings[2], (std::pair<std::string, std::string>("net.ipv4.fib_multipath_hash_policy", "3")));
}

TEST(LabPlan, FrrLogsIntoTheLabAndNowhereElse) {
  const std::string text = frr_for_lab("hostname leaf0\nlog syslog informational\nend\n", "/x/frr.log");
  EXPECT_EQ(text, "hostname leaf0\nlog file /x/frr.log informational\nno zebra nexthop kernel enable\nend\n");
}

}  // namespace
}  // namespace weft::lab
