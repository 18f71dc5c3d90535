#include "measured/named_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "measured/hardware.hpp"
#include "measured/server_outline.hpp"

namespace weft::measured {
namespace {

// The board that a GPU is mostly sold on, and the instance with Amazon's NICs.
struct Board {
  std::string_view gpu;
  std::string_view server;
  std::string_view with_efa;
};
constexpr std::array kBoards = {
    Board{"a100-40-sxm", "nd-a100-v4", "p4d.24xlarge"}, Board{"a100-80-sxm", "hgx-a100", "p4de.24xlarge"},
    Board{"h100-sxm", "hgx-h100", "p5.48xlarge"},       Board{"h200-sxm", "hgx-h200", "p5en.48xlarge"},
    Board{"h800-sxm", "hgx-h800", "hgx-h800"},  // no cloud sells it with EFA
    Board{"b200", "hgx-b200", "p6-b200.48xlarge"},      Board{"b300", "hgx-b300", "p6-b300.48xlarge"},
    Board{"gb200", "gb200-nvl72", "p6e-gb200"},         Board{"gb300", "gb300-nvl72", "p6e-gb300"},
};

// The most that NCCL gets over the NVLinks of a generation: its own figure for a ring on Ampere, and the link's rate
// and a little more where switches reduce.
constexpr std::int64_t kMostOfAmpere = 240;  // GB/s
constexpr std::int64_t kMostOfHopper = 490;

constexpr Bandwidth kPortOfHopper = gigabits_per_second(400);  // on boards as they are mostly sold
constexpr Bandwidth kPortOfBlackwellUltra = gigabits_per_second(800);

// The oldest generation that fits what was seen.
std::string_view gpu_that_fits(const NamedParts& parts) {
  const std::int64_t gigabytes = parts.busbw.count() / 8'000'000'000;
  if (parts.port >= kPortOfBlackwellUltra) return "b300";
  if (gigabytes > kMostOfHopper) return "b200";
  return parts.nvls || gigabytes > kMostOfAmpere || parts.port >= kPortOfHopper ? "h100-sxm" : "a100-80-sxm";
}

const GpuChip& chip_of(const NamedParts& parts, NamedCluster& out) {
  if (const GpuChip* chip = gpu_by_name(parts.gpu)) return *chip;
  const std::string_view kind = gpu_that_fits(parts);
  out.gpu_known = false;
  out.assumed.push_back(
      fmt::format("nothing says which GPUs these are: {} was taken{}; --topo, --smi or a cluster file "
                  "says it, and only then do the figures of the model mean something",
                  kind, kind == gpu_that_fits({}) ? "" : ", the oldest that fits what is known"));
  return *gpu_by_kind(kind);
}

std::string fabric_text(std::int64_t ports, Bandwidth rate) {
  if (ports == 0) return "fabric: {kind: none}\n";
  return fmt::format(
      "fabric: {{kind: single-chassis, switch: {{kind: tomahawk-5, ports: {}, rate: {}, breakout: "
      "[]}}}}\n",
      ports, exact(rate));
}

// NICs spread over the PCIe switches like those of the catalog's server.
std::string board_text(const Board& board, const GpuChip& chip, const NamedParts& parts, const model::Catalog& catalog,
                       spec::Diagnostics& diagnostics) {
  const std::string name(parts.efa ? board.with_efa : board.server);
  const auto server = catalog.load<model::ServerKind>("servers", name, diagnostics);
  const std::int64_t nics = parts.nics > 0 && !parts.efa ? parts.nics : server ? server->nics : 0;
  std::string out = fmt::format("version: 1\nservers: {{kind: {}, count: {}", name, parts.nodes);
  if (server && nics != server->nics) {
    out += fmt::format(", nics: {}", nics);
    std::string places;
    const std::int64_t switches = std::max<std::int64_t>(1, server->pcie_switches);
    for (std::int64_t i = 0; i < nics; ++i) places += fmt::format("{}{}", i == 0 ? "" : ", ", i * switches / nics);
    out += fmt::format(", nic_switch: [{}]", places);
  }
  const auto link = catalog.load<model::LinkKind>("links", std::string(chip.nvlink), diagnostics);
  if (chip.links > 0 && link && link->both_ways && link->links && server && server->scale_up)
    out += fmt::format(", scale_up: {{link: {{kind: {}, both_ways: {}, links: {}}}, switches: {}}}", chip.nvlink,
                       exact(*link->both_ways * chip.links / *link->links), chip.links, server->scale_up->switches);
  out += "}\n";
  const std::int64_t ports = server ? nics * server->nic.ports * parts.nodes : 0;
  return out + fabric_text(parts.nodes > 1 ? ports : 0,
                           server ? server->nic.rate / std::max<std::int64_t>(1, server->nic.ports) : Bandwidth{});
}

// NICs in slots of the CPUs.
ServerOutline slots(const GpuChip& chip, const NamedParts& parts) {
  ServerOutline out;
  out.gpu = chip.kind;
  out.gpus = std::max<std::int64_t>(1, parts.gpus);
  out.pcie_gen = chip.pcie_gen;
  out.sockets = out.gpus > 4 ? 2 : 1;
  if (out.sockets > 1) out.socket_link = "upi";
  for (std::int64_t i = 0; i < out.gpus; ++i) out.gpu_switch.push_back(i * out.sockets / out.gpus);
  out.nics = parts.nodes > 1 ? std::max<std::int64_t>(1, parts.nics) : 0;
  if (out.nics == 0) return out;
  const std::int64_t gigabits = std::int64_t{100} << std::clamp<std::int64_t>(chip.pcie_gen - 3, 0, 2);
  out.nic = nic_by_rate(gigabits);
  out.nic_rate = gigabits_per_second(gigabits);
  out.nic_gen = out.pcie_gen;
  for (std::int64_t i = 0; i < out.nics; ++i) out.nic_switch.push_back(i * out.sockets / out.nics);
  return out;
}

}  // namespace

std::int64_t usual_gpus(std::string_view gpu) {
  return gpu.find("GB200") != std::string_view::npos || gpu.find("GB300") != std::string_view::npos ? 4 : 8;
}

NamedCluster cluster_of(const NamedParts& parts, const model::Catalog& catalog, spec::Diagnostics& diagnostics) {
  NamedCluster out;
  if (parts.server) {
    out.text = cluster_text(*parts.server, parts.nodes, catalog, diagnostics);
    out.assumed.push_back("no file describes the machine: it was read from the log, where NCCL draws it");
    return out;
  }
  const GpuChip& chip = chip_of(parts, out);
  const auto board =
      std::find_if(kBoards.begin(), kBoards.end(), [&](const Board& each) { return each.gpu == chip.kind; });
  const bool on_board =
      !chip.nvlink.empty() && parts.gpu.find("PCI") == std::string::npos && parts.gpu.find("NVL") == std::string::npos;
  if (on_board && board != kBoards.end()) {
    out.text = board_text(*board, chip, parts, catalog, diagnostics);
    out.assumed.push_back(fmt::format("no file describes the machine: {} of the catalog was taken for {}{}",
                                      parts.efa ? board->with_efa : board->server, parts.gpu.empty() ? "it" : parts.gpu,
                                      parts.nics > 0 ? fmt::format(", with {}", counted(parts.nics, "NIC")) : ""));
    return out;
  }
  ServerOutline server = slots(chip, parts);
  if (on_board) {  // V100: eight on one board, six links each
    server.gpus = std::max<std::int64_t>(8, server.gpus);
    server.gpu_switch.assign(static_cast<std::size_t>(server.gpus), 0);
    for (std::size_t i = server.gpu_switch.size() / 2; i < server.gpu_switch.size(); ++i) server.gpu_switch[i] = 1;
    server.sockets = 2;
    server.socket_link = "upi";
    server.nvlink = chip.nvlink;
    server.nvlinks_per_gpu = 6;
    server.nvswitches = 1;
  }
  out.text = cluster_text(server, parts.nodes, catalog, diagnostics);
  out.assumed.push_back(fmt::format(
      "no file describes the machine: {} in slots of {} was taken{}",
      parts.gpu.empty() ? std::string(chip.kind) : parts.gpu, counted(server.sockets, "CPU"),
      server.nics > 0 ? fmt::format(", with {} of {}", counted(server.nics, "NIC"), brief(server.nic_rate)) : ""));
  return out;
}

}  // namespace weft::measured
