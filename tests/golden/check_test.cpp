// `weft check` refuses what `weft sim` would, with the same words, and says what nobody computes with.

#include "golden.hpp"

namespace weft::golden {
namespace {

const std::string kServers = "version: 1\nservers: {kind: hgx-h100, count: 4}\n";
const std::string kFabric = "fabric: {kind: rail-optimized, switch: tomahawk-5, scalable_unit: 4}\n";

class Check : public testing::Test {
 protected:
  Outcome verb(const std::string& name, const std::string& text, std::vector<std::string> more = {}) {
    std::ofstream("c.weft.yaml", std::ios::binary) << text;
    more.insert(more.begin(), {name, "c.weft.yaml"});
    return weft(more);
  }
  // Both verbs refuse the file, at this place and with these words.
  void expect_refused(const std::string& text, const std::string& place, const std::string& what) {
    const Outcome checked = verb("check", text);
    EXPECT_EQ(checked.code, 2) << checked.out;
    EXPECT_NE(checked.err.find("c.weft.yaml:" + place + ": error"), std::string::npos) << checked.err;
    EXPECT_NE(checked.err.find(what), std::string::npos) << checked.err;
    const Outcome run = verb("sim", text);
    EXPECT_EQ(run.code, 2) << text;
    EXPECT_NE(run.err.find(what), std::string::npos) << run.err;
  }

 private:
  Scratch scratch_;
  InDirectory here_{scratch_.path()};
};

TEST_F(Check, RefusesSwitchesThatCannotBeSimulated) {
  const std::string base = kServers + kFabric;
  expect_refused(base + "switching:\n  flow_control: pfc\n  services: [{name: a, lossless: true}, {name: a}]\n", "6:13",
                 "two services are called 'a'");
  expect_refused(base + "switching:\n  services: [{name: a, lossless: true}]\n", "5:13",
                 "a service is lossless, but flow_control is none");
  expect_refused(base + "switching:\n  flow_control: pfc\n  ports: computed\n", "6:10",
                 "computed ports have no flow_control: pfc");
  expect_refused(base + "switching:\n  flow_control: pfc\n  buffer: 100kB\n", "6:11", "of headroom for");
}

TEST_F(Check, RefusesARunThatCannotRunWhereItIsWritten) {
  const std::string base = kServers + kFabric;
  expect_refused(base + "run:\n  - traffic: {name: x, nodes: 99}\n", "5:31", "of 99 GPUs from GPU 0 on");
  expect_refused(base + "run:\n  - traffic: {name: x, service: nosuch}\n", "5:33", "the service 'nosuch'");
  expect_refused(base + "run:\n  - traffic: {name: x, transport: tcp, verb: read}\n", "5:46", "tcp has no read");
  expect_refused(base + "run:\n  - traffic: {name: x, nodes: 2}\n  - traffic: {name: x, nodes: 2}\n", "6:21",
                 "two streams are called 'x'");
  expect_refused(base + "run:\n  - all_reduce: {stack: nonsense}\n", "5:25", "stack has no 'nonsense'");
  expect_refused(base + "run:\n  - all_reduce: {per_server: 9}\n", "5:30", "9 GPUs of each server, which have 8");
  expect_refused(base + "run:\n  - all_reduce: {gpus: 1}\n", "5:24", "a collective needs two GPUs");
}

// At which level a run runs is said when it is run.
TEST_F(Check, PassesARunThatSomeLevelCarriesOut) {
  const Outcome checked =
      verb("check", kServers + kFabric + "faults: [{part: leaf0, at: 1ms}]\nrun:\n  - all_reduce: {sizes: 1MiB}\n");
  EXPECT_EQ(checked.code, 0) << checked.err;
}

TEST_F(Check, NumbersOfTheCommandLineAreNotCutShort) {
  const std::string text = kServers + kFabric;
  const auto refused = [&](const std::string& name, std::vector<std::string> more, const std::string& what) {
    const Outcome run = verb(name, text, std::move(more));
    EXPECT_EQ(run.code, 2) << run.out;
    EXPECT_NE((run.out + run.err).find(what), std::string::npos) << run.err;
  };
  for (const std::string name : {"sim", "plan", "why"})
    refused(name, {"--collective", "all_reduce", "--per-server", "9"}, "8 or fewer per server");
  refused("sim", {"--seed", "18446744073709551616"}, "at most 18446744073709551615");
  EXPECT_EQ(verb("sim", text, {"--pattern", "one", "--size", "8kB", "--seed", "18446744073709551615"}).code, 0);
}

TEST_F(Check, ServersAreNotCalledAsSwitches) {
  for (const std::string name : {"leaf", "leaf1", "spine", "super", "gateway", "router"}) {
    const Outcome checked = verb("check", kServers + kFabric, {"--set", "servers.name=" + name});
    EXPECT_EQ(checked.code, 2) << name;
    EXPECT_NE(checked.err.find("are called as switches are"), std::string::npos) << checked.err;
  }
  EXPECT_EQ(verb("check", kServers + kFabric, {"--set", "servers.name=leafy"}).code, 0);
}

TEST_F(Check, SizesThatCannotBeCountedAreRefusedWhereverTheyComeFrom) {
  const std::string base = kServers + kFabric;
  expect_refused(base + "run:\n  - all_reduce: {sizes: [8191PiB]}\n", "5:26", "'sizes' cannot be 8191PiB");
  EXPECT_EQ(verb("sim", base, {"--set", "run=[{all_reduce: {sizes: 8191PiB}}]"}).code, 2);
  const std::string slow =
      "version: 1\nservers: {kind: hgx-h100, count: 4, nic: {kind: connectx-7, packet_rate: 1pps}}\n";
  expect_refused(slow + kFabric + "run:\n  - traffic: {name: x, size: 1TiB, nodes: 2}\n", "5:30",
                 "longer than can be simulated");
  std::ofstream("m.cm") << "Nodes 2\n0->1 id 1 start 0 size 1099511627776\n";
  const Outcome matrix = verb("sim", slow + kFabric, {"--matrix", "m.cm"});
  EXPECT_EQ(matrix.code, 2);
  EXPECT_NE(matrix.err.find("longer than can be simulated"), std::string::npos) << matrix.err;
  const std::string thin = "version: 1\nservers: {kind: hgx-h100, count: 4, nic: {kind: connectx-7, rate: 1Gbps}}\n";
  expect_refused(thin + kFabric + "run:\n  - all_reduce: {sizes: [1B, 16TiB]}\n", "5:25",
                 "longer than can be simulated");
  const std::string crawling = kServers + kFabric + "faults: [{part: s0/nic0, kind: slow, share: 0.0001%}]\n";
  expect_refused(crawling + "run: [{traffic: {name: x, size: 1TiB, nodes: 2}}]\n", "5:33",
                 "longer than can be simulated");
  expect_refused(crawling + "run: [{all_reduce: {sizes: 16TiB}}]\n", "5:28", "longer than can be simulated");
  const Outcome packets = verb("sim", slow + kFabric, {"--collective", "all_reduce", "--sizes", "16TiB"});
  EXPECT_NE(packets.err.find("longer than can be simulated"), std::string::npos) << packets.err;
  const Outcome option = verb("sim", thin + kFabric, {"--collective", "all_reduce", "--sizes", "16TiB"});
  EXPECT_NE(option.err.find("longer than can be simulated"), std::string::npos) << option.err;
}

TEST_F(Check, NobodyComputesWithDeadSwitches) {
  const std::string base = kServers + "fabric: {kind: single-chassis, switch: {kind: tomahawk-5, ports: 64}}\n";
  const std::string dead = base + "faults: [{part: leaf0}]\n";
  for (const std::string name : {"plan", "why"}) {
    const Outcome refused = verb(name, dead, {"--collective", "all_reduce"});
    EXPECT_EQ(refused.code, 2) << name << refused.out;
    EXPECT_NE(refused.err.find("c.weft.yaml:4:17: error"), std::string::npos) << refused.err;
    EXPECT_EQ(verb(name, base, {"--collective", "all_reduce"}).code, 0) << name;
  }
  EXPECT_EQ(verb("sim", dead, {"--collective", "all_reduce"}).code, 2);
  EXPECT_EQ(verb("why", dead, {"--busbw", "1GiB=47GB/s"}).code, 2);
  EXPECT_EQ(verb("why", base, {"--busbw", "1GiB=47GB/s"}).code, 0);
  // What is slow and not dead is in the figures of both.
  const std::string slow = base + "faults: [{part: s0/nic0, kind: slow, share: 10%}]\n";
  for (const std::string name : {"plan", "why"})
    EXPECT_NE(verb(name, slow, {"--collective", "all_reduce"}).out,
              verb(name, base, {"--collective", "all_reduce"}).out)
        << name;
}

TEST_F(Check, SrdBetweenSitesIsRefusedAtEveryLevel) {
  const std::string sites =
      "version: 1\nservers:\n  - {name: a, kind: hgx-h100, count: 2, site: east}\n"
      "  - {name: b, kind: hgx-h100, count: 2, site: west}\n"
      "fabric: {kind: tor-clos, switch: tomahawk-5, servers_per_leaf: 2, spines: 1, parallel_links: 16,\n"
      "  sites: {rate: 400Gbps, latency: 1ms}}\n";
  const auto refused = [&](const std::string& name, std::vector<std::string> more) {
    more.insert(more.begin(), {"--collective", "all_reduce"});
    const Outcome run = verb(name, sites, std::move(more));
    EXPECT_EQ(run.code, 2) << name << run.out;
    EXPECT_NE(run.err.find("E0413"), std::string::npos) << name << run.err;
  };
  for (const std::string level : {"message", "flow", "packet"}) refused("sim", {"--fidelity", level});
  refused("why", {});
  EXPECT_NE(verb("why", sites, {"--busbw", "1GiB=47GB/s"}).err.find("E0413"), std::string::npos);
  refused("plan", {});
  expect_refused(sites + "run: [{all_reduce: {sizes: 1MiB}}]\n", "7:20", "where SRD is not routed");
  EXPECT_EQ(verb("plan", sites, {"--collective", "all_reduce", "--set", "transport.kind=tcp"}).code, 0);
  EXPECT_EQ(verb("plan", sites, {"--collective", "all_reduce", "--gpus", "16"}).code, 0) << "within one site";
}

TEST_F(Check, GenerationsOfEfaThatAwsDoesNotJoinAreRefused) {
  const std::string mixed =
      "version: 1\nservers:\n  - {name: a, kind: p4d.24xlarge, count: 2}\n  - {name: b, kind: p5.48xlarge, count: 2}\n"
      "fabric: {kind: tor-clos, switch: tomahawk-5, servers_per_leaf: 1, spines: 1, parallel_links: 8,\n"
      "  spine_link: {rate: 800Gbps}}\n";
  expect_refused(mixed + "run: [{all_reduce: {sizes: 1MiB}}]\n", "7:20", "EFA generations (1 and 2)");
  const Outcome flows = verb("sim", mixed, {"--pattern", "ring", "--size", "8kB"});
  EXPECT_EQ(flows.code, 2);
  EXPECT_NE(flows.err.find("E0414"), std::string::npos) << flows.err;
  EXPECT_EQ(verb("sim", mixed, {"--pattern", "ring", "--size", "8kB", "--nodes", "16"}).code, 0) << "P4d alone";
}

TEST_F(Check, SaysWhatNothingUses) {
  const Outcome checked =
      verb("check", kServers + kFabric + "storage: [{name: s, kind: object}]\ntenants: [{name: t, servers: 0..1}]\n");
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_NE(checked.out.find("4:1: warning W0510: 'storage' is read"), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("5:1: warning W0510: 'tenants' is read"), std::string::npos) << checked.out;
}

TEST_F(Check, PrintsTheHeadroomOfPfcAndWarnsWhereItIsTooSmall) {
  const std::string text = kServers + kFabric;
  const auto with = [&](std::vector<std::string> keys) {
    std::vector<std::string> more;
    for (const std::string& key : keys) more.insert(more.end(), {"--set", key});
    return verb("check", text, more).out;
  };
  const std::string pfc = "switching.flow_control=pfc";
  EXPECT_EQ(with({}).find("headroom"), std::string::npos);
  EXPECT_NE(with({pfc}).find("PFC headroom"), std::string::npos);
  EXPECT_EQ(with({pfc}).find("W0509"), std::string::npos);
  // 300 m at 400 Gb/s: 150 kB on the cable alone.
  const std::string far = with({pfc, "fabric.link.cable=300m"});
  EXPECT_NE(far.find("at 400Gbps over 300m"), std::string::npos) << far;
  EXPECT_NE(with({pfc, "fabric.link.cable=300m", "switching.buffer=4MB"}).find("W0509"), std::string::npos);
  EXPECT_NE(with({pfc, "fabric.link.cable=300m", "switching.headroom_for=30m"}).find("W0509"), std::string::npos);
  const std::string records = verb("check", text, {"--set", pfc, "--json"}).out;
  EXPECT_NE(records.find("\"bytes_per_class\""), std::string::npos) << records;
}

// --nodes promises as much.
TEST_F(Check, ATopologyStandsForManyServers) {
  const std::filesystem::path xml = kSource / "examples/24-nccl-topology/system.xml";  // two NICs
  for (const std::string nodes : {"2048", "2049", "100000"}) {
    const Outcome checked = weft({"check", "--topo", xml.string(), "--nodes", nodes});
    EXPECT_EQ(checked.code, 0) << nodes << checked.err;
    EXPECT_NE(checked.out.find("100% of what the NICs could send"), std::string::npos) << checked.out;
  }
}

}  // namespace
}  // namespace weft::golden
