// Runs that do not come to their end, and options that would do nothing: what sim, compare and sweep say of them.
#include <nlohmann/json.hpp>
#include <sstream>

#include "golden.hpp"

namespace weft::golden {
namespace {

const std::string kClos = (kSource / "examples/05-p5-tor-clos/cluster.weft.yaml").string();
const std::string kStreams = (kSource / "examples/25-rdma-beside-tcp/apart.weft.yaml").string();

nlohmann::json record(const Outcome& outcome) {
  return nlohmann::json::parse(outcome.out.substr(0, outcome.out.find('\n')));
}

// Two hosts at each of two leaves, one spine.
void write_tree() {
  std::ofstream("tree.topo") << "Nodes 4\nTiers 2\nPodsize 4\n"
                                "Tier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 1\nDownlink_Latency_ns 500\n"
                                "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 500\n";
}

TEST(Unfinished, APartialRunCountsAllFlowsOfItsTraffic) {
  const std::vector<std::string> command = {"sim", kClos,    "--pattern", "all-to-all", "--gpus",
                                            "32",  "--size", "1MB",       "--limit",    "time=20us"};
  const Outcome text = weft(command);
  EXPECT_EQ(text.code, 4);
  EXPECT_NE(text.out.find(" of 992 flows, "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("\ncompletion     of the "), std::string::npos) << text.out;
  std::vector<std::string> json = command;
  json.push_back("--json");
  EXPECT_EQ(record(weft(json))["flows"], 992);
  EXPECT_EQ(record(weft(json))["flows_failed"], 0);
}

TEST(Unfinished, AMatrixCountsTheFlowsThatWaitForTriggers) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  write_tree();
  std::ofstream("chain.cm")
      << "Nodes 4\nConnections 2\nTriggers 1\n0->3 id 1 start 0 size 9000000 send_done_trigger 1\n"
         "3->0 id 2 trigger 1 size 9000000\ntrigger id 1 oneshot\n";
  EXPECT_EQ(record(weft({"sim", "tree.topo", "--matrix", "chain.cm", "--limit", "time=10us", "--json"}))["flows"], 2);
}

TEST(Unfinished, FailuresStandInTheFirstLineAndTheirTimeCounts) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  write_tree();
  std::ofstream("two.cm") << "Nodes 4\nConnections 2\n0->3 id 1 start 0 size 1000000\n0->1 id 2 start 0 size 1000000\n";
  const std::vector<std::string> command = {
      "sim", "tree.topo", "--matrix", "two.cm", "--fault", "leaf0:spine0,at=20us", "--set", "transport.give_up=2ms"};
  const Outcome text = weft(command);
  EXPECT_EQ(text.code, 1);
  EXPECT_TRUE(text.out.starts_with("traffic        1 of 2 flows failed; 1 done, 1MB, in ")) << text.out;
  EXPECT_NE(text.out.find("completion     of the 1 that ended: "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("  drops  lost\n"), std::string::npos) << text.out;
  std::vector<std::string> json = command;
  json.insert(json.end(), {"--json", "--links", "0"});
  const Outcome records = weft(json);
  const auto sim = record(records);
  EXPECT_EQ(sim["flows_failed"], 1);
  EXPECT_GT(sim["end_ps"], 2'000'000'000) << "it gave up after 2 ms of silence";
  EXPECT_NEAR(sim["goodput_bps"].get<double>(), 8e18 / sim["end_ps"].get<double>(), 1e6) << "1 MB in all of the time";
  std::uint64_t lost = 0;
  std::istringstream lines(records.out);
  for (std::string line; std::getline(lines, line);)
    if (const auto each = nlohmann::json::parse(line); each["record"] == "link") {
      lost += each["lost"].get<std::uint64_t>();
      EXPECT_EQ(each["dropped"], 0);
    }
  EXPECT_GT(lost, 0u);
  EXPECT_LE(lost, sim["lost"].get<std::uint64_t>());
}

TEST(Unfinished, CompareShowsTheSideThatIsDone) {
  const std::vector<std::string> command = {"compare", kClos,         "--vary", "transport.mtu=512B,8KiB",
                                            "--gpus",  "16",          "--size", "1MB",
                                            "--limit", "events=20000"};
  const Outcome text = weft(command, 80);
  EXPECT_EQ(text.code, 4);
  EXPECT_NE(text.out.find("all done             not done"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("only mtu=8KiB is done, after "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("mtu=512B (limit"), std::string::npos) << text.out;
  std::istringstream lines(text.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  std::vector<std::string> json = command;
  json.push_back("--json");
  const auto made = record(weft(json));
  EXPECT_EQ(made["winner"], "mtu=8KiB");
  EXPECT_TRUE(made["lead"].is_null());
  EXPECT_EQ(made["variants"][0]["runs"][0]["flows"], 16);
}

TEST(Unfinished, CompareOfFailuresSaysHowMany) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  write_tree();
  std::ofstream("two.cm") << "Nodes 4\nConnections 2\n0->3 id 1 start 0 size 1000000\n0->1 id 2 start 0 size 1000000\n";
  // One gives up before the link is back.
  const Outcome outcome = weft({"compare", "tree.topo", "--vary", "transport.give_up=2ms,5s", "--matrix", "two.cm",
                                "--fault", "leaf0:spine0,at=20us,for=10ms"});
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_NE(outcome.out.find("only give_up=5s is done, after "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("not done: give_up=2ms (1 of 2 flows failed)"), std::string::npos) << outcome.out;
}

TEST(Unfinished, SweepSaysHowManyFlowsAreMissing) {
  const Outcome limit = weft({"sweep", kClos, "--over", "transport.mtu=512B,8KiB", "--gpus", "16", "--size", "1MB",
                              "--limit", "events=20000"});
  EXPECT_EQ(limit.code, 4);
  EXPECT_NE(limit.out.find("not done  mtu=512B: limit events=20000, "), std::string::npos) << limit.out;
  EXPECT_NE(limit.out.find("of 16 flows done"), std::string::npos) << limit.out;
}

TEST(Unfinished, APointThatCannotRunLeavesTheOthersAlone) {
  const std::vector<std::string> command = {"sweep",  kClos, "--over", "fabric.spines=4,2",
                                            "--gpus", "8",   "--size", "8kB"};
  const Outcome text = weft(command);
  EXPECT_EQ(text.code, 1);
  EXPECT_NE(text.err.find("so 1 of 2 points cannot run: spines=2\n"), std::string::npos) << text.err;
  EXPECT_NE(text.out.find("\n     2  cannot run "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("\ncannot run  spines=2: "), std::string::npos) << text.out;
  std::vector<std::string> json = command;
  json.push_back("--json");
  const Outcome made = weft(json);
  EXPECT_EQ(made.code, 1);
  const auto points = record(made)["points"];
  EXPECT_TRUE(points[0]["trouble"].is_null());
  EXPECT_EQ(points[0]["runs"].size(), 1u);
  EXPECT_EQ(points[1]["trouble"], "cannot run");
  EXPECT_NE(points[1]["detail"].get<std::string>(), "");
}

// The first error about a command, which must be refused.
std::string refused(const std::vector<std::string>& arguments) {
  const Outcome outcome = weft(arguments);
  EXPECT_EQ(outcome.code, 2) << outcome.out;
  return outcome.err;
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Unfinished, OptionsThatWouldDoNothingAreRefused) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  std::ofstream("x.cm") << "Nodes 2\nConnections 1\n0->1 id 1 start 0 size 1000\n";
  for (const std::string verb : {"sim", "sweep", "compare"}) {
    std::vector<std::string> common = {verb, kClos};
    if (verb == "sweep") common.insert(common.end(), {"--over", "transport.mtu=1KiB,4KiB"});
    if (verb == "compare") common.insert(common.end(), {"--vary", "transport.mtu=1KiB,4KiB"});
    const auto with = [&](const std::vector<std::string>& more) {
      std::vector<std::string> arguments = common;
      arguments.insert(arguments.end(), more.begin(), more.end());
      return refused(arguments);
    };
    EXPECT_SAYS(with({"--matrix", "x.cm", "--size", "5MB"}), "one of --matrix and --size");
    EXPECT_SAYS(with({"--matrix", "x.cm", "--pattern", "incast"}), "one of --matrix and --pattern");
    EXPECT_SAYS(with({"--load", "30%"}), "--load is of poisson, and the pattern is permutation");
    EXPECT_SAYS(with({"--duration", "1ms", "--pattern", "ring"}), "--duration is of poisson, and the pattern is ring");
    EXPECT_SAYS(with({"--window", "4"}), "--window is of all-to-all");
    EXPECT_SAYS(with({"--pattern", "poisson", "--sizes", "web-search", "--size", "1MB"}), "one of --size and --sizes");
    EXPECT_SAYS(with({"--stream", "a,pattern=ring,nodes=8", "--size", "10kB"}),
                "--stream NAME,size=... instead of --size");
    EXPECT_SAYS(with({"--stream", "a,pattern=ring,nodes=8", "--gpus", "32"}),
                "--stream NAME,nodes=... instead of --gpus");
  }
  EXPECT_SAYS(refused({"sim", kStreams, "--size", "10kB"}), "every stream of the file has its own size");
  EXPECT_SAYS(refused({"sim", kClos, "--collective", "all_reduce", "--pattern", "incast"}),
              "one of --collective and --pattern");
  EXPECT_SAYS(refused({"sim", kClos, "--collective", "all_reduce", "--size", "1MiB", "--sizes", "2MiB"}),
              "--sizes 1MiB");
  EXPECT_SAYS(refused({"sim", kClos, "--pattern", "incast", "--skew", "20us"}),
              "--skew is of collectives, and flows run here");
  EXPECT_EQ(weft({"sim", kClos, "--pattern", "all-to-all", "--gpus", "8", "--size", "8kB", "--window", "0"}).code, 0);
  EXPECT_EQ(weft({"sim", kClos, "--pattern", "poisson", "--gpus", "8", "--size", "8kB", "--sizes", "uniform", "--load",
                  "30%", "--duration", "9us"})
                .code,
            0);
}

TEST(Unfinished, NumbersBelowZeroAreRefused) {
  for (const std::string option : {"--seed", "--gpus", "--links"}) {
    const std::string text = refused({"sim", kClos, option, "-1"});
    EXPECT_SAYS(text, "a whole number from 0 on");
  }
  EXPECT_SAYS(refused({"dst", "--first-seed", "-1"}), "a whole number from 0 on");
}

TEST(Unfinished, AMissingMatrixIsNotAClusterFile) {
  const std::string text = refused({"sim", kClos, "--matrix", "nosuch.cm"});
  EXPECT_SAYS(text, "check its name and its directory");
  EXPECT_EQ(text.find("weft init"), std::string::npos) << text;
}

TEST(Unfinished, UnknownMagnitudesAreAnsweredWithTheUnitsThereAre) {
  const std::string text = refused({"sim", kClos, "--set", "transport.mtu=1EB"});
  EXPECT_EQ(text.find("did you mean"), std::string::npos) << text;
  EXPECT_SAYS(text, "units are B, KiB, MiB, GiB, TiB, kB, MB, GB, TB, PB");
}

TEST(Unfinished, SizesOfCollectivesMayBeBareBytes) {
  const auto out = [](const std::string& verb, const std::string& sizes) {
    const Outcome outcome = weft({verb, kClos, "--collective", "all_reduce", "--gpus", "16", "--sizes", sizes});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  EXPECT_EQ(out("sim", "8..1KiB"), out("sim", "8B..1KiB"));
  EXPECT_EQ(out("plan", "8..1KiB"), out("plan", "8B..1KiB"));
}

}  // namespace
}  // namespace weft::golden
