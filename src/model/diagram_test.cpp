#include "model/diagram.hpp"

#include <gtest/gtest.h>

#include <map>

#include "model/catalog.hpp"

namespace weft::model {
namespace {

Diagram diagram_of(const std::string& server) {
  spec::Diagnostics diagnostics;
  const Catalog catalog = Catalog::embedded(diagnostics);
  return make_diagram(*catalog.load<ServerKind>("servers", server, diagnostics));
}

// "0 . . . 4 . . .": the NIC each GPU reaches directly, '.' for none.
std::string direct_nics(const Diagram& diagram) {
  std::string out;
  for (std::uint32_t gpu = 0; gpu < diagram.gpu_switch.size(); ++gpu) {
    std::string nics;
    for (const std::uint32_t nic : diagram.near_nics[gpu])
      if (diagram.direct(gpu, nic)) nics += (nics.empty() ? "" : ",") + std::to_string(nic);
    out += (gpu > 0 ? " " : "") + (nics.empty() ? "." : nics);
  }
  return out;
}

// GPU i and NIC i below PCIe switch i.
TEST(Diagram, TheReferenceHasANicBesideEveryGpu) { EXPECT_EQ(direct_nics(diagram_of("hgx-h100")), "0 1 2 3 4 5 6 7"); }

// CPU 0: SW0 (GPU0 NIC0) SW1 (GPU1) SW2 (GPU2) SW3 (GPU3); CPU 1: SW4 (GPU4 NIC1) SW5 SW6 SW7
TEST(Diagram, TwoNicsLeaveSixGpusWithoutADirectOne) {
  const Diagram diagram = diagram_of("acp-h100-2nic");
  EXPECT_EQ(direct_nics(diagram), "0 . . . 1 . . .");
  EXPECT_EQ(diagram.distance(1, 0), Diagram::Distance::same_socket);
  EXPECT_EQ(diagram.distance(4, 0), Diagram::Distance::other_socket);
  EXPECT_EQ(diagram.near_nics[3], std::vector<std::uint32_t>{0}) << "the NIC of its own socket";
  EXPECT_EQ(diagram.near_nics[7], std::vector<std::uint32_t>{1});
  EXPECT_EQ(diagram.near_gpu, (std::vector<std::uint32_t>{0, 4}));
}

TEST(Diagram, FourNicsOnEightSwitchesServeEverySecondGpu) {
  EXPECT_EQ(direct_nics(diagram_of("acp-h100-4nic-8sw")), "0 . 1 . 2 . 3 .");
}

TEST(Diagram, FourNicsOnFourSwitchesServeEveryGpu) {
  EXPECT_EQ(direct_nics(diagram_of("acp-h100-4nic-4sw")), "0 0 1 1 2 2 3 3");
}

TEST(Diagram, P5HasFourNicsNearEveryGpu) {
  const Diagram diagram = diagram_of("p5.48xlarge");
  std::map<std::uint32_t, int> users;
  for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
    EXPECT_EQ(diagram.near_nics[gpu].size(), 4U);
    for (const std::uint32_t nic : diagram.near_nics[gpu]) {
      EXPECT_TRUE(diagram.direct(gpu, nic));
      ++users[nic];
    }
  }
  EXPECT_EQ(users.size(), 32U) << "every NIC serves one GPU";
}

TEST(Diagram, GpusOnOneSwitchShareItsNicsOut) { EXPECT_EQ(direct_nics(diagram_of("dgx-a100")), "0 1 2 3 4 5 6 7"); }

TEST(Diagram, WithoutSwitchesPartsHangOffTheCpus) {
  const Diagram diagram = diagram_of("gb200-nvl72");
  EXPECT_EQ(diagram.roots(), 2U);
  EXPECT_EQ(direct_nics(diagram), "0 1 2 3");
}

}  // namespace
}  // namespace weft::model
