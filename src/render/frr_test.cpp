#include <gtest/gtest.h>

#include "render/testing_render.hpp"

namespace weft::render {
namespace {

using namespace testing;

TEST(Frr, HasADirectoryForEachDevice) {
  const auto files = files_of(Target::frr, build(kTwoUnits));
  EXPECT_EQ(files.size(), 30u);  // 6 switches and 4 servers, three files each
  for (const std::string device : {"leaf0", "leaf3", "spine1", "s0", "s3"})
    EXPECT_TRUE(files.contains(device + "/frr.conf") && files.contains(device + "/daemons")) << device;
}

TEST(Frr, EveryCableIsAnUnnumberedSessionOnBothEnds) {
  const auto files = files_of(Target::frr, build(kTwoUnits));
  EXPECT_TRUE(contains(files.at("leaf0/frr.conf"), " neighbor Ethernet0 interface remote-as external\n"));
  EXPECT_TRUE(contains(files.at("s0/frr.conf"), " neighbor pf1 interface remote-as external\n"));
  EXPECT_TRUE(contains(files.at("s0/frr.conf"), " neighbor mgmt2 interface remote-as external\n"));
  EXPECT_TRUE(contains(files.at("leaf0/frr.conf"), " description s0 pf1, 400Gbps, 5m\n"));
}

TEST(Frr, AServerTellsTheFrontendItsAddressAndEachRailItsNic) {
  const std::string s2 = files_of(Target::frr, build(kTwoUnits)).at("s2/frr.conf");
  EXPECT_TRUE(contains(s2, "ip prefix-list SERVER seq 5 permit 10.0.0.3/32\n"));
  EXPECT_TRUE(contains(s2, "  neighbor FRONTEND route-map FRONTEND-OUT out\n"));
  EXPECT_TRUE(contains(s2, "  network 10.192.0.33/32\n"));
  EXPECT_TRUE(contains(s2, "ip prefix-list RAIL1-OWN seq 5 permit 10.192.0.32/28 ge 32\n"));
  EXPECT_TRUE(contains(s2, "  neighbor pf2 route-map RAIL1-OUT out\n"));
}

// mgmt1 of a server hangs on one leaf of its pair, mgmt2 on the other, on ports of the same name.
TEST(Frr, BothFrontendLeavesTakeAServersAddressAndNothingElse) {
  const auto files = files_of(Target::frr, build(kTwoUnits + "frontend: {switch: tomahawk-4, servers_per_leaf: 3}\n"));
  EXPECT_EQ(files.size(), 42u);  // four more switches
  for (const std::string leaf : {"frontend-leaf0", "frontend-leaf1"}) {
    const std::string& text = files.at(leaf + "/frr.conf");
    EXPECT_TRUE(contains(text, " neighbor Ethernet4 interface remote-as external\n")) << text;  // of s2
    EXPECT_TRUE(contains(text, "ip prefix-list FROM-Ethernet4 seq 5 permit 10.0.0.3/32\n"));
    EXPECT_TRUE(contains(text, "  neighbor Ethernet4 prefix-list FROM-Ethernet4 in\n"));
    EXPECT_FALSE(contains(text, "10.128.")) << "nothing of the rails";
  }
  EXPECT_TRUE(contains(files.at("frontend-leaf0/frr.conf"), "router bgp 4250000000\n bgp router-id 10.48.0.1\n"));
  EXPECT_TRUE(contains(files.at("frontend-leaf1/frr.conf"), " description s2 mgmt2, 100Gbps, 5m\n"));
  EXPECT_TRUE(contains(files.at("s2/frr.conf"), " description frontend leaf: frontend-leaf1 Ethernet4, 100Gbps, 5m\n"));
  EXPECT_TRUE(contains(files.at("s3/frr.conf"), " description frontend leaf: frontend-leaf2 Ethernet0, 100Gbps, 5m\n"));
}

// What a tenant says on a server must not become another server's address.
TEST(Frr, ALeafTakesFromAServerOnlyWhatIsThatServers) {
  const std::string leaf = files_of(Target::frr, build(kTwoUnits)).at("leaf3/frr.conf");  // second unit, second rail
  EXPECT_TRUE(contains(leaf, "  neighbor Ethernet8 prefix-list FROM-Ethernet8 in\n"));
  EXPECT_TRUE(contains(leaf, "ip prefix-list FROM-Ethernet8 seq 5 permit 10.192.0.48/28 ge 32\n"));
  EXPECT_FALSE(contains(files_of(Target::frr, build(kTwoUnits)).at("spine0/frr.conf"), "prefix-list"));
}

TEST(Frr, KeepsAllEqualPaths) {
  const auto files = files_of(Target::frr, build(kTwoUnits));
  EXPECT_TRUE(contains(files.at("leaf0/frr.conf"), " bgp bestpath as-path multipath-relax\n"));
  EXPECT_TRUE(contains(files.at("leaf0/frr.conf"), "  maximum-paths 2\n"));
}

TEST(Frr, RefusesWhatBgpCannotDo) {
  const auto refusal = [](const std::string& yaml) {
    const Built built = build(yaml);
    const auto files = render(Target::frr, built.fabric, kNumbers, kOrigin);
    return files ? std::string() : files.error().what;
  };
  EXPECT_TRUE(contains(refusal("servers: {kind: hgx-h100, count: 2}\n"
                               "fabric: {kind: single-chassis, switch: quantum-2}\n"),
                       "InfiniBand"));
  EXPECT_TRUE(contains(refusal("servers: {kind: gb200-nvl72, count: 18}\nfabric: {kind: none}\n"), "no network"));
  const std::string dragonfly =
      "servers: {kind: hgx-h100, count: 12}\n"
      "fabric: {kind: dragonfly, switch: tomahawk-4, servers_per_router: 1, routers_per_group: 4, global_links: 2";
  EXPECT_TRUE(contains(refusal(dragonfly + ", routing: ugal}\n"), "detours"));
  EXPECT_EQ(refusal(dragonfly + ", routing: minimal}\n"), "");
}

}  // namespace
}  // namespace weft::render
