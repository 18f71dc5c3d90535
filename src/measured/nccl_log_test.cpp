#include "measured/nccl_log.hpp"

#include <gtest/gtest.h>

#include "measured/testing_measured.hpp"

namespace weft::measured {
namespace {

using namespace testing;

NcclLog good(const std::string& text) {
  spec::Diagnostics notes;
  auto log = read_nccl_log(notes.sources().add("nccl.log", text), notes);
  EXPECT_TRUE(log) << spec::render_text(notes, false);
  return log.value_or(NcclLog{});
}

TEST(NcclLog, OfToday) {
  const NcclLog log = good(
      "node-a:100:100 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"
      "node-a:100:100 [0] NCCL INFO cudaDriverVersion 12040\n"
      "NCCL version 2.26.2+cuda12.4\n"
      "node-a:100:110 [0] NCCL INFO NCCL_IB_HCA set by environment to mlx5\n"
      "node-a:100:110 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.\n"
      "node-a:100:110 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n"
      "node-b:200:210 [0] NCCL INFO Using network IB\n"
      "node-a:100:110 [0] NCCL INFO ncclCommInitRank comm 0x55 rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId 1b000 commId "
      "0x1 - Init START\n"
      "node-a:100:110 [0] NCCL INFO comm 0x55 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0\n"
      "node-a:100:110 [0] NCCL INFO NVLS multicast support is available on dev 0\n"
      "node-a:100:110 [0] NCCL INFO NVLS multicast support is not available on dev 1 (NVLS_NCHANNELS 0)\n"
      "node-a:100:110 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 8, bw 48.000000/48.000000, type NVL/PXB, "
      "sameChannels 1\n"
      "node-a:100:110 [0] NCCL INFO Channel 00/02 :    0   1   2   3\n"
      "node-a:100:110 [0] NCCL INFO Channel 01/02 :    0   3   2   1\n"
      "node-a:100:110 [0] NCCL INFO Trees [0] 1/8/-1->0->-1 [1] 1/-1/-1->0->8\n"
      "node-a:100:110 [0] NCCL INFO Channel 00/0 : 15[7] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
      "node-a:100:110 [0] NCCL INFO Channel 00/0 : 0[0] -> 15[7] [send] via NET/IB/1(3)/GDRDMA/Shared\n"
      "node-a:100:110 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
      "node-a:100:110 [0] NCCL INFO Channel 01 : 0[0] -> 1[1] via SHM/direct/direct\n"
      "node-a:100:110 [0] NCCL INFO 16 coll channels, 16 collnet channels, 0 nvls channels, 32 p2p channels, 2 p2p "
      "channels per peer\n"
      "node-a:100:110 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..15}\n"
      "node-a:100:110 [0] misc/x.cc:1 NCCL WARN Something is odd.\n");
  EXPECT_EQ(log.version, "2.26.2");
  EXPECT_EQ(log.cuda, "12.4");
  EXPECT_EQ(log.version_place.line, 3U);
  EXPECT_EQ(log.version_place.column, 14U);
  EXPECT_EQ(log.ranks, 16);
  EXPECT_EQ(log.nodes, 2);
  EXPECT_EQ(log.local_ranks, 8);
  EXPECT_EQ(log.hosts, (std::set<std::string>{"node-a", "node-b"}));
  EXPECT_EQ(log.networks.at("IB").count, 1);
  EXPECT_EQ(log.networks.at("IB").first.line, 7U);
  ASSERT_EQ(log.interfaces.size(), 2U);
  EXPECT_EQ(log.interfaces[1].name, "mlx5_1");
  EXPECT_EQ(log.interfaces[1].kind, "RoCE");
  EXPECT_EQ(log.plugin_missing.count, 1);
  EXPECT_EQ(log.nvls_available.count, 1);
  EXPECT_EQ(log.nvls_unavailable.count, 1);
  ASSERT_EQ(log.graphs.size(), 1U);
  EXPECT_EQ(log.graphs[0].channels, 8);
  EXPECT_EQ(log.graphs[0].inside, "NVL");
  EXPECT_EQ(log.graphs[0].to_network, "PXB");
  EXPECT_EQ(log.rings, (std::vector<std::vector<std::int64_t>>{{0, 1, 2, 3}, {0, 3, 2, 1}}));
  EXPECT_EQ(log.trees, 2);
  EXPECT_EQ(log.paths.at("NET/IB").count, 2);
  EXPECT_EQ(log.paths.at("P2P/CUMEM").count, 1);
  EXPECT_EQ(log.paths.at("SHM").count, 1);
  EXPECT_EQ(log.net_with_gdr.count, 2);
  EXPECT_EQ(log.net_without_gdr.count, 0);
  EXPECT_EQ(log.net_through_peer.count, 1);
  EXPECT_EQ(log.hosts_with_gdr, (std::set<std::string>{"node-a"}));
  EXPECT_TRUE(log.hosts_without_gdr.empty());
  EXPECT_TRUE(log.own_devices.empty()) << "what goes through another's NIC says nothing of its own";
  EXPECT_EQ(log.net_devices, (std::map<std::int64_t, std::int64_t>{{0, 1}, {1, 1}}));
  EXPECT_EQ(log.channels.collective, 16);
  EXPECT_EQ(log.channels.nvls, 0);
  EXPECT_EQ(log.channels.p2p, 32);
  EXPECT_EQ(log.channels.p2p_per_peer, 2);
  ASSERT_EQ(log.choices.size(), 1U);
  EXPECT_EQ(log.choices[0].collective, "AllReduce");
  EXPECT_EQ(log.choices[0].bytes, 1'048'576);
  EXPECT_EQ(log.choices[0].algorithm, "Ring");
  EXPECT_EQ(log.choices[0].protocol, "LL128");
  EXPECT_EQ(log.choices[0].channels, 16);
  EXPECT_EQ(log.environment.at("NCCL_IB_HCA"), "mlx5");
  ASSERT_EQ(log.warnings.size(), 1U);
  EXPECT_EQ(log.warnings[0].text, "Something is odd");
  EXPECT_EQ(log.warnings[0].place.line, 22U);
}

TEST(NcclLog, OfOlderVersions) {
  const NcclLog log = good(
      "h:1:2 [0] NCCL INFO NET/Plugin : No plugin found (libnccl-net.so), using internal implementation\n"
      "h:1:2 [0] NCCL INFO NET/IB : No device found.\n"
      "h:1:2 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0> [1]ens5:10.0.1.1<0>\n"
      "h:1:2 [0] NCCL INFO NET/Socket: Using 2 threads and 8 sockets per thread\n"
      "h:1:2 [0] NCCL INFO Channel 00 : 1[1c0] -> 0[1b0] [receive] via NET/Socket/0\n"
      "h:1:2 [0] NCCL INFO Ring 00 : 0 -> 1 via P2P/common device\n"
      "h:1:2 [0] NCCL INFO Ring 01 : 0[0] -> 1[1] via direct shared memory\n"
      "h:1:2 [0] NCCL INFO GPU Direct RDMA Disabled for GPU 1b000 / HCA 0 (distance 5 > 4)\n"
      "h:1:2 [0] NCCL INFO 4096 Bytes -> Algo 0 proto 1 time 45.2\n");
  EXPECT_EQ(log.plugin_missing.count, 1);
  EXPECT_EQ(log.no_ib_device.count, 1);
  ASSERT_EQ(log.interfaces.size(), 2U);
  EXPECT_EQ(log.interfaces[0].name, "eth0");
  EXPECT_EQ(log.interfaces[1].name, "ens5");
  EXPECT_EQ(log.net_without_gdr.count, 0) << "sockets have none to miss";
  EXPECT_TRUE(log.hosts_without_gdr.empty());
  EXPECT_EQ(log.gdr_disabled.count, 1);
  EXPECT_EQ(log.paths.at("SHM").count, 1);
  EXPECT_EQ(log.paths.at("P2P/common device").count, 1);
  EXPECT_EQ(log.choices[0].algorithm, "Tree");
  EXPECT_EQ(log.choices[0].protocol, "LL128");
}

TEST(NcclLog, OfAwsNamesLibfabric) {
  const NcclLog log = good(
      "ip-10:1:2 [0] NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.9.1-aws\n"
      "ip-10:1:2 [0] NCCL INFO NET/OFI Selected Provider is efa (found 32 nics)\n"
      "ip-10:1:2 [0] NCCL INFO Using network AWS Libfabric\n"
      "ip-10:1:2 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/AWS Libfabric/0/GDRDMA\n");
  EXPECT_EQ(log.paths.at("NET/AWS Libfabric").count, 1);
  EXPECT_EQ(log.net_with_gdr.count, 1);
  EXPECT_EQ(log.networks.count("AWS Libfabric"), 1U);
  EXPECT_EQ(log.hosts.count("ip-10"), 1U);
}

// What libfabric says of itself is no list of interfaces, though it says "Using", too.
TEST(NcclLog, InterfacesOfLibfabricAreItsProvider) {
  const NcclLog efa = good(
      "h:1:2 [0] NCCL INFO NET/OFI Using transport protocol RDMA v2 (platform set)\n"
      "h:1:2 [0] NCCL INFO NET/OFI Selected Provider is efa (found 32 nics)\n");
  ASSERT_EQ(efa.interfaces.size(), 2U);
  EXPECT_EQ(efa.interfaces[0].plugin, "OFI");
  EXPECT_EQ(efa.interfaces[0].name, "") << "not said yet";
  EXPECT_EQ(efa.interfaces[1].name, "efa");
}

// Two ports as one interface, and a thread that somebody cut.
TEST(NcclLog, OfMergedPorts) {
  const NcclLog log = good(
      "10:11:12 gpu1:15326 [0] NCCL INFO NET/IB : Using [0]={[0] rocep130s0:1/RoCE, [1] rocep131s0:1/RoCE} [RO]; OOB "
      "eth0:10.0.0.1<0>\n");
  EXPECT_EQ(log.hosts, (std::set<std::string>{"gpu1"}));
  ASSERT_EQ(log.interfaces.size(), 2U);
  EXPECT_EQ(log.interfaces[0].name, "rocep130s0");
  EXPECT_EQ(log.interfaces[0].kind, "RoCE");
  EXPECT_EQ(log.interfaces[1].name, "rocep131s0");
  EXPECT_EQ(log.interfaces[1].kind, "RoCE");
}

TEST(NcclLog, OfSomethingElseStopsNobody) {
  spec::Diagnostics notes;
  const auto log = read_nccl_log(notes.sources().add("x", "hello\nvia Paris\nChannel 5\n"), notes);
  ASSERT_TRUE(log);
  EXPECT_TRUE(log->says_nothing);
  EXPECT_FALSE(notes.has_errors());
  EXPECT_FALSE(read_nccl_log(notes.sources().add("y", "ACS is enabled\n"), notes)->says_nothing);
}

// However long it is, a log costs what it says.
TEST(NcclLog, KeepsABoundedAmount) {
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += "h" + std::to_string(i) + ":1:2 [0] NCCL WARN broken\nNCCL_X" + std::to_string(i) +
            "=1\nh:1:2 [0] NCCL INFO Channel 00/0 : 0 via NET/N" + std::to_string(i) + "/9999999/GDRDMA\n";
  const NcclLog log = good(text);
  EXPECT_EQ(log.warning_count, 3000);
  EXPECT_EQ(log.warnings.size(), 100U);
  EXPECT_EQ(log.environment.size(), 256U);
  EXPECT_EQ(log.paths.size(), 256U);
  EXPECT_TRUE(log.net_devices.empty());
}

TEST(NcclLog, EndsAndChannelsOfConnectionsAreCounted) {
  const NcclLog log = good(
      "a:1:9 [7] NCCL INFO Channel 01 : 7[a01d0] -> 8[101c0] [send] via NET/AWS Libfabric/0\n"
      "a:1:9 [7] NCCL INFO Channel 00/0 : 15[a01d0] -> 0[101c0] [receive] via NET/AWS Libfabric/0\n"
      "a:1:9 [7] NCCL INFO Ring 03 : 15 -> 0 [send] via NET/Socket/2\n");
  EXPECT_EQ(log.net_ranks, (std::set<std::int64_t>{0, 7, 8, 15}));
  EXPECT_EQ(log.net_channels, (std::set<std::int64_t>{0, 1, 3}));
  EXPECT_EQ(log.net_devices.size(), 2u);
}

TEST(NcclLog, WithoutVerbsThereIsNoInfiniband) {
  const NcclLog log = good(
      "a:1:9 [0] NCCL INFO Failed to open libibverbs.so[.1]\na:1:9 [0] NCCL INFO NCCL_IB_HCA set "
      "to mlx5_0\n");
  EXPECT_EQ(log.no_ib_device.count, 1);
  EXPECT_EQ(log.environment.at("NCCL_IB_HCA"), "mlx5_0") << "as NCCL has read it";
}

}  // namespace
}  // namespace weft::measured
