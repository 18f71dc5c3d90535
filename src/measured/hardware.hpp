#pragma once
// Which part of the catalog a PCI device, a compute capability or a CPU model is, and the other way round.
// Device ids are those of the PCI ID Repository (pci-ids.ucw.cz); where the catalog lacks a chip, the entry
// that is most like it stands for it.

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::measured {

inline constexpr std::uint32_t kNvidia = 0x10de;
inline constexpr std::uint32_t kAmd = 0x1002;
inline constexpr std::uint32_t kMellanox = 0x15b3;
inline constexpr std::uint32_t kAmazon = 0x1d0f;

struct GpuChip {
  std::uint32_t device;
  std::int64_t sm;
  std::string_view kind;    // in the catalog
  std::string_view nvlink;  // link kind; empty: none
  std::int64_t pcie_gen;
  bool exact = true;       // the kind is this very chip
  std::int64_t links = 0;  // NVLinks where they are fewer than the kind's; 0: as many
};

// nullptr when there is none.
const GpuChip* gpu_by_device(std::uint32_t device);
const GpuChip* gpu_by_kind(std::string_view kind);
// By what a program prints: "NVIDIA H100 80GB HBM3".
const GpuChip* gpu_by_name(std::string_view name);
// The most usual one of a compute capability; with a C2C link to the CPU it is a superchip.
const GpuChip* gpu_by_capability(std::int64_t sm, bool nvlink, bool c2c);
// The most usual one behind a PCIe link of that generation: all that a template tells.
const GpuChip& gpu_by_generation(std::int64_t gen, bool nvlink);

struct NicChip {
  std::uint32_t vendor;
  std::uint32_t device;
  std::string_view kind;
};

const NicChip* nic_by_device(std::uint32_t vendor, std::uint32_t device);
const NicChip* nic_by_kind(std::string_view kind);
// The NIC that is sold at that rate, in Gb/s.
std::string_view nic_by_rate(std::int64_t gigabits_per_second);

// A CPU model by the link that joins two of them.
struct CpuModel {
  std::string_view socket_link;  // in the catalog
  std::string_view arch;
  std::string_view vendor;
  std::int64_t family;
  std::int64_t model;
  std::int64_t pcie_gen;
};

const CpuModel& cpu_by_id(std::string_view arch, std::string_view vendor, std::int64_t family, std::int64_t model);
const CpuModel& cpu_by_link(std::string_view socket_link);

}  // namespace weft::measured
