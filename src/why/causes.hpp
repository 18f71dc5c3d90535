#pragma once
// What makes collectives slow, and the change of the model that each of them is.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "why/situation.hpp"

namespace weft::why {

enum class Cause : std::uint8_t {
  nothing_wrong,
  misread,
  no_gpudirect,
  far_nic,
  dma_redirected,
  p2p_off,
  cpu_path,
  mnnvl_off,
  shm_off,
  pcie_down,
  nvlink_down,
  nic_unused,
  slow_nic,
  socket_fallback,
  few_streams,
  ecmp,
  oversubscribed,
  lossy,
  nic_settings,
  algorithm,
  nvls_off,
  protocol,
  few_channels,
  pxn_off,
  virtual_machine,
  slow_rank,
  slow_launch,
  old_nccl,
  separate_jobs,
  false_topology,
  rails_apart,
  cpu_binding,
  uneven_ranks,
  nic_swapped,
  few_per_peer
};

struct CauseInfo {
  Cause cause;
  std::string_view id;  // as --json has it
  std::string_view title;
  double prior;            // how common it is, beside the others
  bool open;               // how bad it is, is open: its variants are samples, and the spread about them is wide
  std::string_view check;  // how to make sure
  std::string_view fix;
};

std::span<const CauseInfo> causes();
const CauseInfo& info(Cause cause);

// What the machine would be like; several where it is open how much. Empty: this job cannot have
// that cause. A variant that changes nothing is one of those causes that are about expectations, or
// about what the machine already shows.
std::vector<Variant> variants_of(Cause cause, const Situation& situation, Machine& machine);

// An algorithm with which the machine would give what was hoped for, where the one that NCCL takes by itself does not.
struct BetterAlgorithm {
  collective::Algorithm taken;
  collective::Algorithm better;
  double gives = 0;  // busbw in GB/s
  double would_give = 0;
};
std::optional<BetterAlgorithm> better_algorithm(const Situation& situation, Machine& machine);

// NCCL's rule gives each peer of point-to-point messages one channel across the network.
bool has_one_channel_per_peer(const Situation& situation, Machine& machine);

// The PCIe generation that CPU and GPU of a topology could have between them; 0: it does not name
// them.
std::int64_t pcie_gen_of_both(const Situation& situation, Machine& machine);

}  // namespace weft::why
