#include "measured/topology_writer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "measured/hardware.hpp"

namespace weft::measured {
namespace {

constexpr std::string_view kGpuClass = "0x030200";
constexpr std::string_view kBridgeClass = "0x060400";
constexpr std::string_view kNetworkClass = "0x020000";
constexpr std::string_view kNvSwitchClass = "0x068000";

// Bus ids only have to differ: a domain per sort of device.
enum class Domain : unsigned { gpu = 0, nic = 1, nvswitch = 0x10, pcie_switch = 0xffff };

std::string bus_id(Domain domain, std::uint32_t index) {
  return fmt::format("{:04x}:{:02x}:00.0",
                     static_cast<unsigned>(domain) + (domain == Domain::nvswitch ? index >> 8 : 0), index & 0xff);
}

std::string_view link_speed(std::int64_t gen) {
  constexpr std::string_view kSpeeds[] = {"", "2.5", "5.0", "8.0", "16.0", "32.0", "64.0", "128.0"};
  return kSpeeds[std::clamp<std::int64_t>(gen, 0, 7)];
}

class Writer {
 public:
  Writer(const model::Group& group, const GpuChip& chip) : spec_(group.spec), diagram_(group.diagram), chip_(chip) {}

  std::string write() {
    line("<system version=\"1\">");
    const std::int64_t hosts = spec_.scale_up ? spec_.scale_up->servers : 1;
    for (host_ = 0; host_ < hosts; ++host_)
      for (std::uint32_t socket = 0; socket < diagram_.sockets; ++socket) cpu(socket, hosts > 1);
    depth_ = 0;
    line("</system>");
    return std::move(out_);
  }

 private:
  void line(std::string_view text) { out_ += fmt::format("{:{}}{}\n", "", 2 * depth_, text); }

  void cpu(std::uint32_t socket, bool several_hosts) {
    const CpuModel& model = cpu_by_link(spec_.socket_link ? spec_.socket_link->kind : "");
    std::string head = several_hosts ? fmt::format("<cpu host_hash=\"0x{:x}\"", host_ + 1) : "<cpu";
    head += fmt::format(" numaid=\"{}\" arch=\"{}\"", socket, model.arch);
    if (!model.vendor.empty())
      head += fmt::format(" vendor=\"{}\" familyid=\"{}\" modelid=\"{}\"", model.vendor, model.family, model.model);
    depth_ = 1;
    line(head + ">");
    depth_ = 2;
    if (diagram_.pcie_switches == 0) devices(socket);
    for (std::uint32_t i = 0; i < diagram_.pcie_switches; ++i)
      if (diagram_.switch_socket[i] == socket) pcie_switch(i);
    depth_ = 1;
    line("</cpu>");
  }

  void pcie_switch(std::uint32_t index) {
    line(fmt::format("<pci busid=\"{}\" class=\"{}\" {}>", bus_id(Domain::pcie_switch, index), kBridgeClass,
                     link(spec_.pcie_gen, spec_.pcie_lanes)));
    ++depth_;
    devices(index);
    --depth_;
    line("</pci>");
  }

  std::string link(std::int64_t gen, std::int64_t lanes) const {
    return fmt::format("link_speed=\"{} GT/s PCIe\" link_width=\"{}\"", link_speed(gen), lanes);
  }

  // What hangs off a PCIe switch, or off a CPU where there are none.
  void devices(std::uint32_t place) {
    for (std::uint32_t i = 0; i < diagram_.gpu_switch.size(); ++i)
      if (diagram_.gpu_switch[i] == place) gpu(i);
    for (std::uint32_t i = 0; i < diagram_.nic_switch.size(); ++i)
      if (diagram_.nic_switch[i] == place) nic(i);
  }

  void gpu(std::uint32_t index) {
    line(fmt::format("<pci busid=\"{}\" class=\"{}\" vendor=\"{:#06x}\" device=\"{:#06x}\" {}>",
                     bus_id(Domain::gpu, index), kGpuClass, kNvidia, chip_.device,
                     link(spec_.pcie_gen, spec_.pcie_lanes)));
    ++depth_;
    const bool alone = !spec_.scale_up && !spec_.host_link;
    line(fmt::format("<gpu dev=\"{}\" sm=\"{}\" rank=\"{}\" gdr=\"1\"{}>", index, chip_.sm, host_ * spec_.gpus + index,
                     alone ? "/" : ""));
    ++depth_;
    nvlinks();
    c2c();
    --depth_;
    if (!alone) line("</gpu>");
    --depth_;
    line("</pci>");
  }

  // Links are spread over the switches, the first ones getting what does not divide.
  void nvlinks() {
    if (!spec_.scale_up) return;
    const std::int64_t switches = spec_.scale_up->switches;
    const std::int64_t links = spec_.scale_up->link.links.value_or(switches);
    for (std::int64_t i = 0; i < switches; ++i)
      if (const std::int64_t count = links / switches + (i < links % switches ? 1 : 0); count > 0)
        line(fmt::format("<nvlink target=\"{}\" count=\"{}\" tclass=\"{}\"/>",
                         bus_id(Domain::nvswitch, static_cast<std::uint32_t>(i)), count, kNvSwitchClass));
  }

  void c2c() {
    if (!spec_.host_link) return;
    const std::int64_t megabytes = spec_.host_link->one_way().count() / 8'000'000;
    const std::int64_t links = megabytes % 10 == 0 ? 10 : 1;  // a Grace Hopper has ten
    line(fmt::format("<c2c bw=\"{}\" count=\"{}\"/>", megabytes / links, links));
  }

  void nic(std::uint32_t index) {
    const NicChip* chip = nic_by_kind(spec_.nic.kind);
    const std::string id =
        chip == nullptr ? "" : fmt::format(" vendor=\"{:#06x}\" device=\"{:#06x}\"", chip->vendor, chip->device);
    line(fmt::format("<pci busid=\"{}\" class=\"{}\"{} {}>", bus_id(Domain::nic, index), kNetworkClass, id,
                     link(spec_.nic.pcie_gen, spec_.nic.pcie_lanes)));
    ++depth_;
    line("<nic>");
    ++depth_;
    for (std::int64_t port = 0; port < spec_.nic.ports; ++port) {
      const std::int64_t dev = index * spec_.nic.ports + port;
      // The guid is that of the NIC, so that NCCL knows that its ports share it.
      line(
          fmt::format("<net name=\"nic{}{}\" dev=\"{}\" latency=\"0.000000\" speed=\"{}\" port=\"{}\" guid=\"0x{:x}\" "
                      "maxconn=\"131072\" gdr=\"1\"/>",
                      index, spec_.nic.ports > 1 ? fmt::format("_{}", port) : "", dev,
                      spec_.nic.port_rate().count() / 1'000'000, port + 1, host_ * 256 + index + 1));
    }
    --depth_;
    line("</nic>");
    --depth_;
    line("</pci>");
  }

  const model::ServerGroup& spec_;
  const model::Diagram& diagram_;
  const GpuChip& chip_;
  std::int64_t host_ = 0;
  std::size_t depth_ = 0;
  std::string out_;
};

// Own kinds of GPU are described like one that is joined in the same way.
const GpuChip* chip_for(const model::ServerKind& server) {
  if (const GpuChip* chip = gpu_by_kind(server.gpu.kind)) return chip;
  if (server.scale_up && !server.scale_up->link.kind.starts_with("nvlink")) return nullptr;
  const std::string_view link =
      server.scale_up ? std::string_view(server.scale_up->link.kind) : std::string_view(server.gpu.scale_up);
  return link == "nvlink2"   ? gpu_by_kind("v100-sxm")
         : link == "nvlink3" ? gpu_by_kind("a100-80-sxm")
         : link == "nvlink4" ? gpu_by_kind("h100-sxm")
         : link == "nvlink5" ? gpu_by_kind("b200")
         : link.empty()      ? gpu_by_kind("l40s")
                             : nullptr;
}

}  // namespace

std::optional<std::string> write_topology(const model::Group& group, spec::Diagnostics& diagnostics) {
  const GpuChip* chip = chip_for(group.spec);
  const bool switched = !group.spec.scale_up || group.spec.scale_up->torus.empty();
  if (chip != nullptr && switched) return Writer(group, *chip).write();
  diagnostics.add(spec::Error::not_for_nccl, {}, fmt::format("NCCL does not run on '{}'", group.spec.gpu.kind),
                  "a server with NVIDIA GPUs");
  return std::nullopt;
}

}  // namespace weft::measured
