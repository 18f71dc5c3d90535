#include "measured/hardware.hpp"

#include <algorithm>
#include <array>

namespace weft::measured {
namespace {

// Where one capability or one kind has several rows, the first is the usual one.
constexpr std::array kGpus = {
    GpuChip{0x1db5, 70, "v100-sxm", "nvlink2", 3},
    GpuChip{0x1db1, 70, "v100-sxm", "nvlink2", 3},  // 16 GB
    GpuChip{0x1db4, 70, "v100-sxm", "", 3, false},  // V100 PCIe
    GpuChip{0x15f8, 60, "v100-sxm", "", 3, false},  // P100 PCIe
    GpuChip{0x1eb8, 75, "l40s", "", 3, false},      // T4
    GpuChip{0x1e04, 75, "l40s", "", 3, false},      // RTX 2080 Ti
    GpuChip{0x20b2, 80, "a100-80-sxm", "nvlink3", 4},
    GpuChip{0x20b0, 80, "a100-40-sxm", "nvlink3", 4},
    GpuChip{0x20b3, 80, "a100-80-sxm", "nvlink3", 4, false},     // 64 GB
    GpuChip{0x20bd, 80, "a100-80-sxm", "nvlink3", 4, false, 8},  // A800
    GpuChip{0x20f5, 80, "a100-80-sxm", "", 4, false},            // A800 PCIe
    GpuChip{0x20b7, 80, "a100-40-sxm", "", 4, false},            // A30
    GpuChip{0x20b5, 80, "a100-80-sxm", "nvlink3", 4, false},     // A100 PCIe 80 GB, bridge of 12 links
    GpuChip{0x20f1, 80, "a100-40-sxm", "nvlink3", 4, false},     // A100 PCIe 40 GB
    GpuChip{0x2235, 86, "l40s", "", 4, false},                   // A40
    GpuChip{0x2236, 86, "l40s", "", 4, false},                   // A10
    GpuChip{0x2237, 86, "l40s", "", 4, false},                   // A10G
    GpuChip{0x2230, 86, "l40s", "", 4, false},                   // RTX A6000
    GpuChip{0x2204, 86, "l40s", "", 4, false},                   // RTX 3090
    GpuChip{0x26b9, 89, "l40s", "", 4},
    GpuChip{0x26b5, 89, "l40s", "", 4, false},  // L40
    GpuChip{0x27b8, 89, "l40s", "", 4, false},  // L4
    GpuChip{0x26b1, 89, "l40s", "", 4, false},  // RTX 6000 Ada
    GpuChip{0x2684, 89, "l40s", "", 4, false},  // RTX 4090
    GpuChip{0x2330, 90, "h100-sxm", "nvlink4", 5},
    GpuChip{0x2331, 90, "h100-pcie", "", 5},
    GpuChip{0x2335, 90, "h200-sxm", "nvlink4", 5},
    GpuChip{0x2321, 90, "h100-pcie", "nvlink4", 5, false},  // H100 NVL, bridge
    GpuChip{0x2324, 90, "h800-sxm", "nvlink4-8", 5},
    GpuChip{0x2329, 90, "h100-sxm", "nvlink4", 5, false},  // H20
    GpuChip{0x2342, 90, "h100-sxm", "nvlink4", 5, false},  // GH200
    GpuChip{0x2901, 100, "b200", "nvlink5", 5},
    GpuChip{0x2941, 100, "gb200", "nvlink5", 5},
    GpuChip{0x3182, 103, "b300", "nvlink5", 6},
    GpuChip{0x31c2, 103, "gb300", "nvlink5", 6},
    GpuChip{0x2b85, 120, "l40s", "", 5, false},  // RTX 5090
    GpuChip{0x2bb1, 120, "l40s", "", 5, false},  // RTX PRO 6000
};

constexpr std::array kNics = {
    NicChip{kMellanox, 0x101b, "connectx-6"},  NicChip{kMellanox, 0x101d, "connectx-6"},
    NicChip{kMellanox, 0x1021, "connectx-7"},  NicChip{kMellanox, 0x1023, "connectx-8"},
    NicChip{kMellanox, 0xa2dc, "bluefield-3"}, NicChip{kAmazon, 0xefa0, "efa-v1"},
    NicChip{kAmazon, 0xefa1, "efa-v2"},        NicChip{kAmazon, 0xefa2, "efa-v3"},
    NicChip{kAmazon, 0xefa3, "efa-v4"},
};

// Later rows cover earlier models: the row with the highest model that is not above the CPU's counts.
constexpr std::array kCpus = {
    CpuModel{"upi", "x86_64", "GenuineIntel", 6, 0x8f, 5},
    CpuModel{"upi-cascade-lake", "x86_64", "GenuineIntel", 6, 0x55, 3},
    CpuModel{"upi-ice-lake", "x86_64", "GenuineIntel", 6, 0x6a, 4},
    CpuModel{"upi-granite-rapids", "x86_64", "GenuineIntel", 6, 0xad, 5},
    CpuModel{"upi-emerald-rapids", "x86_64", "GenuineIntel", 6, 0xcf, 5},
    CpuModel{"xgmi", "x86_64", "AuthenticAMD", 23, 49, 4},
    CpuModel{"grace-clink", "arm64", "", 0, 0, 5},
};
constexpr std::int64_t kGenoa = 17;  // EPYC with PCIe 5; NCCL up to 2.29 writes its family 25 as 175

template <class Table, class Test>
auto first(const Table& table, Test test) {
  const auto found = std::find_if(table.begin(), table.end(), test);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

const GpuChip* gpu_by_device(std::uint32_t device) {
  return first(kGpus, [&](const GpuChip& chip) { return chip.device == device; });
}

const GpuChip* gpu_by_kind(std::string_view kind) {
  return first(kGpus, [&](const GpuChip& chip) { return chip.kind == kind && chip.exact; });
}

const GpuChip* gpu_by_name(std::string_view name) {
  struct Row {
    std::string_view word;
    std::uint32_t device;
  };
  // Longer words first: GB200 contains B200, RTX 5090 no H20. NICs of one family that are joined
  // alike share a row.
  static constexpr std::array kNames = {
      Row{"GB300", 0x31c2},        Row{"GB200", 0x2941},       Row{"B300", 0x3182},
      Row{"B200", 0x2901},         Row{"GH200", 0x2342},       Row{"H200", 0x2335},
      Row{"H100 NVL", 0x2321},     Row{"H100 PCIe", 0x2331},   Row{"H100", 0x2330},
      Row{"H800", 0x2324},         Row{"H20", 0x2329},         Row{"A100-SXM4-40", 0x20b0},
      Row{"A100-PCIE-40", 0x20f1}, Row{"A100-SXM-64", 0x20b3}, Row{"A100 80GB PCIe", 0x20b5},
      Row{"A100-PCIE", 0x20f1},    Row{"A100", 0x20b2},        Row{"A800 80GB PCIe", 0x20f5},
      Row{"A800", 0x20bd},         Row{"A30", 0x20b7},         Row{"V100-PCIE", 0x1db4},
      Row{"V100", 0x1db5},         Row{"P100", 0x15f8},        Row{"L40S", 0x26b9},
      Row{"L40", 0x26b5},          Row{"L20", 0x26b5},         Row{"A10G", 0x2237},
      Row{"A10", 0x2236},          Row{"A40", 0x2235},         Row{"RTX A", 0x2230},
      Row{"PRO 6000", 0x2bb1},     Row{"6000 Ada", 0x26b1},    Row{"RTX 50", 0x2b85},
      Row{"RTX 40", 0x2684},       Row{"RTX 30", 0x2204},      Row{"RTX 20", 0x1e04},
      Row{"GTX", 0x1e04},          Row{"L4", 0x27b8},          Row{"T4", 0x1eb8}};
  const Row* row = first(kNames, [&](const Row& each) { return name.find(each.word) != std::string_view::npos; });
  return row == nullptr ? nullptr : gpu_by_device(row->device);
}

const GpuChip* gpu_by_capability(std::int64_t sm, bool nvlink, bool c2c) {
  if (sm >= 100 && c2c) return gpu_by_kind(sm >= 103 ? "gb300" : "gb200");
  const GpuChip* same =
      first(kGpus, [&](const GpuChip& chip) { return chip.sm == sm && chip.nvlink.empty() != nvlink; });
  if (same != nullptr) return same;
  // A newer chip is most like the newest that is known.
  const GpuChip* best = nullptr;
  for (const GpuChip& chip : kGpus)
    if (chip.sm <= sm && (best == nullptr || chip.sm > best->sm)) best = &chip;
  return best;
}

const GpuChip& gpu_by_generation(std::int64_t gen, bool nvlink) {
  if (!nvlink) return *gpu_by_kind(gen >= 5 ? "h100-pcie" : "l40s");
  return *gpu_by_kind(gen >= 6 ? "b300" : gen == 5 ? "h100-sxm" : gen == 4 ? "a100-80-sxm" : "v100-sxm");
}

const NicChip* nic_by_device(std::uint32_t vendor, std::uint32_t device) {
  return first(kNics, [&](const NicChip& chip) { return chip.vendor == vendor && chip.device == device; });
}

const NicChip* nic_by_kind(std::string_view kind) {
  return first(kNics, [&](const NicChip& chip) { return chip.kind == kind; });
}

std::string_view nic_by_rate(std::int64_t gigabits_per_second) {
  return gigabits_per_second > 400 ? "connectx-8" : gigabits_per_second > 200 ? "connectx-7" : "connectx-6";
}

const CpuModel& cpu_by_id(std::string_view arch, std::string_view vendor, std::int64_t family, std::int64_t model) {
  if (arch == "arm64") return cpu_by_link("grace-clink");
  if (vendor == "AuthenticAMD") {
    static constexpr CpuModel kGenoaCpu = {"xgmi", "x86_64", "AuthenticAMD", 25, kGenoa, 5};
    return (family == 25 || family == 175) && model >= kGenoa ? kGenoaCpu : cpu_by_link("xgmi");
  }
  const CpuModel* best = nullptr;
  for (const CpuModel& cpu : kCpus)
    if (cpu.vendor == vendor && cpu.family == family && cpu.model <= model &&
        (best == nullptr || cpu.model > best->model))
      best = &cpu;
  return best != nullptr ? *best : kCpus[0];
}

const CpuModel& cpu_by_link(std::string_view socket_link) {
  const CpuModel* found = first(kCpus, [&](const CpuModel& cpu) { return cpu.socket_link == socket_link; });
  return found != nullptr ? *found : kCpus[0];
}

}  // namespace weft::measured
