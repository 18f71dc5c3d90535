#pragma once
// How far a run is, for whoever watches or limits it.

#include <cstdint>
#include <functional>

#include "base/units.hpp"

namespace weft::schedule {

struct Progress {
  Duration now = {};  // simulated
  std::uint64_t events = 0;
  std::uint64_t delivered_bytes = 0;  // of messages that are there as a whole
  // What is there of those that are not. Looks at every receiver, so only when somebody wants to see it; may be empty.
  std::function<std::uint64_t()> underway_bytes = {};
  // Bytes that are about to be taken at once, by lists that are nearly full and move as a whole when they grow. Who
  // limits memory has to stop before that: behind it is too late. May be empty.
  std::function<std::uint64_t()> growth_bytes = {};
};

}  // namespace weft::schedule
