// What verbs print of a small cluster, where it can be said without a whole page.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>

#include "app/output.hpp"
#include "app/sweep/sweep_store.hpp"
#include "app/testing_verbs.hpp"

namespace weft::app {
namespace {

using namespace testing;

TEST_F(Verbs, CheckSaysOfEachTierWhatIsBelowAndAbove) {
  ASSERT_EQ(check(input(true), console_), kFine);
  const nlohmann::json tiers = record()["tiers"];
  ASSERT_EQ(tiers.size(), 2u);
  EXPECT_EQ(tiers[0]["below_bps"], 6'400'000'000'000);
  EXPECT_EQ(tiers[0]["above_bps"], 3'200'000'000'000);
  EXPECT_EQ(tiers[0]["oversubscription"], 2.0);
  EXPECT_EQ(tiers[1]["below_bps"], 3'200'000'000'000);
  EXPECT_TRUE(tiers[1]["above_bps"].is_null());
  EXPECT_TRUE(tiers[1]["oversubscription"].is_null());
}

// A run that no level can carry out is an error of the file; one level that can is enough.
TEST_F(Verbs, CheckLooksAtTheRunOfTheFile) {
  EXPECT_EQ(check(input(false, kFourServers + "run: {all_reduce: {sizes: 1MiB}}\n"), console_), kFine) << err();
  EXPECT_EQ(check(input(false, kFourServers + "run: {all_reduce: {sizes: 1MiB}}\n"
                                              "faults: [{part: leaf0, kind: flapping, every: 20us, for: 5us}]\n"),
                  console_),
            kFine)
      << "packets can" << err();
  err();
  EXPECT_EQ(check(input(false, kFourServers + "run: {trace: {goal: nowhere.goal}}\n"), console_), kYourInput);
  EXPECT_TRUE(contains(err(), "nowhere.goal"));
  EXPECT_EQ(check(input(false, kFourServers + "run: {all_reduce: {stack: nobodys}}\n"), console_), kYourInput);
  EXPECT_TRUE(contains(err(), "nobodys"));
}

TEST_F(Verbs, StorageIsPartOfTheBill) {
  ShowOptions options;
  options.input =
      input(true, kFourServers + "storage: [{name: home, kind: block, price: $3/h}, {name: scratch, kind: object}]\n");
  options.what = Shown::bom;
  options.as = ShownAs::json;
  ASSERT_EQ(show(options, console_), kFine) << err();
  std::vector<nlohmann::json> storage;
  for (const nlohmann::json& each : records())
    if (each["part"] == "storage") storage.push_back(each);
  ASSERT_EQ(storage.size(), 2u);
  EXPECT_EQ(storage[0]["kind"], "home");
  EXPECT_EQ(storage[0]["count"], 1);
  EXPECT_EQ(storage[0]["usd_per_hour"], 3.0);
  EXPECT_EQ(storage[0]["note"], "");
  EXPECT_TRUE(storage[1]["usd_per_hour"].is_null());
  EXPECT_EQ(storage[1]["note"], "no price");
}

TEST_F(Verbs, CatalogShowsListsAndMappingsAsFilesHaveThem) {
  ASSERT_EQ(catalog({.input = {}, .name = "acp-h100-2nic"}, console_), kFine) << err();
  const std::string text = out();
  EXPECT_TRUE(contains(text, " [0, 4]\n")) << text;
  ASSERT_EQ(catalog({.input = {}, .name = "hgx-h100"}, console_), kFine) << err();
  const std::string other = out();
  EXPECT_TRUE(contains(other, " {link: nvlink4, switches: 4}\n")) << other;
}

TEST_F(Verbs, PlanHasARowForEachSizeOfAListInBrackets) {
  PlanCommandOptions options{.input = input(true), .collective = {}, .gpus = 16, .sizes = "[1MiB, 16MiB]"};
  options.collective.operation = "all_reduce";
  ASSERT_EQ(plan(options, console_), kFine) << err();
  const std::vector<nlohmann::json> rows = records();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["bytes"], 1 << 20);
  EXPECT_EQ(rows[1]["bytes"], 16 << 20);
  EXPECT_EQ(rows[0]["gpus"], 16);
  EXPECT_GT(rows[1]["simulated_ps"], rows[1]["bound_ps"]);
  options.bounds_only = true;
  ASSERT_EQ(plan(options, console_), kFine);
  EXPECT_TRUE(records()[0]["simulated_ps"].is_null());
}

TEST_F(Verbs, PlanRefusesWhatIsNoJob) {
  PlanCommandOptions options{.input = input(false), .collective = {}, .gpus = 33, .sizes = "1MiB"};
  EXPECT_EQ(plan(options, console_), kYourInput);
  EXPECT_TRUE(contains(err(), "33 GPUs"));
  EXPECT_EQ(out(), "");
}

TEST_F(Verbs, WhyNamesTheRanksThatAreSlow) {
  WhyOptions options;
  options.input = input(false);
  options.gpus = 16;
  options.size = "1MiB";
  options.fast = true;
  options.collective.operation = "all_reduce";
  options.collective.slow_ranks = {"3=55%"};
  ASSERT_EQ(why_run(options, console_), kFine) << err();
  const std::string one = out();
  EXPECT_TRUE(contains(one, "rank 3 (s0/gpu3) has 55% of its speed\n")) << one;
  options.collective.slow_ranks = {"0=90%", "1=90%", "2=90%"};
  ASSERT_EQ(why_run(options, console_), kFine) << err();
  const std::string three = out();
  EXPECT_FALSE(contains(three, "more are slow")) << three;
  options.collective.slow_ranks = {"0=90%", "1=90%", "2=90%", "3=90%"};
  ASSERT_EQ(why_run(options, console_), kFine) << err();
  const std::string four = out();
  EXPECT_TRUE(contains(four, "; 1 more are slow")) << four;
}

TEST_F(Verbs, WhySaysHowToRepeatACause) {
  WhyOptions options;
  options.input = input(false);
  options.input.nodes = 4;
  options.gpus = 32;
  options.collective.operation = "all_reduce";
  options.busbw = {"1GiB=40GB/s"};
  options.environment = {"NCCL_NET_GDR_LEVEL=LOC"};
  ASSERT_EQ(why(options, console_), kFine) << err();
  const std::string text = out();
  EXPECT_TRUE(contains(text, "   for    NCCL_NET_GDR_LEVEL=LOC")) << text;
  EXPECT_TRUE(contains(text, "   model  --set servers.gpudirect=false\n")) << text;
}

TEST_F(Verbs, AFaultSlowsTheRunDown) {
  SimOptions options;
  options.input = input(true);
  options.work.traffic.pattern = "permutation";
  options.work.traffic.size = "100KB";
  ASSERT_EQ(sim(options, console_), kFine) << err();
  const std::int64_t fine = records().back()["end_ps"];
  options.run.faults = {"s0/nic0,kind=slow,share=10%"};
  ASSERT_EQ(sim(options, console_), kFine) << err();
  EXPECT_GT(records().back()["end_ps"], 2 * fine);
  options.run.faults = {"s0/nic99,kind=slow,share=10%"};
  EXPECT_EQ(sim(options, console_), kYourInput);
}

TEST_F(Verbs, AFailureInAMatrixHasAnUplink) {
  SimOptions options;
  options.input = input(false);
  options.work.traffic.matrix = file("a.cm",
                                     "Nodes 32\nConnections 1\nFailures 1\n0->9 id 1 start 0 size 1000\n"
                                     "failure switch_type CORE switch_id 0 link_id 0\n");
  EXPECT_EQ(sim(options, console_), kYourInput);
  const std::string text = err();
  EXPECT_TRUE(contains(text, "this failure names no uplink")) << text;
}

// Two tables of the same machine: one of them at 1 KiB a tenth longer, at 4 MiB a quarter.
TEST_F(Verbs, ValidateSaysHowFarItIsFromTables) {
  for (const std::string name : {"one", "two"})
    file(name + ".weft.yaml",
         "version: 1\nservers: {kind: hgx-h100, count: 1}\nfabric: {kind: single-chassis, switch: tomahawk-4}\n"
         "run:\n  - all_reduce: {gpus: 8, stack: ib}\n");
  file("one.csv", "size_bytes,time_us\n1024,30\n65536,40\n4194304,80\n67108864,700\n");
  file("two.csv", "size_bytes,time_us\n1024,33\n65536,40\n4194304,100\n67108864,700\n");
  ValidateOptions options{.directory = directory().string(), .plots = {}, .refit = {}, .json = true};
  validate(options, console_);
  const std::vector<nlohmann::json> tables = records();
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0]["table"], "one");
  EXPECT_EQ(tables[0]["rows"], 4);
  EXPECT_EQ(tables[0]["below_1MiB"]["rows"], 2);
  options.json = false;
  validate(options, console_);
  const std::string text = out();
  EXPECT_TRUE(contains(text, "one, two differ from each other by 5.0%, at most 25.0%, at 4 sizes")) << text;
  EXPECT_FALSE(contains(text, "left out")) << text;
  options.page = true;
  validate(options, console_);
  std::istringstream lines(out());
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line);) {
    double bytes = 0, measured = 0, simulated = 0, error = 0;
    if (std::sscanf(line.c_str(), "| %lf | %lf | %lf | %lf%%", &bytes, &measured, &simulated, &error) != 4) continue;
    EXPECT_NEAR(error, 100 * (simulated / measured - 1), 0.06) << line;
    EXPECT_EQ(measured, std::vector<double>({30, 40, 80, 700, 33, 40, 100, 700})[rows]) << line;
    ++rows;
  }
  EXPECT_EQ(rows, 8u);
}

TEST_F(Verbs, PlotCallsACurveAsItWasTold) {
  const std::string run = file("run.json",
                               "{\"record\":\"collective\",\"operation\":\"all_reduce\",\"ranks\":16,"
                               "\"bytes\":1024,\"busbw_GBps\":2.5,\"algorithm\":\"Ring\",\"chosen_by\":\"auto\"}\n");
  ASSERT_EQ(plot({.files = {"mine=" + run}, .output = {}, .title = {}, .json = true}, console_), kFine) << err();
  const nlohmann::json mine = record();
  EXPECT_EQ(mine["name"], "mine");
  EXPECT_EQ(mine["points"][0]["bytes"], 1024);
  EXPECT_EQ(mine["points"][0]["busbw_GBps"], 2.5);
  ASSERT_EQ(plot({.files = {run}, .output = {}, .title = {}, .json = true}, console_), kFine) << err();
  EXPECT_EQ(record()["name"], "run");
}

// What a kind builds on is told where it still holds.
TEST_F(Verbs, CatalogNamesTheFieldsOfEverySource) {
  for (const char* kind : {"hgx-h100", "hgx-h200", "acp-h100-2nic", "dgx-h100", "p5.48xlarge", "gb200-nvl72"}) {
    ASSERT_EQ(catalog({.input = {}, .name = kind}, console_), kFine) << err();
    const std::string text = out();
    const std::size_t sources = text.find("\nfields ");
    ASSERT_NE(sources, std::string::npos) << text;
    EXPECT_EQ(text.find("\n ", sources), std::string::npos) << text;
    EXPECT_EQ(contains(text, "an HGX server's maker decides"), kind != std::string_view("dgx-h100") &&
                                                                   kind != std::string_view("p5.48xlarge") &&
                                                                   kind != std::string_view("gb200-nvl72"));
  }
}

TEST_F(Verbs, DstCountsItsSeeds) {
  DstOptions options;
  options.transport = "srd";
  options.seeds = 3;
  options.json = true;
  ASSERT_EQ(dst(options, console_), kFine);
  const std::int64_t three = record()["seeds"];  // and those that once found something
  options.seeds = 5;
  ASSERT_EQ(dst(options, console_), kFine);
  const nlohmann::json all = record();
  EXPECT_EQ(all["record"], "dst");
  EXPECT_EQ(all["version"], 1);
  EXPECT_EQ(all["seeds"], three + 2);
  EXPECT_EQ(all["failed"], 0);
  EXPECT_TRUE(all["first_failed"].is_null());
  EXPECT_GT(all["events"], 100);
}

TEST_F(Verbs, OutputReplacesAFileWhenItIsWhole) {
  const std::string path = file("a.svg", "before");
  const auto read = [&] {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  EXPECT_EQ(write_output(path, console_, [](std::ostream& to) { to << "after"; }), kFine);
  EXPECT_EQ(read(), "after");
  EXPECT_EQ(err(), "wrote " + path + "\n");
  EXPECT_EQ(write_output(path, console_, [](std::ostream& to) { to.setstate(std::ios::failbit); }), kThisMachine);
  EXPECT_EQ(read(), "after");
  EXPECT_EQ(err(), "cannot write " + path + ": Input/output error\n");
  EXPECT_EQ(write_output("/dev/full", console_, [](std::ostream& to) { to << "more"; }), kThisMachine);
  EXPECT_EQ(err(), "cannot write /dev/full: No space left on device\n");
  EXPECT_EQ(write_output(directory() / "no/x.svg", console_, [](std::ostream& to) { to << "more"; }), kThisMachine);
  EXPECT_EQ(err(), "cannot write " + (directory() / "no/x.svg").string() + ": No such file or directory\n");
  EXPECT_EQ(write_output("", console_, [](std::ostream& to) { to << "here"; }), kFine);
  EXPECT_EQ(out(), "here");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory()), {}), 1) << "no part of a file stays";
}

// Whatever ends the program in the middle leaves what was there, and no part of a file beside it.
TEST_F(Verbs, AKilledRunLeavesNoPartOfAFile) {
  const std::string path = file("a.svg", "before");
  const auto kill_in_the_middle = [&] {
    write_output(path, console_, [](std::ostream& to) {
      to << std::string(100'000, 'x') << std::flush;
      ::raise(SIGKILL);
    });
  };
  EXPECT_EXIT(kill_in_the_middle(), ::testing::KilledBySignal(SIGKILL), "");
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "before");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory()), {}), 1);
}

TEST_F(Verbs, NoOutputIsAnInputOrAnotherOutput) {
  const std::string matrix = file("a.cm", "");
  const std::string link = directory() / "link.cm";
  std::filesystem::create_symlink(matrix, link);
  const auto conflicts = [&](const std::vector<NamedFile>& outputs) {
    return file_conflicts({{"", input(false).file}, {"--matrix", matrix}, {"--topo", ""}}, outputs);
  };
  EXPECT_EQ(conflicts({{"--trace", ""}, {"--pcap", ""}, {"--csv", directory() / "new.csv"}}).size(), 0u);
  EXPECT_EQ(conflicts({{"--trace", matrix}}),
            std::vector{"--trace " + matrix + " would overwrite an input, --matrix " + matrix});
  EXPECT_EQ(conflicts({{"--trace", link}}).size(), 1u);
  EXPECT_EQ(conflicts({{"--trace", directory() / "./x.json"}, {"--csv", directory() / "x.json"}}).size(), 1u);
  EXPECT_EQ(conflicts({{"--trace", "/dev/null"}, {"--csv", "/dev/null"}}).size(), 0u);
  EXPECT_EQ(conflicts({{"--trace", "not-there.json"}, {"--csv", "./folder/../not-there.json"}}).size(), 1u);
  EXPECT_EQ(conflicts({{"--trace", directory() / "other.weft.yaml"}}).size(), 1u);
}

TEST_F(Verbs, ASweepSaysBeforeItsFirstRunThatItsFileCannotBeWritten) {
  SweepOptions options;
  options.input = input(false);
  options.over = {"servers.count=4,8"};
  options.out = directory() / "no/runs.jsonl";
  EXPECT_EQ(sweep(options, console_), kThisMachine);
  EXPECT_EQ(err(), "cannot write " + options.out + ": No such file or directory\n");
  EXPECT_EQ(out(), "");
}

TEST_F(Verbs, ASweepRepairsATornLineAndKeepsOthersOut) {
  const std::string path = directory() / "runs.jsonl";
  spec::Diagnostics nothing;
  report::ComparedRun run;
  {
    SweepStore store(path, nothing);
    ASSERT_EQ(store.begin(), "");
    EXPECT_EQ(store.append(1, "first", run), "");
    SweepStore other(path, nothing);
    EXPECT_EQ(other.begin(), path + " is being written by another weft sweep");
  }
  const auto whole = std::filesystem::file_size(path);
  std::ofstream(path, std::ios::app) << R"({"record":"sweep-run","inp)";
  SweepStore store(path, nothing);
  ASSERT_EQ(store.begin(), "");
  EXPECT_EQ(std::filesystem::file_size(path), whole);
  EXPECT_NE(store.find(1, run.seed), nullptr);
  EXPECT_FALSE(nothing.has_errors());
}

TEST_F(Verbs, ARefitOfTablesOfWhichOneIsWrongIsRefused) {
  file("one.weft.yaml", "version: 1\nservers: {kind: hgx-h10, count: 1}\n");
  file("one.csv", "size_bytes,time_us\n1024,30\n");
  ValidateOptions options{.directory = directory().string(), .plots = {}, .refit = "all", .json = true};
  EXPECT_EQ(validate(options, console_), kYourInput);
  ASSERT_FALSE(records().empty());
}

}  // namespace
}  // namespace weft::app
