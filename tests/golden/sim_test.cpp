// `weft sim` and `weft compare` as a person meets them.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/testing_source_dir.hpp"
#include "golden.hpp"

namespace weft::golden {
namespace {

const std::string kClos = (kSource / "examples/05-p5-tor-clos/cluster.weft.yaml").string();
const std::string kEthernet = (kSource / "examples/21-ethernet-or-infiniband/ethernet.weft.yaml").string();

std::vector<nlohmann::json> records(const std::string& text) {
  std::vector<nlohmann::json> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(nlohmann::json::parse(line));
  return out;
}

TEST(Sim, WhatIsNotCoveredIsSaidBeforeItStarts) {
  const auto error = [](const std::string& example, const std::vector<std::string>& more) {
    const InDirectory here(kSource / "examples" / example);
    std::vector<std::string> arguments = {"sim"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  };
  const std::string raw = "transport.kind=raw";
  EXPECT_NE(error("01-acp-2-nics", {"--pattern", "ring", "--set", raw, "--fidelity", "flow"})
                .find("packets that nobody slows down"),
            std::string::npos);
  EXPECT_NE(error("01-acp-2-nics", {"--collective", "all_reduce", "--gpus", "16", "--fidelity", "packet", "--set", raw})
                .find("a raw packet is lost"),
            std::string::npos);
  EXPECT_NE(error("01-acp-2-nics", {"--pattern", "ring", "--verb", "read", "--set", "transport.kind=tcp"})
                .find("tcp has no read"),
            std::string::npos);
  EXPECT_NE(error("01-acp-2-nics",
                  {"--pattern", "ring", "--verb", "read", "--set", "transport.kind=srd", "--fidelity", "message"})
                .find("packet by packet only"),
            std::string::npos);
  EXPECT_NE(
      error("05-p5-tor-clos", {"--stream", "a,pattern=ring", "--verb", "read"}).find("every stream has its own verb"),
      std::string::npos);
  EXPECT_NE(error("08-two-sites", {}).find("E0413"), std::string::npos);
  EXPECT_NE(
      error("09-dragonfly", {"--set", "fabric.routing=valiant", "--fidelity", "flow"}).find("minimal routes only"),
      std::string::npos);
  EXPECT_NE(error("05-p5-tor-clos", {"--size", "many"}).find("for example --size 2MB"), std::string::npos);
  EXPECT_NE(error("05-p5-tor-clos", {"--gpus", "999999"}).find("the cluster has 512 GPUs"), std::string::npos);
  EXPECT_NE(error("05-p5-tor-clos", {"--matrix", "nowhere.cm"}).find("no such file"), std::string::npos);
}

// A Dragonfly that loses nothing: as many virtual channels as its routes need, unless the file says otherwise.
TEST(Sim, ADragonflyCanLockUpOnlyWithTooFewVirtualChannels) {
  const InDirectory here(kSource / "examples/28-dragonfly-detours");
  const auto with = [](const std::string& verb, std::vector<std::string> keys) {
    std::vector<std::string> arguments = {verb};
    if (verb == "sim") arguments.insert(arguments.end(), {"--pattern", "one", "--size", "4kB"});
    for (const std::string& key : keys) arguments.insert(arguments.end(), {"--set", key});
    return weft(arguments);
  };
  const std::string pfc = "switching.flow_control=pfc";
  EXPECT_EQ(with("check", {pfc}).out.find("W0506"), std::string::npos);
  EXPECT_EQ(with("sim", {pfc}).err, "");
  EXPECT_EQ(with("check", {pfc, "fabric.routing=minimal", "switching.virtual_channels=2"}).out.find("W0506"),
            std::string::npos);
  const Outcome few = with("check", {pfc, "switching.virtual_channels=2"});
  EXPECT_NE(few.out.find("W0506"), std::string::npos) << few.out;
  EXPECT_NE(few.out.find("its routes need 3 virtual channels, not 2"), std::string::npos) << few.out;
  EXPECT_NE(with("sim", {pfc, "switching.virtual_channels=1"}).err.find("weft explain W0506"), std::string::npos);

  const Outcome none = with("sim", {"switching.virtual_channels=3"});
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("virtual channels are for a Dragonfly of several groups"), std::string::npos) << none.err;
  const Outcome many = with("sim", {pfc,
                                    "switching.services=[{name: a, lossless: true}, {name: b, lossless: true}, "
                                    "{name: c, lossless: true}]"});
  EXPECT_EQ(many.code, 2);
  EXPECT_NE(many.err.find("9 are needed, 3 for each lossless service"), std::string::npos) << many.err;
}

TEST(Sim, AMatrixWithTriggersRunsAndChainsItsFlows) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  std::ofstream("chain.cm") << "Nodes 64\nConnections 3\nTriggers 2\n"
                               "0->9 id 1 start 0 size 98304 send_done_trigger 1\n"
                               "9->33 id 2 trigger 1 size 98304 recv_done_trigger 2\n"
                               "33->1 id 3 trigger 2 size 98304\n"
                               "trigger id 1 oneshot\ntrigger id 2 oneshot\n";
  const std::string cluster = (kSource / "examples/05-p5-tor-clos/cluster.weft.yaml").string();
  const Outcome outcome = weft({"sim", cluster, "--matrix", "chain.cm", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto record = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(record["flows"], 3);
  // Three in a row: the whole takes longer than twice the longest, and each is alone on its way.
  EXPECT_GT(record["end_ps"].get<double>(), 2 * record["fct_max_ps"].get<double>());
  EXPECT_GE(record["slowdown_max"], 1.0);
  EXPECT_LT(record["slowdown_max"], 1.05) << "but for the first part of each, which waits at the NIC until it is whole";
}

TEST(Sim, RandomTrafficThatNeverBeginsSaysWhatWouldHelp) {
  const Outcome outcome = weft(
      {"sim", kClos, "--gpus", "2", "--pattern", "poisson", "--load", "0.1%", "--size", "1TB", "--duration", "1ns"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("a longer --duration"), std::string::npos) << outcome.err;
}

TEST(Sim, AMatrixWhoseFailuresCutAPairOffEndsAndSaysSo) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  std::ofstream("tree.topo") << "Nodes 4\nTiers 2\nPodsize 4\n"
                                "Tier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 1\nDownlink_Latency_ns 500\n"
                                "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 500\n";
  std::ofstream("cut.cm") << "Nodes 4\nConnections 2\n0->3 id 1 start 0 size 1000\n0->1 id 2 start 0 size 1000\n"
                             "failure switch_type TOR switch_id 0 link_id 0\n";
  const Outcome outcome = weft({"sim", "tree.topo", "--matrix", "cut.cm"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("1 flow did not get through"), std::string::npos) << outcome.err;
}

TEST(Sim, RailsAreChangedInsideTheServers) {
  const std::string cluster = (kSource / "examples/04-rail-only/cluster.weft.yaml").string();
  const Outcome outcome = weft({"sim", cluster, "--gpus", "32", "--size", "100kB", "--set", "transport.kind=srd",
                                "--set", "transport.balance=entropy"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST(Sim, FaultsAreReadFromTheCommandLineAndTheFile) {
  const std::vector<std::string> base = {"sim", kClos, "--gpus", "64", "--size", "1MB", "--json"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    const Outcome outcome = weft(more);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return records(outcome.out).at(0);
  };
  EXPECT_EQ(with({})["lost"], 0);
  const auto fault = with({"--fault", "spine0,kind=blackhole,at=5us,for=20us"});
  EXPECT_GT(fault["lost"], 0);
  EXPECT_EQ(fault["digest"], with({"--set", "faults=[{part: spine0, kind: blackhole, at: 5us, for: 20us}]"})["digest"]);
  EXPECT_GT(with({"--fault", "spine1,kind=lossy,share=1%"})["lost"], 0);
  EXPECT_GT(with({"--fault", "spine1,kind=flapping,at=1us,for=2us,every=10us"})["lost"], 0);
  const auto refused = [&](const std::string& text) {
    std::vector<std::string> arguments = base;
    arguments.insert(arguments.end(), {"--fault", text});
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.code, 2) << text;
    return outcome.err + outcome.out;
  };
  EXPECT_NE(refused("spine999").find("spine999"), std::string::npos);
  EXPECT_NE(refused("spine0,kind=lossy").find("needs 'share'"), std::string::npos);
  EXPECT_NE(refused("spine0,kind=tired").find("tired"), std::string::npos);
  EXPECT_NE(refused("spine0,kind=flapping,every=10us").find("never up again"), std::string::npos);
}

TEST(Sim, FailuresOfAMatrixAreRoutedAround) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  std::ofstream("tree.topo") << "Nodes 16\nTiers 3\nPodsize 4\n"
                                "Tier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 500\n"
                                "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 500\n"
                                "Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 500\n";
  const std::string flows = "Nodes 16\nConnections 1\n0->15 id 1 start 0 size 1000000\n";
  std::ofstream("good.cm") << flows;
  std::ofstream("bad.cm") << flows << "failure switch_type AGG switch_id 0 link_id 0\n";
  std::ofstream("none.cm") << flows << "failure switch_type AGG switch_id 99 link_id 0\n";
  const auto links = [&](const std::string& matrix) {
    const Outcome outcome = weft({"sim", "tree.topo", "--matrix", matrix, "--json", "--links", "0"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const auto all = records(outcome.out);
    EXPECT_EQ(all[0]["lost"], 0);
    return std::count_if(all.begin(), all.end(),
                         [](const auto& r) { return r["record"] == "link" && r["from"] == "spine0"; });
  };
  EXPECT_EQ(links("good.cm"), links("bad.cm") + 1) << "one uplink of spine0 is not used any more";
  EXPECT_EQ(weft({"sim", "tree.topo", "--matrix", "none.cm"}).code, 2);
}

TEST(Sim, MessagesAreALowerBoundOfPackets) {
  const auto end = [](const std::string& fidelity) {
    return records(weft({"sim", kClos, "--gpus", "64", "--size", "1MB", "--json", "--fidelity", fidelity}).out)
        .at(0)["end_ps"]
        .get<double>();
  };
  EXPECT_LT(end("message"), end("packet"));
  EXPECT_GT(end("message"), end("packet") / 3);
}

TEST(Sim, FlowsLieBetweenMessagesAndPackets) {
  const auto all = records(weft({"sim", kClos, "--gpus", "64", "--size", "1MB", "--json", "--fidelity", "all"}).out);
  ASSERT_EQ(all.size(), 4u) << "one for each, and their difference";
  EXPECT_EQ(all[0]["executor"], "packet");
  EXPECT_EQ(all[1]["executor"], "flow");
  EXPECT_EQ(all[2]["executor"], "message");
  EXPECT_LE(all[1]["end_ps"], all[0]["end_ps"]);
  EXPECT_GE(all[1]["end_ps"], all[2]["end_ps"]);
  EXPECT_EQ(all[3]["record"], "difference");
  EXPECT_EQ(all[3]["against"], "packet");
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(all[3]["runs"][i]["end_ps"], all[i]["end_ps"]);
  const auto alone = records(weft({"sim", kClos, "--gpus", "64", "--size", "1MB", "--json", "--fidelity", "flow"}).out);
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0], all[1]) << "the same run, whatever else ran";
}

TEST(Sim, TheDifferenceOfFidelitiesStandsBelowTheSummary) {
  const std::string text = weft({"sim", kClos, "--gpus", "32", "--size", "1MB", "--fidelity", "packet,flow"}).out;
  const auto table = text.find("\nfidelity  all done");
  ASSERT_NE(table, std::string::npos) << text;
  EXPECT_NE(text.find("\nflow ", table), std::string::npos) << text;
  EXPECT_EQ(text.find("traffic "), 0u);
  EXPECT_EQ(text.find("traffic ", 1), std::string::npos) << "one summary, of the first";
}

TEST(Sim, WhatFlowsCannotDoIsSaidBeforeTheyStart) {
  const auto error = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"sim", kClos, "--gpus", "16"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  };
  const auto refuses = [&](const std::string& fault) {
    return error({"--fidelity", "flow", "--fault", fault}).find("flows cannot show a fault of") != std::string::npos;
  };
  EXPECT_TRUE(refuses("spine0,kind=blackhole"));
  EXPECT_TRUE(refuses("spine0,kind=down,at=1us"));
  EXPECT_TRUE(refuses("spine0,kind=slow,share=50%,for=1us"));
  EXPECT_NE(error({"--fidelity", "flow", "--sample", "1us"}).find("flow level has no captures or samples"),
            std::string::npos);
  EXPECT_NE(error({"--fidelity", "packet,flew"}).find("none of packet, flow, message"), std::string::npos);
  EXPECT_NE(error({"--fidelity", "flow,flow"}).find("none of packet, flow, message"), std::string::npos);
  EXPECT_EQ(weft({"sim", kClos, "--gpus", "16", "--fidelity", "flow", "--fault", "spine0,kind=down"}).code, 0);
  EXPECT_EQ(weft({"compare", kClos, "--vary", "fabric.spines=2,4", "--gpus", "16", "--fidelity", "packet,flow"}).code,
            2);
}

// Where it would lose its time, and only there.
TEST(Sim, RoceOnAFabricThatLosesPacketsIsWarnedOf) {
  const auto warned = [](const std::string& command, std::vector<std::string> more) {
    more.insert(more.begin(), {command, kClos, "--set", "transport.kind=rocev2"});
    if (command == "sim") more.insert(more.end(), {"--gpus", "16", "--size", "10kB"});
    const Outcome outcome = weft(more);
    EXPECT_EQ(outcome.code, 0);
    return (outcome.out + outcome.err).find("W0508") != std::string::npos;
  };
  for (const std::string command : {"check", "sim"}) {
    EXPECT_TRUE(warned(command, {})) << command;
    EXPECT_FALSE(warned(command, {"--set", "transport.kind=srd"})) << command;
    EXPECT_FALSE(warned(command, {"--set", "transport.rocev2.recovery=selective"})) << command;
    for (const std::string control : {"pfc", "credits", "scheduled"})
      EXPECT_FALSE(warned(command, {"--set", "switching.flow_control=" + control})) << command << " " << control;
  }
  EXPECT_FALSE(warned("sim", {"--fidelity", "flow"}));
  // It is said of what chose RoCE, the option or the file.
  const std::string option = weft({"check", kClos, "--set", "transport.kind=rocev2"}).out;
  EXPECT_NE(option.find("--set:1:16: warning W0508"), std::string::npos) << option;
  EXPECT_NE(option.find("  1 | transport.kind=rocev2\n    |                ^^^^^^\n"), std::string::npos) << option;
  const Scratch scratch;
  const InDirectory here(scratch.path());
  std::ofstream("roce.weft.yaml") << "version: 1\nservers: {kind: hgx-h100, count: 8}\n"
                                     "fabric: {kind: rail-optimized, scalable_unit: 4, spines: 4}\n"
                                     "transport: {kind: rocev2}\n";
  const std::string file = weft({"check", "roce.weft.yaml", "--set", "transport.paths=8"}).out;
  EXPECT_NE(file.find("roce.weft.yaml:4:19: warning W0508"), std::string::npos) << file;
  const Outcome beside = weft({"sim", kClos, "--stream", "a,pattern=ring,nodes=8,size=10kB", "--stream",
                               "b,pattern=ring,nodes=8,size=10kB,transport=rocev2"});
  EXPECT_NE(beside.err.find("W0508"), std::string::npos);
}

// With an MTU that is no power of two, too, which RoCE's NICs cut down to one.
TEST(Sim, AFlowAloneIsNotSlowedDown) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  std::ofstream("tree.topo") << "Nodes 4\nTiers 2\nPodsize 4\n"
                                "Tier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 1\nDownlink_Latency_ns 500\n"
                                "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 500\n";
  for (const std::string& file : {std::string("tree.topo"), kClos})
    for (const std::string kind : {"srd", "uet", "rocev2"})
      for (const std::string size : {"100B", "4086B", "5000B", "30kB", "1MB"}) {
        const Outcome outcome = weft({"sim", file, "--pattern", "one", "--gpus", file == kClos ? "16" : "4", "--size",
                                      size, "--set", "transport.kind=" + kind, "--json", "--links", "0"});
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        const auto all = records(outcome.out);  // a warning of RoCE on a fabric that loses packets stands before it
        const auto sim = std::find_if(all.begin(), all.end(), [](const auto& each) { return each["record"] == "sim"; });
        ASSERT_NE(sim, all.end());
        EXPECT_EQ((*sim)["slowdown_max"], 1.0) << file << " " << kind << " " << size;
      }
}

TEST(Sim, ALimitStopsFlowsToo) {
  const Outcome outcome = weft({"sim", kClos, "--fidelity", "flow", "--pattern", "all-to-all", "--gpus", "64", "--size",
                                "1MB", "--json", "--limit", "time=50us"});
  EXPECT_EQ(outcome.code, 4);
  const auto record = records(outcome.out).at(0);
  EXPECT_EQ(record["partial"], true);
  EXPECT_LT(record["flows_done"], record["flows"]);
}

// All flows that cross the network are done at about the same time, long after the limit.
TEST(Sim, FlowsAndMessagesEndWhereTheLimitIs) {
  for (const std::string fidelity : {"flow", "message"}) {
    const auto partial = [&](const std::string& limit) {
      const Outcome outcome =
          weft({"sim", kClos, "--fidelity", fidelity, "--gpus", "64", "--size", "2MB", "--json", "--limit", limit});
      EXPECT_EQ(outcome.code, 4) << fidelity << " " << limit;
      return records(outcome.out).at(0);
    };
    const auto early = partial("time=10us");
    EXPECT_EQ(early["end_ps"], 10'000'000) << fidelity;
    EXPECT_EQ(early["stopped_by"], "time=10us") << fidelity;
    EXPECT_LT(early["flows_done"], 64) << fidelity;
    EXPECT_EQ(early["flows"], 64) << fidelity;
    EXPECT_EQ(partial("events=10")["stopped_by"], "events=10") << fidelity;
    EXPECT_LT(partial("events=10")["flows_done"], 64) << fidelity;
    EXPECT_EQ(weft({"sim", kClos, "--fidelity", fidelity, "--gpus", "64", "--limit", "time=1s,events=1e9"}).code, 0);
  }
}

TEST(Sim, APartialResultSaysUntilWhen) {
  const Outcome outcome = weft({"sim", kClos, "--gpus", "64", "--size", "40MB", "--limit", "time=30us"});
  const auto record =
      records(weft({"sim", kClos, "--gpus", "64", "--size", "40MB", "--limit", "time=30us", "--json"}).out).at(0);
  const std::string until = std::to_string(record["end_ps"].get<std::int64_t>() / 1000);  // "30123" is 30.123us
  EXPECT_EQ(outcome.out.substr(0, outcome.out.find('\n')),
            "partial        stopped at the limit time=30us: this is what was done until " + until.substr(0, 2) + "." +
                until.substr(2) + "us");
}

TEST(Sim, MessagesOfACollectiveHaveNoOrderToLimit) {
  const auto limited = [](const std::string& limit, const std::string& fidelity) {
    return weft({"sim", kClos, "--collective", "all_reduce", "--gpus", "16", "--sizes", "1MiB", "--fidelity", fidelity,
                 "--limit", limit});
  };
  for (const std::string limit : {"time=1us", "events=10"}) {
    EXPECT_EQ(limited(limit, "message").code, 2);
    EXPECT_NE(limited(limit, "message").err.find("--limit " + limit + ": the messages of a collective"),
              std::string::npos);
    EXPECT_EQ(limited(limit, "flow").code, 4) << limit;
  }
  EXPECT_EQ(limited("wall=1000s", "message").code, 0);
}

TEST(Sim, FaultsOfTheFileAreWrongWhereTheyStand) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  const auto with = [](const std::string& faults) {
    std::ofstream("b.weft.yaml") << read(kClos) << "faults:\n" << faults;
    const Outcome sim = weft({"sim", "b.weft.yaml", "--gpus", "4", "--size", "8kB"});
    const Outcome check = weft({"check", "b.weft.yaml"});
    EXPECT_EQ(sim.code, 2);
    EXPECT_EQ(check.code, 2) << check.out;
    EXPECT_EQ(check.err, sim.err);
    return check.err;
  };
  const auto lines = [] {
    const std::string text = read("b.weft.yaml");
    return std::to_string(std::count(text.begin(), text.end(), '\n'));
  };
  const std::string nobody = with("  - part: leaf0\n  - part: leaf999\n");
  EXPECT_TRUE(nobody.starts_with("b.weft.yaml:" + lines() + ":11: error E0410: a fault finds no 'leaf999'")) << nobody;
  EXPECT_NE(nobody.find("= did you mean 'leaf9'?"), std::string::npos) << nobody;
  const std::string no_link = with("  - {kind: down, part: \"leaf0:leaf1\"}\n");
  EXPECT_TRUE(no_link.starts_with("b.weft.yaml:" + lines() + ":24: error E0410: a fault: no link")) << no_link;
  const std::string no_share = with("  - part: leaf0\n    kind: lossy\n");
  EXPECT_NE(no_share.find(":11: error"), std::string::npos) << no_share;
  EXPECT_NE(no_share.find("that is lossy needs 'share'"), std::string::npos) << no_share;
  std::ofstream("b.weft.yaml") << read(kClos) << "faults:\n  - part: leaf0\n";
  EXPECT_EQ(weft({"check", "b.weft.yaml"}).code, 0);
  EXPECT_NE(weft({"check", kClos, "--set", "faults=[{part: leaf999}]"}).err.find("a fault finds no 'leaf999'"),
            std::string::npos);
}

// A name that is not there is said to be that, once, with the name that was meant.
TEST(Sim, ASlowReceiverThatIsNotThereIsNotFound) {
  const auto slow = [](const std::string& part) {
    return weft({"sim", kClos, "--gpus", "4", "--size", "8kB", "--set", "switching.ports=exact", "--fault",
                 part + ",kind=slow-receiver,share=50%"});
  };
  EXPECT_EQ(slow("s0/nic99").err,
            "error E0410: a fault finds no 's0/nic99'\n  = did you mean 's0/nic9'?\n"
            "1 error; `weft explain E0410` says more\n");
  EXPECT_NE(slow("leaf0:spin1").err.find("did you mean 'leaf0:spine1'?"), std::string::npos);
  EXPECT_NE(slow("somewhere").err.find("= two ends such as leaf0:spine1"), std::string::npos);
  EXPECT_NE(slow("leaf0:spine1").err.find("'leaf0:spine1' is no host's link"), std::string::npos);
  EXPECT_EQ(slow("s0/nic9").code, 0);
}

// How much there is of what, and what would be right.
TEST(Sim, HeadroomThatTakesAllOfTheBufferIsSaidWithItsSize) {
  const std::string cluster = (kSource / "examples/16-headroom-and-cables/cluster.weft.yaml").string();
  const auto with = [&](const std::string& set) {
    const Outcome outcome = weft({"sim", cluster, "--gpus", "4", "--size", "8kB", "--set", set});
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  };
  const std::string sizes =
      "leaf0 needs 38.6MiB of headroom for 8 ports with 1 lossless class, and its buffer is 16MiB";
  const std::string by_key = with("switching.headroom_for=10km");
  EXPECT_TRUE(by_key.starts_with("--set:1:24: error E0408: " + sizes)) << by_key;
  EXPECT_NE(by_key.find("= a larger buffer or headroom_for shorter cables"), std::string::npos) << by_key;
  const std::string by_cable = with("fabric.link.cable=10km");
  EXPECT_NE(by_cable.find("= a larger buffer or shorter cables"), std::string::npos) << by_cable;
  EXPECT_NE(by_cable.find("buffer: 16MiB"), std::string::npos) << by_cable;
  EXPECT_EQ(by_cable.find("computed"), std::string::npos) << by_cable;
}

TEST(Sim, AFlowThatNeverStartsIsAFailure) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  std::ofstream("stuck.cm") << "Nodes 2\n0->1 id 1 trigger 1 size 1\ntrigger id 1 oneshot\n";
  const std::string cluster = (kSource / "examples/05-p5-tor-clos/cluster.weft.yaml").string();
  EXPECT_EQ(weft({"sim", cluster, "--matrix", "stuck.cm"}).code, 1);
}

TEST(Sim, JsonIsOneRecordUntilMoreIsAskedFor) {
  const std::vector<std::string> run = {"sim", kClos, "--gpus", "16", "--size", "100kB", "--json"};
  const auto only = records(weft(run).out);
  ASSERT_EQ(only.size(), 1u);
  EXPECT_EQ(only[0]["record"], "sim");
  EXPECT_EQ(only[0]["traffic"], "permutation of 16 nodes, 100kB each");
  EXPECT_EQ(only[0]["partial"], false);
  auto more = run;
  more.push_back("--flows");
  const auto all = records(weft(more).out);
  ASSERT_EQ(all.size(), 17u);
  EXPECT_EQ(all[0], only[0]) << "the same run";
  EXPECT_EQ(all[16]["record"], "flow");
  EXPECT_EQ(all[16]["source"], 15);
}

TEST(Sim, TheConfigurationHashFollowsWhatWasGiven) {
  const auto hash = [](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"sim", kClos, "--gpus", "4", "--size", "8kB", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return records(weft(arguments).out).at(0)["configuration"].get<std::string>();
  };
  EXPECT_EQ(hash({}), hash({"--seed", "9"})) << "the seed stands beside it";
  EXPECT_NE(hash({}), hash({"--pattern", "ring"}));
  EXPECT_NE(hash({}), hash({"--set", "transport.paths=3"}));
}

TEST(Sim, TablesAndTracesAreFiles) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  const Outcome outcome = weft({"sim", kClos, "--gpus", "16", "--size", "100kB", "--csv", "all/of/it", "--csv",
                                "flows=f.csv", "--trace", "t.json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(read("f.csv"), read("all/of/it/flows.csv"));
  const std::string flows = read("f.csv");
  EXPECT_EQ(std::count(flows.begin(), flows.end(), '\n'), 17);
  EXPECT_TRUE(read("all/of/it/links.csv").starts_with("from,to,rate_bps,"));
  const auto trace = nlohmann::json::parse(read("t.json"));
  EXPECT_EQ(std::count_if(trace["traceEvents"].begin(), trace["traceEvents"].end(),
                          [](const auto& e) { return e["ph"] == "X"; }),
            16);
}

TEST(Sim, WhatCannotBeWrittenIsSaidBeforeItRuns) {
  const Outcome outcome =
      weft({"sim", kClos, "--csv", "flow=x", "--trace", kClos, "--flows", "--limit", "tine=1us", "--seeds", "2"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  for (const std::string part : {"did you mean flows=FILE?", "would overwrite an input", "add --json",
                                 "did you mean time?", "--seeds makes several"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << " in:\n" << outcome.err;
  EXPECT_EQ(weft({"sim", kClos, "--gpus", "2", "--size", "1kB", "--csv", "flows=/proc/nothing/f.csv"}).code, 3);
}

TEST(Sim, ThePictureOfAStepDoesNotOverwriteWhatItIsReadFrom) {
  const Scratch scratch;
  const std::string file = (scratch.path() / "job.yaml").string();
  std::filesystem::copy_file(kSource / "examples/37-a-training-step/cluster.weft.yaml", file);
  const std::string before = read(file);
  const Outcome outcome = weft({"sim", file, "--plot", file});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("would overwrite an input"), std::string::npos) << outcome.err;
  EXPECT_EQ(read(file), before);
  const std::string both = (scratch.path() / "both").string();
  EXPECT_NE(weft({"sim", file, "--plot", both, "--trace", both}).err.find(" are one file"), std::string::npos);
}

TEST(Sim, ALimitLeavesAPartialResultAndItsOwnExitCode) {
  const auto partial = [](const std::string& limit) {
    const Outcome outcome = weft({"sim", kClos, "--gpus", "64", "--size", "40MB", "--limit", limit, "--json"});
    EXPECT_EQ(outcome.code, 4);
    EXPECT_NE(outcome.err.find("limit " + limit + " reached: the result is partial"), std::string::npos) << outcome.err;
    return records(outcome.out).at(0);
  };
  const auto early = partial("time=30us");
  EXPECT_EQ(early["partial"], true);
  EXPECT_EQ(early["stopped_by"], "time=30us");
  EXPECT_EQ(early["flows_done"], 0);
  EXPECT_TRUE(early["fct_p50_ps"].is_null());
  EXPECT_GE(early["end_ps"].get<double>(), 30e6);
  EXPECT_LT(early["end_ps"].get<double>(), 40e6);
  EXPECT_GE(partial("events=5000")["events"].get<int>(), 5000);
  EXPECT_EQ(partial("memory=1MB")["flows_done"], 0) << "this program is larger than that";
  EXPECT_EQ(weft({"sim", kClos, "--gpus", "4", "--size", "8kB", "--limit", "time=1s,wall=1000s,events=1e9"}).code, 0);
}

// Whether a process has a handler of its own for SIGINT.
bool catches_ctrl_c(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigCgt:")) return (std::stoull(line.substr(7), nullptr, 16) >> (SIGINT - 1) & 1) != 0;
  return false;
}

// What a command prints when Ctrl-C is pressed as soon as it listens to that.
Outcome interrupted(const std::vector<std::string>& arguments) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  const pid_t child = fork();
  if (child == 0) {
    const Outcome outcome = weft(arguments);
    std::ofstream("out") << outcome.out;
    std::ofstream("err") << outcome.err;
    _exit(outcome.code);
  }
  while (!catches_ctrl_c(child)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  return {WEXITSTATUS(status), read("out"), read("err")};
}

TEST(Sim, CtrlCLeavesAPartialResult) {
  const Outcome outcome = interrupted({"sim", kClos, "--size", "100GB", "--json"});
  EXPECT_EQ(outcome.code, 130);
  EXPECT_EQ(outcome.err, "interrupted: the result is partial\n");
  EXPECT_EQ(records(outcome.out).at(0)["stopped_by"], "ctrl-c");
}

TEST(Compare, CtrlCLeavesWhatIsDoneAndNoWinner) {
  const std::vector<std::string> command = {"compare", kClos, "--vary", "transport.paths=1,2,4", "--size", "100GB"};
  const Outcome outcome = interrupted(command);
  EXPECT_EQ(outcome.code, 130);
  EXPECT_EQ(outcome.err, "interrupted: the result is partial\n");
  EXPECT_NE(outcome.out.find("flows done"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("none is best yet: 0 of 3 variants are done; not done: paths=1 (interrupted, "),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("; not run: paths=2 and paths=4"), std::string::npos) << outcome.out;
  std::vector<std::string> json = command;
  json.push_back("--json");
  const auto record = records(interrupted(json).out).at(0);
  EXPECT_TRUE(record["winner"].is_null());
  EXPECT_EQ(record["variants"].size(), 1u);
}

TEST(Sim, ThreadsDoNotChangeTheResult) {
  const auto run = [](const std::string& threads) {
    return weft({"sim", kClos, "--size", "50kB", "--json", "--flows", "--threads", threads}).out;
  };
  EXPECT_EQ(run("1"), run("3"));
}

TEST(Sim, SamplesAddUpToWhatLinksCarried) {
  const Outcome outcome = weft({"sim", kClos, "--pattern", "incast", "--gpus", "16", "--size", "200kB", "--sample",
                                "2us", "--json", "--links", "0", "--samples"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::map<std::string, std::uint64_t> carried;
  std::map<std::string, std::uint64_t> sampled;
  for (const auto& record : records(outcome.out)) {
    if (record["record"] == "sim") continue;
    const std::string name = record["from"].get<std::string>() + " " + record["to"].get<std::string>();
    (record["record"] == "link" ? carried : sampled)[name] += record["bytes"].get<std::uint64_t>();
  }
  EXPECT_GT(carried.size(), 16u);
  EXPECT_EQ(carried, sampled);
}

// What Debian's Wireshark thinks of real runs; report/pcapng_test.cpp looks at the fields.
TEST(Sim, WiresharkFindsNothingWrongWithAnyTransport) {
  if (std::system("command -v tshark > /dev/null") != 0)
    GTEST_SKIP() << "tshark is not installed: nobody reads the captures (apt-get install tshark)";
  const Scratch scratch;
  const InDirectory here(scratch.path());
  for (const std::string kind : {"srd", "rocev2", "tcp", "uet", "tcp-over-srd"}) {
    SCOPED_TRACE(kind);
    const Outcome outcome = weft({"sim", kClos, "--set", "transport.kind=" + kind, "--pattern", "incast", "--gpus",
                                  "16", "--size", "100kB", "--pcap", "c.pcapng", "--capture", "s0/nic0", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const std::string scripts = std::string(" -X lua_script:") + base::kSourceDir +
                                "/share/wireshark/weft_srd.lua -X lua_script:" + base::kSourceDir +
                                "/share/wireshark/weft_uet.lua";
    const std::string tshark = "tshark -n" + scripts + " -r c.pcapng 2> /dev/null";
    ASSERT_EQ(std::system((tshark + " > lines.txt").c_str()), 0);
    const std::string lines = read("lines.txt");
    EXPECT_NE(lines, "");
    // Of a payload that it misses, the dissector of RoCE complains in the line of a packet only.
    EXPECT_EQ(lines.find("alformed"), std::string::npos) << lines.substr(0, 500);
    ASSERT_EQ(std::system((tshark + " -Y '_ws.malformed || _ws.expert.severity >= 0x600000' > wrong.txt").c_str()), 0);
    EXPECT_EQ(read("wrong.txt"), "");
  }
}

TEST(Sim, ACaptureHasThePacketsOfItsLinks) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  const Outcome outcome = weft({"sim", kClos, "--pattern", "ring", "--gpus", "16", "--size", "100kB", "--pcap",
                                "c.pcapng", "--capture", "s0/nic0", "--json", "--links", "0"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::size_t packets = 0;
  for (const auto& record : records(outcome.out))
    if (record["record"] == "link" && (record["from"] == "s0/nic0" || record["to"] == "s0/nic0"))
      packets += record["packets"].get<std::size_t>();
  EXPECT_GT(packets, 5u);
  // A packet is a block of 98 bytes padded to 100, its frame of 32, and at most 20 of a comment.
  const std::size_t size = read("c.pcapng").size();
  EXPECT_GE(size, packets * 132);
  EXPECT_LE(size, packets * 152 + 200);
}

TEST(Sim, ACaptureOfNothingIsAError) {
  const auto error = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"sim", kClos, "--gpus", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  };
  EXPECT_NE(error({"--pcap", "x", "--capture", "leaf0:nowhere"}).find("finds no 'leaf0:nowhere'"), std::string::npos);
  EXPECT_NE(error({"--pcap", "x", "--capture", "leaf0:leaf1"}).find("no link of the network is 'leaf0:leaf1'"),
            std::string::npos);
  EXPECT_NE(error({"--pcap", "x"}).find("--pcap needs links"), std::string::npos);
  EXPECT_NE(error({"--capture", "leaf0"}).find("--capture needs a file"), std::string::npos);
  EXPECT_NE(error({"--csv", "samples=x.csv"}).find("add --sample 1us"), std::string::npos);
  EXPECT_NE(error({"--sample", "3"}).find("for example --sample 1us"), std::string::npos);
}

// Senders that nobody slows down, into one port, with packets of one size: Pollaczek and Khinchine say how long they
// wait.
TEST(Sim, RawMessagesAtRandomTimesWaitAsInMD1) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  std::ofstream("leaf.topo")
      << "Nodes 64\nTiers 2\nPodsize 64\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 64\nRadix_Up 1\n"
         "Downlink_Latency_ns 500\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 1\nDownlink_Latency_ns 500\n";
  const std::vector<std::string> command = {"sim",        "leaf.topo",
                                            "--set",      "transport.kind=raw",
                                            "--set",      "switching.queue=10MB",
                                            "--pattern",  "incast",
                                            "--arrivals", "poisson",
                                            "--size",     "4086B",
                                            "--load",     "1.1%",
                                            "--duration", "30ms"};
  std::vector<std::string> as_json = command;
  as_json.insert(as_json.end(), {"--json", "--links", "0", "--seeds", "6"});
  const Outcome outcome = weft(as_json);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  double waits = 0;
  double messages = 0;
  double used = 0;
  for (const auto& record : records(outcome.out)) {
    if (record["record"] == "sim") {
      EXPECT_EQ(record["unanswered"], record["flows"]);
      EXPECT_EQ(record["flows_done"], record["flows"]);
      EXPECT_EQ(record["acks"], 0);
      EXPECT_GE(record["wait_p99_ps"], record["wait_p50_ps"]);
    } else if (record["to"] == "s0/nic0") {
      waits += record["mean_wait_ps"].get<double>() * record["packets"].get<double>();
      messages += record["packets"].get<double>();
      used += record["utilisation"].get<double>() / 6;
    }
  }
  ASSERT_GT(messages, 300'000);
  const double service = 4150 * 80;
  const double expected = used * service / (2 * (1 - used));
  EXPECT_NEAR(used, 63 * 0.011 * 4150 / 4086, 0.01);
  EXPECT_NEAR(waits / messages, expected, 0.05 * expected) << used;

  const std::string text = weft(command, 80).out;
  EXPECT_NE(text.find("messages arrived"), std::string::npos) << text;
  EXPECT_NE(text.find("; 0 lost"), std::string::npos) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(Sim, WhatRawLosesIsAResultAndNoFailure) {
  const Outcome outcome = weft(
      {"sim", kClos, "--set", "transport.kind=raw", "--pattern", "incast", "--gpus", "64", "--size", "1MB", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto record = records(outcome.out).at(0);
  EXPECT_EQ(record["unanswered"], 63);
  EXPECT_LT(record["flows_done"], 63);
  EXPECT_GT(record["dropped"], 0);
}

TEST(Sim, AReadTakesARoundTripMoreThanAWrite) {
  const auto run = [](const std::string& verb) {
    const Outcome outcome =
        weft({"sim", kClos, "--pattern", "one", "--gpus", "64", "--size", "1MB", "--verb", verb, "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return records(outcome.out).at(0);
  };
  const auto write = run("write");
  const auto read = run("read");
  EXPECT_EQ(write["fct_max_ps"], run("send")["fct_max_ps"]);
  EXPECT_NE(write["digest"], run("send")["digest"]);
  EXPECT_NE(write["configuration"], read["configuration"]);
  EXPECT_GT(read["fct_max_ps"], write["fct_max_ps"]);
  EXPECT_LT(read["slowdown_max"], 1.2);
}

TEST(Sim, AFaultThatComesTooLateIsSaid) {
  const auto said = [](const std::string& fault) {
    return weft({"sim", kClos, "--pattern", "one", "--gpus", "64", "--size", "1MB", "--fault", fault}).err;
  };
  EXPECT_NE(said("spine0,at=1s").find("fault of spine0 at 1s: all was over after "), std::string::npos);
  EXPECT_EQ(said("spine0,at=1us").find("all was over"), std::string::npos);
  EXPECT_EQ(said("spine0").find("all was over"), std::string::npos);
}

TEST(Sim, LinksOfACollectiveAreShownWhereTheyAreKnown) {
  const std::vector<std::string> job = {"sim", kClos,     "--collective", "all_reduce", "--gpus",
                                        "32",  "--sizes", "1MiB",         "--links",    "2"};
  const Outcome unknown = weft(job);
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("not known at message level"), std::string::npos) << unknown.err;
  for (const std::string fidelity : {"flow", "packet"}) {
    std::vector<std::string> known = job;
    known.insert(known.end(), {"--fidelity", fidelity});
    const Outcome outcome = weft(known);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("\nbusiest links "), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("--links 0 shows all"), std::string::npos) << outcome.out;
  }
}

TEST(Compare, ShowsTheBusiestLinksOfEach) {
  const Outcome outcome = weft({"compare", kClos, "--vary", "transport.balance=ecmp,spray", "--collective",
                                "all_to_all", "--gpus", "32", "--sizes", "1MiB", "--fidelity", "flow", "--links", "1"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const std::string label : {"balance=ecmp", "balance=spray"})
    EXPECT_NE(outcome.out.find("\n" + label + "\nbusiest links "), std::string::npos) << outcome.out;
}

TEST(Sweep, ShowsTheBusiestLinksOfEachPointButKeepsNone) {
  std::vector<std::string> words = {"sweep",        kClos,        "--over",     "transport.balance=ecmp,spray",
                                    "--collective", "all_to_all", "--gpus",     "32",
                                    "--sizes",      "1MiB",       "--fidelity", "flow",
                                    "--links",      "1"};
  const Outcome outcome = weft(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const std::string label : {"balance=ecmp", "balance=spray"})
    EXPECT_NE(outcome.out.find(label + "\nbusiest links "), std::string::npos) << outcome.out;
  words.insert(words.end(), {"--out", "runs.jsonl"});
  const Outcome refused = weft(words);
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--out keeps no links"), std::string::npos) << refused.err;
}

TEST(Compare, WritesALineForEveryRunOfEveryVariant) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  const Outcome outcome = weft({"compare", kClos, "--vary", "transport.window=4,64", "--collective", "all_reduce",
                                "--gpus", "16", "--sizes", "1MiB,2MiB", "--fidelity", "message", "--csv", "runs.csv"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string table = read("runs.csv");
  EXPECT_TRUE(table.starts_with("variant,seed,")) << table;
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 1 + 2 * 2) << table;
  EXPECT_NE(table.find("\nwindow=64,1,"), std::string::npos) << table;
  EXPECT_EQ(weft({"compare", kClos, "--vary", "transport.window=4,64", "--csv", kClos}).code, 2);
}

// What weft run measured stands beside one cluster, and beside nothing but flows.
TEST(Compare, AMeasurementStandsBesideWhatIsSimulated) {
  const std::string file = testing::TempDir() + "weft_measured_run.json";
  std::ofstream(file)
      << R"({"record":"run","failure":null,"transport":"srd","pattern":"stream","size":65536,"endpoints":1,)"
      << R"("goodput_bps":1e11,"bytes":1,"p50_ps":0,"p99_ps":0,"p999_ps":0,"longest_ps":0,"packets":10,)"
      << R"("retransmitted":1})"
      << "\n";
  const Outcome outcome = weft({"compare", kClos, "--pattern", "one", "--size", "10MB", "--measured", file});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("beside messages of 64KiB by srd, 1 run"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("100Gbps"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("result"), std::string::npos) << "nobody wins alone: " << outcome.out;
  EXPECT_EQ(weft({"compare", kClos, "--collective", "all_reduce", "--measured", file}).code, 2);
  EXPECT_EQ(weft({"compare", kClos, "--pattern", "one", "--csv", file, "--measured", file}).code, 2);
  EXPECT_EQ(weft({"compare", kClos, "--pattern", "one"}).code, 2);
}

TEST(Sim, ALoadThatIsTooFineIsToldWhatWouldDo) {
  const Outcome outcome = weft({"sim", kClos, "--pattern", "poisson", "--load", "0.47619%"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("a multiple of 1ppm, such as 0.4761%"), std::string::npos) << outcome.err;
}

TEST(Compare, PoissonTrafficIsJudgedByItsTimes) {
  const Outcome outcome = weft({"compare", kClos, "--vary", "transport.window=4,64", "--pattern", "poisson", "--gpus",
                                "64", "--size", "500kB", "--load", "70%", "--duration", "100us", "--seeds", "2"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("window=64 wins: completion p99 "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("x lower than window=4; "), std::string::npos) << outcome.out;
}

// Alone, a flow over long cables is so slow that waiting hardly slows it.
TEST(Compare, LongCablesDoNotWinByBeingSlowAlone) {
  const std::vector<std::vector<std::string>> verbs = {{"compare", kEthernet, "--vary"},
                                                       {"sweep", kEthernet, "--over"}};
  for (const std::vector<std::string>& verb : verbs) {
    std::vector<std::string> command = verb;
    command.insert(command.end(), {"fabric.link.cable=2km,5m", "--pattern", "poisson", "--size", "64kB", "--load",
                                   "40%", "--duration", "100us", "--seeds", "2"});
    const Outcome text = weft(command);
    ASSERT_EQ(text.code, 0) << text.err;
    EXPECT_NE(text.out.find("cable=5m wins: completion p99 "), std::string::npos) << text.out;
    command.push_back("--json");
    const auto record = records(weft(command).out).at(0);
    EXPECT_EQ(record[verb[0] == "compare" ? "winner" : "best"], "cable=5m");
    EXPECT_EQ(record["measure"], "fct_p99");
    EXPECT_NE(text.out.find(record["sentence"].get<std::string>()), std::string::npos) << record["sentence"];
  }
}

TEST(Compare, ShorterHopsWinShortMessages) {
  const std::string infiniband = (kSource / "examples/21-ethernet-or-infiniband/infiniband.weft.yaml").string();
  const Outcome outcome = weft({"compare", kEthernet, infiniband, "--pattern", "poisson", "--size", "4kB", "--load",
                                "20%", "--duration", "50us", "--seeds", "2"});
  EXPECT_NE(outcome.out.find("infiniband wins: completion p99 "), std::string::npos) << outcome.out;
}

// A load is a share of a line rate. Compare gives all the load of the first, sweep each its own.
TEST(Compare, ALoadIsSaidToBeOfOneLineRate) {
  const std::vector<std::string> traffic = {"--pattern", "poisson", "--size",     "64kB",
                                            "--load",    "20%",     "--duration", "50us"};
  std::vector<std::string> compare = {"compare", kEthernet, "--vary", "servers.nics=4,8"};
  compare.insert(compare.end(), traffic.begin(), traffic.end());
  const Outcome one = weft(compare);
  EXPECT_NE(one.out.find("; the load is a share of 200Gbps per GPU for all"), std::string::npos) << one.out;
  std::vector<std::string> sweep = {"sweep", kEthernet, "--over", "servers.nics=4,8"};
  sweep.insert(sweep.end(), traffic.begin(), traffic.end());
  const Outcome own = weft(sweep);
  EXPECT_NE(own.out.find("none is best, for they differ in their traffic: the load is a share of 200Gbps to 400Gbps"),
            std::string::npos)
      << own.out;
  sweep.push_back("--json");
  EXPECT_TRUE(records(weft(sweep).out).at(0)["best"].is_null());
}

// Without anybody who sends again, what arrives at all was quick.
TEST(Compare, WhoLosesMessagesCannotWin) {
  const std::vector<std::vector<std::string>> verbs = {{"compare", kClos, "--vary"}, {"sweep", kClos, "--over"}};
  for (const std::vector<std::string>& verb : verbs) {
    std::vector<std::string> command = verb;
    command.insert(command.end(), {"switching.queue=16kB,16MB", "--set", "transport.kind=raw", "--pattern", "incast",
                                   "--gpus", "32", "--size", "64kB"});
    const Outcome text = weft(command);
    EXPECT_NE(text.out.find("only queue=16MB is done, after "), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("not done: queue=16kB ("), std::string::npos) << text.out;
    EXPECT_NE(text.out.find(" of 31 flows lost)"), std::string::npos) << text.out;
    command.push_back("--json");
    const auto record = records(weft(command).out).at(0);
    EXPECT_EQ(record[verb[0] == "compare" ? "winner" : "best"], "queue=16MB");
    EXPECT_GT(record[verb[0] == "compare" ? "variants" : "points"][0]["runs"][0]["flows_lost"], 0);
  }
}

TEST(Compare, RunsTheSameTrafficOnEachAndNamesTheWinner) {
  const std::vector<std::string> command = {
      "compare", kClos, "--vary", "transport.mtu=512B,4KiB", "--gpus", "16", "--size", "1MB", "--seeds", "3"};
  const Outcome outcome = weft(command);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("permutation of 16 nodes, 1MB each, mean of 3 seeds\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("mtu=4KiB wins"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("outside the spread over 3 seeds"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("price"), std::string::npos) << outcome.out;
  std::istringstream lines(weft(command, 80).out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(Compare, DifferentSizesRunTheTrafficOfTheSmallest) {
  const Outcome outcome = weft({"compare", kClos, "--vary", "servers.count=2,4", "--size", "8kB", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto record = records(outcome.out).at(0);
  EXPECT_EQ(record["traffic"], "permutation of 16 nodes, 8kB each");
  EXPECT_EQ(record["variants"].size(), 2u);
  EXPECT_EQ(record["variants"][1]["label"], "count=4");
}

TEST(Compare, AChangeWithoutEffectIsCalledThat) {
  const Outcome outcome = weft({"compare", kClos, "--vary", "name=a,b", "--gpus", "4", "--size", "8kB"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("no difference: the runs are the same to the last packet"), std::string::npos)
      << outcome.out;
}

TEST(Compare, FilesOfOneNameAreToldApartByTheirFolders) {
  const std::string other = (kSource / "examples/12-trn2-ultraserver/cluster.weft.yaml").string();
  const Outcome outcome = weft({"compare", kClos, other, "--gpus", "4", "--size", "8kB"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("  05-p5-tor-clos  12-trn2-ultraserver\n"), std::string::npos) << outcome.out;
}

TEST(Compare, SaysWhatIsMissing) {
  EXPECT_NE(weft({"compare", kClos}).err.find("one cluster cannot be compared"), std::string::npos);
  EXPECT_NE(weft({"compare", kClos, "--vary", "paths"}).err.find("for example --vary"), std::string::npos);
  EXPECT_NE(weft({"compare", kClos, "--vary", "transport.paths=" + std::string(99, ',')}).err.find("too many"),
            std::string::npos);
  const std::string sites = (kSource / "examples/08-two-sites/cluster.weft.yaml").string();
  const Outcome outcome = weft({"compare", sites, "--vary", "transport.kind=tcp,srd"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("so kind=srd cannot be compared"), std::string::npos) << outcome.err;
}

// nccl-tests' lines: numbers in its columns, and behind them what was chosen.
TEST(Sim, ACollectivePrintsWhatNcclTestsWould) {
  const InDirectory here(kSource / "examples/01-acp-2-nics");
  const Outcome outcome = weft({"sim", "--collective", "all_reduce", "--gpus", "16", "--sizes", "1KiB..1GiB",
                                "--algorithms", "ring", "--protocol", "simple"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  std::size_t rows = 0;
  double last = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    ++rows;
    std::istringstream row(line);
    double size = 0, count = 0, root = 0, time = 0, algbw = 0, busbw = 0;
    std::string type, redop;
    row >> size >> count >> type >> redop >> root >> time >> algbw >> busbw;
    EXPECT_EQ(count, size / 4);
    EXPECT_EQ(type + redop, "floatsum");
    EXPECT_EQ(root, -1);
    EXPECT_NEAR(algbw, size / 1e3 / time, 0.01 + algbw / 100);
    EXPECT_NEAR(busbw, algbw * 30 / 16, 0.02) << "2 (n - 1) / n";
    EXPECT_GE(time, last) << "larger takes no less";
    last = time;
  }
  EXPECT_EQ(rows, 21u);
  EXPECT_NE(outcome.out.find("# Avg bus bandwidth    : "), std::string::npos);
}

TEST(Sim, TheRunOfTheFileIsRunAndAsRecordsToo) {
  const InDirectory here(kSource / "examples/01-acp-2-nics");
  const Outcome outcome = weft({"sim", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto all = records(outcome.out);
  ASSERT_EQ(all.size(), 31u);  // 8 B to 8 GiB
  EXPECT_EQ(all[0]["record"], "collective");
  EXPECT_EQ(all[0]["ranks"], 64);
  EXPECT_EQ(all.back()["bytes"], std::uint64_t{8} << 30);
  // Two 400G NICs for a server: neither a ring nor a tree moves more than they carry.
  EXPECT_LT(all.back()["busbw_GBps"], 100.0);
  EXPECT_GT(all.back()["busbw_GBps"], 80.0);
}

TEST(Sim, AlgorithmsStandSideBySideAndWhatCannotBeIsSaid) {
  const InDirectory here(kSource / "examples/01-acp-2-nics");
  const Outcome all =
      weft({"sim", "--collective", "all-reduce", "--gpus", "16", "--sizes", "1MiB", "--algorithms", "all"});
  ASSERT_EQ(all.code, 0) << all.err;
  for (const char* name : {"Hierarchical", "NVLSTree", "Ring", "Tree"})
    EXPECT_NE(all.out.find(name), std::string::npos) << name;
  EXPECT_EQ(all.out.find("CollNet"), std::string::npos) << "Tomahawk 4 adds nothing up";
  const auto error = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"sim", "--collective", "all_reduce"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  };
  EXPECT_NE(error({"--algorithms", "nvls"}).find("NVLSTree spans several"), std::string::npos);
  EXPECT_NE(error({"--algorithms", "collnet"}).find("switches of this network do not reduce"), std::string::npos);
  EXPECT_NE(error({"--algorithms", "rings"}).find("did you mean Ring"), std::string::npos);
  EXPECT_NE(error({"--gpus", "1000"}).find("the cluster has 256"), std::string::npos);
  EXPECT_NE(error({"--gpus", "1"}).find("two GPUs"), std::string::npos);
  const std::string million = (kSource / "examples/11-a-million-gpus/cluster.weft.yaml").string();
  const Outcome flows = weft({"sim", million, "--collective", "all_reduce", "--fidelity", "flow"});
  EXPECT_NE(flows.err.find("no few can stand for all: links are simulated one by one"), std::string::npos) << flows.err;
  const Outcome faulty = weft({"sim", million, "--collective", "all_reduce", "--fault", "spine0"});
  EXPECT_NE(faulty.err.find("no few can stand for all: there are faults"), std::string::npos) << faulty.err;
  const Outcome alike = weft({"sim", million, "--collective", "all_reduce", "--sizes", "1MiB"});
  EXPECT_NE(alike.out.find("were followed on to 1048576"), std::string::npos) << alike.err;
  EXPECT_NE(error({"--sizes", "8GiB..8B"}).find("--sizes cannot be"), std::string::npos);
  EXPECT_NE(error({"--sample", "1us"}).find("applies to flows, not to collectives"), std::string::npos);
  EXPECT_NE(error({"--on", "0..7/0"}).find("GPUs cannot be '0..7/0'"), std::string::npos);
  EXPECT_NE(error({"--on", "3,0..7"}).find("GPU 3 is named twice"), std::string::npos);
  EXPECT_NE(error({"--on", "0..256"}).find("there is no GPU 256"), std::string::npos);
  EXPECT_NE(error({"--gpus", "16", "--split", "/5"}).find("16 GPUs cannot be split by '/5'"), std::string::npos);
  EXPECT_NE(error({"--gpus", "16", "--split", "8"}).find("split cannot be '8'"), std::string::npos);
  EXPECT_NE(error({"--gpus", "16", "--slow-rank", "16=50%"}).find("a rank from 0 to 15"), std::string::npos);
  EXPECT_NE(error({"--skew", "5"}).find("--skew cannot be"), std::string::npos);
  EXPECT_NE(error({"--fault", "spine0,kind=down,at=5us"}).find("messages"), std::string::npos);
  EXPECT_NE(error({"--gpus", "16", "--algorithms", "collnet", "--fidelity", "flow", "--set",
                   "fabric.switch={kind: tomahawk-4, reduces: true}"})
                .find("at message level only"),
            std::string::npos);
  EXPECT_NE(error({"--algorithms", "all", "--fidelity", "flow,message"}).find("with one fidelity"), std::string::npos);
}

TEST(Sim, ACollectiveIsCarriedOutByAllFidelitiesAndTheirDifferencesAreStated) {
  const InDirectory here(kSource / "examples/03-acp-8-nics");
  const std::vector<std::string> command = {"sim",        "--collective", "all_reduce",
                                            "--gpus",     "16",           "--sizes",
                                            "1MiB..4MiB", "--fidelity",   "packet,flow,message"};
  const Outcome text = weft(command);
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("packet level says"), std::string::npos) << text.out;
  std::vector<std::string> as_records = command;
  as_records.push_back("--json");
  const Outcome outcome = weft(as_records);
  const auto all = records(outcome.out);
  ASSERT_EQ(all.size(), 3u * 3 + 3) << "three sizes, three executors, three differences";
  EXPECT_EQ(all[0]["executor"], "packet");
  EXPECT_EQ(all[1]["executor"], "flow");
  EXPECT_EQ(all[2]["executor"], "message");
  EXPECT_EQ(all.back()["record"], "collective_difference");
  for (const char* executor : {"flow", "message"})
    EXPECT_LT(std::abs(all.back()["executors"][executor]["difference"].get<double>()), 0.3);
}

// The same number of GPUs, elsewhere and in groups.
TEST(Sim, ACollectiveRunsWhereItIsPut) {
  const InDirectory here(kSource / "examples/01-acp-2-nics");
  const auto busbw = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"sim", "--collective", "all_reduce", "--sizes", "256MiB", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto all = records(weft(arguments).out);
    return all.size() == 1 ? all[0]["busbw_GBps"].get<double>() : 0.0;
  };
  const double near = busbw({"--on", "0..31/4"});
  EXPECT_GT(near, 1.2 * busbw({"--on", "1..31/8x2"})) << "away from the NICs";
  // Four groups that use the same two NICs of every server get a quarter each; within servers they do not meet.
  EXPECT_LT(busbw({"--gpus", "32", "--split", "%4", "--algorithms", "Ring"}),
            0.4 * busbw({"--on", "0..31/4", "--algorithms", "Ring"}));
  EXPECT_NEAR(busbw({"--gpus", "32", "--split", "/8"}) / busbw({"--gpus", "8"}), 1, 0.001);
}

TEST(Sim, ATraceHasARankAndItsChannels) {
  const InDirectory here(kSource / "examples/01-acp-2-nics");
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "weft_collective_trace.json";
  for (const char* fidelity : {"message", "flow"}) {
    std::filesystem::remove(file);
    ASSERT_EQ(weft({"sim", "--collective", "all_reduce", "--gpus", "16", "--sizes", "1MiB", "--fidelity", fidelity,
                    "--trace", file.string()})
                  .code,
              0);
    std::ifstream in(file);
    const auto trace = nlohmann::json::parse(in);
    std::set<std::string> names;
    for (const auto& event : trace["traceEvents"])
      if (event["ph"] == "M") names.insert(event["args"]["name"]);
    EXPECT_TRUE(names.contains("s0/gpu0")) << fidelity;
    EXPECT_TRUE(names.contains("channel 0")) << fidelity;
  }
}

// Every table of truth/ has its scenario, and the constants are not allowed to get worse.
TEST(Validate, EveryTableIsReproducedAsWellAsItWas) {
  const Outcome outcome = weft({"validate", (kSource / "truth").string(), "--json"});
  ASSERT_EQ(outcome.code, 1) << "the worst row is further off than is asked for" << outcome.err;
  std::size_t tables = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kSource / "truth"))
    tables += entry.path().extension() == ".csv";
  const auto all = records(outcome.out);
  EXPECT_EQ(all.size(), tables);
  // From 1 MiB on: nine rows in ten and the worst, where it is more than of the others; docs/validation.md says why.
  const std::map<std::string, std::pair<double, double>> known = {
      {"aws_p4de_a100_2n16g_allreduce", {0.15, 0.20}},
      {"aws_p5_h100_2n16g_allreduce", {0.12, 0.17}},
      {"azure_a100_1n8g_all_reduce", {0.16, 0.18}},
      {"azure_guide_ND_A100_v4_allreduce", {0.26, 0.31}},
      {"azure_guide_ND_H100_v5_allreduce", {0.06, 0.21}},
      {"coreweave_gb200_20rack1440g_allreduce", {0.30, 0.30}},
      {"gcp_a3high_h100_2n16g_allgather", {0.12, 0.25}},
      {"gke_a3high_h100_2n16g_allgather", {0.42, 0.43}},
      {"gke_a3ultra_h200_2n16g_allgather", {0.13, 0.19}},
      {"issue309_h100_2n16g_allreduce", {0.16, 0.17}},
      {"issue309_h100_8n64g_allreduce", {0.28, 0.34}},
      {"lambda_b200_2n16g_allreduce", {0.17, 0.28}},
      {"stas00_line1471", {0.33, 0.40}}};
  for (const auto& record : all) {
    EXPECT_LE(record["median"], record["p90"]);
    EXPECT_LE(record["p90"], record["worst"]);
    EXPECT_LE(record["counted"], record["rows"]);
    const std::string table = record["table"];
    const auto limits = known.contains(table) ? known.at(table) : std::pair{0.125, 0.13};
    EXPECT_LT(record["from_1MiB"]["median"], 0.112) << table;
    EXPECT_LT(record["from_1MiB"]["p90"], limits.first) << table;
    EXPECT_LT(record["from_1MiB"]["worst"], limits.second) << table;
    if (!record["below_1MiB"].is_null() && record["below_1MiB"]["rows"] > 0) {
      EXPECT_LT(record["below_1MiB"]["p90"], table.starts_with("azure_guide_ND_") ? 0.32 : 0.29) << table;
    }
    // What is missed has a reason, or at least what is known about it.
    if (limits.first > 0.15 || limits.second > 0.30) {
      EXPECT_NE(read(kSource / "truth" / (table + ".weft.yaml")).find("# note: "), std::string::npos) << table;
    }
  }
  const std::string text = weft({"validate", (kSource / "truth").string()}).out;
  for (const std::string met : {"from 1 MiB, median: ", "from 1 MiB, nine rows in ten: ", "below 1 MiB, median: ",
                                "below 1 MiB, nine rows in ten: "}) {
    const std::size_t at = text.find(met);
    ASSERT_NE(at, std::string::npos) << met;
    EXPECT_NE(text.substr(at, text.find('\n', at) - at).find("at most"), std::string::npos) << text.substr(at, 80);
  }
}

// Tables that no constant was fitted to: what is simulated for a machine that nobody has asked about yet.
TEST(Validate, TablesThatNothingWasFittedToAreAlmostAsNear) {
  const Outcome outcome = weft({"validate", (kSource / "truth" / "held-out").string(), "--json"});
  ASSERT_EQ(outcome.code, 1) << "the worst row is further off than is asked for" << outcome.err;
  // Two racks whose network gave a quarter of what their NICs have: see the note.
  const std::string odd = "oci_gb300_128g_alltoall";
  for (const auto& record : records(outcome.out)) {
    const std::string table = record["table"];
    if (record["from_1MiB"]["rows"] > 0 && table != odd) {
      EXPECT_LT(record["from_1MiB"]["median"], 0.18) << table;
      EXPECT_LT(record["from_1MiB"]["worst"], 0.40) << table;
    }
    if (record["below_1MiB"]["rows"] > 0) {
      EXPECT_LT(record["below_1MiB"]["p90"], 0.15) << table;
    }
  }
}

// What is said of all tables together, beside what is asked for.
TEST(Validate, SaysHowFarItIsFromWhatIsAskedFor) {
  const std::string out = weft({"validate", (kSource / "truth").string()}).out;
  for (const std::string line :
       {"from 1 MiB, median: ", "below 1 MiB, nine rows in ten: ", " fitted to tables of truth/",
        "azure_guide_ND_H100_v5_allreduce", "differ from each other by"})
    EXPECT_NE(out.find(line), std::string::npos) << line << "\n" << out;
}

TEST(Validate, AFolderOfOnesOwnIsReadAndMistakesAreSaid) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  std::ofstream("mine.csv") << "size_bytes,time_us\n1048576,30\n";
  std::ofstream("mine.weft.yaml")
      << "version: 1\nservers: {kind: hgx-h100, count: 1}\nfabric: {kind: single-chassis, switch: quantum-2}\n"
         "run:\n  - all_reduce: {gpus: 8, stack: ib}\n";
  const Outcome fine = weft({"validate", ".", "--rows"});
  EXPECT_EQ(fine.code, 0) << fine.err;
  EXPECT_NE(fine.out.find("below 1 MiB, median: -, no rows"), std::string::npos) << fine.out;
  EXPECT_NE(fine.out.find("1048576        30.00"), std::string::npos) << fine.out;
  std::ofstream("other.csv") << "size_bytes,time_us\n8,soon\n";
  std::ofstream("lonely.csv") << "size_bytes,time_us\n8,3\n";
  EXPECT_NE(weft({"validate", "."}).err.find("lonely.csv has no cluster file beside it"), std::string::npos);
  std::filesystem::remove("lonely.csv");
  std::filesystem::copy_file("mine.weft.yaml", "other.weft.yaml");
  const Outcome wrong = weft({"validate", "."});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("other.csv:2:3"), std::string::npos) << wrong.err;
  std::ofstream("mine.weft.yaml")
      << "version: 1\nservers: {kind: hgx-h100, count: 1}\nfabric: {kind: single-chassis, switch: quantum-2}\n"
         "run:\n  - all_reduce: {gpus: 16, stack: ib}\n";
  EXPECT_NE(weft({"validate", "."}).err.find("but the cluster has 8 GPUs"), std::string::npos);
  std::filesystem::create_directory("empty");
  EXPECT_EQ(weft({"validate", "empty"}).code, 2);
}

TEST(Validate, NcclTestsTextIsATableAndPicturesAreWritten) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  std::ofstream("mine.weft.yaml")
      << "version: 1\nservers: {kind: hgx-h100, count: 1}\nfabric: {kind: single-chassis, switch: quantum-2}\n"
         "run:\n  - all_reduce: {gpus: 8, stack: ib}\n";
  std::ofstream("mine.txt") << "#       size         count      type   redop    root     time   algbw   busbw #wrong   "
                               "  time   algbw   busbw #wrong\n"
                               "     1048576        262144     float     sum      -1    27.37   38.31   67.05      0   "
                               " 26.93   38.94   68.14      0\n"
                               "     2097152        524288     float     sum      -1    42.21   49.68   86.94      0   "
                               " 92.09   49.82   87.19      0\n";
  const Outcome fine = weft({"validate", ".", "--rows", "--plots", "pictures"});
  EXPECT_LE(fine.code, 1) << fine.err;
  EXPECT_NE(fine.out.find("1048576        26.93"), std::string::npos) << fine.out;
  EXPECT_NE(fine.out.find("2 rows, 1 counted"), std::string::npos) << fine.out;
  EXPECT_NE(read("pictures/mine.svg").find("measured"), std::string::npos);
  std::ofstream("mine.txt") << "nothing\n";
  const Outcome wrong = weft({"validate", "."});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("no row of nccl-tests"), std::string::npos) << wrong.err;
}

TEST(Sim, CollectivesAreDrawn) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  const std::string file = (kSource / "examples/30-acp-puzzle/cluster.weft.yaml").string();
  const std::vector<std::string> common = {"sim",    file, "--collective", "all_reduce",
                                           "--gpus", "16", "--sizes",      "1MiB..8MiB"};
  auto arguments = common;
  arguments.insert(arguments.end(), {"--algorithms", "Ring,NVLSTree", "--plot", "two.svg"});
  EXPECT_EQ(weft(arguments).code, 0);
  const std::string drawn = read("two.svg");
  EXPECT_NE(drawn.find("all_reduce of 16 GPUs, Ring"), std::string::npos);
  EXPECT_NE(drawn.find("all_reduce of 16 GPUs, NVLSTree"), std::string::npos);
  const Outcome flows = weft({"sim", file, "--pattern", "permutation", "--plot", "none.svg"});
  EXPECT_EQ(flows.code, 2);
  EXPECT_NE(flows.err.find("--plot is of collectives"), std::string::npos) << flows.err;
}

}  // namespace
}  // namespace weft::golden
