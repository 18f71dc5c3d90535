// A server written as NCCL's topology stands for the cluster file it came from.
#include "golden.hpp"

namespace weft::golden {
namespace {

std::string line_with(const std::string& text, const std::string& word) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find(word) != std::string::npos) return line;
  return "";
}

class TopologyOnTheCommandLine : public testing::Test {
 protected:
  TopologyOnTheCommandLine() : here_(scratch_.path()) {
    std::ofstream("acp.weft.yaml")
        << "version: 1\nservers: {kind: acp-h100-2nic, count: 4}\nfabric: {kind: single-chassis}\n";
    EXPECT_EQ(weft({"show", "server", "--as", "nccl-xml", "-o", "system.xml", "acp.weft.yaml"}).code, 0);
  }

 private:
  Scratch scratch_;
  InDirectory here_;
};

TEST_F(TopologyOnTheCommandLine, StandsForTheClusterFile) {
  const Outcome file = weft({"check", "acp.weft.yaml"});
  const Outcome topology = weft({"check", "--topo", "system.xml", "--nodes", "4"});
  EXPECT_EQ(topology.code, 0) << topology.err;
  for (const std::string word : {"counts", "scale-up", "bisection", "longest path"}) {
    EXPECT_NE(line_with(file.out, word), "") << word;
    EXPECT_EQ(line_with(file.out, word), line_with(topology.out, word));
  }
  // GPUs and what is near them, letter by letter but for the name of the kind.
  EXPECT_EQ(weft({"show", "gpus", "acp.weft.yaml"}).out,
            weft({"show", "gpus", "--topo", "system.xml", "--nodes", "4"}).out);
}

TEST_F(TopologyOnTheCommandLine, IsShownAsAServer) {
  const Outcome shown = weft({"show", "system.xml", "--as", "nccl-xml"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(shown.out, read("system.xml")) << "what was read is written again";
  EXPECT_EQ(weft({"show", "system.xml"}).out, weft({"show", "server", "system.xml"}).out);
  EXPECT_NE(weft({"show", "system.xml", "--as", "svg"}).out.find("<svg"), std::string::npos);
}

TEST_F(TopologyOnTheCommandLine, RunsInTheSimulator) {
  const Outcome ran = weft({"sim", "system.xml", "--set", "servers.count=2", "--pattern", "ring", "--size", "100kB"});
  EXPECT_EQ(ran.code, 0) << ran.err;
}

// The same topology for every verb, and --nodes is servers in all of them: what it stands for, or what takes part.
TEST_F(TopologyOnTheCommandLine, IsTakenByEveryVerb) {
  const auto out = [](const std::string& line) {
    const Outcome outcome = weft(words(line));
    EXPECT_EQ(outcome.code, 0) << line << "\n" << outcome.err;
    return outcome.out;
  };
  const std::string topology = " --topo system.xml --nodes 4";
  EXPECT_NE(out("sim --pattern ring --size 8kB" + topology).find("32 of 32 flows"), std::string::npos);
  EXPECT_EQ(line_with(out("sim --collective all_reduce --sizes 1MiB" + topology), "1MiB"),
            line_with(out("sim --collective all_reduce --sizes 1MiB --gpus 32" + topology), "1MiB"));
  EXPECT_NE(out("plan --collective all_reduce --sizes 1MiB" + topology).find("of 32 GPUs"), std::string::npos);
  EXPECT_NE(out("why" + topology).find("32 GPUs"), std::string::npos);
  out("compare --vary servers.p2p=true,false --pattern ring --size 8kB" + topology);
  out("sweep --over servers.p2p=true,false --pattern ring --size 8kB" + topology);
  // Of a cluster file it is the first servers, or as many GPUs of each as --gpus makes.
  const std::string file = "sim acp.weft.yaml --collective all_reduce --sizes 1MiB";
  EXPECT_EQ(out(file + " --nodes 2"), out(file + " --gpus 16"));
  EXPECT_EQ(out(file + " --nodes 2 --gpus 8"), out(file + " --gpus 8 --per-server 4"));
  EXPECT_NE(out("plan acp.weft.yaml --sizes 1MiB --nodes 2").find("of 16 GPUs"), std::string::npos);
}

TEST_F(TopologyOnTheCommandLine, IsRefusedWhereItMeansNothing) {
  const auto refused = [](const std::string& line, const std::string& why) {
    const Outcome outcome = weft(words(line));
    EXPECT_EQ(outcome.code, 2) << line;
    EXPECT_NE(outcome.err.find(why), std::string::npos) << line << "\n" << outcome.err;
  };
  refused("check acp.weft.yaml --topo system.xml", "two descriptions of the cluster");
  refused("show gpus --as nccl-xml acp.weft.yaml", "gpus cannot be shown as nccl-xml");
  refused("show server --as nccl-xml --json acp.weft.yaml", "contradict");
  refused("check acp.weft.yaml --nodes 4", "--nodes changes nothing in a cluster file");
  refused("check --topo no-such.xml", "no such file");
  refused("sim acp.weft.yaml --pattern ring --nodes 99", "--nodes 99: the cluster has 4 servers");
  refused("sim acp.weft.yaml --pattern ring --nodes 2 --gpus 8", "--gpus 8 and --nodes 2");
  refused("check --topo system.xml --nodes 0", "--nodes");
  refused("show server --as nccl-xml acp.weft.yaml --set servers.kind=trn1.32xlarge",
          "NCCL does not run on 'trainium1'");
}

}  // namespace
}  // namespace weft::golden
