#include "cni/flows.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "cni/agent.hpp"
#include "cni/record.hpp"

namespace weft::cni {
namespace {

TEST(Tenants, HaveNumbersThatTravelAsLargeCommunities) {
  const Tenant a = tenant_of("research");
  EXPECT_EQ(a.number, tenant_of("research").number);
  EXPECT_NE(a.number, tenant_of("production").number);
  EXPECT_EQ(a.community(),
            "4290000000:" + std::to_string(a.number >> 32) + ":" + std::to_string(a.number & 0xffffffff));
}

TEST(Flows, APodHasAsManyAsCheckCounts) {
  const std::string text =
      pod_flows({7, 3, "10.128.0.2", "0a:58:0a:80:00:02", tenant_of("research")}, "02:77:00:00:06:00");
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), kFlowsPerPod);
  EXPECT_NE(text.find("in_port=3,ip,dl_src=0a:58:0a:80:00:02,nw_src=10.128.0.2,actions=write_metadata"),
            std::string::npos)
      << "a pod speaks as itself only";
  EXPECT_NE(text.find("load:0x027700000600->NXM_NX_ARP_SHA[]"), std::string::npos);
}

// Flows are deleted by cookie: none may be another kind's, nor 0, which those have that somebody else added.
TEST(Flows, WhoseAFlowIsIsSaidByItsCookie) {
  const Tenant research = tenant_of("research");
  const auto cookie_of = [](const std::string& text) {
    std::set<std::string> cookies;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      cookies.insert(line.substr(line.find("cookie="), line.find_first_of("/,") - line.find("cookie=")));
    EXPECT_EQ(cookies.size(), 1u) << text;
    return cookies.empty() ? "" : *cookies.begin();
  };
  const std::string pod =
      cookie_of(pod_flows({7, 3, "10.128.0.2", "0a:58:0a:80:00:02", research}, "02:77:00:00:06:00"));
  const std::string announced = cookie_of(announced_flows({{"10.128.0.9", research}}));
  const std::set<std::string> all = {cookie_of(base_flows()),           pod,          announced,
                                     cookie_of(tenant_flows(research)), "cookie=0x0", "cookie=0"};
  EXPECT_EQ(all.size(), 6u);
  EXPECT_EQ(cookie_of(without_pod(7)), pod);
  EXPECT_EQ(cookie_of(without_tenant(research)), cookie_of(tenant_flows(research)));
}

// Without the kernel between them: what a NIC can be told is addresses, new MACs and a port.
TEST(Flows, WithAnUplinkPodsSpeakPastTheKernel) {
  const std::string with = base_flows(9);
  EXPECT_NE(with.find("table=0,priority=100,ip,in_port=9,actions=goto_table:5"), std::string::npos);
  EXPECT_NE(with.find("table=10,priority=10,in_port=9,actions=LOCAL"), std::string::npos) << "what is for the server";
  EXPECT_NE(with.find("table=10,priority=10,in_port=LOCAL,actions=output:9"), std::string::npos);
  EXPECT_NE(with.find("table=0,priority=50,in_port=9,actions=LOCAL"), std::string::npos) << "its sessions are IPv6";
  EXPECT_NE(base_flows().find("table=10,priority=10,in_port=LOCAL,actions=drop"), std::string::npos);
  const Tenant research = tenant_of("research");
  const std::string way = by_uplink(9, "02:00:00:00:00:01", "02:00:00:00:00:02");
  EXPECT_NE(announced_flows({{"10.128.0.9", research, way}})
                .find("actions=mod_dl_src:02:00:00:00:00:01,mod_dl_dst:02:00:00:00:00:02,output:9\n"),
            std::string::npos);
  EXPECT_NE(announced_flows({{"10.128.0.9", research}}).find("actions=output:LOCAL\n"), std::string::npos);
  EXPECT_FALSE((Announced{"10.128.0.9", research} == Announced{"10.128.0.9", research, way}))
      << "who has told the one has not told the other";
}

TEST(Agent, FindsTheNextHopsMacInTheKernelsTables) {
  const std::string neighbours =
      R"([{"dst":"fe80::1","lladdr":"02:00:00:00:00:02","router":null,"state":["REACHABLE"]},)"
      R"({"dst":"169.254.0.1","lladdr":"02:00:00:00:00:03","state":["PERMANENT"]},)"
      R"({"dst":"fe80::9","state":["FAILED"]}])";
  const auto hops = next_hops(R"([{"dst":"10.128.0.18","via":{"family":"inet6","host":"fe80::1"},"protocol":"bgp"},)"
                              R"({"dst":"10.128.0.19","gateway":"169.254.0.1","protocol":"bgp","flags":["onlink"]},)"
                              R"({"dst":"10.128.0.20","via":{"family":"inet6","host":"fe80::9"}},)"
                              R"({"dst":"10.128.0.21","via":{"family":"inet6","host":"fe80::1"},"dev":"br-pf2"},)"
                              R"({"dst":"10.128.0.2","scope":"link"}])",
                              neighbours, "br-pf1");
  const std::map<std::string, std::string> expected = {{"10.128.0.18", "02:00:00:00:00:02"},
                                                       {"10.128.0.19", "02:00:00:00:00:03"}};
  EXPECT_EQ(hops, expected) << "one is reached by another interface, one by a silent neighbour, one is here";
  EXPECT_TRUE(next_hops("", "what is this", "br-pf1").empty());
}

TEST(Flows, DropsAreCountedByTenantAndReason) {
  const Tenant a = tenant_of("research");
  const std::string number = fmt::format("{:#x}", a.number);
  const auto drops = parse_drops(
      "OFPST_FLOW reply (OF1.4) (xid=0x2):\n cookie=0x77656676, duration=3.2s, table=30, n_packets=5, n_bytes=300, "
      "priority=1,metadata=" +
      number +
      " actions=drop\n cookie=0x77656676, duration=3.2s, table=31, n_packets=7, "
      "n_bytes=300, priority=1,metadata=" +
      number +
      " actions=drop\n cookie=0x77656676, duration=3.2s, table=32, "
      "n_packets=9, n_bytes=300, priority=1,metadata=" +
      number +
      " actions=drop\n cookie=0x77656676, table=15, n_packets=9, "
      "priority=1,metadata=" +
      number + " actions=goto_table:32\n cookie=0x12, table=30, n_packets=99, metadata=0x1 actions=drop\n");
  ASSERT_EQ(drops.size(), 1u);
  EXPECT_EQ(drops.at(a.number).spoofed, 5u);
  EXPECT_EQ(drops.at(a.number).from_others, 7u);
  EXPECT_EQ(drops.at(a.number).to_others, 9u);
}

TEST(Agent, TakesValidHostRoutesOfBgp) {
  const auto addresses = parse_announced(
      R"({"vrfId":0,"routes":{"10.128.0.2/32":[{"valid":true,"bestpath":true}],"10.128.0.3/32":[{"valid":false}],)"
      R"("10.128.0.0/28":[{"valid":true}],"10.128.0.4/32":7}})");
  EXPECT_EQ(addresses, std::vector<std::string>{"10.128.0.2"});
  EXPECT_TRUE(parse_announced("% no such thing").empty());
}

TEST(Records, AreFoundAgainAndOneAgentHoldsThem) {
  const std::filesystem::path folder = ::testing::TempDir() + "weft-cni-records";
  std::filesystem::remove_all(folder);
  const Records records(folder);
  const Record one{"lab-a0", "net1", "research", "10.128.0.2", "0a:58:0a:80:00:02", "br-pf1", "pf1v0rep", "wire1"};
  ASSERT_TRUE(records.lock());
  ASSERT_TRUE(records.save(Role::ovs, one));
  EXPECT_EQ(records.find(Role::ovs, "lab-a0", "net1"), one);
  EXPECT_FALSE(records.find(Role::frr, "lab-a0", "net1"));
  EXPECT_EQ(records.all(Role::ovs).size(), 1u);
  records.erase(Role::ovs, one);
  EXPECT_TRUE(records.all(Role::ovs).empty());
  EXPECT_FALSE(records.has_agent());
  const host::Descriptor agent = records.become_agent();
  EXPECT_TRUE(records.has_agent());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weft::cni
