#include "measured/log_topology.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "measured/hardware.hpp"
#include "measured/text_lines.hpp"

namespace weft::measured {
namespace {

using Kind = LogPart::Kind;

constexpr std::int64_t kVirtual = 1'000'000;  // NCCL gives 5000 GB/s to what hangs nowhere

struct Slot {
  std::int64_t gen = 3;
  std::int64_t lanes = 16;
};

// What NCCL reckons with for PCIe, 12 GB/s for sixteen lanes of the third generation, is below what
// the wire has.
Slot slot_of(std::int64_t rate) {
  if (rate >= 40'000) return {5, 16};
  if (rate >= 20'000) return {4, 16};
  if (rate >= 10'000) return {3, 16};
  return rate >= 5'000 ? Slot{3, 8} : Slot{3, 4};
}

struct Device {
  std::size_t socket = 0;
  std::int64_t root = -1;  // below which PCIe switch; -1: at the CPU
  std::int64_t pcie = 0;   // the narrowest link on the way
  std::int64_t nvlink = 0;
  bool through_switch = false;
  std::int64_t net = 0;
};

class Walk {
 public:
  explicit Walk(const std::vector<LogPart>& parts) {
    for (const LogPart& part : parts) take(part);
  }

  std::vector<Device> gpus;
  std::vector<Device> nics;
  std::size_t sockets = 0;
  std::vector<std::size_t> root_socket;

 private:
  struct Level {
    std::size_t indent;
    std::int64_t root;
    std::int64_t pcie;
    Device* device;
  };

  void take(const LogPart& part) {
    if (part.kind == Kind::cpu) {
      if (part.link.empty()) {
        ++sockets;
        levels_.clear();
      }
      return;
    }
    if (sockets == 0) return;  // the beginning was cut off
    while (!levels_.empty() && levels_.back().indent >= part.indent) levels_.pop_back();
    const Level above = levels_.empty() ? Level{0, -1, INT64_MAX, nullptr} : levels_.back();
    Device* const device = last_device_;
    if (part.kind == Kind::net && device != nullptr) device->net += part.rate;
    if (part.link == "NVL" && device != nullptr) {
      device->nvlink += part.rate;
      device->through_switch |= part.kind == Kind::nvswitch;
    }
    if (part.link != "PCI" || part.rate >= kVirtual) return;
    Level level{part.indent, above.root, std::min(above.pcie, part.rate), nullptr};
    if (part.kind == Kind::pci && level.root < 0) {
      level.root = static_cast<std::int64_t>(root_socket.size());
      root_socket.push_back(sockets - 1);
    }
    if (part.kind == Kind::gpu || part.kind == Kind::nic) add(part.kind == Kind::gpu ? gpus : nics, level);
    levels_.push_back(level);
  }

  void add(std::vector<Device>& devices, const Level& level) {
    constexpr std::size_t kMostDevices = 256;
    if (devices.size() >= kMostDevices) return;
    if (devices.empty()) devices.reserve(kMostDevices);  // so that last_card_ stays where it is
    devices.push_back({sockets - 1, level.root, level.pcie, 0, false, 0});
    last_device_ = &devices.back();
  }

  std::vector<Level> levels_;
  Device* last_device_ = nullptr;
};

// By its NVLinks, of which NCCL reckons with 20 to 21 GB/s each, 40 from Blackwell on.
const GpuChip& chip_of(const Device& gpu, const std::string& name) {
  if (const GpuChip* chip = gpu_by_name(name)) return *chip;
  if (gpu.nvlink >= 600'000) return *gpu_by_kind("b200");
  if (gpu.nvlink >= 300'000) return *gpu_by_kind("h100-sxm");
  if (gpu.nvlink >= 130'000) return *gpu_by_kind("a100-80-sxm");
  if (gpu.nvlink > 0) return *gpu_by_kind("v100-sxm");
  return gpu_by_generation(slot_of(gpu.pcie).gen, false);
}

void place(const Walk& walk, ServerOutline& out) {
  const bool switched =
      std::any_of(walk.gpus.begin(), walk.gpus.end(), [](const Device& gpu) { return gpu.root >= 0; });
  // A NIC at the CPU beside switches is a switch of its own to the model.
  std::vector<std::size_t> roots = walk.root_socket;
  const auto place_of = [&](const Device& device) {
    if (!switched) return static_cast<std::int64_t>(device.socket);
    if (device.root >= 0) return device.root;
    roots.push_back(device.socket);
    return static_cast<std::int64_t>(roots.size()) - 1;
  };
  for (const Device& gpu : walk.gpus) out.gpu_switch.push_back(place_of(gpu));
  for (const Device& nic : walk.nics) out.nic_switch.push_back(place_of(nic));
  if (!switched) return;
  out.pcie_switches = static_cast<std::int64_t>(roots.size());
  for (const std::size_t socket : roots) out.switch_socket.push_back(static_cast<std::int64_t>(socket));
}

}  // namespace

std::optional<LogPart> log_part(std::string_view text) {
  static constexpr std::array kKinds = {
      std::pair{std::string_view("CPU/"), Kind::cpu}, std::pair{std::string_view("PCI/"), Kind::pci},
      std::pair{std::string_view("GPU/"), Kind::gpu}, std::pair{std::string_view("NIC/"), Kind::nic},
      std::pair{std::string_view("NET/"), Kind::net}, std::pair{std::string_view("NVS/"), Kind::nvswitch}};
  LogPart out;
  out.indent = std::min(text.find_first_not_of(' '), text.size());
  text.remove_prefix(out.indent);
  if (text.starts_with("+ ")) {
    const std::size_t open = text.find('[');
    const std::size_t close = text.find("] - ");
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
    const auto rate = scaled_decimal(text.substr(open + 1, close - open - 1), 3);
    if (!rate || *rate < 0) return std::nullopt;
    out.rate = *rate;
    out.link = text.substr(2, std::min<std::size_t>(open - 2, 8));
    text.remove_prefix(close + 4);
  } else if (!text.starts_with("CPU/")) {
    return std::nullopt;
  }
  for (const auto& [name, kind] : kKinds)
    if (text.starts_with(name)) {
      out.kind = kind;
      return out;
    }
  return std::nullopt;
}

std::optional<ServerOutline> outline_of(const std::vector<LogPart>& parts, const std::string& gpu_name) {
  constexpr std::size_t kMostSockets = 16;
  const Walk walk(parts);
  if (walk.gpus.empty() || walk.sockets > kMostSockets) return std::nullopt;
  ServerOutline out;
  const Device& weakest = *std::min_element(walk.gpus.begin(), walk.gpus.end(),
                                            [](const Device& a, const Device& b) { return a.nvlink < b.nvlink; });
  const GpuChip& chip = chip_of(weakest, gpu_name);
  out.gpu = chip.kind;
  out.gpus = static_cast<std::int64_t>(walk.gpus.size());
  const auto narrowest = [](const std::vector<Device>& devices) {
    return slot_of(std::min_element(devices.begin(), devices.end(), [](const Device& a, const Device& b) {
                     return a.pcie < b.pcie;
                   })->pcie);
  };
  out.pcie_gen = narrowest(walk.gpus).gen;
  out.pcie_lanes = narrowest(walk.gpus).lanes;
  out.sockets = static_cast<std::int64_t>(walk.sockets);
  if (out.sockets > 1) out.socket_link = "upi";
  out.nics = static_cast<std::int64_t>(walk.nics.size());
  if (out.nics > 0) {
    std::int64_t rate = walk.nics.front().net;
    for (const Device& nic : walk.nics) rate = std::min(rate, nic.net);
    const std::int64_t gigabits = std::max<std::int64_t>(1, rate * 8 / 1'000);
    out.nic = nic_by_rate(gigabits);
    out.nic_rate = gigabits_per_second(gigabits);
    out.nic_gen = narrowest(walk.nics).gen;
    out.nic_lanes = narrowest(walk.nics).lanes;
  }
  place(walk, out);
  if (weakest.nvlink > 0 && !chip.nvlink.empty()) {
    out.nvlink = chip.nvlink;
    out.nvlinks_per_gpu = std::clamp<std::int64_t>(weakest.nvlink / (chip.sm >= 100 ? 40'000 : 20'000), 1, 18);
    out.nvswitches = 1;
    out.nvlink_direct = !weakest.through_switch;
  }
  return out;
}

}  // namespace weft::measured
