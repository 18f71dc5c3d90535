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
};

}  // namespace weft::schedule
