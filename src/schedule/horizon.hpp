#pragma once
// Where whoever limits a run will stop it. Executors that take one event after another ask just there, too, and not
// only now and then: what they leave is of the time and the events that were asked for.

#include <cstdint>
#include <limits>

#include "base/units.hpp"

namespace weft::schedule {

struct Horizon {
  Duration time{std::numeric_limits<std::int64_t>::max()};  // the last moment of which anything happens
  std::uint64_t events = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace weft::schedule
