#pragma once
// What the host's own programs (dmesg, lspci -vv, ibstat, nvidia-smi -q, a person's notes) say in passing and what
// matters to a slow collective, found by phrases.

#include <cstdint>
#include <span>
#include <string_view>

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
  hang
};

struct Phrase {
  Mention mention;
  std::string_view text;  // in lower case; letters of a line are compared without case
};

std::span<const Phrase> phrases();
std::string_view name(Mention mention);

}  // namespace weft::measured
