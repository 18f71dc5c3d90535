#include "measured/topology.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "measured/testing_measured.hpp"

namespace weft::measured {
namespace {

using namespace testing;

// CPU 0 - switch - GPU 0, NIC 0;  CPU 1 - GPU 1;  both GPUs on one NVSwitch
const std::string kSmall = R"(<system version="1">
  <cpu numaid="0" affinity="0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:16:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:1B:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:c1:00.0" count="18" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:1c:00.0" class="0x020700" vendor="0x15b3" device="0x1021" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="400000" port="1" guid="0xab" maxconn="131072" gdr="1" coll="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:9b:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="16.0 GT/s PCIe" link_width="8">
      <gpu dev="1" sm="90" rank="1" gdr="1">
        <nvlink target="0000:c1:00.0" count="17" tclass="0x068000"/>
      </gpu>
    </pci>
  </cpu>
</system>
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// What weft answers to the small file with one thing changed.
std::string error_of(const std::string& from, const std::string& to) {
  spec::Diagnostics notes;
  EXPECT_FALSE(read_topology(notes.sources().add("t.xml", replaced(kSmall, from, to)), notes));
  return first_line(spec::render_text(notes, false));
}

TEST(Topology, IsReadWithPlaces) {
  spec::Diagnostics notes;
  const auto topology = read_topology(notes.sources().add("t.xml", kSmall), notes);
  ASSERT_TRUE(topology) << spec::render_text(notes, false);
  EXPECT_TRUE(topology->is_dump);
  ASSERT_EQ(topology->cpus.size(), 2U);
  const TopologyCpu& cpu = topology->cpus[0];
  EXPECT_EQ(cpu.numa, 0);
  EXPECT_EQ(cpu.model, 143);
  ASSERT_EQ(cpu.devices.size(), 1U);
  EXPECT_EQ(cpu.devices[0].kind, PciDevice::Kind::bridge);
  ASSERT_EQ(cpu.devices[0].below.size(), 2U);
  const PciDevice& gpu = cpu.devices[0].below[0];
  EXPECT_EQ(gpu.kind, PciDevice::Kind::gpu);
  EXPECT_EQ(gpu.bus_id, "0000:1b:00.0") << "in lower case, as NVLink targets are";
  EXPECT_EQ(gpu.place.line, 4U);
  EXPECT_EQ(gpu.place.column, 8U);
  EXPECT_EQ(gpu.gen, 5);
  EXPECT_EQ(gpu.lanes, 16);
  ASSERT_TRUE(gpu.gpu);
  EXPECT_EQ(gpu.gpu->sm, 90);
  EXPECT_EQ(gpu.gpu->gdr, true);
  EXPECT_EQ(gpu.gpu->links(), 18);
  const PciDevice& nic = cpu.devices[0].below[1];
  ASSERT_EQ(nic.nets.size(), 1U);
  EXPECT_EQ(nic.nets[0].name, "mlx5_0");
  EXPECT_EQ(nic.nets[0].megabits_per_second, 400'000);
  EXPECT_TRUE(nic.nets[0].collective);
  EXPECT_EQ(topology->cpus[1].devices[0].lanes, 8);
}

TEST(Topology, OfAnotherKindIsRefused) {
  EXPECT_EQ(error_of("<system version=\"1\">", "<system>"), "t.xml:1:2: error E0702: <system> has no version");
  EXPECT_EQ(error_of("version=\"1\"", "version=\"3\""), "t.xml:1:18: error E0702: version 3 is not known");
  spec::Diagnostics notes;
  EXPECT_FALSE(read_topology(notes.sources().add("t.xml", "<graphs version=\"1\"/>"), notes));
  EXPECT_NE(spec::render_text(notes, false).find("NCCL_TOPO_DUMP_FILE writes the topology"), std::string::npos);
}

TEST(Topology, NamesTheAttributeThatIsWrong) {
  EXPECT_EQ(error_of("speed=\"400000\"", "speed=\"fast\""),
            "t.xml:11:45: error E0702: speed of <net> cannot be 'fast'");
  EXPECT_EQ(error_of("count=\"18\"", "count=\"0\""), "t.xml:6:48: error E0702: count of <nvlink> cannot be '0'");
  EXPECT_EQ(error_of("sm=\"90\"", "sm=\"ninety\""), "t.xml:5:26: error E0702: sm of <gpu> cannot be 'ninety'");
  EXPECT_EQ(error_of("link_width=\"8\"", "link_width=\"99\""),
            "t.xml:17:120: error E0702: link_width of <pci> cannot be '99'");
  EXPECT_EQ(error_of("16.0 GT/s PCIe", "quick"), "t.xml:17:92: error E0702: link_speed cannot be 'quick'");
  EXPECT_EQ(error_of("busid=\"0000:9b:00.0\"", "busid=\"9b:00.0\""),
            "t.xml:17:17: error E0702: busid cannot be '9b:00.0'");
  EXPECT_EQ(error_of("busid=\"0000:9b:00.0\" ", ""), "t.xml:17:6: error E0702: <pci> has no busid");
  EXPECT_EQ(error_of("target=\"0000:c1:00.0\" count=\"17\"", "count=\"17\""),
            "t.xml:19:10: error E0702: <nvlink> has no target");
  EXPECT_EQ(error_of("0000:9b:00.0", "0000:1b:00.0"), "t.xml:17:17: error E0702: a second device 0000:1b:00.0");
  EXPECT_EQ(error_of("numaid=\"1\"", "numaid=\"0\""), "t.xml:16:4: error E0702: a second <cpu> with numaid 0");
}

// Links to itself, as one cloud's file has them, are no network.
TEST(Topology, IgnoresNvLinksThatLeadBack) {
  spec::Diagnostics notes;
  const auto topology = read_topology(
      notes.sources().add(
          "t.xml", replaced(kSmall, "target=\"0000:c1:00.0\" count=\"17\"", "target=\"0000:9b:00.0\" count=\"17\"")),
      notes);
  ASSERT_TRUE(topology);
  EXPECT_EQ(topology->cpus[1].devices[0].gpu->links(), 0);
  EXPECT_NE(spec::render_text(notes, false).find("17 NVLinks from GPU 0000:9b:00.0 lead to itself"), std::string::npos);
}

// Partly switched, partly not: what hangs off CPU 1 directly gets a place of its own.
TEST(TopologyCluster, IsTheServerOfTheFile) {
  Notes notes;
  const auto loaded = load_topology_cluster(notes.add_text("small.xml", kSmall), 4, {}, catalog(), notes);
  ASSERT_TRUE(loaded) << notes.text();
  const model::Group& group = loaded->cluster.groups[0];
  EXPECT_EQ(loaded->cluster.name, "small");
  EXPECT_EQ(group.spec.kind, "small");
  EXPECT_EQ(group.servers, 4U);
  EXPECT_EQ(group.spec.gpu.kind, "h100-sxm");
  EXPECT_EQ(group.diagram.gpu_switch, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(group.diagram.nic_switch, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(group.diagram.switch_socket, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(group.spec.nic.rate, gigabits_per_second(400));
  EXPECT_EQ(group.spec.scale_up->link.one_way().count(), 17 * INT64_C(25'000'000'000) * 8)
      << "as many links as the poorest GPU has";
  EXPECT_EQ(loaded->cluster.file.fabric.kind, model::FabricKind::single_chassis);
  ASSERT_EQ(loaded->server.weak.size(), 1U);
  EXPECT_EQ(loaded->server.weak[0].index, 1);
  EXPECT_EQ(loaded->server.weak[0].pcie_lanes, 8);
  EXPECT_EQ(loaded->server.weak[0].nvlinks, 17);
  // What is wrong with GPU 1 is said, at its place.
  EXPECT_NE(notes.text().find("small.xml:17:6: warning W0702: GPU 1 has 17 NVLinks"), std::string::npos)
      << notes.text();
  EXPECT_NE(notes.text().find("small.xml:17:6: warning W0702: the link of GPU 1 is PCIe 4 x8"), std::string::npos)
      << notes.text();
}

// Either half of a link is enough to be said.
TEST(TopologyCluster, ALinkIsWeakByItsGenerationOrItsLanes) {
  const std::string link = "link_speed=\"16.0 GT/s PCIe\" link_width=\"8\"";
  const auto weak = [&](const std::string& instead) {
    Notes notes;
    std::string text = replaced(kSmall, link, instead);
    text = replaced(text, "count=\"17\"", "count=\"18\"");
    const auto loaded = load_topology_cluster(notes.add_text("small.xml", text), 1, {}, catalog(), notes);
    EXPECT_TRUE(loaded) << notes.text();
    EXPECT_EQ(loaded->server.weak.size(), notes.text().find("W0702") == std::string::npos ? 0u : 1u) << notes.text();
    const std::size_t at = notes.text().find("the link of GPU 1");
    return at == std::string::npos ? "" : first_line(notes.text().substr(at));
  };
  EXPECT_EQ(weak("link_speed=\"16.0 GT/s PCIe\" link_width=\"16\""), "the link of GPU 1 is PCIe 4 x16");
  EXPECT_EQ(weak("link_speed=\"32.0 GT/s PCIe\" link_width=\"8\""), "the link of GPU 1 is PCIe 5 x8");
  EXPECT_EQ(weak("link_speed=\"32.0 GT/s PCIe\" link_width=\"16\""), "");
}

TEST(TopologyCluster, TakesSetAsAClusterFileDoes) {
  Notes notes;
  const auto loaded = load_topology_cluster(notes.add_text("small.xml", kSmall), 1,
                                            {{"servers.nic.rate=200Gbps", "servers.count=3"}}, catalog(), notes);
  ASSERT_TRUE(loaded) << notes.text();
  EXPECT_EQ(loaded->cluster.servers, 3U);
  EXPECT_EQ(loaded->cluster.file.fabric.kind, model::FabricKind::single_chassis);
  EXPECT_EQ(loaded->cluster.groups[0].spec.nic.rate, gigabits_per_second(200));
}

TEST(TopologyCluster, LeavesOutSlowNics) {
  Notes notes;
  const std::string two = replaced(kSmall, "    <pci busid=\"0000:9b:00.0\"",
                                   "    <pci busid=\"0000:9c:00.0\" class=\"0x020000\"><nic><net name=\"eth7\" "
                                   "dev=\"1\" speed=\"25000\"/></nic></pci>\n    <pci busid=\"0000:9b:00.0\"");
  const auto loaded = load_topology_cluster(notes.add_text("small.xml", two), 1, {}, catalog(), notes);
  ASSERT_TRUE(loaded) << notes.text();
  EXPECT_EQ(loaded->cluster.nics, 1U);
  EXPECT_NE(notes.text().find("eth7 is slower than the other NICs"), std::string::npos);
}

TEST(TopologyCluster, NeedsGpus) {
  Notes notes;
  const std::string none =
      "<system version=\"1\"><cpu numaid=\"0\"><nic><net name=\"eth0\" dev=\"0\" "
      "speed=\"10000\"/></nic></cpu></system>";
  EXPECT_FALSE(load_topology_cluster(notes.add_text("t.xml", none), 1, {}, catalog(), notes));
  EXPECT_NE(notes.text().find("the file has no GPUs"), std::string::npos);
}

TEST(TopologyCluster, HasUpTo256Gpus) {
  const auto refused = [](int gpus) {
    std::string text = "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\">\n";
    for (int i = 0; i < gpus; ++i)
      text += fmt::format(
          "<pci busid=\"{:04x}:01:00.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x2330\"><gpu dev=\"{}\" "
          "sm=\"90\" rank=\"{}\" gdr=\"1\"/></pci>\n",
          i, i, i);
    Notes notes;
    return load_topology_cluster(notes.add_text("t.xml", text + "</cpu></system>\n"), 1, {}, catalog(), notes)
               ? ""
               : notes.text();
  };
  EXPECT_EQ(refused(256), "");
  EXPECT_NE(refused(257).find("the server has 257 GPUs and 0 NICs"), std::string::npos) << refused(257);
  EXPECT_NE(refused(257).find("at most 256 of each"), std::string::npos);
}

TEST(TopologyCluster, AsksWhichDevicesAreGpus) {
  Notes notes;
  const std::string unclear =
      "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:01:00.0\"><pci busid=\"0000:02:00.0\"/><pci "
      "busid=\"0000:03:00.0\"/></pci></cpu></system>";
  EXPECT_FALSE(load_topology_cluster(notes.add_text("t.xml", unclear), 1, {}, catalog(), notes));
  EXPECT_NE(notes.text().find("2 devices without a class: GPUs or NICs?"), std::string::npos) << notes.text();
}

// Four GPUs below one CPU, with these NVLinks each.
std::string four_gpus(const std::vector<std::string>& links) {
  std::string out =
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"23\" "
      "modelid=\"49\">\n";
  for (std::size_t i = 0; i < links.size(); ++i)
    out += fmt::format(
        "<pci busid=\"0000:0{}:00.0\" class=\"0x030200\"><gpu dev=\"{}\" sm=\"80\" rank=\"{}\" "
        "gdr=\"1\">{}</gpu></pci>\n",
        i, i, i, links[i]);
  return out + "</cpu></system>\n";
}

std::string link_to(int gpu, int count) {
  return fmt::format("<nvlink target=\"0000:0{}:00.0\" count=\"{}\" tclass=\"0x030200\"/>", gpu, count);
}

TEST(TopologyCluster, ReadsAMeshAsASwitchAndSaysSo) {
  std::vector<std::string> mesh(4);
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 4; ++b)
      if (a != b) mesh[static_cast<std::size_t>(a)] += link_to(b, 4);
  Notes notes;
  const auto loaded = load_topology_cluster(notes.add_text("mesh.xml", four_gpus(mesh)), 1, {}, catalog(), notes);
  ASSERT_TRUE(loaded) << notes.text();
  EXPECT_TRUE(loaded->server.nvlink_direct);
  EXPECT_EQ(loaded->server.nvlinks_between[0][3], 4);
  EXPECT_EQ(loaded->cluster.groups[0].spec.scale_up->link.one_way(), Bandwidth(INT64_C(300'000'000'000) * 8))
      << "twelve links";
  EXPECT_EQ(loaded->cluster.groups[0].spec.pcie_gen, 4) << "not in the file: as the GPU has it";
  EXPECT_NE(notes.text().find("NVLinks join the GPUs directly"), std::string::npos);
}

TEST(TopologyCluster, LeavesOutBridgesOfPairs) {
  Notes notes;
  const auto loaded = load_topology_cluster(
      notes.add_text("pairs.xml", four_gpus({link_to(1, 12), link_to(0, 12), link_to(3, 12), link_to(2, 12)})), 1, {},
      catalog(), notes);
  ASSERT_TRUE(loaded) << notes.text();
  EXPECT_FALSE(loaded->cluster.groups[0].spec.scale_up);
  EXPECT_EQ(loaded->server.nvlinks_between[2][3], 12) << "but they are known";
  EXPECT_NE(notes.text().find("the NVLinks do not join all GPUs"), std::string::npos);
}

// In a virtual machine the switches cannot be seen, only the links to them.
TEST(TopologyCluster, CountsHiddenSwitchesAsOtherServersHaveThem) {
  const std::string hidden = "<nvlink target=\"fffffff:ff:ff.0\" count=\"12\" tclass=\"0x068000\"/>";
  Notes notes;
  const auto loaded = load_topology_cluster(notes.add_text("vm.xml", four_gpus(std::vector<std::string>(8, hidden))), 1,
                                            {}, catalog(), notes);
  ASSERT_TRUE(loaded) << notes.text();
  EXPECT_EQ(loaded->cluster.groups[0].spec.scale_up->switches, 6) << "as in a DGX A100";
}

TEST(TopologyCluster, NumbersGpusAsNcclDoes) {
  std::string swapped = replaced(kSmall, "dev=\"0\" sm", "dev=\"7\" sm");
  Notes notes;
  const auto loaded = load_topology_cluster(notes.add_text("t.xml", swapped), 1, {}, catalog(), notes);
  ASSERT_TRUE(loaded) << notes.text();
  EXPECT_EQ(loaded->cluster.groups[0].diagram.gpu_switch, (std::vector<std::uint32_t>{1, 0})) << "not by bus id";
}

TEST(TopologyCluster, SaysWhichBridgeSlowsNcclDown) {
  Notes notes;
  const std::string slow = replaced(kSmall, "class=\"0x060400\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"",
                                    "class=\"0x060400\" link_speed=\"2.5 GT/s PCIe\" link_width=\"1\"");
  const auto loaded = load_topology_cluster(notes.add_text("t.xml", slow), 1, {}, catalog(), notes);
  ASSERT_TRUE(loaded) << notes.text();
  EXPECT_NE(notes.text().find("t.xml:3:6: warning W0702: the link of PCIe switch 0 is PCIe 1 x1"), std::string::npos)
      << notes.text();
  EXPECT_TRUE(std::any_of(loaded->server.weak.begin(), loaded->server.weak.end(),
                          [](const WeakPart& part) { return part.kind == WeakPart::Kind::pcie_switch; }));
}

TEST(TopologyCluster, IsRefusedForOtherMakers) {
  Notes notes;
  EXPECT_FALSE(
      load_topology_cluster(notes.add_text("t.xml", replaced(kSmall, "0x10de", "0x1002")), 1, {}, catalog(), notes));
  EXPECT_NE(notes.text().find("t.xml:4:8: error E0702: a file of RCCL, with AMD GPUs"), std::string::npos)
      << notes.text();
  Notes others;
  EXPECT_FALSE(
      load_topology_cluster(others.add_text("t.xml", replaced(kSmall, "0x10de", "0x8086")), 1, {}, catalog(), others));
  EXPECT_NE(others.text().find("a GPU of vendor 0x8086, which is not NVIDIA"), std::string::npos) << others.text();
  // Its files may leave vendors out, and have words of their own.
  Notes words;
  const std::string rccl =
      replaced(replaced(kSmall, " vendor=\"0x10de\"", ""), "<gpu dev=\"0\"", "<gpu gcn=\"gfx942\" dev=\"0\"");
  EXPECT_FALSE(load_topology_cluster(words.add_text("t.xml", rccl), 1, {}, catalog(), words)) << rccl;
  EXPECT_NE(words.text().find("a file of RCCL"), std::string::npos) << words.text();
  Notes newer;
  EXPECT_FALSE(load_topology_cluster(newer.add_text("t.xml", replaced(kSmall, "version=\"1\"", "version=\"2\"")), 1, {},
                                     catalog(), newer));
  EXPECT_NE(newer.text().find("a file of RCCL"), std::string::npos) << newer.text();
}

// The interface for sockets stands below each CPU, and is one.
TEST(TopologyCluster, CountsAnInterfaceOnce) {
  std::string twice = kSmall;
  for (std::size_t at = 0; (at = twice.find("  </cpu>", at)) != std::string::npos; at += 80)
    twice.insert(at, "<nic><net name=\"eth0\" dev=\"1\" speed=\"400000\"/></nic>\n");
  Notes notes;
  const auto loaded = load_topology_cluster(notes.add_text("t.xml", twice), 1, {}, catalog(), notes);
  ASSERT_TRUE(loaded) << notes.text();
  EXPECT_EQ(loaded->cluster.nics, 2U);
}

TEST(TopologyCluster, OfSeveralHostsIsOneRack) {
  std::string two = kSmall;
  for (std::size_t at = 0; (at = two.find("<cpu ", at)) != std::string::npos; at += 20)
    two.insert(at + 5, "host_hash=\"0xa\" ");
  const std::size_t first = two.find("  <cpu");
  std::string second = two.substr(first, two.find("</system>") - first);
  for (std::size_t at = 0; (at = second.find("0xa\"", at)) != std::string::npos; ++at) second.replace(at, 3, "0xb");
  two.insert(two.find("</system>"), second);
  Notes notes;
  const auto loaded = load_topology_cluster(notes.add_text("rack.xml", two), 1, {}, catalog(), notes);
  ASSERT_TRUE(loaded) << notes.text();
  EXPECT_EQ(loaded->cluster.servers, 2U);
  EXPECT_EQ(loaded->cluster.groups[0].spec.scale_up->servers, 2);
  EXPECT_EQ(loaded->cluster.groups[0].gpus(), 2U);
}

// ---- files of real machines

struct Sample {
  const char* file;
  std::uint32_t gpus;
  const char* gpu;
  std::int64_t nvlinks;
  std::uint32_t nics;
  std::int64_t nic_gigabits;
  std::uint32_t switches;
  std::uint32_t sockets;
  std::int64_t pcie_gen;
};

class RealTopology : public ::testing::TestWithParam<Sample> {};

TEST_P(RealTopology, HasTheRightParts) {
  const Sample& sample = GetParam();
  WEFT_NEEDS_TRUTH(truth() / "topo" / sample.file);
  Notes notes;
  const auto loaded = load_topology_cluster(truth() / "topo" / sample.file, 2, {}, catalog(), notes);
  ASSERT_TRUE(loaded) << notes.text();
  const model::Group& group = loaded->cluster.groups[0];
  EXPECT_EQ(group.gpus(), sample.gpus);
  EXPECT_EQ(group.spec.gpu.kind, sample.gpu);
  EXPECT_EQ(loaded->server.nvlinks_per_gpu, sample.nvlinks);
  EXPECT_EQ(group.nics(), sample.nics);
  EXPECT_EQ(group.spec.nic.rate, gigabits_per_second(sample.nic_gigabits));
  EXPECT_EQ(group.diagram.pcie_switches, sample.switches);
  EXPECT_EQ(group.diagram.sockets, sample.sockets);
  EXPECT_EQ(group.spec.pcie_gen, sample.pcie_gen);
  EXPECT_EQ(group.spec.pcie_lanes, 16);
}

INSTANTIATE_TEST_SUITE_P(All, RealTopology,
                         ::testing::Values(Sample{"aws-p4d-24xl-topo.xml", 8, "a100-40-sxm", 12, 4, 100, 4, 2, 3},
                                           Sample{"aws-p4de-24xl-topo.xml", 8, "a100-80-sxm", 12, 4, 100, 4, 2, 3},
                                           Sample{"aws-g5.48xl-topo.xml", 8, "l40s", 0, 1, 100, 0, 2, 4},
                                           Sample{"aws-p5.48xl-topo-2025.xml", 8, "h100-sxm", 18, 32, 100, 8, 2, 5},
                                           Sample{"azure-ndv2-topo.xml", 8, "v100-sxm", 6, 1, 100, 0, 2, 3},
                                           Sample{"azure-ndv4-topo.xml", 8, "a100-80-sxm", 12, 8, 200, 4, 4, 4},
                                           Sample{"azure-ndv5-topo.xml", 8, "h100-sxm", 18, 8, 400, 8, 2, 5},
                                           Sample{"azure-ncv4-topo.xml", 4, "a100-80-sxm", 0, 1, 100, 0, 4, 4}),
                         [](const auto& sample) {
                           std::string name = sample.param.file;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

// GPU 0 and 1 of the ND A100 v4 are on the second NUMA node, with the NICs 0 and 1.
TEST(TopologyOfRealMachine, OrdersDevicesByBusAndKeepsThemNear) {
  WEFT_NEEDS_TRUTH(truth() / "topo/azure-ndv4-topo.xml");
  Notes notes;
  const auto loaded = load_topology_cluster(truth() / "topo/azure-ndv4-topo.xml", 1, {}, catalog(), notes);
  ASSERT_TRUE(loaded);
  const model::Diagram& diagram = loaded->cluster.groups[0].diagram;
  EXPECT_EQ(diagram.gpu_switch, (std::vector<std::uint32_t>{1, 1, 0, 0, 3, 3, 2, 2}));
  EXPECT_EQ(diagram.nic_switch, (std::vector<std::uint32_t>{1, 1, 0, 0, 3, 3, 2, 2}));
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(diagram.near_nics[i], std::vector<std::uint32_t>{i});
}

}  // namespace
}  // namespace weft::measured
