#include "measured/topology_writer.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "measured/testing_measured.hpp"

namespace weft::measured {
namespace {

using namespace testing;

model::Group group_of(const std::string& servers) {
  Notes notes;
  const auto source = notes.add_text("t.weft.yaml", "version: 1\nservers: " + servers + "\nfabric: {kind: none}\n");
  const auto cluster = model::load_cluster(source, "t", {}, catalog(), notes);
  EXPECT_TRUE(cluster) << notes.text();
  return cluster->groups[0];
}

void expect_same(const model::Group& written, const model::Group& read) {
  const model::ServerKind& a = written.spec;
  const model::ServerKind& b = read.spec;
  EXPECT_EQ(a.gpu.kind, b.gpu.kind);
  EXPECT_EQ(a.gpus, b.gpus);
  EXPECT_EQ(a.pcie_gen, b.pcie_gen);
  EXPECT_EQ(a.pcie_lanes, b.pcie_lanes);
  EXPECT_EQ(a.nics, b.nics);
  if (a.nics > 0) {
    EXPECT_EQ(a.nic.kind, b.nic.kind);
    EXPECT_EQ(a.nic.rate, b.nic.rate);
    EXPECT_EQ(a.nic.ports, b.nic.ports);
    EXPECT_EQ(a.nic.pcie_gen, b.nic.pcie_gen);
    EXPECT_EQ(a.nic.pcie_lanes, b.nic.pcie_lanes);
  }
  EXPECT_EQ(a.socket_link ? a.socket_link->kind : "", b.socket_link ? b.socket_link->kind : "");
  EXPECT_EQ(a.host_link ? a.host_link->one_way() : Bandwidth(), b.host_link ? b.host_link->one_way() : Bandwidth());
  ASSERT_EQ(a.scale_up.has_value(), b.scale_up.has_value());
  if (a.scale_up) {
    EXPECT_EQ(a.scale_up->link.one_way(), b.scale_up->link.one_way());
    EXPECT_EQ(a.scale_up->switches, b.scale_up->switches);
    EXPECT_EQ(a.scale_up->servers, b.scale_up->servers);
  }
  EXPECT_EQ(written.diagram.gpu_switch, read.diagram.gpu_switch);
  EXPECT_EQ(written.diagram.nic_switch, read.diagram.nic_switch);
  EXPECT_EQ(written.diagram.switch_socket, read.diagram.switch_socket);
  EXPECT_EQ(written.diagram.sockets, read.diagram.sockets);
  EXPECT_EQ(written.diagram.near_nics, read.diagram.near_nics);
  EXPECT_EQ(written.diagram.near_gpu, read.diagram.near_gpu);
}

void expect_round_trip(const model::Group& group) {
  Notes notes;
  const auto xml = write_topology(group, notes);
  ASSERT_TRUE(xml) << notes.text();
  const auto loaded = load_topology_cluster(notes.add_text("server.xml", *xml), 1, {}, catalog(), notes);
  ASSERT_TRUE(loaded) << notes.text() << *xml;
  EXPECT_TRUE(notes.sorted().empty()) << "nothing is left open: " << notes.text();
  expect_same(group, loaded->cluster.groups[0]);
}

TEST(TopologyWriter, OfEveryServerOfTheCatalogIsReadAsThatServer) {
  int nvidia = 0;
  for (const std::string& name : catalog().names("servers")) {
    if (name.starts_with("trn")) continue;
    SCOPED_TRACE(name);
    const bool rack = name.find("gb200") != std::string::npos || name.find("gb300") != std::string::npos;
    expect_round_trip(group_of(fmt::format("{{kind: {}, count: {}}}", name, rack ? 18 : 1)));
    ++nvidia;
  }
  EXPECT_GE(nvidia, 20);
}

TEST(TopologyWriter, SaysThatNcclDoesNotRunEverywhere) {
  for (const char* servers : {"{kind: trn2.48xlarge, count: 1}", "{kind: trn3, count: 36}"}) {
    Notes notes;
    EXPECT_FALSE(write_topology(group_of(servers), notes));
    EXPECT_NE(notes.text().find("E0706"), std::string::npos);
  }
}

TEST(TopologyWriter, WritesWhatNcclWrites) {
  Notes notes;
  const auto xml =
      write_topology(group_of("{kind: hgx-h100, count: 1, gpus: 1, nics: 1, pcie_switches: 1, sockets: 1}"), notes);
  EXPECT_EQ(xml, R"(<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="ffff:00:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:00:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0010:00:00.0" count="5" tclass="0x068000"/>
          <nvlink target="0010:01:00.0" count="5" tclass="0x068000"/>
          <nvlink target="0010:02:00.0" count="4" tclass="0x068000"/>
          <nvlink target="0010:03:00.0" count="4" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0001:00:00.0" class="0x020000" vendor="0x15b3" device="0x1021" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="nic0" dev="0" latency="0.000000" speed="400000" port="1" guid="0x1" maxconn="131072" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
</system>
)");
}

// Any placement that a cluster file can give, with switches that hold something.
RC_GTEST_PROP(TopologyWriter, KeepsAnyPlacement, ()) {
  const int switches = *rc::gen::inRange(0, 9);
  const int sockets = *rc::gen::inRange(1, 5);
  const int gpus = std::max(std::max(switches, sockets), *rc::gen::inRange(1, 17));
  const int nics = *rc::gen::inRange(0, 17);
  const int places = switches > 0 ? switches : sockets;
  std::vector<int> gpu_switch;  // every place and every socket has a GPU, in any order
  for (int i = 0; i < gpus; ++i) gpu_switch.push_back(i < places ? i : *rc::gen::inRange(0, places));
  std::vector<int> nic_switch;
  for (int i = 0; i < nics; ++i) nic_switch.push_back(*rc::gen::inRange(0, places));
  std::vector<int> switch_socket;
  for (int i = 0; i < switches; ++i) switch_socket.push_back(i * sockets / switches);
  if (switches > 0 && sockets > switches) return;  // a CPU without anything is not written by NCCL either
  const int ports = *rc::gen::inRange(1, 3);
  std::string servers = fmt::format(
      "{{kind: hgx-h100, count: 1, gpus: {}, nics: {}, sockets: {}, pcie_switches: {}, gpu_switch: [{}], nic_switch: "
      "[{}], "
      "switch_socket: [{}], nic: {{kind: connectx-7, ports: {}}}}}",
      gpus, nics, sockets, switches, fmt::join(gpu_switch, ", "), fmt::join(nic_switch, ", "),
      fmt::join(switch_socket, ", "), ports);
  Notes notes;
  const auto source = notes.add_text("t.weft.yaml", "version: 1\nservers: " + servers + "\nfabric: {kind: none}\n");
  const auto cluster = model::load_cluster(source, "t", {}, catalog(), notes);
  RC_ASSERT(cluster.has_value());
  const auto xml = write_topology(cluster->groups[0], notes);
  RC_ASSERT(xml.has_value());
  const auto loaded = load_topology_cluster(notes.add_text("server.xml", *xml), 1, {}, catalog(), notes);
  RC_ASSERT(loaded.has_value());
  const model::Diagram& a = cluster->groups[0].diagram;
  const model::Diagram& b = loaded->cluster.groups[0].diagram;
  RC_ASSERT(a.gpu_switch == b.gpu_switch);
  RC_ASSERT(a.nic_switch == b.nic_switch);
  RC_ASSERT(a.switch_socket == b.switch_socket);
  RC_ASSERT(loaded->cluster.groups[0].spec.nic.ports == (nics > 0 ? ports : loaded->cluster.groups[0].spec.nic.ports));
}

}  // namespace
}  // namespace weft::measured
