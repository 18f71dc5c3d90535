// Several streams of traffic in one run, as a person meets them.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "golden.hpp"
#include "model/choices.hpp"

namespace weft::golden {
namespace {

const std::string kApart = (kSource / "examples/25-rdma-beside-tcp/apart.weft.yaml").string();
const std::string kOne = (kSource / "examples/25-rdma-beside-tcp/one-lossless.weft.yaml").string();
const std::string kClos = (kSource / "examples/05-p5-tor-clos/cluster.weft.yaml").string();

std::vector<nlohmann::json> records(const std::string& text) {
  std::vector<nlohmann::json> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(nlohmann::json::parse(line));
  return out;
}

std::string error(std::vector<std::string> arguments) {
  const Outcome outcome = weft(arguments);
  EXPECT_EQ(outcome.code, 2) << outcome.out;
  return outcome.err;
}

TEST(Streams, OfTheFileAreToldApartAndAddUp) {
  const Outcome outcome = weft({"sim", kApart, "--json", "--flows"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto all = records(outcome.out);
  ASSERT_EQ(all.at(1)["record"], "stream");
  EXPECT_EQ(all[1]["name"], "training");
  EXPECT_EQ(all[1]["transport"], "rocev2");
  EXPECT_EQ(all[1]["service"], "rdma");
  EXPECT_EQ(all[1]["flows"], 64);
  EXPECT_EQ(all.at(2)["name"], "storage");
  EXPECT_EQ(all[2]["flows"], 63);
  EXPECT_EQ(all[0]["bytes"], all[1]["bytes"].get<std::uint64_t>() + all[2]["bytes"].get<std::uint64_t>());
  EXPECT_EQ(all[0]["resent"],
            all[1]["transport_resent"].get<std::uint64_t>() + all[2]["transport_resent"].get<std::uint64_t>());
  EXPECT_EQ(all[0]["end_ps"], std::max(all[1]["end_ps"], all[2]["end_ps"]));
  std::size_t of_storage = 0;
  for (const auto& record : all) of_storage += record["record"] == "flow" && record["stream"] == 1;
  EXPECT_EQ(of_storage, 63u);
}

TEST(Streams, OfTheCommandLineStandInsteadOfTheFiles) {
  const Outcome outcome =
      weft({"sim", kApart, "--stream", "a,pattern=ring,nodes=16,size=100kB,transport=uet", "--stream",
            "b,pattern=one,first=40,nodes=8,size=10kB,transport=tcp,service=tcp", "--json", "--flows"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto all = records(outcome.out);
  EXPECT_EQ(all.at(1)["name"], "a");
  EXPECT_EQ(all.at(1)["flows"], 16);
  EXPECT_EQ(all.back()["source"], 40);  // the second stream's only flow
  EXPECT_EQ(all.back()["destination"], 47);
  EXPECT_EQ(all.back()["stream"], 1);
}

TEST(Streams, ADigestDoesNotDependOnThreads) {
  const auto digest = [](const std::string& threads) {
    return records(weft({"sim", kOne, "--json", "--threads", threads}).out).at(0)["digest"];
  };
  EXPECT_EQ(digest("1"), digest("3"));
}

TEST(Streams, AStreamAloneIsWhatThePatternIs) {
  const auto end = [](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"sim", kClos, "--json", "--seed", "5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return records(weft(arguments).out).at(0)["end_ps"];
  };
  EXPECT_EQ(end({"--stream", "x,pattern=permutation,size=100kB,nodes=64"}),
            end({"--pattern", "permutation", "--size", "100kB", "--nodes", "64"}));
}

TEST(Streams, WhatCannotBeIsSaid) {
  EXPECT_NE(error({"sim", kApart, "--stream", "a,service=nothing"})
                .find("asks for the service 'nothing', which is not there"),
            std::string::npos);
  EXPECT_NE(error({"sim", kApart, "--stream", "a,service=rdm"}).find("did you mean rdma?"), std::string::npos);
  EXPECT_NE(error({"sim", kApart, "--stream", "a", "--stream", "a"}).find("two streams are called 'a'"),
            std::string::npos);
  EXPECT_NE(error({"sim", kApart, "--stream", "a,first=60,nodes=8"}).find("the cluster has 64"), std::string::npos);
  EXPECT_NE(error({"sim", kApart, "--stream", "a,patern=ring"}).find("pattern"), std::string::npos);
  EXPECT_NE(error({"sim", kApart, "--stream", "a", "--pattern", "ring"}).find("--stream has a pattern of its own"),
            std::string::npos);
  EXPECT_NE(error({"sim", kApart, "--fidelity", "flow"})
                .find("flows share links evenly, whether they are of rocev2 or of tcp"),
            std::string::npos);
  EXPECT_NE(error({"sim", kApart, "--fidelity", "flow", "--stream", "a,transport=tcp", "--stream",
                   "b,transport=tcp,service=tcp"})
                .find("whether they are of service rdma or of service tcp"),
            std::string::npos);
  EXPECT_NE(error({"sim", kApart, "--set", "switching.flow_control=none"})
                .find("a service is lossless, but flow_control is none"),
            std::string::npos);
  EXPECT_NE(error({"sim", kApart, "--set", "switching.ports=computed"}).find("computed ports have no"),
            std::string::npos);
  EXPECT_NE(error({"sim", kApart, "--set", "switching.classes=one"}).find("several services, but classes: one"),
            std::string::npos);
}

TEST(Streams, CompareSaysForEachWhereItIsDoneFirst) {
  const Outcome outcome = weft({"compare", kApart, kOne});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("training slowdown"), std::string::npos);
  EXPECT_NE(outcome.out.find("\ntraining  done first with apart, after "), std::string::npos) << outcome.out;
  const auto record = records(weft({"compare", kApart, kOne, "--json"}).out).at(0);
  EXPECT_EQ(record["variants"][0]["runs"][0]["streams"][1]["name"], "storage");
  EXPECT_NE(error({"compare", kApart, kClos}).find("what cluster runs is not what apart runs"), std::string::npos);
}

TEST(Streams, TheFileKnowsEveryPatternAndDistribution) {
  const auto told = [](const std::string& keys) {
    return weft({"sim", kClos, "--stream", "x,nodes=8,size=1kB,duration=1us," + keys}).err;
  };
  for (const std::string& name : enum_names<model::TrafficPattern>())
    EXPECT_EQ(told("pattern=" + name).find("error"), std::string::npos) << name;
  for (const std::string& name : enum_names<model::FlowSizes>())
    EXPECT_EQ(told("pattern=poisson,sizes=" + name).find("error"), std::string::npos) << name;
}

}  // namespace
}  // namespace weft::golden
