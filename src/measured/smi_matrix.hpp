#pragma once
// The matrix that `nvidia-smi topo -m` prints: how far GPUs and NICs are from each other.
//
//         GPU0  GPU1  NIC0  CPU Affinity  NUMA Affinity
//   GPU0   X    NV18  PIX   0-47          0
//   GPU1  NV18   X    SYS   48-95         1
//   NIC0  PIX   SYS    X

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measured/server_outline.hpp"
#include "spec/diagnostics.hpp"

namespace weft::measured {

struct SmiMatrix {
  // From near to far: the same PCIe switch, several of them, the host bridge, between host bridges of a
  // NUMA node, between NUMA nodes.
  enum class Path { self, nvlink, pix, pxb, phb, node, sys };

  struct Cell {
    Path path = Path::self;
    std::int64_t links = 0;  // NVLinks
  };
  struct Device {
    std::string name;       // GPU0, NIC0, mlx5_0
    std::string interface;  // of a NIC, from the legend: mlx5_0
    std::string cpus;       // affinity
    std::optional<std::int64_t> numa;
    bool is_gpu = false;
    spec::Place place;
  };

  std::vector<Device> devices;
  std::vector<std::vector<Cell>> cells;  // by device and device
  std::uint32_t source = 0;

  std::int64_t gpus() const;
};

std::optional<SmiMatrix> read_smi_matrix(std::uint32_t source, spec::Diagnostics& diagnostics);

// `gpu_name` is what another output says the GPUs are, such as "NVIDIA H100 80GB HBM3"; may be empty.
std::optional<ServerOutline> outline_of(const SmiMatrix& matrix, const std::string& gpu_name,
                                        const model::Catalog& catalog, spec::Diagnostics& diagnostics);

}  // namespace weft::measured
