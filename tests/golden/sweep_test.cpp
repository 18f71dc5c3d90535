// `weft sweep` as a person meets it.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "golden.hpp"

namespace weft::golden {
namespace {

const std::string kClos = (kSource / "examples/05-p5-tor-clos/cluster.weft.yaml").string();

// Two balances on two sizes of packet, two seeds: eight runs.
Outcome sweep(const std::vector<std::string>& more, std::size_t width = 0) {
  std::vector<std::string> arguments = {"sweep",   kClos,
                                        "--over",  "transport.mtu=1KiB,4KiB",
                                        "--over",  "transport.balance=ecmp,spray",
                                        "--gpus",  "64",
                                        "--size",  "100kB",
                                        "--seeds", "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return weft(arguments, width);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST(Sweep, HasARowForEveryPointAndFitsATerminal) {
  const Outcome outcome = sweep({}, 80);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "") << "a short sweep shows no progress";
  const auto lines = lines_of(outcome.out);
  EXPECT_EQ(lines.at(0), "permutation of 64 nodes, 100kB each, mean of 2 seeds");
  EXPECT_TRUE(lines.at(2).starts_with(" mtu  balance  all done")) << outcome.out;
  EXPECT_TRUE(lines.at(3).starts_with("1KiB     ecmp")) << outcome.out;
  EXPECT_TRUE(lines.at(6).starts_with("4KiB    spray")) << outcome.out;
  EXPECT_NE(outcome.out.find(" wins: all done after "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("spread"), std::string::npos) << outcome.out;
  for (const std::string& line : lines) EXPECT_LE(line.size(), 80u) << line;
}

TEST(Sweep, IsTheSameForAnyNumberOfWorkers) {
  const Outcome one = sweep({"--json", "--threads", "1"});
  ASSERT_EQ(one.code, 0) << one.err;
  const auto record = nlohmann::json::parse(one.out);
  EXPECT_EQ(record["points"].size(), 4u);
  EXPECT_EQ(record["points"][3]["runs"].size(), 2u);
  EXPECT_EQ(sweep({"--json", "--threads", "2"}).out, one.out);
  EXPECT_EQ(sweep({"--json"}).out, one.out);
}

TEST(Sweep, RunsEveryPointAsSimWould) {
  const auto record = nlohmann::json::parse(sweep({"--json"}).out);
  const auto sim =
      nlohmann::json::parse(weft({"sim", kClos, "--set", "transport.mtu=4KiB", "--set", "transport.balance=ecmp",
                                  "--gpus", "64", "--size", "100kB", "--seed", "2", "--json"})
                                .out);
  const auto& point = record["points"][2];
  EXPECT_EQ(point["configuration"], sim["configuration"]);
  for (const std::string key : {"seed", "digest", "end_ps", "fct_p99_ps", "slowdown_max", "goodput_bps"})
    EXPECT_EQ(point["runs"][1][key], sim[key]) << key;
}

TEST(Sweep, GoesOnWhereItStopped) {
  const Scratch scratch;
  const auto file = scratch.path() / "runs.jsonl";
  const Outcome whole = sweep({"--out", file.string()});
  ASSERT_EQ(whole.code, 0) << whole.err;
  const auto lines = lines_of(read(file));
  ASSERT_EQ(lines.size(), 8u);

  // Three runs are there, and the fourth was cut off.
  write(file, lines[0] + "\n" + lines[1] + "\n" + lines[2] + "\n" + lines[3].substr(0, 100));
  const Outcome rest = sweep({"--out", file.string()});
  EXPECT_EQ(rest.code, 0);
  EXPECT_EQ(rest.out, whole.out);
  EXPECT_EQ(rest.err, "3 of 8 runs stand in " + file.string() + " already\n");
  EXPECT_EQ(lines_of(read(file)).size(), 8u) << "the cut line is gone";
  EXPECT_EQ(sweep({"--out", file.string()}).err, "8 of 8 runs stand in " + file.string() + " already\n");
}

TEST(Sweep, TakesFromTheFileOnlyWhatHasTheSameInputs) {
  const Scratch scratch;
  const std::string file = (scratch.path() / "runs.jsonl").string();
  ASSERT_EQ(sweep({"--out", file}).code, 0);
  const auto again = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"--out", file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return sweep(arguments).err;
  };
  EXPECT_EQ(again({"--pattern", "ring"}), "") << "other traffic";
  EXPECT_EQ(again({"--set", "transport.paths=4"}), "") << "another cluster";
  EXPECT_EQ(again({"--seed", "2"}), "4 of 8 runs stand in " + file + " already\n") << "seed 2 is there, seed 3 is not";
  std::string other = read(file);
  const std::string commit = R"("weft":")";
  for (std::size_t at = 0; (at = other.find(commit, at)) != std::string::npos; at += commit.size() + 1)
    other.insert(at + commit.size(), "9");
  write(file, other);
  EXPECT_EQ(again({}), "") << "another weft";
}

TEST(Sweep, AFileOfSomethingElseIsLeftAlone) {
  const Scratch scratch;
  const auto file = scratch.path() / "notes.txt";
  write(file, "buy milk\n");
  const Outcome outcome = sweep({"--out", file.string()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("holds no results of a sweep"), std::string::npos) << outcome.err;
  EXPECT_EQ(read(file), "buy milk\n");
  EXPECT_EQ(sweep({"--out", kClos}).code, 2);
  EXPECT_EQ(sweep({"--csv", kClos}).code, 2);
  const std::string both = (scratch.path() / "runs").string();
  EXPECT_NE(sweep({"--out", both, "--csv", both}).err.find(" are one file"), std::string::npos);
  EXPECT_NE(sweep({"--out", both, "--plot", both}).err.find(" are one file"), std::string::npos);
}

TEST(Sweep, WritesALinePerRunAsCsv) {
  const Scratch scratch;
  const auto file = scratch.path() / "runs.csv";
  ASSERT_EQ(sweep({"--csv", file.string()}).code, 0);
  const auto lines = lines_of(read(file));
  ASSERT_EQ(lines.size(), 9u);
  EXPECT_TRUE(lines[0].starts_with("transport.mtu,transport.balance,seed,flows,")) << lines[0];
  EXPECT_TRUE(lines[8].starts_with("4KiB,spray,2,64,64,0,")) << lines[8];
}

TEST(Sweep, NamesEveryWrongKeyAndValueBeforeAnythingRuns) {
  const Scratch scratch;
  const auto file = scratch.path() / "runs.jsonl";
  const Outcome outcome = weft({"sweep", kClos, "--over", "fabric.spinez=2,4", "--over", "transport.balance=ecmp,sprai",
                                "--out", file.string()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("'fabric' has no key 'spinez'"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("'balance' cannot be 'sprai'"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("2 errors;"), std::string::npos) << "each once: " << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(Sweep, ALimitLeavesTheOtherPointsAlone) {
  const Scratch scratch;
  const auto file = scratch.path() / "runs.jsonl";
  const Outcome outcome = weft({"sweep", kClos, "--over", "transport.mtu=512B,8KiB", "--gpus", "16", "--size", "1MB",
                                "--limit", "events=20000", "--out", file.string()});
  EXPECT_EQ(outcome.code, 4) << outcome.out;
  EXPECT_NE(outcome.out.find("limit events=20000"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("only mtu=8KiB is done"), std::string::npos) << outcome.out;
  EXPECT_EQ(lines_of(read(file)).size(), 1u) << "what was stopped is not kept";
}

TEST(Sweep, ClustersOfDifferentSizeAreNotCalledBetter) {
  const Outcome outcome = weft({"sweep", kClos, "--over", "servers.count=4,8", "--size", "8kB"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("none is best, for they differ in their traffic: it is of 32 to 64 GPUs, and --gpus 32 "),
            std::string::npos)
      << outcome.out;
}

// Nothing can make it the same: it is what was asked for.
TEST(Sweep, TrafficThatIsSweptHasATitleAndNoHint) {
  const Outcome outcome = weft({"sweep", kClos, "--set", "run=[{traffic: {name: a, pattern: permutation, size: 8kB}}]",
                                "--over", "run.0.traffic.size=8kB,16kB"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(lines_of(outcome.out).at(0), "the file's own traffic") << outcome.out;
  EXPECT_NE(outcome.out.find("none is best, for run.0.traffic.size changes what there is to do\n"), std::string::npos)
      << outcome.out;
}

}  // namespace
}  // namespace weft::golden
