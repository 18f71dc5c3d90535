#pragma once
// Exponentially distributed times from integers alone, so that every compiler draws the same ones.

#include <bit>
#include <cstdint>
#include <limits>

#include "base/random.hpp"
#include "base/wide.hpp"

namespace weft {

// -ln(x / 2^64) in units of 2^-32, for x of at least 1, right to a few of them: the logarithm to base 2
// gives one bit per squaring.
constexpr std::uint64_t minus_log(std::uint64_t x) {
  const int zeros = std::countl_zero(x);
  std::uint64_t mantissa = x << zeros;  // 1 is 2^63
  std::uint64_t fraction = 0;           // of log2(mantissa), 2^-32
  for (int i = 0; i < 32; ++i) {
    const auto square = static_cast<UnsignedWide>(mantissa) * mantissa >> 63;
    const bool two_or_more = (square >> 64) != 0;
    mantissa = static_cast<std::uint64_t>(two_or_more ? square >> 1 : square);
    fraction = fraction << 1 | (two_or_more ? 1 : 0);
  }
  const std::uint64_t minus_log2 = (static_cast<std::uint64_t>(zeros + 1) << 32) - fraction;
  constexpr std::uint64_t kLn2 = 0xB17217F7D1CF79ABULL;  // ln 2 in 2^-64
  return static_cast<std::uint64_t>(static_cast<UnsignedWide>(minus_log2) * kLn2 >> 64);
}

// A time between two events that come at random, `mean` apart on average.
constexpr std::int64_t draw_exponential(Random& random, std::int64_t mean) {
  const std::uint64_t x = random.next();
  const Wide time = static_cast<Wide>(mean) * minus_log(x == 0 ? 1 : x) >> 32;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return time > kMost ? kMost : static_cast<std::int64_t>(time);
}

}  // namespace weft
