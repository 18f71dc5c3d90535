#pragma once
// The unit that tests count time in.

#include "transport/operation.hpp"

namespace weft::transport {

inline constexpr Instant kMicrosecond = 1'000'000;

}  // namespace weft::transport
