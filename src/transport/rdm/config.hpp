#pragma once
// Every number of the message layer, with its default. Those of the second group both ends must agree on.

#include <cstdint>

#include "base/units.hpp"

namespace weft::transport::rdm {

// Messages to one peer that its carrier has not acknowledged: as many bundles gather small messages meanwhile. A
// receiver holds no more of one peer that are incomplete.
inline constexpr std::uint32_t kMostCarried = 64;
inline constexpr std::uint32_t kMostBundle = 16384;  // bytes that a receiver takes as one bundle

struct RdmConfig {
  std::uint32_t bundle = 1280;   // bytes of small messages and control that share a packet: at most what fits one
  std::uint64_t eager = 16384;   // bytes of the longest message that is sent without asking
  bool ordered = true;           // messages of one peer are matched in the order in which they were sent
  std::uint32_t queue = 4096;    // operations waiting for one peer before a post is refused
  std::uint32_t requests = 256;  // writes and atomics open to one peer
  std::uint32_t reads = 32;      // likewise reads, rendezvous among them; others wait
  Duration not_ready_wait =
      microseconds(50);         // before a refused read is tried again; doubles each time, 64 fold at most
  bool tells_accesses = false;  // completions tell of every read, write and atomic of peers
  std::uint64_t seed = 1;  // of the keys that guard rendezvous: draw it, for whoever guesses a key may read the message

  std::uint32_t window = 1024;            // messages of one peer that wait for a receive, or for those before them
  std::uint64_t unexpected = 256 * 1024;  // bytes of payload that these hold
};

}  // namespace weft::transport::rdm
