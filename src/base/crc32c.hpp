#pragma once
// CRC-32C (Castagnoli), the checksum of iSCSI and SCTP: finds every burst of up to 32 wrong bits and, in
// headers of our size, every five wrong bits (Koopman, DSN 2002). By table in constants, and where the processor
// has no instruction for it; both are equal.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

namespace detail {
inline constexpr std::array<std::uint32_t, 256> kCrc32cTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t rest = i;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) ? 0x82f63b78u : 0u);
    table[i] = rest;
  }
  return table;
}();
}  // namespace detail

// `before` is the checksum of what precedes `bytes`.
constexpr std::uint32_t crc32c_by_table(std::span<const std::uint8_t> bytes, std::uint32_t before = 0) {
  std::uint32_t rest = ~before;
  for (const std::uint8_t byte : bytes) rest = (rest >> 8) ^ detail::kCrc32cTable[(rest ^ byte) & 0xFF];
  return ~rest;
}

std::uint32_t crc32c(std::span<const std::uint8_t> bytes, std::uint32_t before = 0);

}  // namespace weft
