#include "measured/log_topology.hpp"

#include <gtest/gtest.h>

#include "measured/nccl_log.hpp"
#include "measured/testing_measured.hpp"

namespace weft::measured {
namespace {

using namespace testing;

// Two sockets, a PCIe switch below each, two GPUs on NVSwitch and a NIC per switch; one GPU link
// of half the width.
const std::string kDrawn =
    "h:1:9 [0] NCCL INFO === System : maxBw 24.0 totalBw 252.0 ===\n"
    "h:1:9 [0] NCCL INFO CPU/0 (1/2/-1)\n"
    "h:1:9 [0] NCCL INFO + SYS[10.0] - CPU/1\n"
    "h:2:9 [1] NCCL INFO === System : maxBw 24.0 totalBw 252.0 ===\n"
    "h:1:9 [0] NCCL INFO + PCI[24.0] - PCI/1000 (1000c01010000000)\n"
    "h:2:9 [1] NCCL INFO CPU/0 (1/2/-1)\n"
    "h:1:9 [0] NCCL INFO               + PCI[24.0] - GPU/7000 (0)\n"
    "h:1:9 [0] NCCL INFO                             + NVL[252.0] - NVS/0\n"
    "h:1:9 [0] NCCL INFO               + PCI[24.0] - GPU/B000 (1)\n"
    "h:1:9 [0] NCCL INFO                             + NVL[252.0] - NVS/0\n"
    "h:1:9 [0] NCCL INFO               + PCI[24.0] - NIC/C000\n"
    "h:1:9 [0] NCCL INFO                             + NET[25.0] - NET/0 (603c/1/25.000000)\n"
    "h:1:9 [0] NCCL INFO CPU/1 (1/2/-1)\n"
    "h:1:9 [0] NCCL INFO + SYS[10.0] - CPU/0\n"
    "h:1:9 [0] NCCL INFO + PCI[24.0] - PCI/81000\n"
    "h:1:9 [0] NCCL INFO               + PCI[24.0] - GPU/87000 (2)\n"
    "h:1:9 [0] NCCL INFO                             + NVL[252.0] - NVS/0\n"
    "h:1:9 [0] NCCL INFO               + PCI[12.0] - GPU/8B000 (3)\n"
    "h:1:9 [0] NCCL INFO                             + NVL[252.0] - NVS/0\n"
    "h:1:9 [0] NCCL INFO               + PCI[12.0] - NIC/8C000\n"
    "h:1:9 [0] NCCL INFO                             + NET[25.0] - NET/1 (603d/1/25.000000)\n"
    "h:1:9 [0] NCCL INFO ==========================================\n"
    "h:1:9 [0] NCCL INFO GPU/7000 :GPU/7000 (0/5000.000000/LOC)\n";

std::optional<ServerOutline> drawn(const std::string& text, const std::string& gpu = "") {
  spec::Diagnostics notes;
  const auto log = read_nccl_log(notes.sources().add("nccl.log", text), notes);
  EXPECT_TRUE(log) << spec::render_text(notes, false);
  return log ? outline_of(log->system, gpu) : std::nullopt;
}

TEST(LogTopology, IsAServer) {
  const auto server = drawn(kDrawn);
  ASSERT_TRUE(server);
  EXPECT_EQ(server->gpu, "a100-80-sxm") << "by twelve NVLinks";
  EXPECT_EQ(server->gpus, 4);
  EXPECT_EQ(server->nics, 2);
  EXPECT_EQ(server->nic_rate, gigabits_per_second(200));
  EXPECT_EQ(server->sockets, 2);
  EXPECT_EQ(server->gpu_switch, (std::vector<std::int64_t>{0, 0, 1, 1}));
  EXPECT_EQ(server->nic_switch, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(server->switch_socket, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(server->nvlinks_per_gpu, 12);
  EXPECT_EQ(server->pcie_gen, 3) << "the narrowest link counts";
  EXPECT_EQ(server->nic_gen, 3);
  Notes notes;
  const std::string text = cluster_text(*server, 2, catalog(), notes);
  EXPECT_TRUE(model::load_cluster(notes.add_text("log", text), "log", {}, catalog(), notes)) << text << notes.text();
}

TEST(LogTopology, NeedsItsBeginning) {
  EXPECT_FALSE(drawn("h:1:9 [0] NCCL INFO + PCI[24.0] - GPU/7000 (0)\n"));
  EXPECT_FALSE(
      drawn("h:1:9 [0] NCCL INFO === System : maxBw 1.2 ===\nh:1:9 [0] NCCL INFO CPU/0 (1/1/1)\n"
            "h:1:9 [0] NCCL INFO + PCI[5000.0] - NIC/0\n"))
      << "no GPU";
}

TEST(LogTopology, LinesThatAreNoneAreNone) {
  EXPECT_FALSE(log_part("+ PCI[x] - GPU/1"));
  EXPECT_FALSE(log_part("+ PCI] - [GPU/1"));
  EXPECT_FALSE(log_part("Channel 00/02 : 0 1"));
  EXPECT_FALSE(log_part("+ PCI[12.0] - XYZ/1"));
  EXPECT_FALSE(log_part(""));
}

}  // namespace
}  // namespace weft::measured
