#pragma once
// Seeds that once failed, with what they found. A change of what seeds draw makes them ordinary ones.

#include <array>
#include <cstdint>

namespace weft::dst {

inline constexpr std::array<std::uint64_t, 0> kRegressions = {};

}  // namespace weft::dst
