// The field tables of catalog entries.
#include "model/kinds.hpp"

#include "spec/fields.hpp"

namespace weft::spec {

using namespace weft::model;

namespace {

// Far above anything announced, and low enough that sums over the largest cluster can be computed.
constexpr std::int64_t kMaxRate = 1'000'000'000'000'000;         // 1 Pb/s
constexpr std::int64_t kMaxNicRate = 100'000'000'000'000;        // 100 Tb/s
constexpr std::int64_t kMaxMemoryRate = 8'000'000'000'000'000;   // 1 PB/s
constexpr std::int64_t kMaxMemory = 1'000'000'000'000'000;       // 1 PB
constexpr std::int64_t kMaxCompute = 1'000'000'000'000'000'000;  // 1,000 PFLOPS
constexpr std::int64_t kMaxPacketRate = 1'000'000'000'000;       // 1,000 Gpps
constexpr std::int64_t kMostHostTime = 1'000'000'000'000;        // a second of a host
constexpr std::int64_t kMaxPartPower = 100'000'000;              // 100 kW
constexpr std::int64_t kMaxServerPower = 10'000'000'000;         // 10 MW
constexpr std::int64_t kMaxPrice = 1'000'000'000'000;            // $1,000,000/h
constexpr std::int64_t kMaxPurchase = 100'000'000'000'000;       // $100M
constexpr std::int64_t kMaxLength = 100'000'000;                 // 100 km
constexpr std::int64_t kMaxPorts = 4096;
constexpr std::int64_t kMaxPerServer = 256;

}  // namespace

template <>
const Table& table_of<SourceRow>() {
  static const Table table =
      TableOf<SourceRow>("sources", "Where numbers of a catalog entry come from.")
          .field("fields", &SourceRow::fields,
                 {.text = "The fields this row is about; nested ones with dots.", .required = true})
          .field("from", &SourceRow::from, {.text = "The document, measurement or derivation.", .required = true})
          .field("value", &SourceRow::value, {.text = "What that source says, where it is not what is used."})
          .field("used", &SourceRow::used, {.text = "Whether the entry's number is this source's.", .fallback = "true"})
          .field("why", &SourceRow::why, {.text = "Why a source is not used."})
          .build();
  return table;
}

template <>
const Table& table_of<Kind>() {
  static const Table table =
      TableOf<Kind>("kind", "What every catalog entry has.")
          .field("kind", &Kind::kind, {.text = "Name of the catalog entry to start from."})
          .field("base", &Kind::base, {.text = "In a catalog: the entry of the same section that this one refines."})
          .field("text", &Kind::text, {.text = "One line saying what it is."})
          .field("sources", &Kind::sources, {.text = "Where the numbers come from."})
          .build();
  return table;
}

template <>
const Table& table_of<GpuKind>() {
  static const Table table =
      TableOf<GpuKind>("gpu", "An accelerator.")
          .include<Kind>()
          .field("memory", &GpuKind::memory,
                 {.text = "Device memory.", .example = "80GB", .required = true, .min = 1, .max = kMaxMemory})
          .field("memory_bandwidth", &GpuKind::memory_bandwidth,
                 {.text = "Bandwidth of the device memory.", .example = "3.35TB/s", .min = 1, .max = kMaxMemoryRate})
          .field("fp16_dense", &GpuKind::fp16_dense,
                 {.text = "Dense 16-bit compute rate.", .example = "989TFLOPS", .min = 1, .max = kMaxCompute})
          .field("fp8_dense", &GpuKind::fp8_dense,
                 {.text = "Dense 8-bit compute rate.", .example = "1979TFLOPS", .min = 1, .max = kMaxCompute})
          .field("fp4_dense", &GpuKind::fp4_dense,
                 {.text = "Dense 4-bit compute rate.", .example = "9PFLOPS", .min = 1, .max = kMaxCompute})
          .field("multiprocessors", &GpuKind::multiprocessors,
                 {.text = "Units that a kernel's tiles are handed out to: SMs, NeuronCores.", .min = 1, .max = 4096})
          .field("power", &GpuKind::power,
                 {.text = "Thermal design power.", .example = "700W", .required = true, .min = 1, .max = kMaxPartPower})
          .field("scale_up", &GpuKind::scale_up,
                 {.text = "Its scale-up link generation, a name in the catalog section `links`."})
          .build();
  return table;
}

template <>
const Table& table_of<LinkKind>() {
  static const Table table =
      TableOf<LinkKind>("scale_up_link", "A link inside a server or scale-up domain.")
          .include<Kind>()
          .field("both_ways", &LinkKind::both_ways,
                 {.text = "Bandwidth per GPU or socket, both directions counted together.",
                  .example = "900GB/s",
                  .min = 1,
                  .max = kMaxRate})
          .field("per_lane_both_ways", &LinkKind::per_lane_both_ways,
                 {.text = "PCIe: bandwidth per lane, both directions counted together.", .min = 1, .max = kMaxRate})
          .field("links", &LinkKind::links, {.text = "Physical links per GPU.", .min = 1, .max = kMaxPerServer})
          .field("latency", &LinkKind::latency,
                 {.text = "Of one link, one way. A way through a switch passes two links, so each has half "
                          "of what one crossing takes.",
                  .example = "300ns",
                  .min = 0,
                  .max = 1'000'000'000})
          .build();
  return table;
}

template <>
const Table& table_of<NicKind>() {
  static const Table table =
      TableOf<NicKind>("nic", "A NIC on the fabric.")
          .include<Kind>()
          .field("rate", &NicKind::rate,
                 {.text = "Of the whole NIC, one way.",
                  .example = "400Gbps",
                  .required = true,
                  .min = 1'000'000'000,
                  .max = kMaxNicRate})
          .field("ports", &NicKind::ports,
                 {.text = "Ports the rate is split over.", .fallback = "1", .min = 1, .max = 16})
          .field("packet_rate", &NicKind::packet_rate,
                 {.text = "Packets per second, one way.", .example = "200Mpps", .min = 1, .max = kMaxPacketRate})
          .field("latency", &NicKind::latency,
                 {.text = "What the NIC adds one way.",
                  .example = "600ns",
                  .required = true,
                  .min = 0,
                  .max = 1'000'000'000})
          .field("pcie_gen", &NicKind::pcie_gen,
                 {.text = "PCIe generation of its slot.", .required = true, .min = 3, .max = 7})
          .field("pcie_lanes", &NicKind::pcie_lanes,
                 {.text = "PCIe lanes of its slot.", .required = true, .min = 1, .max = 32})
          .field("power", &NicKind::power, {.text = "Typical.", .example = "25W", .min = 1, .max = kMaxPartPower})
          .field("purchase", &NicKind::purchase,
                 {.text = "What one costs to buy, on top of the server. Default: in the server's price.",
                  .example = "$1.5k",
                  .min = 0,
                  .max = kMaxPurchase})
          .field("efa", &NicKind::efa, {.text = "EFA generation, for AWS's NICs.", .min = 1, .max = 9})
          .build();
  return table;
}

template <>
const Table& table_of<SwitchKind>() {
  static const Table table =
      TableOf<SwitchKind>("switch", "A switch.")
          .include<Kind>()
          .field("ports", &SwitchKind::ports,
                 {.text = "Ports at the fastest rate.", .required = true, .min = 1, .max = kMaxPorts})
          .field("rate", &SwitchKind::rate,
                 {.text = "Fastest rate of a port, one way.",
                  .example = "800Gbps",
                  .required = true,
                  .min = 1'000'000'000,
                  .max = kMaxRate})
          .field("breakout", &SwitchKind::breakout,
                 {.text = "How one port splits into slower ones.", .example = "[2x400Gbps, 4x200Gbps]"})
          .field("buffer", &SwitchKind::buffer,
                 {.text = "Packet memory of the whole switch.",
                  .example = "64MiB",
                  .required = true,
                  .min = 1,
                  .max = kMaxMemory})
          .field("latency", &SwitchKind::latency,
                 {.text = "Port to port, first bit in to first bit out (cut-through).",
                  .example = "600ns",
                  .required = true,
                  .min = 0,
                  .max = 1'000'000'000})
          .field("link_layer", &SwitchKind::link_layer,
                 {.text = "What its links speak. InfiniBand's have credits and carry its own transport, and that is "
                          "what a cluster file with such a switch gets where it says nothing else.",
                  .fallback = "ethernet"})
          .field("reduces", &SwitchKind::reduces,
                 {.text = "Whether it can add up what passes it (SHARP), which NCCL's CollNet needs.",
                  .fallback = "false"})
          .field("power", &SwitchKind::power,
                 {.text = "Typical, of the whole switch, without optics.",
                  .example = "1500W",
                  .min = 1,
                  .max = kMaxPartPower})
          .field("purchase", &SwitchKind::purchase,
                 {.text = "What one costs to buy, without optics.", .example = "$30k", .min = 0, .max = kMaxPurchase})
          .build();
  return table;
}

template <>
const Table& table_of<CableKind>() {
  static const Table table =
      TableOf<CableKind>("cable", "A kind of cable.")
          .include<Kind>()
          .field("latency_per_metre", &CableKind::latency_per_metre,
                 {.text = "Propagation per metre.",
                  .example = "4.9ns",
                  .required = true,
                  .min = 3'335,  // light in vacuum
                  .max = 1'000'000})
          .field("max_length", &CableKind::max_length,
                 {.text = "Longest that is sold at 400G and above.", .example = "3m", .min = 1, .max = kMaxLength})
          .field("power", &CableKind::power,
                 {.text = "Of what is plugged in at one end, such as a transceiver. Default: not known, and not in any "
                          "sum.",
                  .example = "9W",
                  .min = 0,
                  .max = kMaxPartPower})
          .field("purchase", &CableKind::purchase,
                 {.text = "What one costs to buy, with what is plugged in at both ends.",
                  .example = "$1.2k",
                  .min = 0,
                  .max = kMaxPurchase})
          .build();
  return table;
}

template <>
const Table& table_of<ScaleUp>() {
  static const Table table =
      TableOf<ScaleUp>("scale_up", "The scale-up network of a server or rack (NVLink, NeuronLink).")
          .field("link", &ScaleUp::link, {.text = "Link generation.", .required = true, .section = "links"})
          .field("switches", &ScaleUp::switches,
                 {.text = "Switches of the domain; every GPU reaches each of them. 0 with a torus.",
                  .fallback = "0",
                  .min = 0,
                  .max = 1024})
          .field("servers", &ScaleUp::servers,
                 {.text = "Servers that form one domain: 1, or 18 trays in an NVL72 rack.",
                  .fallback = "1",
                  .min = 1,
                  .max = 1024})
          .field("torus", &ScaleUp::torus,
                 {.text = "Without switches: the dimensions of the torus that joins the chips.",
                  .example = "[4, 4]",
                  .min = 1,
                  .max = 1024})
          .field("power", &ScaleUp::power,
                 {.text = "Of a domain, beside its servers: switch trays, power shelves. Default: not known, or within "
                          "the servers.",
                  .example = "20kW",
                  .min = 0,
                  .max = kMaxServerPower})
          .build();
  return table;
}

template <>
const Table& table_of<HostCosts>() {
  static const Table table =
      TableOf<HostCosts>(
          "host", "A transport that is a program, not the NIC's: what it takes of its host's time, for each NIC.")
          .field("call", &HostCosts::call,
                 {.text = "Of one call of the kernel, which hands packets down or takes all that have come.",
                  .fallback = "0us",
                  .example = "2us",
                  .min = 0,
                  .max = kMostHostTime})
          .field("packet", &HostCosts::packet,
                 {.text = "Of each packet beside its call; of those that arrive as one, once.",
                  .fallback = "0us",
                  .example = "300ns",
                  .min = 0,
                  .max = kMostHostTime})
          .field("train", &HostCosts::train,
                 {.text = "Bytes that a call hands down on one path at most (GSO); less than a packet: one packet.",
                  .fallback = "64KiB",
                  .min = 1,
                  .max = 1 << 20})
          .field("merged", &HostCosts::merged,
                 {.text = "Bytes of one path that arrive as one packet at most (GRO); less than two packets: none do.",
                  .fallback = "64KiB",
                  .min = 1,
                  .max = 1 << 20})
          .field("buffer", &HostCosts::buffer,
                 {.text = "That packets have which wait for the program; what comes beyond it is lost.",
                  .fallback = "32MiB",
                  .min = 65536,
                  .max = kMaxMemory})
          .build();
  return table;
}

template <>
const Table& table_of<ServerKind>() {
  static const Table table =
      TableOf<ServerKind>("server", "A server as a block diagram: counts, and where parts hang.")
          .include<Kind>()
          .field("gpu", &ServerKind::gpu, {.text = "Accelerator.", .required = true, .section = "gpus"})
          .field("gpus", &ServerKind::gpus,
                 {.text = "Accelerators per server.", .example = "8", .required = true, .min = 1, .max = kMaxPerServer})
          .field("nic", &ServerKind::nic,
                 {.text = "NIC on the GPU fabric.", .fallback = "connectx-7", .section = "nics"})
          .field("nics", &ServerKind::nics,
                 {.text = "NICs per server. Fewer than in the kind: spread evenly over the PCIe "
                          "switches.",
                  .fallback = "0",
                  .min = 0,
                  .max = kMaxPerServer})
          .field("sockets", &ServerKind::sockets, {.text = "CPUs.", .fallback = "1", .min = 1, .max = 16})
          .field("socket_link", &ServerKind::socket_link, {.text = "Link between CPUs.", .section = "links"})
          .field("pcie_gen", &ServerKind::pcie_gen,
                 {.text = "PCIe generation of the server.", .fallback = "5", .min = 3, .max = 7})
          .field(
              "pcie_lanes", &ServerKind::pcie_lanes,
              {.text = "Lanes from CPU to PCIe switch and from there to a GPU.", .fallback = "16", .min = 1, .max = 32})
          .field("pcie_switches", &ServerKind::pcie_switches,
                 {.text = "PCIe switches, each on a root complex of its own; 0: everything hangs "
                          "off the CPUs.",
                  .fallback = "0",
                  .min = 0,
                  .max = kMaxPerServer})
          .field("gpu_switch", &ServerKind::gpu_switch,
                 {.text = "PCIe switch (or CPU, without switches) of each GPU. Default: spread "
                          "evenly in order.",
                  .example = "[0, 0, 1, 1]",
                  .min = 0,
                  .max = kMaxPerServer})
          .field("nic_switch", &ServerKind::nic_switch,
                 {.text = "PCIe switch (or CPU) of each NIC. Default: spread evenly in order.",
                  .example = "[0, 2]",
                  .min = 0,
                  .max = kMaxPerServer})
          .field("switch_socket", &ServerKind::switch_socket,
                 {.text = "CPU of each PCIe switch. Default: spread evenly in order.",
                  .example = "[0, 0, 1, 1]",
                  .min = 0,
                  .max = 16})
          .field("host_link", &ServerKind::host_link,
                 {.text = "Link from GPU to CPU where it is not PCIe.", .section = "links"})
          .field("gpudirect", &ServerKind::gpudirect,
                 {.text = "Whether NICs reach the memory of GPUs (GPUDirect RDMA). Without it everything rests in host "
                          "memory on its way.",
                  .fallback = "true"})
          .field("p2p", &ServerKind::p2p,
                 {.text = "Whether GPUs of a server reach each other's memory. Without it (NCCL_P2P_DISABLE=1, ACS, an "
                          "IOMMU) they use no scale-up network and meet in host memory.",
                  .fallback = "true"})
          .field("host", &ServerKind::host,
                 {.text = "What a transport costs that is a program. Default: it is the NIC's, and costs nothing. "
                          "Packets only."})
          .field("scale_up", &ServerKind::scale_up, {.text = "Scale-up network between its GPUs."})
          .field("vcpus", &ServerKind::vcpus, {.text = "Virtual CPUs.", .min = 1, .max = 100'000})
          .field("memory", &ServerKind::memory,
                 {.text = "Host memory.", .example = "2TiB", .min = 1, .max = kMaxMemory})
          .field("nvme_count", &ServerKind::nvme_count, {.text = "Local NVMe drives.", .min = 0, .max = 1024})
          .field("nvme_size", &ServerKind::nvme_size,
                 {.text = "Size of one drive.", .example = "3.84TB", .min = 1, .max = kMaxMemory})
          .field("power", &ServerKind::power,
                 {.text = "Of the whole server, at most.", .example = "10.2kW", .min = 1, .max = kMaxServerPower})
          .field("price", &ServerKind::price,
                 {.text = "On demand, per server.", .example = "$98.32/h", .min = 0, .max = kMaxPrice})
          .field("purchase", &ServerKind::purchase,
                 {.text = "What one costs to buy. Summed separately from prices per hour.",
                  .example = "$250k",
                  .min = 0,
                  .max = kMaxPurchase})
          .field("ultracluster", &ServerKind::ultracluster, {.text = "EC2 UltraClusters generation it is offered in."})
          .build();
  return table;
}

}  // namespace weft::spec
