#include "sim/host/host_route.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/host/testing_hosts.hpp"

namespace weft::sim {
namespace {

using fabric::LinkClass;
using fabric::NodeId;
using fabric::NodeKind;
using fabric::value;
using testing::Hosts;

using Names = std::vector<std::string>;

// Names of the nodes on the way, "|" where data rest between two legs.
Names walked(Hosts& hosts, NodeId from, const HostRoute* route) {
  if (route == nullptr) return {};
  const std::uint32_t domain = hosts.routes.domain_of(from);
  Names names;
  for (std::uint32_t leg = 0; leg < route->legs; ++leg) {
    if (leg > 0) names.push_back("|");
    for (const std::uint32_t number : route->leg(leg)) {
      const HostLink link = hosts.routes.link(domain, number);
      if (names.empty()) names.push_back(hosts.fabric.name(link.from));
      names.push_back(link.from == link.to ? "memory" : hosts.fabric.name(link.to));
    }
  }
  return names;
}

Names walked(Hosts& hosts, NodeId from, NodeId to) { return walked(hosts, from, hosts.routes.find(from, to)); }

Bandwidth slowest(const Hosts& hosts, const HostRoute& route) {
  Bandwidth rate(INT64_MAX);
  for (const std::uint32_t link : route.links) rate = std::min(rate, hosts.routes.links(0)[link].rate);
  return rate;
}

TEST(HostRoute, AnHgxGpuReachesItsNicBelowOnePcieSwitch) {
  Hosts hosts("{kind: hgx-h100, count: 2}");
  EXPECT_EQ(walked(hosts, hosts.gpu(3), hosts.nic(3)), (Names{"s0/gpu3", "s0/pcie3", "s0/nic3"}));
  EXPECT_EQ(walked(hosts, hosts.nic(11), hosts.gpu(11)), (Names{"s1/nic3", "s1/pcie3", "s1/gpu3"}));
  const HostRoute* route = hosts.routes.find(hosts.gpu(3), hosts.nic(3));
  EXPECT_EQ(slowest(hosts, *route).count(), 504'120'000'000);  // 16 lanes of Gen5, 63 GB/s
  EXPECT_EQ(route->latency, nanoseconds(115));
  EXPECT_FALSE(route->host_memory);
}

// PXN: over NVLink into the memory of the GPU next to the NIC, from there over PCIe.
TEST(HostRoute, AnotherRailsNicIsReachedOverTheGpuNextToIt) {
  Hosts hosts("{kind: hgx-h100, count: 2}");
  EXPECT_EQ(walked(hosts, hosts.gpu(9), hosts.nic(14)),
            (Names{"s1/gpu1", "s1/nvswitch0", "s1/gpu6", "|", "s1/pcie6", "s1/nic6"}));
  EXPECT_FALSE(hosts.routes.find(hosts.gpu(9), hosts.nic(14))->host_memory);
}

//      CPU0 ------------------ CPU1
//   SW0   SW1  SW2  SW3    SW4    SW5 ..
//  G0 N0   G1   G2   G3   G4 N1    G5 ..
TEST(HostRoute, WithoutGpuDirectDataRestAtTheGpusCpu) {
  Hosts hosts("{kind: acp-h100-2nic, count: 2}");
  EXPECT_EQ(walked(hosts, hosts.gpu(1), hosts.nic(0)), (Names{"s0/gpu1", "s0/pcie1", "s0/rc1", "s0/cpu0", "memory", "|",
                                                              "memory", "s0/rc0", "s0/pcie0", "s0/nic0"}));
  EXPECT_EQ(walked(hosts, hosts.nic(0), hosts.gpu(1)), (Names{"s0/nic0", "s0/pcie0", "s0/rc0", "s0/cpu0", "memory", "|",
                                                              "memory", "s0/rc1", "s0/pcie1", "s0/gpu1"}));
  // Across the sockets the CPU of the NIC is only passed.
  EXPECT_EQ(walked(hosts, hosts.nic(1), hosts.gpu(1)),
            (Names{"s0/nic1", "s0/pcie4", "s0/rc4", "s0/cpu1", "s0/cpu0", "memory", "|", "memory", "s0/rc1", "s0/pcie1",
                   "s0/gpu1"}));
  EXPECT_TRUE(hosts.routes.find(hosts.gpu(1), hosts.nic(0))->host_memory);
  EXPECT_FALSE(hosts.routes.find(hosts.gpu(0), hosts.nic(0))->host_memory);
}

// No GPU shares a switch with the NIC of its socket: relay, then bounce.
TEST(HostRoute, ARelayMayHaveToBounceToo) {
  Hosts hosts("{kind: hgx-h100, count: 1, gpus: 2, nics: 2, pcie_switches: 4, gpu_switch: [0, 2], nic_switch: [1, 3]}");
  EXPECT_EQ(walked(hosts, hosts.gpu(0), hosts.nic(1)),
            (Names{"s0/gpu0", "s0/nvswitch0", "s0/gpu1", "|", "s0/pcie2", "s0/rc2", "s0/cpu1", "memory", "|", "memory",
                   "s0/rc3", "s0/pcie3", "s0/nic1"}));
}

TEST(HostRoute, GpusWithoutNvLinkMeetBelowTheirRootOrInHostMemory) {
  Hosts hosts("{kind: h100-pcie-8, count: 1}");
  EXPECT_EQ(walked(hosts, hosts.gpu(0), hosts.gpu(1)), (Names{"s0/gpu0", "s0/pcie0", "s0/gpu1"}));
  EXPECT_EQ(walked(hosts, hosts.gpu(0), hosts.gpu(7)), (Names{"s0/gpu0", "s0/pcie0", "s0/rc0", "s0/cpu0", "memory", "|",
                                                              "memory", "s0/cpu1", "s0/rc3", "s0/pcie3", "s0/gpu7"}));
}

// 18 trays of 4 GPUs are one domain; a GPU's 18 links are one of 900 GB/s.
TEST(HostRoute, AnNvl72IsOneDomainOfStripedLinks) {
  Hosts hosts("{kind: gb200-nvl72, count: 36}");
  EXPECT_EQ(hosts.routes.domains(), 2u);
  EXPECT_EQ(hosts.routes.domain_of(hosts.gpu(71)), 0u);
  EXPECT_EQ(hosts.routes.domain_of(hosts.gpu(72)), 1u);
  EXPECT_EQ(hosts.routes.find(hosts.gpu(71), hosts.gpu(72)), nullptr);
  const HostRoute* route = hosts.routes.find(hosts.gpu(72), hosts.gpu(143));
  ASSERT_NE(route, nullptr);
  EXPECT_EQ(slowest(hosts, *route).count(), 7'200'000'000'000);
  EXPECT_EQ(walked(hosts, hosts.gpu(72), hosts.gpu(143)), (Names{"s18/gpu0", "s18/nvswitch0", "s35/gpu3"}));
  // Grace's NVLink-C2C leads to the NIC without a rest in memory.
  EXPECT_EQ(walked(hosts, hosts.gpu(0), hosts.nic(0)), (Names{"s0/gpu0", "s0/cpu0", "s0/rc0", "s0/nic0"}));
}

TEST(HostRoute, ToItselfIsEmptyAndBetweenServersThereIsNone) {
  Hosts hosts("{kind: hgx-h100, count: 2}");
  const HostRoute* here = hosts.routes.find(hosts.gpu(5), hosts.gpu(5));
  ASSERT_NE(here, nullptr);
  EXPECT_EQ(here->legs, 0u);
  EXPECT_EQ(hosts.routes.find(hosts.gpu(0), hosts.gpu(8)), nullptr);
  EXPECT_EQ(hosts.routes.find(hosts.gpu(0), hosts.nic(8)), nullptr);
  EXPECT_EQ(hosts.routes.find(hosts.nic(0), hosts.nic(1)), nullptr);
}

TEST(HostRoute, GroupsAreNumberedOneAfterAnother) {
  Hosts hosts("[{kind: gb200-nvl72, count: 18, name: a}, {kind: hgx-h100, count: 3, name: b}]");
  EXPECT_EQ(hosts.routes.domains(), 4u);
  EXPECT_EQ(hosts.routes.domain_of(hosts.gpu(72 + 8)), 2u);
  EXPECT_EQ(walked(hosts, hosts.gpu(72 + 8), hosts.gpu(72 + 15)), (Names{"b1/gpu0", "b1/nvswitch0", "b1/gpu7"}));
}

// The links of a route follow one another, its legs part it in order, and equal domains agree.
void expect_whole(Hosts& hosts, NodeId from, NodeId to) {
  const HostRoute* route = hosts.routes.find(from, to);
  ASSERT_NE(route, nullptr) << hosts.fabric.name(from) << " -> " << hosts.fabric.name(to);
  const std::uint32_t domain = hosts.routes.domain_of(from);
  ASSERT_GE(route->legs, 1u);
  ASSERT_EQ(route->leg_end[route->legs - 1], route->links.size());
  EXPECT_EQ(hosts.routes.link(domain, route->links.front()).from, from);
  EXPECT_EQ(hosts.routes.link(domain, route->links.back()).to, to);
  Duration latency;
  for (std::size_t i = 0; i < route->links.size(); ++i) {
    ASSERT_LT(route->links[i], hosts.routes.links(domain).size());
    const HostLink link = hosts.routes.link(domain, route->links[i]);
    EXPECT_GT(link.rate.count(), 0);
    latency += link.latency;
    if (i > 0) {
      EXPECT_EQ(hosts.routes.link(domain, route->links[i - 1]).to, link.from);
    }
  }
  EXPECT_EQ(route->latency, latency);
  for (std::uint32_t leg = 0; leg + 1 < route->legs; ++leg) {
    ASSERT_FALSE(route->leg(leg).empty());
    const auto rests = hosts.fabric.describe(hosts.routes.link(domain, route->leg(leg).back()).to).kind;
    EXPECT_TRUE(rests == NodeKind::gpu || rests == NodeKind::cpu);
  }
}

class CatalogServers : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(HostRoute, CatalogServers, ::testing::ValuesIn(testing::catalog().names("servers")),
                         [](const auto& server) {
                           std::string name = server.param;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

TEST_P(CatalogServers, HaveAWayForEveryGpuAndNic) {
  // 72 servers hold whole domains of every kind in the catalog.
  Hosts hosts("{kind: " + GetParam() + ", count: 72}");
  const std::uint32_t domain = hosts.routes.domains() - 1;
  std::vector<NodeId> gpus, nics;
  for (const auto& [kind, out] : {std::pair(NodeKind::gpu, &gpus), std::pair(NodeKind::nic, &nics)})
    for (std::uint32_t i = 0; i < hosts.fabric.count(kind); ++i)
      if (hosts.routes.domain_of(hosts.fabric.node(kind, i)) == domain) out->push_back(hosts.fabric.node(kind, i));
  ASSERT_FALSE(gpus.empty());
  for (const NodeId gpu : gpus) {
    for (const NodeId other : gpus)
      if (gpu != other) expect_whole(hosts, gpu, other);
    for (const NodeId nic : nics) {
      if (hosts.fabric.describe(gpu).server != hosts.fabric.describe(nic).server) continue;
      expect_whole(hosts, gpu, nic);
      expect_whole(hosts, nic, gpu);
      // What the diagram calls direct never rests in host memory.
      const auto& diagram = hosts.cluster->groups[0].diagram;
      const bool direct = diagram.direct(hosts.fabric.describe(gpu).local, hosts.fabric.describe(nic).local);
      EXPECT_EQ(hosts.routes.find(nic, gpu)->host_memory, !direct);
    }
  }
}

TEST_P(CatalogServers, NumberEveryLinkOfADomainOnce) {
  Hosts hosts("{kind: " + GetParam() + ", count: 72}");
  const std::uint32_t domain = hosts.routes.domains() - 1;
  std::set<std::pair<NodeId, NodeId>> seen;
  std::int64_t numbered = 0;
  for (std::uint32_t i = 0; i < hosts.routes.links(domain).size(); ++i) {
    const HostLink link = hosts.routes.link(domain, i);
    EXPECT_TRUE(seen.insert({link.from, link.to}).second);
    EXPECT_EQ(hosts.routes.domain_of(link.from), domain);
    EXPECT_EQ(hosts.routes.domain_of(link.to), domain);
    if (link.from == link.to) continue;  // host memory, which the fabric knows nothing of
    numbered += link.rate.count() / 1000;
  }
  // Nothing is lost in merging: rates add up to those of the fabric's links.
  std::int64_t all = 0;
  for (std::uint32_t id = 0; id < hosts.fabric.nodes(); ++id)
    hosts.fabric.for_each_link(NodeId{id}, [&](const fabric::Link& link) {
      if (link.link == LinkClass::network) return;
      if (hosts.routes.domain_of(link.from) == domain) all += link.rate.count() / 1000;
    });
  EXPECT_NEAR(static_cast<double>(numbered), static_cast<double>(all), 1e-6 * static_cast<double>(all));
}

// ACP: GPU 5 shares NIC 1 with GPU 4, which stands next to it.
TEST(HostRoute, WhatIsHandedCrossesNvlinkAndWhatIsNotGoesThroughHostMemory) {
  Hosts hosts("{kind: acp-h100-2nic, count: 2}");
  const auto by = [&](std::uint32_t from, std::uint32_t relay, std::uint32_t nic) {
    return walked(hosts, hosts.gpu(from), hosts.routes.find_by(hosts.gpu(from), hosts.gpu(relay), hosts.nic(nic)));
  };
  const Names handed = by(13, 12, 3);
  ASSERT_GE(handed.size(), 5u);
  EXPECT_EQ(Names(handed.begin(), handed.begin() + 4), (Names{"s1/gpu5", "s1/nvswitch0", "s1/gpu4", "|"}));
  EXPECT_EQ(handed.back(), "s1/nic1");
  EXPECT_FALSE(hosts.routes.find_by(hosts.gpu(13), hosts.gpu(12), hosts.nic(3))->host_memory);
  const Names plain = by(5, 5, 1);
  EXPECT_EQ(plain.front(), "s0/gpu5");
  EXPECT_EQ(std::count(plain.begin(), plain.end(), "s0/nvswitch0"), 0);
  EXPECT_TRUE(hosts.routes.find_by(hosts.gpu(5), hosts.gpu(5), hosts.nic(1))->host_memory);
  EXPECT_EQ(by(5, 4, 3), Names{}) << "a NIC of another server";
}

TEST(HostRoute, RanksBehindTheGpusAreTheSwitchesOfDomains) {
  Hosts hosts("{kind: hgx-h100, count: 3}");
  const NodeId second = hosts.routes.part(24 + 1);
  EXPECT_EQ(hosts.fabric.name(second), "s1/nvswitch0");
  EXPECT_EQ(walked(hosts, hosts.gpu(9), second), (Names{"s1/gpu1", "s1/nvswitch0"}));
  EXPECT_EQ(walked(hosts, second, hosts.gpu(15)), (Names{"s1/nvswitch0", "s1/gpu7"}));
  EXPECT_EQ(walked(hosts, hosts.gpu(0), second), Names{});
  EXPECT_EQ(slowest(hosts, *hosts.routes.find(hosts.gpu(9), second)).count(), std::int64_t{450} * 8 * 1'000'000'000);
}

TEST(HostRoute, AKernelGetsLessThanTheLinks) {
  Hosts hosts("{kind: hgx-h100, count: 2}");
  HostRoutes less(hosts.fabric, {.scale_up_per_mille = 800, .pcie_per_mille = 900});
  std::uint32_t scaled = 0;
  for (std::size_t link = 0; link < less.links(0).size(); ++link) {
    const HostLink& whole = hosts.routes.links(0)[link];
    const std::int64_t left = whole.kind == LinkClass::scale_up ? 800 : whole.kind == LinkClass::pcie ? 900 : 1000;
    EXPECT_EQ(less.links(0)[link].rate, whole.rate / 1000 * left);
    scaled += left < 1000;
  }
  EXPECT_GT(scaled, 0u);
}

}  // namespace
}  // namespace weft::sim
