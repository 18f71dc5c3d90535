#pragma once
// How far a run is, for whoever watches or limits it.

#include <cstdint>

namespace weft::schedule {

struct Progress {
  std::int64_t now = 0;  // ps, simulated
  std::uint64_t events = 0;
  std::uint64_t delivered_bytes = 0;
};

}  // namespace weft::schedule
