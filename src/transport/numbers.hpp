#pragma once
// Numbers that wrap: sequences, generations, streams; and how many packets a message is.

#include <algorithm>
#include <cstdint>

namespace weft::transport {

// a is before b when the distance from a to b is short.
inline bool before(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) < 0; }
inline bool newer(std::uint16_t a, std::uint16_t b) {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(a - b)) > 0;
}

inline std::uint64_t pair_key(std::uint32_t a, std::uint32_t b) { return (std::uint64_t{a} << 32) | b; }

inline constexpr std::uint32_t kMostPackets = 1u << 30;  // of one message: its numbers are told apart

// Packets of a message, at least one; 0: too long.
inline std::uint32_t packets_of(std::uint64_t bytes, std::uint32_t payload) {
  const std::uint64_t packets = bytes / payload + (bytes % payload != 0);
  if (packets > kMostPackets) return 0;
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(packets));
}

}  // namespace weft::transport
