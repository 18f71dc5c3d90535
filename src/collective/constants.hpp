#pragma once
// What NCCL and the machines it runs on are like, as numbers: by GPU generation (what NCCL's tuning model has for it)
// and by stack (network plugin and launch mode). A constant belongs to one of the two and to nothing smaller; `weft
// validate` shows how far they explain published measurements.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/units.hpp"
#include "collective/names.hpp"

namespace weft::collective {

enum class Hop : std::uint8_t { scale_up, pcie, network };

// By number of nodes, as NCCL has it: one, two or three, four and more.
using ByNodes = std::array<std::int64_t, 3>;  // MB/s

struct Generation {
  std::string_view name;
  std::string_view gpus;            // words that names of its GPUs begin with
  std::int64_t scale_up_per_mille;  // of the link's rate that a kernel gets
  std::uint32_t ring_channels;      // on one node
  std::uint32_t nvls_channels;      // 0: its switches do not reduce
  std::int64_t nvls_per_mille;      // of the above that NVLS gets, as NCCL's model has it,
  std::int64_t nvls_measured;       // and as large messages show it: GPUs give and take (n + 1) / n of their bytes
  ByNodes ll_most;                  // of all channels
  ByNodes ring_ll128_most;          // of a channel
  ByNodes tree_ll128_most;
  ByNodes tree_most;
  ByNodes nvls_tree_most;
};

struct Stack {
  std::string_view name;
  std::string_view text;
  Duration launch;             // beyond NCCL's own base latency
  Duration least;              // an operation is not issued faster: no time is shorter
  Duration per_hop;            // beyond NCCL's latency of a hop and the fabric's: proxy, plugin, completion
  std::int64_t nic_per_mille;  // of the NIC's rate that arrives
  bool only_simple;            // LL and LL128 need writes in order, which not every network keeps
};

const Generation& generation_of(std::string_view gpu_kind);
std::span<const Stack> stacks();
const Stack* stack_named(std::string_view name);
// The one that a cluster's transport and card suggest.
const Stack& default_stack(std::string_view transport, std::string_view nic_kind);

// NCCL's tables: latency before anything moves, and of one step over a hop.
Duration base_latency(Algorithm algorithm, Protocol protocol);
Duration hop_latency(Hop hop, Algorithm algorithm, Protocol protocol);

}  // namespace weft::collective
