#pragma once
// Packet sequence numbers: 24 bits on the wire, 32 inside, so that distances are plain differences. Private to RoCE.

#include <cstdint>

#include "transport/numbers.hpp"

namespace weft::transport {

inline constexpr std::uint32_t kPsnMask = (1u << 24) - 1;

// The sequence with these low 24 bits that is nearest to `near`.
inline std::uint32_t unwrap(std::uint32_t psn, std::uint32_t near) {
  return near + static_cast<std::uint32_t>(static_cast<std::int32_t>((psn - near) << 8) >> 8);
}

}  // namespace weft::transport
