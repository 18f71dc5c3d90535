#pragma once
// A server's block diagram, worked out from counts and placement lists: which GPU and NIC hang off
// which PCIe switch, and so which NIC is near which GPU.
//
//        CPU 0 ---------- CPU 1           sockets with host memory
//       |     |          |     |
//      RC0   RC1        RC2   RC3          root complexes, one per PCIe switch
//       |     |          |     |
//      SW0   SW1        SW2   SW3          PCIe switches
//     |   |   |        |   |   |
//  GPU0 NIC0 GPU1   GPU2 NIC1 GPU3
//
// A transfer between a GPU and a NIC below one root complex is direct (GPUDirect RDMA); between two
// root complexes it passes through host memory.

#include <cstdint>
#include <vector>

#include "model/kinds.hpp"

namespace weft::model {

struct Diagram {
  enum class Distance { same_switch, same_root, same_socket, other_socket };

  std::vector<std::uint32_t> gpu_switch;     // PCIe switch of each GPU; socket when there are none
  std::vector<std::uint32_t> nic_switch;     // likewise of each NIC
  std::vector<std::uint32_t> switch_socket;  // socket of each PCIe switch
  std::uint32_t sockets = 1;
  std::uint32_t pcie_switches = 0;
  bool gpudirect = true;

  // Root complexes are numbered like the PCIe switches, or like the sockets when there are none.
  std::uint32_t roots() const { return pcie_switches > 0 ? pcie_switches : sockets; }
  std::uint32_t socket_of_root(std::uint32_t root) const { return pcie_switches > 0 ? switch_socket[root] : root; }

  Distance distance(std::uint32_t gpu, std::uint32_t nic) const;
  // GPUDirect RDMA works: the data does not pass through host memory.
  bool direct(std::uint32_t gpu, std::uint32_t nic) const {
    return gpudirect && distance(gpu, nic) <= Distance::same_root;
  }

  // The NICs a GPU uses: all at its shortest distance when that is direct, else the one next to it.
  std::vector<std::vector<std::uint32_t>> near_nics;  // by GPU
  // The GPU that stands next to a NIC, where data for other GPUs can be handed over.
  std::vector<std::uint32_t> near_gpu;  // by NIC
};

// `kind` must have passed the checks of a cluster (lists of the right lengths and ranges).
Diagram make_diagram(const ServerKind& kind);

}  // namespace weft::model
