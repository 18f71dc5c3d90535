// What each target writes of a small cluster; FRR, Slurm, Prometheus and yanglint read whole trees in tests/render.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "model/headroom.hpp"
#include "render/qos.hpp"
#include "render/testing_render.hpp"

namespace weft::render {
namespace {

using namespace testing;

const std::string kTenants =
    "tenants:\n"
    "  - {name: Research, servers: 0..2}\n"
    "  - {name: prod, servers: 3}\n";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Targets, EveryTextSaysWhatMadeItAndIsTheSameAgain) {
  const Built built = build(kTwoUnits + kTenants);
  for (const Target target :
       {Target::frr, Target::slurm, Target::kubernetes, Target::nccl, Target::hosts, Target::prometheus}) {
    const auto files = files_of(target, built);
    EXPECT_EQ(files, files_of(target, built));
    for (const auto& [path, text] : files) {
      EXPECT_TRUE(contains(text.substr(0, 300), "weft 0.0.0, render " + std::string(enum_name(target)))) << path;
      EXPECT_TRUE(contains(text.substr(0, 300), "0123456789abcdef")) << path;
      EXPECT_EQ(text.back(), '\n') << path;
    }
  }
}

TEST(Targets, ANameWithALineBreakStaysAComment) {
  EXPECT_FALSE(contains(header({"1", "a\nb", "0"}, "frr", "x", "#"), "\nb"));
}

TEST(Hosts, EveryCableStandsOnceWithBothEnds) {
  const auto files = files_of(Target::hosts, build(kTwoUnits));
  const std::vector<std::string> cables = lines_of(files.at("hosts/cables.csv"));
  EXPECT_EQ(cables.size(), 3u + 8 + 8);  // two of a header, one of names; 4 servers x 2 NICs; 4 leaves x 2 uplinks
  EXPECT_EQ(cables[3], "s0,nic0,pf1,leaf0,1,Ethernet0,400Gbps,5,fiber");
  EXPECT_EQ(cables[11], "leaf0,3,Ethernet16,spine0,1,Ethernet0,400Gbps,5,fiber");
  EXPECT_TRUE(contains(files.at("hosts/inventory.csv"), "\ns3,server,hgx-h100,su1,0,,10.0.0.4,4260000003,2\n"));
  EXPECT_TRUE(contains(files.at("hosts/etc-hosts"), "10.192.0.49\ts3-pf2\n"));
}

TEST(Hosts, TheFrontendIsInEveryList) {
  const auto files = files_of(Target::hosts, build(kTwoUnits + "frontend: {switch: tomahawk-4, cable: 12m}\n"));
  EXPECT_EQ(lines_of(files.at("hosts/cables.csv")).size(), 3u + 8 + 8 + 8);
  EXPECT_TRUE(contains(files.at("hosts/cables.csv"), "\ns1,mgmt2,mgmt2,frontend-leaf1,1/2,Ethernet2,100Gbps,12,\n"));
  EXPECT_TRUE(contains(files.at("hosts/inventory.csv"),
                       "\nfrontend-leaf1,frontend-leaf,tomahawk-4,,,,10.48.0.2,4250000001,4\n"));
  EXPECT_TRUE(contains(files.at("hosts/inventory.csv"), "\ns3,server,hgx-h100,su1,0,,10.0.0.4,4260000003,4\n"));
  EXPECT_TRUE(contains(files.at("hosts/etc-hosts"), "10.48.0.1\tfrontend-leaf0\n"));
}

TEST(Nccl, KeepsRailsApartAndMarksWhatSwitchesExpect) {
  const auto files = files_of(Target::nccl, build(kTwoUnits));
  ASSERT_EQ(files.size(), 2u);
  const std::string& environment = files.at("nccl/s-hgx-h100.env");
  EXPECT_TRUE(contains(environment, "\nNCCL_CROSS_NIC=0\n"));
  EXPECT_TRUE(contains(environment, "\nNCCL_IB_TC=106\n"));
  EXPECT_TRUE(contains(environment, "\nNCCL_IB_HCA==mlx5_0,mlx5_1\n"));
  EXPECT_TRUE(contains(files.at("nccl/s-hgx-h100.xml"), "-->\n<system version=\"1\">\n"));
}

TEST(Nccl, EverySettingHasAReason) {
  const std::string text = files_of(Target::nccl, build(kTwoUnits)).at("nccl/s-hgx-h100.env");
  const std::vector<std::string> lines = lines_of(text);
  for (std::size_t i = 1; i < lines.size(); ++i)
    EXPECT_TRUE(lines[i].empty() || lines[i][0] == '#' || lines[i - 1].starts_with("# ")) << lines[i];
}

TEST(Nccl, TrainiumIsRefused) {
  const Built built = build("servers: {kind: trn2.48xlarge, count: 1}\nfabric: {kind: none}\n");
  const auto files = render(Target::nccl, built.fabric, kNumbers, kOrigin);
  ASSERT_FALSE(files);
  EXPECT_TRUE(contains(files.error().what, "NCCL does not run on"));
}

TEST(Slurm, UnitsAreTheLowestSwitches) {
  const std::string text = files_of(Target::slurm, build(kTwoUnits)).at("slurm/topology.conf");
  EXPECT_TRUE(contains(text, "# su0: leaf0, leaf1\nSwitchName=su0 Nodes=s[0-1]\n")) << text;
  EXPECT_TRUE(contains(text, "SwitchName=su1 Nodes=s[2-3]\nSwitchName=fabric Switches=su0,su1\n")) << text;
}

TEST(Slurm, PodsAndSitesStandAboveThem) {
  const std::string text =
      files_of(Target::slurm, build("servers:\n"
                                    "  - {name: e, kind: hgx-h100, count: 4, nics: 2, site: east}\n"
                                    "  - {name: w, kind: hgx-h100, count: 4, nics: 2, site: west}\n"
                                    "fabric: {kind: rail-optimized, switch: tomahawk-4, scalable_unit: 2, "
                                    "spines: 2,\n"
                                    "         sites: {gateways: 1, links: 1, rate: 400Gbps, latency: "
                                    "1ms}}\n"))
          .at("slurm/topology.conf");
  EXPECT_TRUE(contains(text, "SwitchName=pod1 Switches=su2,su3\nSwitchName=fabric Switches=pod0,pod1\n")) << text;
}

TEST(Slurm, ARackOfTraysIsABlock) {
  const auto files =
      files_of(Target::slurm, build("servers: {kind: gb200-nvl72, count: 36}\n"
                                    "fabric: {kind: rail-optimized, switch: tomahawk-5, scalable_unit: 36, "
                                    "spines: 4}\n"));
  const std::string& text = files.at("slurm/topology-block.conf");
  EXPECT_TRUE(contains(text, "BlockName=rack1 Nodes=s[18-35]\nBlockSizes=18\n")) << text;
  EXPECT_TRUE(contains(files.at("slurm/gres.conf"), "NodeName=s[0-35] Name=gpu Type=gb200 File=/dev/nvidia[0-3]\n"))
      << files.at("slurm/gres.conf");
}

TEST(Kubernetes, NodesSayWhereTheyStand) {
  const std::string text = files_of(Target::kubernetes, build(kTwoUnits + kTenants)).at("kubernetes/nodes.yaml");
  EXPECT_TRUE(contains(text,
                       "  name: s3\n  labels:\n    weft.dev/scalable-unit: su1\n    weft.dev/pod: \"0\"\n"
                       "    weft.dev/rail-0: leaf2\n    weft.dev/rail-1: leaf3\n    weft.dev/tenant: prod\n"))
      << text;
}

TEST(Kubernetes, TheChainIsOvsThenTheTwoProviders) {
  const std::string text = files_of(Target::kubernetes, build(kTwoUnits)).at("kubernetes/networks.yaml");
  const std::size_t at = text.find("config: '") + 9;
  const auto config = nlohmann::json::parse(text.substr(at, text.find("'\n", at) - at));
  ASSERT_EQ(config["plugins"].size(), 3u);
  EXPECT_EQ(config["plugins"][0]["type"], "ovs");
  EXPECT_EQ(config["plugins"][1]["type"], "ovs-provider");
  EXPECT_EQ(config["plugins"][2]["type"], "frr-provider");
  EXPECT_TRUE(contains(text, "k8s.v1.cni.cncf.io/resourceName: nvidia.com/mlnx_sriov_pf2_vf\n"));
}

// A pod has one interface of each rail: without its network, its addresses or its VFs it has not.
// The bridge has the name that FRR speaks by, so that frr.conf is the same with and without.
TEST(Kubernetes, OffloadedNetworksNameTheBridgesUplink) {
  const auto files = files_of(Target::kubernetes, build(kTwoUnits));
  const std::string text = files.at("kubernetes/networks-offload.yaml");
  EXPECT_TRUE(contains(text, R"({"type":"ovs-provider","bridge":"pf1","uplink":"wire1"})"));
  EXPECT_FALSE(contains(files.at("kubernetes/networks.yaml"), "uplink"));
  const std::string script = files.at("kubernetes/offload.sh");
  EXPECT_TRUE(script.starts_with("#!/bin/sh\n"));
  EXPECT_TRUE(contains(script, "other_config:hw-offload=true"));
  EXPECT_TRUE(contains(script, "vfs=14\n")) << "a block of 16 without the network's address and the NIC's";
  EXPECT_TRUE(contains(script, "for rail in 1 2; do\n"));
  EXPECT_TRUE(contains(files_of(Target::frr, build(kTwoUnits)).at("s0/frr.conf"), "neighbor pf1 interface"));
}

TEST(Kubernetes, EveryRailHasANetworkAddressesAndDevices) {
  const auto files = files_of(Target::kubernetes, build(kTwoUnits + kTenants));
  const auto after = [&](const std::string& file, const std::string& key) {
    std::vector<std::string> found;
    for (const std::string& line : lines_of(files.at("kubernetes/" + file)))
      if (line.starts_with(key)) found.push_back(line.substr(key.size()));
    return found;
  };
  using Names = std::vector<std::string>;
  const Names one_namespace = {"sriov-pf1-vf", "sriov-pf2-vf"};
  const Names networks = after("networks.yaml", "  name: ");
  ASSERT_EQ(networks.size() % 2, 0u);
  for (std::size_t i = 0; i < networks.size(); ++i) EXPECT_EQ(networks[i], one_namespace[i % 2]);
  const Names spaces = after("networks.yaml", "  namespace: ");
  EXPECT_EQ(std::set<std::string>(spaces.begin(), spaces.end()).size(), networks.size() / 2);
  EXPECT_TRUE(std::count(spaces.begin(), spaces.end(), "research") == 2 &&
              std::count(spaces.begin(), spaces.end(), "prod") == 2);
  EXPECT_EQ(after("pools.yaml", "  name: "), (Names{"rail0", "rail1"}));
}

// The address of a pod must be one that the leaf takes from its server.
TEST(Kubernetes, PodsHaveTheAddressesThatFrrLetsOut) {
  const Built built = build(kTwoUnits);
  EXPECT_TRUE(contains(files_of(Target::kubernetes, built).at("kubernetes/pools.yaml"),
                       "{nodeName: s3, prefix: 10.192.0.48/28}"));
  EXPECT_TRUE(contains(files_of(Target::kubernetes, built).at("kubernetes/pools.yaml"),
                       "{startIP: 10.192.0.48, endIP: 10.192.0.49}"));
  EXPECT_TRUE(contains(files_of(Target::frr, built).at("leaf3/frr.conf"), "permit 10.192.0.48/28 ge 32"));
}

TEST(Kubernetes, ATenantHasItsQuotaAndTalksToItself) {
  const std::string text = files_of(Target::kubernetes, build(kTwoUnits + kTenants)).at("kubernetes/tenants.yaml");
  EXPECT_TRUE(contains(text, "  namespace: research\nspec:\n  hard:\n    requests.nvidia.com/gpu: \"24\"\n")) << text;
  EXPECT_TRUE(contains(text, "kind: NetworkPolicy\n"));
  EXPECT_TRUE(contains(text, "  policyTypes: [Ingress, Egress]\n"));
}

TEST(Kubernetes, TwoTenantsOfOneNamespaceAreRefused) {
  const Built built = build(kTwoUnits + "tenants:\n  - {name: a b, servers: 0}\n  - {name: a-b, servers: 1}\n");
  const auto files = render(Target::kubernetes, built.fabric, kNumbers, kOrigin);
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().what, "tenant 'a-b' cannot have a namespace of its name");
}

nlohmann::json leaf0(const std::string& yaml) {
  return nlohmann::json::parse(files_of(Target::sonic, build(yaml)).at("leaf0/config_db.json"));
}
const std::string kPfc = "transport: {kind: rocev2}\nswitching: {flow_control: pfc}\n";

TEST(Sonic, PortsHaveLanesAndSpeed) {
  const auto db = leaf0(kTwoUnits);
  const auto& port = db["PORT"]["Ethernet8"];
  EXPECT_EQ(port["lanes"], "9,10,11,12,13,14,15,16");
  EXPECT_EQ(port["speed"], "400000");
  EXPECT_EQ(port["alias"], "etp2");
  EXPECT_EQ(port["description"], "s1 pf1");
  EXPECT_EQ(db["BREAKOUT_CFG"]["Ethernet8"]["brkout_mode"], "1x400G");
}

TEST(Sonic, BreakoutsAreNamedOnTheirParentPort) {
  const auto files = files_of(Target::sonic, build("servers: {kind: hgx-h100, count: 2, nics: 2}\n"
                                                   "fabric: {kind: tor-clos, switch: tomahawk-5}\n"));
  const auto db = nlohmann::json::parse(files.at("leaf0/config_db.json"));
  EXPECT_EQ(db["PORT"]["Ethernet4"]["lanes"], "5,6,7,8");
  EXPECT_EQ(db["PORT"]["Ethernet4"]["alias"], "etp1b");
  EXPECT_EQ(db["BREAKOUT_CFG"]["Ethernet0"]["brkout_mode"], "2x400G");
  EXPECT_FALSE(db["BREAKOUT_CFG"].contains("Ethernet4"));
}

TEST(Sonic, EveryReferenceNamesSomething) {
  const auto db = leaf0(kTwoUnits + kPfc);
  for (const auto& [port, queue] : db["QUEUE"].items()) {
    EXPECT_TRUE(db["SCHEDULER"].contains(queue["scheduler"])) << port;
    EXPECT_TRUE(!queue.contains("wred_profile") || db["WRED_PROFILE"].contains(queue["wred_profile"])) << port;
  }
  for (const std::string table : {"BUFFER_PG", "BUFFER_QUEUE"})
    for (const auto& [key, fields] : db[table].items()) {
      EXPECT_TRUE(db["BUFFER_PROFILE"].contains(fields["profile"])) << key;
      EXPECT_TRUE(db["PORT"].contains(key.substr(0, key.find('|')))) << key;
    }
  for (const auto& [name, fields] : db["BUFFER_PROFILE"].items())
    EXPECT_TRUE(db["BUFFER_POOL"].contains(fields["pool"]));
  for (const auto& [key, fields] : db["BGP_NEIGHBOR"].items())
    EXPECT_TRUE(db["BGP_PEER_GROUP"].contains("default|" + fields["peer_group_name"].get<std::string>())) << key;
  for (const auto& [key, fields] : db["BGP_NEIGHBOR_AF"].items())
    EXPECT_TRUE(!fields.contains("prefix_list_in") || db["PREFIX_SET"].contains(fields["prefix_list_in"])) << key;
}

// The number that `weft check` judges the buffer by.
TEST(Sonic, HeadroomIsThatOfCheck) {
  const auto db = leaf0(kTwoUnits + kPfc);
  const Built built = build(kTwoUnits + kPfc);
  const Bytes expected = model::pfc_headroom(gigabits_per_second(400), built.fabric.wire(fabric::LinkTier::nic).latency,
                                             kNumbers.frame, built.cluster->file.switching.reaction);
  const auto& profile = db["BUFFER_PROFILE"]["pg_lossless_400000_5m_profile"];
  EXPECT_EQ(profile["xoff"], std::to_string(expected.count()));
  EXPECT_EQ(db["BUFFER_POOL"]["ingress_pool"]["xoff"], std::to_string(expected.count() * 4));  // 4 ports are used
  EXPECT_EQ(db["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"], "3");
  EXPECT_EQ(db["PFC_WD"]["Ethernet0"]["detection_time"], "200");
}

TEST(Sonic, MarksByRateAndRoundTrip) {
  const Built built = build(kTwoUnits);
  const nlohmann::json profile = leaf0(kTwoUnits)["WRED_PROFILE"]["ecn-400000"];
  const std::int64_t held = 400'000'000'000 / 8 * (longest_round_trip(built.fabric).count() / 1000) / 1'000'000'000;
  const model::SwitchingSpec& switching = built.cluster->file.switching;
  const std::int64_t from = std::stoll(profile["green_min_threshold"].get<std::string>());
  EXPECT_NEAR(static_cast<double>(from), static_cast<double>(held * switching.mark_from.count()) / 1e6, 100);
  EXPECT_EQ(leaf0(kTwoUnits +
                  "switching: {queue: 1MB, mark_from: 20%}\n")["WRED_PROFILE"]["ecn-400000"]["green_min_threshold"],
            "200000");
}

// FRR gives and takes nothing on a session of eBGP without a policy, and SONiC's framework cannot say otherwise.
TEST(Sonic, EverySessionHasAPolicy) {
  const auto db = leaf0(kTwoUnits);
  EXPECT_TRUE(db["ROUTE_MAP"].contains("ALL|10"));
  for (const auto& [group, family] : db["BGP_PEER_GROUP_AF"].items()) {
    EXPECT_EQ(family["route_map_in"][0], "ALL") << group;
    EXPECT_EQ(family["route_map_out"][0], "ALL") << group;
  }
}

// What does not know ECN would be dropped where it is marked.
TEST(Sonic, OnlyRdmaIsMarked) {
  const auto db = leaf0(kTwoUnits + kPfc);
  EXPECT_TRUE(db["QUEUE"]["Ethernet0|3"].contains("wred_profile"));
  EXPECT_FALSE(db["QUEUE"]["Ethernet0|0"].contains("wred_profile"));
  EXPECT_FALSE(db["QUEUE"]["Ethernet0|6"].contains("wred_profile"));
}

TEST(Sonic, WithoutPfcNothingIsPaused) {
  const auto db = leaf0(kTwoUnits);
  EXPECT_FALSE(db.contains("PFC_WD"));
  EXPECT_FALSE(db["PORT_QOS_MAP"]["Ethernet0"].contains("pfc_enable"));
  EXPECT_FALSE(db["BUFFER_PG"].contains("Ethernet0|3"));
}

TEST(Sonic, DscpOfHostsIsTheClassOfSwitches) {
  const auto db = leaf0(kTwoUnits + kPfc);
  EXPECT_EQ(db["DSCP_TO_TC_MAP"]["WEFT"].size(), 64u);
  EXPECT_EQ(db["DSCP_TO_TC_MAP"]["WEFT"]["26"], "3");
  EXPECT_EQ(db["DSCP_TO_TC_MAP"]["WEFT"]["48"], "6");
  EXPECT_EQ(db["DSCP_TO_TC_MAP"]["WEFT"]["0"], "0");
  EXPECT_EQ(db["SCHEDULER"]["scheduler.rdma"]["weight"], "90");
}

TEST(Sonic, RefusesWhatItsModelsDoNotKnow) {
  const auto refusal = [](const std::string& yaml) {
    const Built built = build(yaml);
    const auto files = render(Target::sonic, built.fabric, kNumbers, kOrigin);
    return files ? std::string() : files.error().what;
  };
  const std::string fast =
      "servers: {kind: hgx-h100, count: 4}\n"
      "fabric: {kind: tor-clos, switch: tomahawk-6, servers_per_leaf: 2, spines: 2, spine_link: {rate: 1600Gbps, "
      "cable: 5m}}\n";
  EXPECT_EQ(refusal(fast), "leaf0 has links of 1.6Tbps, and SONiC 202505 knows none above 800Gbps");
  EXPECT_TRUE(contains(refusal(kTwoUnits + "switching: {flow_control: credits}\n"), "'credits'"));
}

TEST(Sonic, ServicesHaveClassesAndWeightsOfTheirOwn) {
  const auto db = leaf0(kTwoUnits +
                        "switching:\n  flow_control: pfc\n  services:\n    - {name: train, weight: 3, lossless: true}\n"
                        "    - {name: storage, weight: 1}\n");
  EXPECT_EQ(db["SCHEDULER"]["scheduler.train"]["weight"], "75");
  EXPECT_EQ(db["SCHEDULER"]["scheduler.storage"]["weight"], "25");
  EXPECT_EQ(db["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"], "3");
}

TEST(Grafana, IsADashboardWithAQueryInEveryPanel) {
  const auto files = files_of(Target::grafana, build(kTwoUnits));
  const auto dashboard = nlohmann::json::parse(files.at("grafana/dashboard.json"));
  EXPECT_EQ(dashboard["title"], "test");
  ASSERT_GE(dashboard["panels"].size(), 8u);
  for (const auto& panel : dashboard["panels"]) EXPECT_FALSE(panel["targets"][0]["expr"].get<std::string>().empty());
}

TEST(Prometheus, AlertsKnowWhatWasPlanned) {
  const auto files = files_of(Target::prometheus, build(kTwoUnits));
  EXPECT_TRUE(contains(files.at("prometheus/rules.yml"), "expr: weft_ecmp_paths{tier=\"leaf\"} < 2\n"));
  EXPECT_FALSE(contains(files.at("prometheus/rules.yml"), "tier=\"spine\"} <"));  // nothing is above them
  EXPECT_TRUE(contains(files.at("prometheus/prometheus.yml"), "'s3:9400'"));
}

}  // namespace
}  // namespace weft::render
