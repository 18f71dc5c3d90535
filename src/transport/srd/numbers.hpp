#pragma once
// Numbers that wrap: sequences, generations, times of sending. Private to SRD and UET.

#include <cstdint>

#include "transport/operation.hpp"

namespace weft::transport {

// a is before b when the distance from a to b is short.
inline bool before(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) < 0; }
inline bool newer(std::uint16_t a, std::uint16_t b) {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(a - b)) > 0;
}

inline std::uint64_t pair_key(std::uint32_t a, std::uint32_t b) { return (std::uint64_t{a} << 32) | b; }

// Send times are kept in 23 bits of 16.4 ns: fine enough for a round trip of microseconds, and 137 ms
// until they wrap, while no packet flies longer than kLongestFlight before it counts as lost.
inline constexpr int kTimeShift = 14;
inline constexpr std::uint32_t kTimeMask = (1u << 23) - 1;
inline constexpr Instant kLongestFlight = Instant{1} << 35;  // 34 ms

inline std::uint32_t stamp(Instant now) { return static_cast<std::uint32_t>(now >> kTimeShift) & kTimeMask; }
// Signed distance in those units.
inline std::int32_t since(std::uint32_t later, std::uint32_t earlier) {
  return static_cast<std::int32_t>((later - earlier) << 9) >> 9;
}

// Lag of a path for each packet trimmed on it, about what a full queue delays.
inline constexpr std::uint32_t kTrimmedLag = 16;

inline constexpr int kHeardShift = 30;  // 1.07 ms: when a peer was last heard of, 53 days until it wraps

}  // namespace weft::transport
