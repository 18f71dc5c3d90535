#include "measured/facts.hpp"

#include <gtest/gtest.h>

#include "measured/testing_measured.hpp"

namespace weft::measured {
namespace {

using namespace testing;

// All that a folder of a diagnosed case holds, read as `weft why` will.
struct Case {
  explicit Case(const std::string& name) : folder(truth() / "diagnosis" / name) {
    if (const auto source = text("log.txt")) log = read_nccl_log(source, notes);
    if (const auto source = text("nccl-tests.txt")) benchmark = read_benchmark(source, notes);
    if (const auto source = text("topo-m.txt")) matrix = read_smi_matrix(source, notes);
    if (const auto source = text("system.xml")) topology = read_topology(source, notes);
    if (topology) server = outline_of(*topology, catalog(), notes);
    if (matrix) server = outline_of(*matrix, "", catalog(), notes);
  }

  std::uint32_t text(const std::string& file) {
    const auto path = folder / file;
    return std::filesystem::exists(path) ? notes.add_text(path.string(), read_file(path)) : 0;
  }

  Facts facts() const {
    EXPECT_FALSE(notes.has_errors()) << notes.text();
    Evidence evidence;
    if (topology) evidence.topology = &*topology;
    if (matrix) evidence.matrix = &*matrix;
    if (server) evidence.server = &*server;
    if (benchmark) evidence.benchmark = &*benchmark;
    if (log) evidence.log = &*log;
    return gather(evidence);
  }

  std::filesystem::path folder;
  Notes notes;
  std::optional<NcclLog> log;
  std::optional<Benchmark> benchmark;
  std::optional<SmiMatrix> matrix;
  std::optional<Topology> topology;
  std::optional<ServerOutline> server;
};

#define WEFT_CASE(name)                             \
  WEFT_NEEDS_TRUTH(truth() / "diagnosis" / (name)); \
  const Case diagnosed(name);                       \
  const Facts facts = diagnosed.facts()

TEST(Diagnosed, EverythingIsOnYetSlow) {
  WEFT_CASE("01-h100-roce-acs-iommu-splitqps");
  ASSERT_EQ(facts.networks.size(), 1U);
  EXPECT_EQ(facts.networks[0].name, "IB");
  EXPECT_EQ(facts.gpudirect, true) << "so the cause is not GPUDirect";
  EXPECT_EQ(facts.with_gpudirect, 2816);
  EXPECT_EQ(facts.net_devices_used, 8) << "and not an unused NIC";
  EXPECT_EQ(facts.channels.all, 256);
}

TEST(Diagnosed, WithoutGpudirectThroughASlowHost) {
  WEFT_CASE("07-a100pcie-epyc-nps1");
  EXPECT_EQ(facts.environment.at("NCCL_NET_GDR_LEVEL"), "SYS");
  EXPECT_EQ(facts.with_gpudirect, 1);
  EXPECT_EQ(facts.without_gpudirect, 1) << "the log tells of a run with it and one without";
  EXPECT_EQ(facts.gpudirect, std::nullopt);
  EXPECT_EQ(facts.ranks->value, 2);
  EXPECT_EQ(facts.nodes->value, 2);
  EXPECT_EQ(facts.gpus_per_node->value, 1);
  EXPECT_EQ(facts.nccl_version->value, "2.21.5");
  EXPECT_EQ(facts.channels.collective, 2);
  EXPECT_EQ(facts.interfaces[0].name, "mlx5_0");
  EXPECT_EQ(facts.interfaces[0].kind, "IB");
  ASSERT_TRUE(facts.server);
  EXPECT_NE(facts.server->gpu_switch[0], facts.server->nic_switch[0]);
  ASSERT_EQ(facts.tables.size(), 1U);
  EXPECT_EQ(facts.tables[0].collective, "all_reduce");
  EXPECT_EQ(facts.tables[0].rows.size(), 28U);
  EXPECT_EQ(facts.tables[0].rows.back().best().bus.count(), INT64_C(51'520'000'000)) << "6.44 GB/s";
  // 2 MiB take a ninth of what 1 MiB takes.
  ASSERT_EQ(facts.crossovers.size(), 1U);
  EXPECT_EQ(facts.tables[0].rows[facts.crossovers[0].row].bytes, 2'097'152);
  EXPECT_EQ(facts.crossovers[0].percent, 10);
}

TEST(Diagnosed, P2pIsSwitchedOff) {
  WEFT_CASE("10-a100-p2p-level-loc");
  EXPECT_TRUE(facts.p2p_disabled);
  EXPECT_EQ(facts.environment.at("NCCL_P2P_LEVEL"), "LOC");
  EXPECT_EQ(facts.shared_memory, 1);
  EXPECT_EQ(facts.p2p, 0);
  EXPECT_EQ(facts.channels.nvls, 0);
}

TEST(Diagnosed, APairHasFourLinks) {
  WEFT_CASE("12-a100-nv4-pair-72-is-normal");
  EXPECT_EQ(facts.tables[0].collective, "sendrecv");
  EXPECT_EQ(facts.ranks->value, 2);
  EXPECT_EQ(facts.p2p, 8);
  EXPECT_EQ(facts.channels.p2p_per_peer, 8);
  EXPECT_EQ(facts.interfaces.size(), 4U);
  EXPECT_EQ(facts.nccl_version->value, "2.22.3");
  EXPECT_EQ(facts.server->nvlinks_between[0][1], 4);
  EXPECT_TRUE(facts.crossovers.empty());
}

TEST(Diagnosed, TwoNodesAreNotFour) {
  WEFT_CASE("13-h100-2node-tree-4node-drop-is-normal");
  ASSERT_EQ(facts.tables.size(), 3U);
  EXPECT_EQ(facts.tables[0].said_nodes, 2);
  EXPECT_EQ(facts.tables[0].said_ranks, 16);
  EXPECT_EQ(facts.tables[0].inferred_ranks(), 16) << "the rates say so, too";
  EXPECT_EQ(facts.tables[1].said_nodes, 8);
  EXPECT_EQ(facts.tables[1].inferred_ranks(), 64);
  EXPECT_EQ(facts.tables[2].environment.at("NCCL_ALGO"), "Ring");
  EXPECT_TRUE(facts.tables[0].environment.empty());
}

TEST(Diagnosed, OneCardFarFromMostGpus) {
  WEFT_CASE("18-v100-gdr-off-and-4x-misread");
  ASSERT_TRUE(facts.server);
  EXPECT_EQ(facts.server->gpus, 8);
  EXPECT_EQ(facts.server->nvlinks_per_gpu, 6);
  EXPECT_EQ(facts.gpus_per_node->value, 8);
}

TEST(Diagnosed, ProtocolChangesTooLate) {
  WEFT_CASE("21-h100nvl-amd-familyid-ll-crossover");
  ASSERT_EQ(facts.tables.size(), 2U);
  EXPECT_EQ(facts.tables[0].note, "bad (commit 2f1c174c)");
  EXPECT_EQ(facts.tables[1].note, "good (parent)");
  EXPECT_EQ(facts.ranks->value, 4);
  EXPECT_EQ(facts.nodes->value, 2);
  ASSERT_EQ(facts.crossovers.size(), 2U);
  EXPECT_EQ(facts.tables[0].rows[facts.crossovers[0].row].bytes, 1'100'000);
  EXPECT_EQ(facts.tables[1].rows[facts.crossovers[1].row].bytes, 700'000);
}

TEST(Diagnosed, SocketsWhereLibfabricShouldBe) {
  WEFT_CASE("35-efa-plugin-not-found-socket");
  // The file tells of the bad and of the good run.
  ASSERT_EQ(facts.networks.size(), 2U);
  EXPECT_EQ(facts.networks[0].transport, NetTransport::socket);
  EXPECT_EQ(facts.networks[1].transport, NetTransport::ofi);
  ASSERT_TRUE(facts.server);
  EXPECT_EQ(facts.server->nic, "efa-v1") << "the machine has EFA";
  EXPECT_EQ(facts.cpu_vendor, "GenuineIntel");
  EXPECT_EQ(facts.cpu_model, 85);
}

TEST(Diagnosed, VirtualMachineWithoutGpudirect) {
  const auto path = truth() / "topo/azure-ncv4-topo.xml";
  WEFT_NEEDS_TRUTH(path);
  Notes notes;
  const auto topology = read_topology(notes.add_text("t.xml", read_file(path)), notes);
  ASSERT_TRUE(topology);
  Evidence evidence;
  evidence.topology = &*topology;
  EXPECT_EQ(gather(evidence).can_gpudirect, false) << "the GPUs could, the interface cannot";
  EXPECT_EQ(gather(evidence).cpu_family, 175) << "as NCCL wrote it before 2.30";
}

TEST(Facts, CountRanksByTheirNumbers) {
  spec::Diagnostics notes;
  const auto out =
      read_benchmark(notes.sources().add("b",
                                         "#  Rank  0 Group  0 Pid  11 on a device  0 [0000:1b:00] NVIDIA H100\n"
                                         "#  Rank 15 Group  0 Pid  12 on b device  7 [0000:1b:00] NVIDIA H100\n"
                                         "8 2 float sum -1 30.12 0.00 0.00 0 30.08 0.00 0.00 0\n"),
                     notes);
  ASSERT_TRUE(out) << spec::render_text(notes, false);
  Evidence evidence;
  evidence.benchmark = &*out;
  const Facts facts = gather(evidence);
  EXPECT_EQ(facts.ranks->value, 16);
  EXPECT_EQ(facts.nodes->value, 2);
  EXPECT_EQ(facts.gpus_per_node->value, 8);
  EXPECT_EQ(facts.gpu_name, "NVIDIA H100");
}

// Who copies a list of ranks cuts it, and the columns tell how many there were; processes that ran alone, one on each
// host, were meant as one job.
TEST(Facts, CountRanksThatAListLeavesOut) {
  const auto read = [](const std::string& text) {
    spec::Diagnostics notes;
    const auto out = read_benchmark(notes.sources().add("b", text), notes);
    EXPECT_TRUE(out) << spec::render_text(notes, false);
    Evidence evidence;
    if (out) evidence.benchmark = &*out;
    return gather(evidence);
  };
  const std::string first = "#   Rank  0 Pid  11 on a device  0 [0x10] NVIDIA A100-SXM4-40GB\n";
  const std::string row = " float sum -1 2604.6 50.32 96.45 0 2630.6 49.83 95.50 0\n";  // 2 * 23 / 24
  const Facts cut = read(first + "1073741824 268435456" + row);
  EXPECT_EQ(cut.ranks->value, 24);
  EXPECT_FALSE(cut.nodes) << "one host of a list that was cut is not all of them";
  // 17 by two digits of a rate that is low, and 16 are listed.
  const Facts whole = read(first + "#   Rank 15 Pid  12 on b device  7 [0x10] NVIDIA A100-SXM4-40GB\n" +
                           "1048576 262144 float sum -1 2097.2 0.50 0.94 0 2097.2 0.50 0.94 0\n");
  EXPECT_EQ(whole.ranks->value, 16);
  EXPECT_EQ(whole.nodes->value, 2);
  // Two ranks of one server and one of the other: 9 are no two servers, and the columns say 16.
  const Facts thinned = read(first + "#   Rank  1 Pid  12 on a device  1 [0x17] NVIDIA A100-SXM4-40GB\n" +
                             "#   Rank  8 Pid  13 on b device  0 [0x10] NVIDIA A100-SXM4-40GB\n" +
                             "1073741824 268435456 float sum -1 44205 24.29 45.54 0 44180 24.30 45.57 0\n");
  EXPECT_EQ(thinned.ranks->value, 16);
  EXPECT_EQ(thinned.nodes->value, 2);
  EXPECT_EQ(thinned.gpus_per_node->value, 8);
  const Facts alone = read(first + "#   Rank  0 Pid  12 on b device  0 [0x10] NVIDIA A100-SXM4-40GB\n" +
                           "8 2 float sum -1 30.12 0.00 0.00 0 30.08 0.00 0.00 0\n");
  EXPECT_EQ(alone.jobs_at_once, 2);
  EXPECT_EQ(alone.ranks->value, 2);
  EXPECT_EQ(alone.nodes->value, 2);
}

// Where no line of a log says how many ranks there are, a ring of all of them does; half a ring does not.
TEST(Facts, CountRanksOfRings) {
  const auto read = [](const std::string& ring) {
    spec::Diagnostics notes;
    const auto log =
        read_nccl_log(notes.sources().add("l", "h:1:2 [0] NCCL INFO Channel 00/04 : " + ring + "\n"), notes);
    EXPECT_TRUE(log) << spec::render_text(notes, false);
    Evidence evidence;
    if (log) evidence.log = &*log;
    return gather(evidence);
  };
  EXPECT_EQ(read("0 3 2 1 4 7 6 5").ranks->value, 8);
  EXPECT_FALSE(read("0 3 2 1 4 7 6").ranks) << "5 is missing: the line was cut";
}

TEST(Facts, PreferWhatTheLogSays) {
  spec::Diagnostics notes;
  const auto log =
      read_nccl_log(notes.sources().add(
                        "l",
                        "NCCL version 2.20.1+cuda12.2\nx rank 0 nranks 16 nNodes 2 localRanks 8\n"
                        "h:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:1.2.3.4<0>\n"
                        "h:1:2 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0\n"
                        "h:1:2 [0] NCCL INFO AllReduce: 8 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..1}\n"
                        "h:1:2 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..1}\n"),
                    notes);
  const auto out = read_benchmark(
      notes.sources().add("b", "# 4 ranks, NCCL 2.19.3\n8 2 float sum -1 30.12 0.00 0.00 2 30.08 0.00 0.00 0\n"),
      notes);
  ASSERT_TRUE(log && out) << spec::render_text(notes, false);
  Evidence evidence;
  evidence.log = &*log;
  evidence.benchmark = &*out;
  const Facts facts = gather(evidence);
  EXPECT_EQ(facts.ranks->value, 16);
  EXPECT_EQ(facts.ranks->place.line, 2U);
  EXPECT_EQ(facts.nccl_version->value, "2.20.1");
  EXPECT_EQ(facts.networks[0].transport, NetTransport::roce);
  EXPECT_EQ(facts.gpudirect, false);
  EXPECT_EQ(facts.algorithm, "Ring");
  EXPECT_EQ(facts.protocol, "Simple");
  EXPECT_EQ(facts.wrong, 2);
}

}  // namespace
}  // namespace weft::measured
