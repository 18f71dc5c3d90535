#include "measured/smi_matrix.hpp"

#include <gtest/gtest.h>

#include "measured/testing_measured.hpp"

namespace weft::measured {
namespace {

using namespace testing;

// As the program prints it: tabs, an underlined heading, legends.
const std::string kTwo =
    "\t\x1b[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tPIX\tSYS\t0-47,96-143\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tSYS\tPXB\t48-95\t1\t\tN/A\n"
    "NIC0\tPIX\tSYS\t X \tSYS\t\t\t\t\n"
    "NIC1\tSYS\tPXB\tSYS\t X \t\t\t\t\n"
    "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA "
    "nodes\n"
    "  NV#  = Connection traversing a bonded set of # NVLinks\n\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n";

std::string error_of(const std::string& text) {
  spec::Diagnostics notes;
  EXPECT_FALSE(read_smi_matrix(notes.sources().add("topo.txt", text), notes));
  const std::string all = spec::render_text(notes, false);
  return all.substr(0, all.find('\n'));
}

TEST(SmiMatrix, IsReadAsPrinted) {
  spec::Diagnostics notes;
  const auto matrix = read_smi_matrix(notes.sources().add("topo.txt", kTwo), notes);
  ASSERT_TRUE(matrix) << spec::render_text(notes, false);
  ASSERT_EQ(matrix->devices.size(), 4U);
  EXPECT_EQ(matrix->gpus(), 2);
  EXPECT_EQ(matrix->cells[0][1].path, SmiMatrix::Path::nvlink);
  EXPECT_EQ(matrix->cells[0][1].links, 18);
  EXPECT_EQ(matrix->cells[1][3].path, SmiMatrix::Path::pxb);
  EXPECT_EQ(matrix->devices[0].cpus, "0-47,96-143");
  EXPECT_EQ(matrix->devices[1].numa, 1);
  EXPECT_EQ(matrix->devices[3].interface, "mlx5_1");
  EXPECT_EQ(matrix->devices[2].place.line, 1U);
}

TEST(SmiMatrix, BecomesAServer) {
  Notes notes;
  const auto loaded = load_topology_cluster(notes.add_text("topo.txt", kTwo), 1, {}, catalog(), notes);
  ASSERT_TRUE(loaded) << notes.text();
  const model::Group& group = loaded->cluster.groups[0];
  EXPECT_EQ(group.gpus(), 2U);
  EXPECT_EQ(group.nics(), 2U);
  EXPECT_EQ(group.diagram.pcie_switches, 2U);
  EXPECT_EQ(group.diagram.sockets, 2U);
  EXPECT_EQ(group.diagram.nic_switch, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(group.diagram.switch_socket, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(group.spec.gpu.kind, "h100-sxm");
  EXPECT_EQ(loaded->server.nic_names, (std::vector<std::string>{"mlx5_0", "mlx5_1"}));
}

// A switch that nobody has takes no power, one that is named does.
TEST(SmiMatrix, SwitchesThatStandInTakeNoPower) {
  for (const bool named : {false, true}) {
    Notes notes;
    model::LoadOptions options;
    if (named) options.set = {"fabric.switch=tomahawk-5"};
    const auto loaded = load_topology_cluster(notes.add_text("topo.txt", kTwo), 4, options, catalog(), notes);
    ASSERT_TRUE(loaded) << notes.text();
    for (const model::SwitchKind& each : loaded->cluster.shape.switches) EXPECT_EQ(each.power.has_value(), named);
  }
}

TEST(SmiMatrix, TakesTheGpuFromAnotherOutput) {
  Notes notes;
  const auto matrix = read_smi_matrix(notes.add_text("topo.txt", kTwo), notes);
  ASSERT_TRUE(matrix);
  const auto server = outline_of(*matrix, "NVIDIA H200", catalog(), notes);
  ASSERT_TRUE(server);
  EXPECT_EQ(server->gpu, "h200-sxm");
}

TEST(SmiMatrix, OneDirectLinkIsALink) {
  Notes notes;
  const std::string text =
      "\tGPU0\tGPU1\tCPU Affinity\n"
      "GPU0\t X \tNV1\t0-7\n"
      "GPU1\tNV1\t X \t0-7\n";
  const auto matrix = read_smi_matrix(notes.add_text("topo.txt", text), notes);
  ASSERT_TRUE(matrix) << notes.text();
  const auto server = outline_of(*matrix, "Tesla V100-SXM2-16GB", catalog(), notes);
  ASSERT_TRUE(server) << notes.text();
  EXPECT_TRUE(server->nvlink_direct);
  EXPECT_EQ(server->nvlinks_per_gpu, 1);
  EXPECT_EQ(server->nvlinks_between, (std::vector<std::vector<std::int64_t>>{{0, 1}, {1, 0}}));
}

// Each pair shows all links of a GPU, which are more than it has to two others.
TEST(SmiMatrix, LinksThroughASwitchAreNotBetweenTwo) {
  Notes notes;
  const std::string text =
      "\tGPU0\tGPU1\tGPU2\n"
      "GPU0\t X \tNV18\tNV18\n"
      "GPU1\tNV18\t X \tNV18\n"
      "GPU2\tNV18\tNV18\t X \n";
  const auto matrix = read_smi_matrix(notes.add_text("topo.txt", text), notes);
  ASSERT_TRUE(matrix) << notes.text();
  const auto server = outline_of(*matrix, "NVIDIA H100", catalog(), notes);
  ASSERT_TRUE(server) << notes.text();
  EXPECT_FALSE(server->nvlink_direct);
  EXPECT_EQ(server->nvlinks_per_gpu, 18);
  EXPECT_TRUE(server->nvlinks_between.empty());
}

TEST(SmiMatrix, WithoutLinksNothingIsBetweenTwo) {
  Notes notes;
  const auto matrix =
      read_smi_matrix(notes.add_text("topo.txt", "\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n"), notes);
  ASSERT_TRUE(matrix) << notes.text();
  const auto server = outline_of(*matrix, "NVIDIA L40S", catalog(), notes);
  ASSERT_TRUE(server) << notes.text();
  EXPECT_TRUE(server->nvlink.empty());
  EXPECT_TRUE(server->nvlinks_between.empty());
}

TEST(SmiMatrix, LinksTellWhichGpu) {
  const auto gpu_with = [](const std::string& cell) {
    Notes notes;
    const std::string text = "\tGPU0\tGPU1\nGPU0\t X \t" + cell + "\nGPU1\t" + cell + "\t X \n";
    const auto matrix = read_smi_matrix(notes.add_text("topo.txt", text), notes);
    const auto server = matrix ? outline_of(*matrix, "", catalog(), notes) : std::nullopt;
    return server ? server->gpu : notes.text();
  };
  EXPECT_EQ(gpu_with("SYS"), "l40s");
  EXPECT_EQ(gpu_with("NV1"), "v100-sxm");
  EXPECT_EQ(gpu_with("NV6"), "v100-sxm");
  EXPECT_EQ(gpu_with("NV7"), "a100-80-sxm");
  EXPECT_EQ(gpu_with("NV12"), "a100-80-sxm");
  EXPECT_EQ(gpu_with("NV13"), "h100-sxm");
}

TEST(SmiMatrix, MayLackTheRowsOfNics) {
  spec::Diagnostics notes;
  const auto matrix = read_smi_matrix(notes.sources().add("topo.txt", "  GPU0 mlx5_0 mlx5_1\nGPU0 X PIX SYS\n"), notes);
  ASSERT_TRUE(matrix) << spec::render_text(notes, false);
  EXPECT_EQ(matrix->cells[1][0].path, SmiMatrix::Path::pix);
  EXPECT_EQ(matrix->cells[1][2].path, SmiMatrix::Path::sys);
}

TEST(SmiMatrix, MustBeWhole) {
  EXPECT_EQ(error_of("nothing of the kind\n"), "topo.txt: error E0703: no heading with GPU0 was found");
  EXPECT_EQ(error_of("  GPU0 GPU1\nGPU0 X NV4\n"), "topo.txt:1:8: error E0703: there is no row of GPU1");
  EXPECT_EQ(error_of("  GPU0 GPU1\nGPU0 X\nGPU1 SYS X\n"),
            "topo.txt:2:6: error E0703: the row of GPU0 has 1 of 2 columns");
  EXPECT_EQ(error_of("  GPU0 GPU1\nGPU0 X NVX\nGPU1 SYS X\n"),
            "topo.txt:2:8: error E0703: 'NVX' does not say how two devices are joined");
  EXPECT_EQ(error_of("  GPU0 GPU1\nGPU0 X SYS\nGPU1 PIX X\n"),
            "topo.txt:1:8: error E0703: GPU1 to GPU0 and back are not the same");
  EXPECT_EQ(error_of("  GPU0 GPU1\nGPU0 SYS X\nGPU1 PIX X\n"),
            "topo.txt:2:6: error E0703: X stands where a device meets itself, and nowhere else");
  EXPECT_EQ(error_of("  GPU0 GPU1\nGPU0 X SYS\nGPU1 SYS X\nGPU2 SYS SYS\n"),
            "topo.txt:4:1: error E0703: GPU2 is not in the heading");
  EXPECT_EQ(error_of("  GPU0 GPU1\nGPU0 X SYS\nGPU0 X SYS\nGPU1 SYS X\n"),
            "topo.txt:3:1: error E0703: a second row of GPU0");
}

// ---- matrices of real machines

std::optional<ServerOutline> real_server(const std::filesystem::path& path, const std::string& gpu, Notes& notes) {
  const auto matrix = read_smi_matrix(notes.add_text(path.string(), read_file(path)), notes);
  return matrix ? outline_of(*matrix, gpu, catalog(), notes) : std::nullopt;
}

TEST(RealMatrix, NicOnTheOtherSocket) {
  const auto path = truth() / "diagnosis/07-a100pcie-epyc-nps1/topo-m.txt";
  WEFT_NEEDS_TRUTH(path);
  Notes notes;
  const auto server = real_server(path, "NVIDIA A100-PCIE-40GB", notes);
  ASSERT_TRUE(server) << notes.text();
  EXPECT_EQ(server->gpus, 2);
  EXPECT_EQ(server->nics, 1);
  EXPECT_EQ(server->nic_names[0], "mlx5_0");
  EXPECT_EQ(server->pcie_gen, 4);
  EXPECT_NE(server->gpu_switch[0], server->nic_switch[0]) << "this is why GPUDirect is off";
  EXPECT_TRUE(server->nvlink.empty());
}

TEST(RealMatrix, EveryPairHasFourLinks) {
  const auto path = truth() / "diagnosis/12-a100-nv4-pair-72-is-normal/topo-m.txt";
  WEFT_NEEDS_TRUTH(path);
  Notes notes;
  const auto server = real_server(path, "", notes);
  ASSERT_TRUE(server) << notes.text();
  EXPECT_EQ(server->gpu, "a100-80-sxm") << "twelve links in all";
  EXPECT_TRUE(server->nvlink_direct);
  EXPECT_EQ(server->nvlinks_per_gpu, 12);
  EXPECT_EQ(server->nvlinks_between[0][1], 4) << "this is why a pair gets a third of a GPU's rate";
  EXPECT_EQ(server->pcie_switches, 4);
  EXPECT_EQ(server->nic_switch, server->gpu_switch);
}

TEST(RealMatrix, OneCardForEightGpus) {
  const auto path = truth() / "diagnosis/18-v100-gdr-off-and-4x-misread/topo-m.txt";
  WEFT_NEEDS_TRUTH(path);
  Notes notes;
  const auto server = real_server(path, "", notes);
  ASSERT_TRUE(server) << notes.text();
  EXPECT_EQ(server->gpus, 8);
  EXPECT_EQ(server->gpu, "v100-sxm");
  EXPECT_EQ(server->nics, 2);
  EXPECT_EQ(server->nvlinks_per_gpu, 6);
  EXPECT_EQ(server->sockets, 2);
  EXPECT_EQ(server->nic_switch[0], server->gpu_switch[2]);
  EXPECT_EQ(server->nic_switch[1], server->gpu_switch[3]);
  EXPECT_NE(server->nic_switch[0], server->gpu_switch[0]);
}

}  // namespace
}  // namespace weft::measured
