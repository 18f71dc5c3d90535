#pragma once
// What the host's own programs (dmesg, lspci -vv, ibstat, nvidia-smi -q, a person's notes) say in
// passing and what matters to a slow collective: found by phrases of programs, and in persons'
// notes by a subject and what the same clause says of it, so that "ACS is enabled", "we enabled
// ACS" and "ACS was not disabled" need no phrase each.

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft::measured {

enum class Mention : std::uint8_t {
  acs_on,
  iommu_on,
  iommu_passthrough,
  peermem_missing,
  link_downgraded,
  virtual_machine,
  no_shared_memory,
  loss,
  throttled,
  nvlink_inactive,
  ordering_strict,
  nps_one,
  oversubscribed,
  ecmp,
  small_mtu,
  slow_node,
  slow_port,
  imex,
  hang,
  hidden_bus,
  unreachable,
  bound,
  rdma_missing,
  timed_out,
  isolated,
  slower_release,
  protection_error,
  rdma_named,
  consumer_gpu,
  epyc,
  bond,
  slower_by_launcher,
  pairs_differ
};

struct Mentioned {
  Mention mention;
  std::size_t column = 0;  // from 0
};

// Of a line in lower case; each at most once.
std::vector<Mentioned> mentions_of(std::string_view line);
std::string_view name(Mention mention);

}  // namespace weft::measured
