#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include <set>

#include "render/testing_render.hpp"

namespace weft::render {
namespace {

using namespace testing;

// Clusters of every kind of fabric, a few servers each.
std::string drawn_cluster() {
  const int nics = *rc::gen::element(1, 2, 4, 8);
  const int units = *rc::gen::inRange(1, 4);
  const std::string servers = fmt::format("servers: {{kind: hgx-h100, count: {}, nics: {}}}\n", 4 * units, nics);
  const std::string planes = fmt::format(
      "servers: {{kind: hgx-h100, count: {}, nics: {}, nic: {{kind: connectx-7, ports: 2}}}}\n", 4 * units, nics);
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      return servers + "fabric: {kind: rail-optimized, scalable_unit: 4, spines: 2, switch: tomahawk-4}\n";
    case 1:
      return servers + "fabric: {kind: rail-only, switch: tomahawk-4}\n";
    case 2:
      return servers + "fabric: {kind: tor-clos, switch: tomahawk-5, servers_per_leaf: 2, oversubscription: 1}\n";
    case 3:
      return planes + "fabric: {kind: rail-optimized, planes: 2, switch: tomahawk-4, scalable_unit: 4, spines: 4}\n";
    case 4:
      return servers + "fabric: {kind: single-chassis, switch: {kind: tomahawk-4, ports: 128}}\n";
    default:
      return fmt::format(
          "servers:\n"
          "  - {{name: east, kind: hgx-h100, count: 4, nics: {0}, site: east}}\n"
          "  - {{name: west, kind: hgx-h100, count: 8, nics: {0}, site: west}}\n"
          "fabric: {{kind: rail-optimized, switch: tomahawk-4, scalable_unit: 4, spines: 4,\n"
          "         sites: {{gateways: 2, links: 4, rate: 400Gbps, latency: 1ms}}}}\n",
          nics);
  }
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};
Range range_of(const Prefix& prefix) {
  return {prefix.address, prefix.address + static_cast<std::uint32_t>((std::uint64_t{1} << (32 - prefix.length)) - 1)};
}

RC_GTEST_PROP(Addressing, NamesAddressesAndInterfacesAreUnique, ()) {
  const std::string yaml = drawn_cluster();
  RC_LOG(yaml);
  const Built built = build(yaml);
  const auto plan = Addressing::of(built.fabric);
  RC_ASSERT(plan.has_value());
  std::set<std::string> names;
  std::set<std::uint32_t> addresses;
  const auto fresh = [](auto& seen, const auto& value) { RC_ASSERT(seen.insert(value).second); };
  for (std::uint32_t i = 0; i < plan->switches(); ++i) {
    fresh(names, plan->switch_name(i));
    fresh(addresses, plan->switch_loopback(i));
    std::set<std::string> interfaces;
    for (const Port& port : plan->switch_ports(i)) {
      fresh(interfaces, port.interface);
      RC_ASSERT(port.panel < built.fabric.switch_kind(i).ports);
    }
  }
  std::vector<Range> blocks;
  for (std::uint32_t i = 0; i < plan->servers(); ++i) {
    fresh(names, plan->server_name(i));
    fresh(addresses, plan->server_loopback(i));
    for (const Port& port : plan->server_ports(i)) {
      fresh(addresses, plan->nic(i, port.rail));
      const Range own = range_of(plan->pods(i, port.rail));
      const Range rail = range_of(plan->rail(port.rail));
      RC_ASSERT(own.first >= rail.first && own.last <= rail.last);
      RC_ASSERT(plan->nic(i, port.rail) > own.first && plan->nic(i, port.rail) <= own.last);
      blocks.push_back(own);
    }
  }
  std::sort(blocks.begin(), blocks.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
  for (std::size_t i = 1; i < blocks.size(); ++i) RC_ASSERT(blocks[i - 1].last < blocks[i].first);
}

// Both ends of a cable agree on what it joins, in length and rate.
RC_GTEST_PROP(Addressing, BothEndsOfACableAgree, ()) {
  const Built built = build(drawn_cluster());
  const auto plan = Addressing::of(built.fabric);
  RC_ASSERT(plan.has_value());
  const auto at = [](const std::vector<Port>& ports, const std::string& interface) {
    for (const Port& port : ports)
      if (port.interface == interface) return port;
    RC_FAIL("no such interface");
  };
  std::uint32_t ups = 0;
  std::uint32_t downs = 0;
  for (std::uint32_t i = 0; i < plan->switches(); ++i)
    for (const Port& port : plan->switch_ports(i)) {
      if (!port.connected) continue;
      const Port other =
          at(port.peer_is_server ? plan->server_ports(port.peer_index) : plan->switch_ports(port.peer_index),
             port.peer_interface);
      RC_ASSERT(other.peer == plan->switch_name(i));
      RC_ASSERT(other.peer_interface == port.interface);
      RC_ASSERT(other.wire.rate == port.wire.rate);
      RC_ASSERT(other.cable == port.cable);
      if (port.peer_is_server || port.tier == fabric::LinkTier::site) continue;
      RC_ASSERT(other.up != port.up);
      ++(port.up ? ups : downs);
    }
  RC_ASSERT(ups == downs);
}

// Neighbours are external to each other, and a tier's switches that share an AS are not joined.
RC_GTEST_PROP(Addressing, NeighboursHaveDifferentAsNumbers, ()) {
  const Built built = build(drawn_cluster());
  const auto plan = Addressing::of(built.fabric);
  RC_ASSERT(plan.has_value());
  for (std::uint32_t i = 0; i < plan->switches(); ++i) {
    RC_ASSERT(plan->switch_as(i) >= 4'200'000'000u && plan->switch_as(i) <= 4'294'967'294u);
    for (const Port& port : plan->switch_ports(i)) {
      if (!port.connected) continue;
      RC_ASSERT((port.peer_is_server ? plan->server_as(port.peer_index) : plan->switch_as(port.peer_index)) !=
                plan->switch_as(i));
    }
  }
}

TEST(Addressing, SpinesOfAPodShareAnAsAndLeavesDoNot) {
  const Built built = build(kTwoUnits);
  const auto plan = Addressing::of(built.fabric);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->switches(), 6u);
  EXPECT_EQ(plan->switch_name(4), "spine0");
  EXPECT_EQ(plan->switch_as(0), 4'230'000'000u);
  EXPECT_EQ(plan->switch_as(3), 4'230'000'003u);
  EXPECT_EQ(plan->switch_as(4), 4'220'000'000u);
  EXPECT_EQ(plan->switch_as(5), 4'220'000'000u);
  EXPECT_EQ(plan->server_as(3), 4'260'000'003u);
}

TEST(Addressing, IsAsTheHeaderSays) {
  const Built built = build(kTwoUnits);
  const auto plan = Addressing::of(built.fabric);
  ASSERT_TRUE(plan);
  EXPECT_EQ(dotted(plan->server_loopback(0)), "10.0.0.1");
  EXPECT_EQ(dotted(plan->switch_loopback(5)), "10.64.0.6");
  EXPECT_EQ(plan->rail(0).text(), "10.128.0.0/10");
  EXPECT_EQ(plan->rail(1).text(), "10.192.0.0/10");
  EXPECT_EQ(plan->pods(3, 1).text(), "10.192.0.48/28");
  EXPECT_EQ(dotted(plan->nic(3, 1)), "10.192.0.49");
}

// 4 x 400G NIC ports of two servers, then 2 uplinks: 400G ports of 8 lanes, one after another.
TEST(Addressing, PortsAreNamedByLanes) {
  const Built built = build(kTwoUnits);
  const auto plan = Addressing::of(built.fabric);
  const std::vector<Port> leaf = plan->switch_ports(0);
  EXPECT_EQ(leaf[0].interface, "Ethernet0");
  EXPECT_EQ(leaf[1].interface, "Ethernet8");
  EXPECT_EQ(leaf[0].peer, "s0");
  EXPECT_EQ(leaf[0].peer_interface, "pf1");
  EXPECT_EQ(plan->switch_ports(1)[1].peer, "s1");
  EXPECT_EQ(plan->switch_ports(1)[1].peer_interface, "pf2");
}

// Tomahawk 5 has ports of 800G: two NICs of 400G share one, its second half is four lanes on.
TEST(Addressing, BreakoutsShareAFrontPanelPort) {
  const Built built = build(
      "servers: {kind: hgx-h100, count: 2, nics: 2}\n"
      "fabric: {kind: single-chassis, switch: tomahawk-5}\n");
  const auto plan = Addressing::of(built.fabric);
  const std::vector<Port> ports = plan->switch_ports(0);
  EXPECT_EQ(ports[1].interface, "Ethernet4");
  EXPECT_EQ(ports[1].panel, 0u);
  EXPECT_EQ(ports[1].part, 1u);
  EXPECT_EQ(ports[2].interface, "Ethernet8");
  EXPECT_EQ(ports[2].lanes, 4u);
}

TEST(Addressing, LargeClustersHaveFewerAddressesPerServer) {
  const Built built = build(
      "servers: {kind: hgx-h100, count: 131072}\n"
      "fabric: {kind: rail-optimized, switch: tomahawk-6, scalable_unit: 128, pod: 16, spines: 128,\n"
      "         link: {rate: 400Gbps, cable: 5m}}\n");
  const auto plan = Addressing::of(built.fabric);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->pods(1, 0).text(), "10.128.0.8/29");
}

TEST(Addressing, RefusesNamesThatHostsCannotTellApart) {
  const auto refused = [](const std::string& one, const std::string& two) {
    const Built built = build("servers:\n  - {name: " + one + ", kind: hgx-h100, count: 1}\n  - {name: " + two +
                              ", kind: hgx-h100, count: 1}\nfabric: {kind: tor-clos, switch: tomahawk-4}\n");
    const auto plan = Addressing::of(built.fabric);
    return plan ? std::string() : plan.error().what;
  };
  EXPECT_EQ(refused("a-b", "c"), "");
  EXPECT_EQ(refused("a-b", "a_b"), "servers 'a_b' and servers 'a-b' would have the same host names");
  EXPECT_EQ(refused("gpu", "GPU"), "servers 'GPU' and servers 'gpu' would have the same host names");
}

RC_GTEST_PROP(Addressing, EcmpIsTheWidestOfAllTargets, ()) {
  const Built built = build(drawn_cluster());
  const auto plan = Addressing::of(built.fabric);
  RC_ASSERT(plan.has_value());
  for (std::uint32_t i = 0; i < plan->switches(); ++i) {
    const std::uint32_t local = i % built.fabric.switches_per_plane();
    std::uint32_t widest = 1;
    for (std::uint32_t leaf = 0; leaf < built.fabric.tiers().front().count; ++leaf)
      if (leaf != local) widest = std::max(widest, built.fabric.clos()->towards(local, {leaf, 0}).count);
    RC_ASSERT(plan->ecmp_width(i) == widest);
  }
}

TEST(Addressing, EcmpIsAsWideAsTheFabric) {
  const Built built = build(
      "servers: {kind: hgx-h100, count: 32, nics: 2}\n"
      "fabric: {kind: rail-optimized, scalable_unit: 16, spines: 4, super_spines: 4, switch: tomahawk-4,\n"
      "         link: {rate: 400Gbps, cable: 5m}}\n");
  const auto plan = Addressing::of(built.fabric);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->ecmp_width(0), 16u);  // a leaf: 4 links to each of 4 spines
  EXPECT_EQ(plan->ecmp_width(4), 8u);   // a spine: 2 links to each of 4 super-spines
}

}  // namespace
}  // namespace weft::render
