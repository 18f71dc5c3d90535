// `weft why` on real cases with a known cause, and on files that cannot be read.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "golden.hpp"

namespace weft::golden {
namespace {

namespace fs = std::filesystem;

// Other people's cases stand beside the project, or where WEFT_TRUTH says.
fs::path diagnosis() {
  if (const char* named = std::getenv("WEFT_TRUTH")) return fs::path(named) / "diagnosis";
  for (const fs::path& candidate : {kSource / "../shared/truth", kSource / "../../shared/truth"})
    if (fs::exists(candidate)) return candidate / "diagnosis";
  return {};
}

struct Case {
  std::string folder;               // CASE in the arguments
  std::string arguments;            // after `weft why`; HERE is the scratch directory with machines and notes
  std::vector<std::string> causes;  // any of them is the true one
};

// Machines as the cases describe them, and the words of those that come without a log.
void write_machines(const fs::path& here) {
  const std::string one_switch =
      "fabric: {kind: single-chassis, switch: {kind: quantum-2, ports: 64, rate: 400Gbps, breakout: []}}\n";
  const auto write = [&](const std::string& name, const std::string& text) { std::ofstream(here / name) << text; };
  write("h100.weft.yaml", "version: 1\nservers: {kind: hgx-h100, count: 8}\n" + one_switch);
  write("a100.weft.yaml", "version: 1\nservers: {kind: hgx-a100, count: 1}\nfabric: {kind: none}\n");
  // 21: GPU and NIC on different NUMA nodes of two EPYC 9534.
  write("h100nvl.weft.yaml",
        "version: 1\nservers: {count: 2, gpu: h100-pcie, gpus: 2, nics: 2, nic: {kind: connectx-6, rate: 200Gbps}, "
        "sockets: 8, socket_link: xgmi,"
        " gpu_switch: [1, 7], nic_switch: [0, 4], scale_up: {link: {kind: nvlink4, both_ways: 600GB/s}, switches: 1}}\n"
        "fabric: {kind: single-chassis, switch: {kind: quantum-2, ports: 4, rate: 200Gbps, breakout: []}}\n");
  // 26: the network of these nodes is not in the thread; TCP is.
  write("tcp.weft.yaml",
        "version: 1\nservers: {count: 2, gpu: v100-sxm, gpus: 8, nics: 1, nic: {kind: connectx-6, rate: 100Gbps}, "
        "scale_up: {link: nvlink2, switches: 1}}\n"
        "fabric: {kind: single-chassis, switch: {kind: quantum-2, ports: 2, rate: 100Gbps, breakout: []}}\ntransport: "
        "{kind: tcp}\n");
  write("tcp.log",
        "NCCL version 2.4.2+cuda10.0\nNCCL_MIN_NRINGS set by environment to 8\nNCCL INFO NET/Socket : Using "
        "[0]eth0:10.0.0.1<0>\n");
  // 31: "1 AMD node, several GPUs, P2P through the CPU", "multi-GPU tests hang".
  write("amd.weft.yaml",
        "version: 1\nservers: {count: 1, gpu: l40s, gpus: 8, sockets: 2, socket_link: xgmi, pcie_gen: 4}\nfabric: "
        "{kind: none}\n");
  write("hang.log", "multi-GPU tests hang\n");
}

// Figures are those of each case.md, which names its thread.
const std::vector<Case> kCases = {
    {"01-h100-roce-acs-iommu-splitqps",
     "--topo HERE/h100.xml --nodes 2 --busbw 1GiB=216.5GB/s --busbw 8GiB=231GB/s --expect 470GB/s --log CASE/log.txt "
     "--stack roce "
     "--env NCCL_IB_QPS_PER_CONNECTION=8 --env NCCL_IB_SPLIT_DATA_ON_QPS=1 --env NCCL_IB_ADAPTIVE_ROUTING=1",
     {"dma-redirected"}},
    {"07-a100pcie-epyc-nps1", "--smi CASE/topo-m.txt --measured CASE/nccl-tests.txt --log CASE/log.txt", {"far-nic"}},
    {"10-a100-p2p-level-loc", "HERE/a100.weft.yaml --log CASE/log.txt", {"p2p-off"}},
    {"12-a100-nv4-pair-72-is-normal",
     "--smi CASE/topo-m.txt --measured CASE/nccl-tests.txt --log CASE/log.txt --expect 100GB/s",
     {"nothing-wrong"}},
    {"13-h100-2node-tree-4node-drop-is-normal",
     "--topo HERE/h100.xml --nodes 4 --busbw 16GiB=365.8GB/s --stack ib --expect 480GB/s",
     {"nothing-wrong"}},
    {"14-h100-algbw-read-as-line-rate",
     "--topo HERE/h100.xml --nodes 1 --algbw 256MiB=250GB/s --expect 450GB/s",
     {"misread"}},
    {"18-v100-gdr-off-and-4x-misread",
     "--smi CASE/topo-m.txt --nodes 4 --busbw 6GB/s --expect 40GB/s",
     {"no-gpudirect"}},
    {"21-h100nvl-amd-familyid-ll-crossover",
     "HERE/h100nvl.weft.yaml --measured CASE/nccl-tests.txt",
     {"wrong-protocol"}},
    {"26-tcp-rings-and-version",
     "HERE/tcp.weft.yaml --nodes 2 --busbw 1.45GB/s --expect 3.75GB/s --log HERE/tcp.log",
     {"few-streams", "old-nccl"}},
    {"28-h100-nvls-no-gain-above-2-nodes",
     "--topo HERE/h100.xml --nodes 4 --busbw 4GiB=320GB/s --stack roce --expect 430GB/s",
     {"nothing-wrong"}},
    {"31-amd-iommu-p2p-and-average-misread",
     "HERE/amd.weft.yaml --average 8B..1GiB=6GB/s --log HERE/hang.log",
     {"p2p-off", "misread"}},
    {"35-efa-plugin-not-found-socket", "--topo CASE/system.xml --nodes 2 --log CASE/log.txt", {"socket-fallback"}},
};

std::string replaced(std::string text, const std::string& word, const std::string& by) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
    text.replace(at, word.size(), by);
  return text;
}

// Where the first of the true causes is ranked, from 1; 0: nowhere.
std::size_t place_of_truth(const Case& each, const Outcome& outcome) {
  const auto record = nlohmann::json::parse(outcome.out);
  std::size_t place = 0;
  for (const auto& cause : record["causes"]) {
    ++place;
    if (std::find(each.causes.begin(), each.causes.end(), cause["cause"].get<std::string>()) != each.causes.end())
      return place;
  }
  return 0;
}

TEST(Why, RealCasesAreExplained) {
  if (diagnosis().empty() || !fs::exists(diagnosis()))
    GTEST_SKIP() << "skipped: no diagnosed cases; WEFT_TRUTH names their folder";
  const Scratch scratch;
  write_machines(scratch.path());
  const std::string here = scratch.path().string();
  ASSERT_EQ(weft({"show", "server", "--as", "nccl-xml", "-o", here + "/h100.xml", here + "/h100.weft.yaml"}).code, 0);
  std::size_t first = 0;
  std::size_t in_three = 0;
  constexpr double kSure = 0.8;
  std::size_t sure = 0;
  std::size_t sure_and_right = 0;
  std::string places;
  for (const Case& each : kCases) {
    std::vector<std::string> arguments = {"why", "--json"};
    for (const std::string& word : words(each.arguments))
      arguments.push_back(replaced(replaced(word, "CASE", (diagnosis() / each.folder).string()), "HERE", here));
    const Outcome outcome = weft(arguments);
    ASSERT_EQ(outcome.code, 0) << each.folder << "\n" << outcome.out << outcome.err;
    const std::size_t place = place_of_truth(each, outcome);
    first += place == 1;
    in_three += place >= 1 && place <= 3;
    const double share = nlohmann::json::parse(outcome.out)["causes"][0]["share"];
    sure += share >= kSure;
    sure_and_right += share >= kSure && place == 1;
    places += fmt::format("{:3} {:3.0f}% {}\n", place, 100 * share, each.folder);
  }
  std::cout << places
            << fmt::format("true cause first in {} of {}, among the first three in {}\n", first, kCases.size(),
                           in_three)
            << fmt::format("of {} given 80 % and more {} are right\n", sure, sure_and_right);
  EXPECT_GE(sure_and_right * 10, sure * 8) << places;
  EXPECT_GE(first, 8u) << places;
  EXPECT_GE(in_three, 11u) << places;
}

class WhyFiles : public testing::Test {
 protected:
  WhyFiles() : here_(scratch_.path()) {
    std::ofstream("acp.weft.yaml")
        << "version: 1\nservers: {kind: acp-h100-2nic, count: 4}\nfabric: {kind: single-chassis}\n";
  }
  void refused(const std::string& line, const std::string& text) {
    const Outcome outcome = weft(words(line));
    EXPECT_EQ(outcome.code, 2) << line << "\n" << outcome.out;
    EXPECT_NE(outcome.err.find(text), std::string::npos) << line << "\n" << outcome.err;
  }

 private:
  Scratch scratch_;
  InDirectory here_;
};

// Questions in words are answered with what can be, and columns say which program a table is of.
TEST_F(WhyFiles, WordsAreAnsweredAndColumnsAreBelieved) {
  EXPECT_NE(weft({"why", "storage is slow"}).out.find("--stream"), std::string::npos);
  EXPECT_NE(weft({"why", "my all reduce is slow"}).out.find("--measured"), std::string::npos);
  std::ofstream("hang.txt") << "[rank3]:[E ProcessGroupNCCL.cpp:563] [Rank 3] Watchdog caught collective operation "
                               "timeout: WorkNCCL(SeqNum=1204, OpType=ALLREDUCE, Timeout(ms)=600000)\n";
  EXPECT_NE(weft(words("why acp.weft.yaml --log hang.txt")).out.find("a collective never ended (hang.txt:1)"),
            std::string::npos);
  EXPECT_NE(weft({"why", "one rank is slow"}).out.find("--slow-rank"), std::string::npos);
  EXPECT_NE(weft({"why", "training is slow"}).out.find("weft plan"), std::string::npos);
  EXPECT_EQ(weft({"why", "what is this"}).code, 2);
  // Twice 21.05 would be that of an all-reduce.
  std::ofstream("out.txt") << "# size count type redop root time algbw busbw wrong time algbw busbw wrong\n"
                              "1073741824 8388608 float none -1 49436 21.72 21.05 0 49436 21.72 21.05 0\n";
  const std::string out = weft(words("why acp.weft.yaml --measured out.txt --gpus 32")).out;
  EXPECT_NE(out.find("all_gather"), std::string::npos) << out;
  EXPECT_NE(out.find("no program is named"), std::string::npos) << out;
  EXPECT_NE(out.find("21.0"), std::string::npos) << out;
  EXPECT_EQ(out.find("42.1"), std::string::npos) << out;
}

// What programs that look at hardware print is taken at its word: the variant that is tried has their figures.
TEST_F(WhyFiles, FiguresOfOtherProgramsAreTried) {
  const auto cause = [](const std::string& id, const std::string& nodes = "2") {
    const std::string line = "why acp.weft.yaml --busbw 1GiB=20GB/s --log log.txt --json --nodes " + nodes;
    const auto record = nlohmann::json::parse(weft(words(line)).out);
    for (const auto& each : record["causes"])
      if (each["cause"] == id) return each;
    return nlohmann::json{{"variant", "none"}, {"evidence", 0}};
  };
  std::ofstream("log.txt") << "1b:00.0 3D controller: NVIDIA\n\tLnkCap:\tPort #0, Speed 32GT/s, Width x16\n"
                              "\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x1 (downgraded)\n";
  EXPECT_EQ(cause("pcie-down")["variant"], "PCIe 1.0 x1");
  EXPECT_EQ(cause("pcie-down")["evidence"], 3) << "one line is one piece of evidence";
  std::ofstream("log.txt") << "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 100\n";
  EXPECT_EQ(cause("slow-nic")["variant"], "mlx5_0 at 100 Gb/s");
  EXPECT_EQ(cause("slow-nic")["evidence"], 3);
  std::ofstream("log.txt") << "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 "
                              "GB/s\n\t Link 2: 26.562 GB/s\n\t Link 3: <inactive>\n";
  EXPECT_EQ(cause("nvlink-down", "1")["variant"], "3/4 of the NVLinks");
  EXPECT_EQ(cause("nvlink-down", "1")["evidence"], 3);
  std::ofstream("log.txt") << "a:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 0.\n"
                              "b:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\n";
  EXPECT_EQ(cause("uneven-ranks")["findings"][0]["text"], "NCCL_IB_DISABLE is 0 on a, 1 on b");
  std::ofstream("log.txt") << "NCCL_IB_HCA=mlx5_0\nx:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE\n";
  EXPECT_LT(cause("nic-unused")["evidence"].get<double>(), 1) << "who chose it knows it";
  const std::string chosen = weft(words("why acp.weft.yaml --nodes 2 --busbw 1GiB=20GB/s --log log.txt")).out;
  EXPECT_NE(chosen.find("NCCL_IB_HCA names 1"), std::string::npos) << chosen;
  EXPECT_NE(chosen.find("without NCCL_IB_HCA the model gives"), std::string::npos) << chosen;
  const auto record = nlohmann::json::parse(
      weft(words("why acp.weft.yaml --nodes 2 --busbw 1GiB=20GB/s --log log.txt --json")).out, nullptr, false);
  EXPECT_GT(record.value("all_nics_busbw_GBps", 0.0), 1.5 * record.value("expected_busbw_GBps", 1e9));
}

// A log of one rank says how many there are, and no file how many servers.
TEST_F(WhyFiles, ServersAreCountedByTheirRanks) {
  fs::remove("acp.weft.yaml");
  std::ofstream("log.txt") << "a:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 64 cudaDev 0 busId 18000 - Init START\n"
                              "a:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB; OOB eth0:1.2.3.4<0>\n";
  const Outcome outcome = weft(words("why --log log.txt --busbw 1GiB=20GB/s --collective all_reduce"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("64 GPUs, 8 on each of 8 servers"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("nothing says how many servers"), std::string::npos) << outcome.out;
}

// Where no file says how many servers there were, NICs are of two at least, and what was tried is not what was
// measured.
TEST_F(WhyFiles, WhoTellsOfNicsAsksAboutServers) {
  fs::remove("acp.weft.yaml");
  std::ofstream("log.txt") << "NCCL_IB_HCA=mlx5_0,mlx5_1\n"
                              "[0] NCCL INFO NET/IB : No device found. [0] NCCL INFO Using network Socket\n";
  const std::string sockets = weft(words("why --log log.txt")).out;
  EXPECT_NE(sockets.find("16 GPUs, 8 on each of 2 servers"), std::string::npos) << sockets;
  EXPECT_NE(sockets.find("nothing says how many servers"), std::string::npos) << sockets;
  EXPECT_NE(sockets.find("most likely  TCP sockets where RDMA should be"), std::string::npos) << sockets;
  std::ofstream("acp.weft.yaml")
      << "version: 1\nservers: {kind: acp-h100-2nic, count: 4}\nfabric: {kind: single-chassis}\n";
  std::ofstream("log.txt") << "It fails with a network error. Adding NCCL_NET_GDR_LEVEL=0 worked.\n";
  const std::string redirected = weft(words("why acp.weft.yaml --log log.txt --nodes 2")).out;
  EXPECT_NE(redirected.find("NCCL_NET_GDR_LEVEL=0 helps (log.txt:1)"), std::string::npos) << redirected;
  EXPECT_NE(redirected.find("most likely  ACS or IOMMU"), std::string::npos) << redirected;
}

// No NVIDIA GPU stands in for AMD's, whose library prints the same tables and logs.
TEST_F(WhyFiles, OfRcclAreNamedAsSuch) {
  std::ofstream("amd.txt") << "# Rank  0 Group  0 Pid 33 on a device  0 [0000:0c:00] AMD Instinct MI300X\n"
                              "1073741824 268435456 float sum -1 6120.0 175.45 307.03 0 6117.2 175.53 307.18 0\n";
  EXPECT_NE(weft(words("why acp.weft.yaml --measured amd.txt --gpus 8")).out.find("with RCCL: what NCCL would choose"),
            std::string::npos);
  fs::remove("acp.weft.yaml");
  refused("why --measured amd.txt", "amd.txt:1:");
  std::ofstream("tests.txt") << "# rccl-tests: Version develop:ae3e635\n"
                                "1073741824 268435456 float sum -1 6120.0 175.45 307.03 0 6117.2 175.53 307.18 0\n";
  refused("why --measured tests.txt --gpus 8", "with RCCL");
  std::ofstream("rccl.log") << "a:1:2 [0] NCCL INFO RCCL version : 2.22.3-develop:3a4b\n";
  refused("why --log rccl.log --busbw 1GiB=300GB/s --gpus 8 --collective all_reduce", "rccl.log:1:");
}

TEST_F(WhyFiles, AreRefusedAtTheirPlace) {
  std::ofstream("bad.txt") << "# all_reduce\n8 2 float sum -1 17.08 0.00 zero 0 16.76 0.00 0.00 0\n";
  std::ofstream("bad.xml") << "<system version=\"1\">\n  <cpu numaid=\"0\">\n";
  std::ofstream("bad.log") << "nothing of interest\n";
  refused("why acp.weft.yaml --measured bad.txt", "bad.txt:2:29");
  refused("why --topo bad.xml --busbw 1GiB=3GB/s", "bad.xml:");
  EXPECT_NE(weft(words("why acp.weft.yaml --log bad.log")).out.find("nothing in bad.log is known to matter"),
            std::string::npos);
  refused("why acp.weft.yaml --busbw 1GB/s --env NCCL_ALGO=Foo", "NCCL has no 'Foo' for NCCL_ALGO");
  refused("why acp.weft.yaml --measured none.txt", "none.txt");
  refused("why acp.weft.yaml --busbw 1GiB", "--busbw cannot be '1GiB'");
  refused("why acp.weft.yaml --expect much", "--expect cannot be 'much'");
  refused("why acp.weft.yaml --busbw 1GB/s --env NCCL_ALGO", "--env cannot be 'NCCL_ALGO'");
  refused("why acp.weft.yaml --busbw 1GB/s --nodes 64", "64 servers");
  refused("why acp.weft.yaml --busbw 1GB/s --collective sort", "no collective is called 'sort'");
  refused("why acp.weft.yaml --busbw 1GB/s --stack udp", "no stack is called 'udp'");
  refused("why acp.weft.yaml --topo system.xml --busbw 1GB/s", "several descriptions");
  refused("why acp.weft.yaml --busbw 1GB/s --algorithms Ring", "--algorithms is for a collective that is simulated");
  refused("why acp.weft.yaml --busbw 1GB/s --skew 1us", "--skew is for a collective that is simulated");
}

TEST_F(WhyFiles, WhatWeftPrintsItUnderstands) {
  const Outcome ran =
      weft(words("sim acp.weft.yaml --collective all_reduce --gpus 32 --sizes 1MiB..1GiB --set servers.p2p=false"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::ofstream("out.txt") << ran.out;
  const Outcome why = weft(words("why acp.weft.yaml --measured out.txt --json"));
  ASSERT_EQ(why.code, 0) << why.err;
  const auto record = nlohmann::json::parse(why.out);
  EXPECT_EQ(record["nodes"], 4);
  EXPECT_EQ(record["gpus"], 32);
  EXPECT_EQ(record["causes"][0]["cause"], "p2p-off") << why.out;
  EXPECT_LT(record["causes"][0]["median_error"].get<double>(), 0.01);
  EXPECT_EQ(record["causes"][0]["set"][0], "servers.p2p=false") << "it can be repeated";
}

TEST_F(WhyFiles, ServersFollowFromTheRanks) {
  ASSERT_EQ(weft(words("show server --as nccl-xml -o system.xml acp.weft.yaml")).code, 0);
  // 2 x 15 / 16 of 50 GB/s: sixteen ranks, and a server has eight.
  std::ofstream("bare.txt") << "1073741824 268435456 float sum -1 21475 50.00 93.75 0 21475 50.00 93.75 0\n";
  const Outcome why = weft(words("why --topo system.xml --measured bare.txt --json"));
  ASSERT_EQ(why.code, 0) << why.out << why.err;
  EXPECT_EQ(nlohmann::json::parse(why.out)["nodes"], 2);
}

// Nothing but what the job printed: the GPUs that it lists are looked up, and what was taken is said.
TEST_F(WhyFiles, WithoutADescriptionTheOutputNamesTheMachine) {
  fs::remove("acp.weft.yaml");
  std::string out = "# nThread 1 nGpus 8 minBytes 8589934592 maxBytes 8589934592\n";
  for (int rank = 0; rank < 8; ++rank)
    out +=
        fmt::format("#  Rank {:2} Group  0 Pid 77 on  node-a device {:2} [0x1b] NVIDIA H100 80GB HBM3\n", rank, rank);
  std::ofstream("out.txt") << out << "8589934592 2147483648 float sum -1 31580 272.0 476.0 0 31570 272.1 476.2 0\n";
  const Outcome why = weft(words("why --measured out.txt --json"));
  ASSERT_EQ(why.code, 0) << why.err;
  const auto record = nlohmann::json::parse(why.out);
  EXPECT_EQ(record["gpus"], 8);
  EXPECT_EQ(record["causes"][0]["cause"], "nothing-wrong") << why.out;
  EXPECT_NE(record["assumed"][0].get<std::string>().find("hgx-h100"), std::string::npos) << why.out;
  refused("why --busbw 1GiB=3GB/s", "cluster file");
}

// Nobody is told that NVLinks are missing when the figures are those of a better machine, or that nothing is wrong when
// nothing was measured.
TEST_F(WhyFiles, WhatCannotBeJudgedIsNot) {
  EXPECT_NE(weft(words("why acp.weft.yaml --busbw 1GiB=400GB/s --nodes 4")).out.find("it is not the machine that was"),
            std::string::npos);
  ASSERT_EQ(weft(words("show server --as nccl-xml -o system.xml acp.weft.yaml")).code, 0);
  EXPECT_NE(weft(words("why --topo system.xml --nodes 4")).out.find("nothing was measured"), std::string::npos);
}

TEST_F(WhyFiles, OfSeveralTablesOneIsExplained) {
  std::ofstream("two.txt")
      << "# fast, 8 ranks, 1 nodes\n1073741824 268435456 float sum -1 4000 268.4 469.8 0 4000 268.4 469.8 0\n"
         "# slow, 8 ranks, 1 nodes\n1073741824 268435456 float sum -1 90000 11.9 20.9 0 90000 11.9 20.9 0\n";
  const auto bus = [](const std::string& line) {
    return nlohmann::json::parse(weft(words(line)).out)["rows"][0]["measured_busbw_GBps"].get<double>();
  };
  EXPECT_NEAR(bus("why acp.weft.yaml --measured two.txt --json"), 20.9, 0.1) << "the slow one is asked about";
  EXPECT_NEAR(bus("why acp.weft.yaml --measured two.txt --table 1 --json"), 469.8, 0.1);
  refused("why acp.weft.yaml --measured two.txt --table 3", "--table 3: the output has 2 tables");
}

TEST_F(WhyFiles, ARunIsTakenApart) {
  const Outcome why = weft(words("why acp.weft.yaml --gpus 32 --size 1GiB --json"));
  ASSERT_EQ(why.code, 0) << why.err;
  const auto record = nlohmann::json::parse(why.out);
  std::int64_t sum = 0;
  for (const auto& each : record["critical_path_ps"]) sum += each.get<std::int64_t>();
  EXPECT_NEAR(static_cast<double>(sum), record["time_ps"].get<double>(), 0.05 * record["time_ps"].get<double>());
  const auto& changes = record["what_if"];
  ASSERT_GT(changes.size(), 3u);
  for (std::size_t i = 1; i < changes.size(); ++i)
    EXPECT_GE(changes[i - 1]["busbw_GBps"].get<double>(), changes[i]["busbw_GBps"].get<double>()) << "best first";
  EXPECT_EQ(changes[0]["change"], "8 NICs per server") << why.out;
  // What the table says can be repeated by hand.
  const std::string set = changes[0]["command"].get<std::string>();
  const Outcome again = weft(words("why acp.weft.yaml --gpus 32 --size 1GiB --json " + set));
  EXPECT_NEAR(nlohmann::json::parse(again.out)["busbw_GBps"].get<double>(), changes[0]["busbw_GBps"].get<double>(),
              1e-6)
      << set;
}

// Two racks whose flows collide: senders without congestion control are paused, and the path says for how long.
TEST_F(WhyFiles, PausesAreOnTheCriticalPath) {
  std::ofstream("pfc.weft.yaml") << "version: 1\nservers: {kind: hgx-h100, count: 4}\n"
                                    "fabric: {kind: tor-clos, servers_per_leaf: 2, spines: 8, oversubscription: 2, "
                                    "link: {rate: 400Gbps, cable: 5m}}\n"
                                    "transport: {kind: rocev2, balance: ecmp, rocev2: {control: none}}\n"
                                    "switching: {flow_control: pfc, buffer: 8MiB}\n";
  const Outcome why = weft(words("why pfc.weft.yaml --gpus 32 --size 128MiB --json"));
  ASSERT_EQ(why.code, 0) << why.err;
  const auto record = nlohmann::json::parse(why.out);
  EXPECT_GT(record["paused_per_mille"].get<int>(), 0);
  EXPECT_GT(record["critical_path_ps"]["pauses of the fabric"].get<std::int64_t>(), 0);
  EXPECT_LE(record["network_per_mille"].get<int>() + record["paused_per_mille"].get<int>() +
                record["resent_per_mille"].get<int>(),
            1'000);
}

std::int64_t on_the_path(const std::string& line, const std::string& what) {
  const Outcome why = weft(words(line + " --json"));
  EXPECT_EQ(why.code, 0) << line << "\n" << why.out << why.err;
  return why.code == 0 ? nlohmann::json::parse(why.out)["critical_path_ps"][what].get<std::int64_t>() : -1;
}

// Each of the things that a collective can lose time to is on its path when it is there, and not when it is not.
TEST_F(WhyFiles, WhatIsThereIsOnTheCriticalPath) {
  const auto clos = [](const std::string& balance) {
    return "version: 1\nservers: {kind: hgx-h100, count: 4}\n"
           "fabric: {kind: tor-clos, servers_per_leaf: 2, spines: 8, link: {rate: 400Gbps, cable: 5m}}\n"
           "transport: {kind: srd, balance: " +
           balance + "}\n";
  };
  std::ofstream("sprayed.weft.yaml") << clos("spray");
  std::ofstream("hashed.weft.yaml") << clos("ecmp");
  std::ofstream("lossy.weft.yaml") << clos("spray") << "faults: [{part: 'leaf0:spine1', kind: lossy, share: 5%}]\n";
  const std::string job = ".weft.yaml --gpus 32 --size 128MiB --algorithms Ring --protocol Simple";
  const std::string queues = "fabric (collisions, queues)";
  const std::string again = "packets sent again";
  const std::string memory = "host memory";
  const std::int64_t sprayed = on_the_path("why sprayed" + job, queues);
  EXPECT_GT(on_the_path("why hashed" + job, queues), 5 * sprayed) << "two flows on an uplink";
  EXPECT_EQ(on_the_path("why sprayed" + job, again), 0);
  EXPECT_GT(on_the_path("why lossy" + job, again), sprayed);
  EXPECT_EQ(on_the_path("why sprayed" + job, memory), 0);
  EXPECT_GT(on_the_path("why sprayed" + job + " --set servers.gpudirect=false", memory), 0);
  for (const std::string always : {"launch", "protocol of each chunk", "NVLink", "NIC"})
    EXPECT_GT(on_the_path("why sprayed" + job, always), 0) << always;
  // And the port where they queue is named.
  EXPECT_NE(weft(words("why hashed" + job)).out.find("queue longest at leaf"), std::string::npos);
}

// A NIC that a fault slows down is named, and what it costs is not the fabric's; a link between switches is.
TEST_F(WhyFiles, ASlowCardIsNotTheFabric) {
  const std::string clos =
      "version: 1\nservers: {kind: hgx-h100, count: 4}\n"
      "fabric: {kind: tor-clos, servers_per_leaf: 2, spines: 8, link: {rate: 400Gbps, cable: 5m}}\n"
      "transport: {kind: srd, balance: spray}\nfaults: ";
  std::ofstream("card.weft.yaml") << clos << "[{part: s1/nic3, kind: slow, share: 25%}]\n";
  std::ofstream("alone.weft.yaml") << clos << "{part: 's1/nic3:leaf0', kind: slow, share: 25%}\n";
  std::ofstream("uplink.weft.yaml") << clos << "[{part: leaf0, kind: slow, share: 50%}]\n";
  std::ofstream("both.weft.yaml") << clos << "[{part: 'leaf0:spine1', kind: lossy, share: 5%}, "
                                  << "{part: s1/nic3, kind: slow, share: 25%}]\n";
  const std::string job = ".weft.yaml --gpus 32 --size 128MiB --algorithms Ring --protocol Simple";
  const std::string queues = "fabric (collisions, queues)";
  const std::string slow = "slow NIC";
  for (const std::string file : {"card", "alone", "both"}) {
    const std::int64_t lost = on_the_path("why " + file + job, slow);
    EXPECT_GT(lost, on_the_path("why " + file + job, "NIC")) << file << ": three times as long as without";
    EXPECT_GT(lost, 5 * on_the_path("why " + file + job, queues)) << file;
  }
  EXPECT_EQ(on_the_path("why uplink" + job, slow), 0);
  EXPECT_GT(on_the_path("why uplink" + job, queues), 0);
  EXPECT_GT(on_the_path("why both" + job, "packets sent again"), 0);
  const std::string text = weft(words("why card" + job)).out;
  EXPECT_NE(text.find("\nslow NIC: s1/nic3 "), std::string::npos) << text;
}

// As weft sim does, and not with words about algorithms.
TEST_F(WhyFiles, ADeadCardIsRefusedByItsFault) {
  std::ofstream("dead.weft.yaml") << "version: 1\nservers: {kind: hgx-h200, count: 4}\n"
                                     "fabric: {kind: tor-clos, servers_per_leaf: 4}\nfaults: [{part: s0/nic0}]\n";
  for (const std::string verb : {"why", "plan", "sim"}) {
    const Outcome said = weft(words(verb + " dead.weft.yaml --collective all_reduce --sizes 1MiB"));
    EXPECT_EQ(said.code, 2) << verb;
    EXPECT_NE(said.err.find("dead.weft.yaml:4:17: error E0412"), std::string::npos) << verb << ": " << said.err;
    EXPECT_NE(said.err.find("nothing joins s0/gpu0 and s1/gpu0"), std::string::npos) << verb << ": " << said.err;
  }
}

TEST_F(WhyFiles, ASlowerRankIsWaitedForByName) {
  const std::string job = "why acp.weft.yaml --gpus 32 --size 64MiB --algorithms Ring";
  const std::string waiting = "waiting for a slower rank";
  EXPECT_EQ(on_the_path(job, waiting), 0);
  const Outcome slow = weft(words(job + " --slow-rank 11=50%"));
  EXPECT_NE(slow.out.find("waiting for rank 11 (s1/gpu3): slow"), std::string::npos) << slow.out << slow.err;
  EXPECT_NE(slow.out.find("all ranks equally fast"), std::string::npos) << slow.out;
  EXPECT_GT(on_the_path(job + " --slow-rank 11=50%", waiting), 0);
  // Of late ranks the last need not be the one that is waited for longest, but hardly anybody else is.
  const std::int64_t late = on_the_path(job + " --skew 1ms", waiting);
  EXPECT_LE(late, 1'000'000'000);
  EXPECT_GT(late, 800'000'000);
  // The file says the same, also where the command line says of what size.
  std::ofstream("slow.weft.yaml") << "version: 1\nservers: {kind: acp-h100-2nic, count: 4}\n"
                                     "fabric: {kind: single-chassis}\n"
                                     "run: [{all_reduce: {sizes: 1GiB, slow_ranks: 11=50%, skew: 1ms}}]\n";
  EXPECT_EQ(on_the_path("why slow.weft.yaml --size 64MiB --algorithms Ring", waiting),
            on_the_path(job + " --slow-rank 11=50% --skew 1ms", waiting));
  refused(job + " --slow-rank 32=50%", "a rank from 0 to 31");
  refused(job + " --on 0..7", "weft sim");
}

TEST_F(WhyFiles, FastSaysSo) {
  EXPECT_NE(weft(words("why acp.weft.yaml --gpus 32 --size 1GiB --fast")).out.find("flows (--fast)"),
            std::string::npos);
}

TEST_F(WhyFiles, APlanKnowsTheBusiestLink) {
  std::ofstream("narrow.weft.yaml")
      << "version: 1\nservers: {kind: hgx-h100, count: 8}\n"
         "fabric: {kind: rail-optimized, scalable_unit: 4, spines: 1, parallel_links: 1, switch: tomahawk-4, "
         "link: {rate: 400Gbps, cable: 5m}}\n";
  const Outcome plan = weft(words("plan narrow.weft.yaml --collective all_to_all --sizes 1GiB"));
  ASSERT_EQ(plan.code, 0) << plan.err;
  EXPECT_NE(plan.out.find("the busiest link of the fabric"), std::string::npos) << plan.out;
  EXPECT_EQ(plan.out.find("believe the bound"), std::string::npos) << plan.out;
}

// What a level does not know of a time is said wherever the time is: connections of an all-to-all come and go, and what
// DCQCN costs them on hashed paths no share tells.
TEST_F(WhyFiles, WhatIsNotKnownIsSaidByEveryVerb) {
  std::ofstream("hashed.weft.yaml") << "version: 1\nservers: {kind: hgx-h200, count: 8}\n"
                                       "fabric: {kind: tor-clos, servers_per_leaf: 4, oversubscription: 2}\n"
                                       "transport: {kind: rocev2, balance: ecmp}\nswitching: {flow_control: pfc}\n";
  const std::string what = "what DCQCN loses where hashed flows collide";
  for (const std::string verb : {"sim", "plan", "why"}) {
    const std::string job = verb + " hashed.weft.yaml --collective all_to_all --sizes 64MiB";
    const Outcome said = weft(words(job));
    EXPECT_EQ(said.code, 0) << said.err;
    EXPECT_NE(said.out.find(what), std::string::npos) << verb << ": " << said.out;
    EXPECT_EQ(nlohmann::json::parse(weft(words(job + " --json")).out)["not_known"], what) << verb;
    EXPECT_EQ(weft(words(job + " --set transport.balance=spray --set transport.kind=srd --set "
                               "switching.flow_control=none"))
                  .out.find("not known"),
              std::string::npos)
        << verb;
  }
}

// A plan says of a ring what `sim` does, with what DCQCN costs it.
TEST_F(WhyFiles, APlanHasWhatCollisionsCost) {
  std::ofstream("hashed.weft.yaml")
      << "version: 1\nservers: {kind: hgx-h200, count: 4}\nfabric: {kind: fat-tree, k: 16}\n"
         "transport: {kind: rocev2, balance: ecmp}\nswitching: {flow_control: pfc}\n";
  const std::string job = " hashed.weft.yaml --collective reduce_scatter --sizes 32MiB --json";
  const auto plan = nlohmann::json::parse(weft(words("plan" + job)).out);
  EXPECT_EQ(plan["simulated_ps"], nlohmann::json::parse(weft(words("sim" + job)).out)["time_ps"]);
}

TEST_F(WhyFiles, AForcedAlgorithmIsRefusedWithItsReason) {
  for (const std::string verb : {"why", "plan"}) {
    const Outcome said = weft(words(verb + " acp.weft.yaml --gpus 32 --sizes 64MiB --algorithms CollNet"));
    EXPECT_EQ(said.code, 2) << verb;
    EXPECT_NE(said.err.find("the switches of this network do not reduce"), std::string::npos) << verb << said.err;
  }
}

TEST_F(WhyFiles, APlanIsBelowTheSimulation) {
  const Outcome plan = weft(words("plan acp.weft.yaml --gpus 32 --sizes 8B..8GiB --json"));
  ASSERT_EQ(plan.code, 0) << plan.err;
  std::istringstream lines(plan.out);
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    const auto record = nlohmann::json::parse(line);
    EXPECT_LE(record["bound_ps"].get<std::int64_t>(), record["simulated_ps"].get<std::int64_t>()) << line;
  }
  EXPECT_EQ(rows, 31u);
  refused("plan acp.weft.yaml --gpus 99", "99 GPUs");
  refused("plan acp.weft.yaml --gpus 32 --sizes large", "sizes");
}

}  // namespace
}  // namespace weft::golden
