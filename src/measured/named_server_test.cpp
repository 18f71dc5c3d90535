#include "measured/named_server.hpp"

#include <gtest/gtest.h>

#include "measured/testing_measured.hpp"

namespace weft::measured {
namespace {

using namespace testing;

model::Cluster made(const NamedParts& parts) {
  Notes notes;
  const NamedCluster named = cluster_of(parts, catalog(), notes);
  EXPECT_FALSE(named.assumed.empty()) << "what nobody said is said";
  auto cluster = model::load_cluster(notes.add_text("named", named.text), "named", {}, catalog(), notes);
  EXPECT_TRUE(cluster) << named.text << notes.text();
  return cluster.value_or(model::Cluster{});
}

TEST(NamedServer, IsTheBoardThatTheGpuIsSoldOn) {
  const model::Cluster cluster = made({.gpu = "NVIDIA H100 80GB HBM3", .gpus = 8, .nodes = 4});
  const model::ServerKind& server = cluster.groups[0].spec;
  EXPECT_EQ(cluster.gpus, 32u);
  EXPECT_EQ(server.gpu.kind, "h100-sxm");
  EXPECT_EQ(server.nics, 8);
  EXPECT_TRUE(server.scale_up);
}

TEST(NamedServer, HasTheCardsThatTheLogLists) {
  const model::Cluster cluster = made({.gpu = "NVIDIA A100-SXM4-80GB", .gpus = 8, .nics = 2, .nodes = 2});
  EXPECT_EQ(cluster.groups[0].spec.nics, 2);
  EXPECT_NE(cluster.groups[0].diagram.nic_switch[0], cluster.groups[0].diagram.nic_switch[1]) << "spread";
  EXPECT_EQ(made({.gpu = "NVIDIA A100-SXM4-40GB", .gpus = 8, .efa = true, .nodes = 2}).groups[0].spec.nic.kind,
            "efa-v1");
}

// Sold with fewer NVLinks than the chip has: 8 of 18, and of 12.
TEST(NamedServer, HasTheNvlinksOfItsName) {
  const auto gigabytes = [](const char* gpu) {
    return made({.gpu = gpu, .gpus = 8}).groups[0].spec.scale_up->link.one_way().count() / 8'000'000'000;
  };
  EXPECT_EQ(gigabytes("NVIDIA H800"), 200);
  EXPECT_EQ(gigabytes("NVIDIA A800-SXM4-80GB"), 200);
  EXPECT_EQ(gigabytes("NVIDIA H100"), 450);
}

TEST(NamedServer, NicsInSlotsHaveNoNvlink) {
  for (const char* gpu : {"NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 5090", "Tesla T4", "NVIDIA A100 80GB PCIe",
                          "NVIDIA A10G", "NVIDIA H100 PCIe", "NVIDIA RTX PRO 6000 Blackwell Server Edition"}) {
    const model::Cluster cluster = made({.gpu = gpu, .gpus = 4});
    EXPECT_EQ(cluster.gpus, 4u) << gpu;
    EXPECT_FALSE(cluster.groups[0].spec.scale_up) << gpu;
    EXPECT_EQ(cluster.groups[0].spec.nics, 0) << gpu;
  }
  EXPECT_EQ(made({.gpu = "NVIDIA GeForce RTX 5090", .gpus = 8}).groups[0].spec.pcie_gen, 5);
  EXPECT_EQ(made({.gpu = "Tesla T4", .gpus = 2, .nodes = 2}).groups[0].spec.nics, 1) << "something joins servers";
}

TEST(NamedServer, OfWhichNothingIsKnownIsAGuess) {
  EXPECT_EQ(made({.nodes = 2}).groups[0].spec.gpu.kind, "a100-80-sxm");
  EXPECT_EQ(made({.nvls = true}).groups[0].spec.gpu.kind, "h100-sxm");
  EXPECT_EQ(made({.busbw = gigabits_per_second(8 * 230)}).groups[0].spec.gpu.kind, "a100-80-sxm");
  EXPECT_EQ(made({.busbw = gigabits_per_second(8 * 255)}).groups[0].spec.gpu.kind, "h100-sxm") << "no A100 gives that";
  EXPECT_EQ(made({.busbw = gigabits_per_second(8 * 700)}).groups[0].spec.gpu.kind, "b200");
  EXPECT_EQ(made({.port = gigabits_per_second(200)}).groups[0].spec.gpu.kind, "a100-80-sxm");
  EXPECT_EQ(made({.port = gigabits_per_second(400)}).groups[0].spec.gpu.kind, "h100-sxm");
  EXPECT_EQ(made({.gpu = "Tesla V100-SXM2-32GB", .gpus = 4}).gpus, 8u) << "a board has eight";
}

}  // namespace
}  // namespace weft::measured
