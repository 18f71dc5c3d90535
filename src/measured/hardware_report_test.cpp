#include "measured/hardware_report.hpp"

#include <gtest/gtest.h>

namespace weft::measured {
namespace {

HardwareReport read(std::string_view text) {
  HardwareReader reader;
  std::uint32_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.take(text.substr(0, end), {1, ++number, 1, 1});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.made();
}

TEST(HardwareReport, PortsHaveRatesAndStates) {
  const HardwareReport made = read(
      "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n"
      "CA 'mlx5_1'\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Disabled\n\t\tRate: 10\n"
      "Infiniband device 'mlx5_2' port 1 status:\n\tstate:\t\t 4: ACTIVE\n\trate:\t\t 100 Gb/sec (4X EDR)\n"
      "hca_id:\tmlx5_3\n\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\tactive_mtu:\t\t1024 (3)\n"
      "\t\tactive_width:\t\t4X (2)\n\t\tactive_speed:\t\t25.0 Gbps (32)\n"
      "Settings for eth0:\n\tSpeed: 25000Mb/s\n\tLink detected: yes\n"
      "link mlx5_4/1 state DOWN physical_state DISABLED netdev eth1\n"
      "link mlx5_5/1 state ACTIVE physical_state LINK_UP netdev eth2\n");
  ASSERT_EQ(made.ports.size(), 7u);
  EXPECT_EQ(made.ports[0].megabits, 400'000);
  EXPECT_FALSE(made.ports[0].down);
  EXPECT_TRUE(made.ports[1].down);
  EXPECT_EQ(made.ports[2].megabits, 100'000);
  EXPECT_FALSE(made.ports[2].down);
  EXPECT_EQ(made.ports[3].megabits, 100'000);
  EXPECT_EQ(made.ports[3].mtu, 1024);
  EXPECT_EQ(made.ports[4].name, "eth0");
  EXPECT_EQ(made.ports[4].megabits, 25'000);
  EXPECT_TRUE(made.ports[5].down);
  EXPECT_FALSE(made.ports[6].down);
  EXPECT_EQ(made.ports_down(), 2);
}

TEST(HardwareReport, SlotsAreThoseBelowWhatTheyCould) {
  const HardwareReport made = read(
      "1b:00.0 3D controller: NVIDIA Corporation\n\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
      "\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x1 (downgraded)\n"
      "0000:1c:00.0 Infiniband controller: Mellanox\n\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n"
      "\t\tLnkSta:\tSpeed 16GT/s, Width x16\n");
  ASSERT_EQ(made.slots.size(), 1u);
  EXPECT_EQ(made.slots[0].name, "1b:00.0");
  EXPECT_EQ(made.slots[0].gen, 1);
  EXPECT_EQ(made.slots[0].lanes, 1);
  EXPECT_EQ(made.slots[0].could_gen, 5);
  EXPECT_EQ(made.slots[0].place.line, 3u);
}

TEST(HardwareReport, NvlinksThatAreDownAreCounted) {
  const HardwareReport made = read(
      "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n"
      "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-2)\n\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 GB/s\n");
  EXPECT_EQ(made.nvlinks, 4);
  EXPECT_EQ(made.nvlinks_down, 1);
  EXPECT_EQ(made.nvlink_down_place.line, 3u);
}

TEST(HardwareReport, OtherTextsSayNothing) {
  HardwareReader reader;
  for (const std::string_view line : {"State of the cluster: fine", "Rate: 400", "Link 0: up", "LnkFoo: Speed 2.5GT/s",
                                      "we have a link between the nodes", ""})
    EXPECT_FALSE(reader.take(line, {})) << line;
}

// Bits and not bytes, and the most that anybody reached.
TEST(HardwareReport, PerftestHasARate) {
  EXPECT_EQ(read("the result of ib_write_bw is about 180Gb,").perftest_megabits, 180'000);
  EXPECT_EQ(read("IB write bandwidth (all 8x ConnectX-7 NICs at ~392 Gbps)").perftest_megabits, 392'000);
  EXPECT_EQ(read("ib_write_bw: 16 KiB 380.5 Gb/s\nib_write_bw: 391.8 Gb/s").perftest_megabits, 391'800);
  EXPECT_EQ(read("ib_write_bw gives 24 GB/s").perftest_megabits, 0);
  EXPECT_EQ(read("iperf gives 94 Gb/s").perftest_megabits, 0);
  EXPECT_EQ(read("ib_write_bw gives 24 GB/s").perftest_place.line, 0u);
}

}  // namespace
}  // namespace weft::measured
