// What verbs make of work: graphs of other programs, variants and points, steps of training, and where files are found.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "app/testing_verbs.hpp"

namespace weft::app {
namespace {

using namespace testing;

// Stands in another folder until it goes out of scope.
class Standing {
 public:
  explicit Standing(const std::filesystem::path& folder) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  ~Standing() { std::filesystem::current_path(before_); }

 private:
  std::filesystem::path before_;
};

TEST_F(Verbs, TheOnlyClusterFileOfTheFolderNeedNotBeNamed) {
  const Standing here(directory());
  InputOptions nothing;
  nothing.json = true;
  EXPECT_EQ(check(nothing, console_), kYourInput);
  EXPECT_TRUE(contains(out(), "none is here"));
  file("one.weft.yaml", kFourServers);
  ASSERT_EQ(check(nothing, console_), kFine) << out();
  EXPECT_EQ(record()["gpus"], 32);
  file("two.weft.yaml", kFourServers);
  EXPECT_EQ(check(nothing, console_), kYourInput);
  const std::string said = out();
  EXPECT_TRUE(contains(said, "one.weft.yaml")) << said;
}

// Rank 1 computes most. What each rank does is its own.
TEST_F(Verbs, AGraphIsCountedRankByRank) {
  SimOptions options;
  options.input = input(true);
  options.work.traffic.goal =
      file("a.goal",
           "num_ranks 3\nrank 0 {\nl1: calc 100\nl2: send 4096b to 1 tag 7\nl2 requires l1\n}\n"
           "rank 1 {\nrecv 4096b from 0 tag 7\ncalc 5000\ncalc 300\ncalc 0\ncalc 9000 cpu 1\n}\n"
           "rank 2 {\ncalc 50\n}\n");
  ASSERT_EQ(sim(options, console_), kFine) << err();
  nlohmann::json graph;
  for (const nlohmann::json& each : records())
    if (each["record"] == "graph") graph = each;
  EXPECT_EQ(graph["ranks"], 3);
  EXPECT_EQ(graph["operations"], 8);
  EXPECT_EQ(graph["computations"], 5) << "those that take time";
  EXPECT_EQ(graph["messages"], 1);
  EXPECT_EQ(graph["computing_most_ps"], 5'300'000) << "of the first processor";
  EXPECT_EQ(graph["computing_mean_ps"], (100'000 + 5'300'000 + 50'000) / 3);
  EXPECT_EQ(graph["end_ps"], 9'000'000);
  options.input.json = false;
  ASSERT_EQ(sim(options, console_), kFine) << err();
  const std::string text = out();
  EXPECT_TRUE(contains(text, "most: rank 1, 5.3us")) << text;
}

// Each variant, and each point, has a run for each seed and no other.
TEST_F(Verbs, EveryVariantAndPointIsRunOncePerSeed) {
  CompareOptions compared;
  compared.files = {input(true).file};
  compared.input.json = true;
  compared.vary = {"transport.paths=1,64"};
  compared.work.traffic.pattern = "permutation";
  compared.work.traffic.size = "100KB";
  compared.seeds = 2;
  ASSERT_EQ(compare(compared, console_), kFine) << err();
  const nlohmann::json variants = record()["variants"];
  ASSERT_EQ(variants.size(), 2u);
  SweepOptions swept;
  swept.input = input(true);
  swept.over = compared.vary;
  swept.work = compared.work;
  swept.seeds = 2;
  ASSERT_EQ(sweep(swept, console_), kFine) << err();
  const nlohmann::json points = record()["points"];
  ASSERT_EQ(points.size(), 2u);
  std::set<std::uint64_t> digests;
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(points[i]["label"], i == 0 ? "paths=1" : "paths=64");
    EXPECT_TRUE(points[i]["trouble"].is_null());
    ASSERT_EQ(points[i]["runs"].size(), 2u);
    ASSERT_EQ(variants[i]["runs"].size(), 2u);
    for (std::size_t run = 0; run < 2; ++run) {
      EXPECT_EQ(points[i]["runs"][run]["seed"], run + 1);
      EXPECT_EQ(points[i]["runs"][run]["end_ps"], variants[i]["runs"][run]["end_ps"]) << "the same experiment";
      digests.insert(points[i]["runs"][run]["end_ps"].get<std::uint64_t>());
    }
  }
  EXPECT_GT(digests.size(), 1u);
}

const std::string kTwoSteps =
    "version: 1\nservers: {kind: hgx-h200, count: 2}\nfabric: {kind: tor-clos}\nrun:\n"
    "  - training: {model: llama3-8b, sequence: 8192, global_batch: 64, parallel: {tensor: 8}}\n"
    "  - training: {model: llama3-8b, sequence: 8192, global_batch: 32, parallel: {tensor: 8}}\n";

// Reports of several steps are apart by one empty line, and nothing stands before the first.
TEST_F(Verbs, WhyTellsOfEachStepOfTraining) {
  WhyOptions options;
  options.input = input(false, kTwoSteps);
  ASSERT_EQ(why(options, console_), kFine) << err();
  const std::string text = out();
  EXPECT_EQ(text.find("training "), 0u) << text;
  const std::size_t second = text.find("\ntraining ");
  ASSERT_NE(second, std::string::npos) << text;
  EXPECT_EQ(text.substr(second - 1, 2), "\n\n");
  EXPECT_EQ(text.find("\ntraining ", second + 1), std::string::npos);
  EXPECT_FALSE(contains(text, "\n\n\n")) << text;
}

// A stage with the output layer and a second predicted token computes longest: with fewer layers the step is shorter.
TEST_F(Verbs, WhyTriesFewerLayersInTheLastPiece) {
  WhyOptions options;
  options.input = input(true, std::string(kFourServers) +
                                  "run:\n  - training: {model: {kind: llama3-8b, predicted: 2}, global_batch: 64, "
                                  "parallel: {tensor: 2, pipeline: 4}}\n");
  ASSERT_EQ(why(options, console_), kFine) << err();
  const nlohmann::json said = record();
  std::size_t found = 0;
  for (const nlohmann::json& each : said["what_if"])
    if (each["set"][0].get<std::string>().find(".parallel.layers=[") != std::string::npos) {
      ++found;
      EXPECT_LT(each["step_ps"].get<std::int64_t>() * 10, said["step_ps"].get<std::int64_t>() * 9) << each.dump();
    }
  EXPECT_EQ(found, 1u) << said["what_if"].dump();
}

// Layouts are listed best first, as many as asked for.
TEST_F(Verbs, PlanListsLayoutsOfTraining) {
  PlanCommandOptions options{.input = input(false, kTwoSteps.substr(0, kTwoSteps.rfind("  - training"))),
                             .collective = {},
                             .gpus = 0,
                             .sizes = "",
                             .training = true,
                             .best = 4};
  ASSERT_EQ(plan(options, console_), kFine) << err();
  const std::string text = out();
  EXPECT_TRUE(contains(text, "layout, and what it waits for\n")) << text;
  std::size_t layouts = 0;
  for (std::size_t at = text.find("tensor "); at != std::string::npos; at = text.find("tensor ", at + 1))
    layouts += text.compare(at, 8, "tensor g") != 0;
  EXPECT_EQ(layouts, 4u) << text;
  options.input.json = true;
  ASSERT_EQ(plan(options, console_), kFine) << err();
  const auto all = records();
  std::vector<std::int64_t> steps;
  for (const nlohmann::json& each : all)
    if (each.contains("step_ps")) steps.push_back(each["step_ps"]);
  EXPECT_EQ(steps.size(), 4u);
  EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end()));
}

// What is written and what the record has of the network are the same.
TEST_F(Verbs, WhySaysWhatTheNetworkLeaves) {
  WhyOptions options;
  options.input = input(true);
  options.gpus = 32;
  options.size = "1MiB";
  options.fast = true;
  options.collective.operation = "all_reduce";
  ASSERT_EQ(why_run(options, console_), kFine) << err();
  const double per_mille = record()["network_per_mille"];
  EXPECT_GT(per_mille, 0);
  EXPECT_LE(per_mille, 1000);
  options.input.json = false;
  ASSERT_EQ(why_run(options, console_), kFine) << err();
  const std::string text = out();
  EXPECT_TRUE(contains(text, fmt::format("get {:.0f}% of what one alone gets (flow level", per_mille / 10))) << text;
}

TEST_F(Verbs, WordsThatNcclDoesNotKnowAreRefusedWithThoseThatItDoes) {
  WhyOptions options;
  options.input = input(false);
  options.busbw = {"1GiB=40GB/s"};
  for (const auto& [given, said] : {std::pair<std::string, std::string>{"NCCL_ALGO=Rnig", "Ring, Tree"},
                                    {"NCCL_PROTO=LL64", "LL128"},
                                    {"NCCL_ALGO", "--env NCCL_P2P_DISABLE=1"},
                                    {"=1", "--env NCCL_P2P_DISABLE=1"}}) {
    options.environment = {given};
    EXPECT_EQ(why(options, console_), kYourInput) << given;
    const std::string text = err();
    EXPECT_TRUE(contains(text, said)) << given << "\n" << text;
    EXPECT_EQ(out(), "");
  }
}

}  // namespace
}  // namespace weft::app
