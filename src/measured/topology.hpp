#pragma once
// A NCCL topology file (what NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE reads) as plain data: CPUs, the
// PCI devices below them, GPUs with their NVLinks, network interfaces. Two kinds exist in the wild:
//
//   dump      NCCL wrote it: GPUs are <gpu> with dev, sm and <nvlink>, NICs are <nic> with <net>
//   template  a cloud gives it to its virtual machines: <pci> alone, by class or not even that; NCCL
//             fills in the rest when it runs
//
// Numbers that the file leaves out are nothing here; what they probably are is decided elsewhere.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/diagnostics.hpp"

namespace weft::measured {

struct NvLinks {
  std::string target;  // bus id of the other end
  std::int64_t count = 0;
  enum class Kind { gpu, nvswitch, cpu } kind = Kind::nvswitch;
  spec::Place place;
};

struct ChipToChip {                       // NVLink-C2C to the CPU
  std::int64_t megabytes_per_second = 0;  // of one link
  std::int64_t count = 0;
};

struct TopologyGpu {
  std::optional<std::int64_t> dev;
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> sm;  // compute capability, 90 for 9.0
  std::optional<bool> gdr;
  std::vector<NvLinks> nvlinks;
  std::optional<ChipToChip> c2c;
  bool of_rccl = false;  // with what only AMD's library writes: gcn, xgmi

  std::int64_t links() const;  // to anything but itself
};

struct TopologyNet {
  std::string name;
  std::optional<std::int64_t> dev;
  std::optional<std::int64_t> megabits_per_second;
  std::int64_t port = 0;
  std::string guid;
  std::optional<bool> gdr;
  bool collective = false;  // in-network reduction
  spec::Place place;
};

struct PciDevice {
  enum class Kind { bridge, gpu, nic, unknown, other };  // unknown: the file gives no class

  Kind kind = Kind::other;
  std::string bus_id;
  std::uint32_t vendor = 0;  // 0: not given, likewise below
  std::uint32_t device = 0;
  std::int64_t gen = 0;  // PCIe generation of its link
  std::int64_t lanes = 0;
  std::optional<TopologyGpu> gpu;
  std::vector<TopologyNet> nets;
  std::vector<PciDevice> below;
  spec::Place place;
};

struct TopologyCpu {
  std::string host;  // host_hash; empty in most files, which describe one host
  std::int64_t numa = 0;
  std::string arch;
  std::string vendor;
  std::int64_t family = 0;
  std::int64_t model = 0;
  std::vector<PciDevice> devices;
  std::vector<TopologyNet> nets;  // of interfaces that are no PCI devices
  spec::Place place;
};

struct Topology {
  std::vector<TopologyCpu> cpus;
  std::string comments;
  bool is_dump = false;  // GPUs are described, not only their place
  std::uint32_t source = 0;
};

std::optional<Topology> read_topology(std::uint32_t source, spec::Diagnostics& diagnostics);

}  // namespace weft::measured
