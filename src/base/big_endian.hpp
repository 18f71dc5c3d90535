#pragma once
// Numbers in the order of networks, at any offset.

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace weft {
namespace detail {

// One instruction, which compilers do not make of a loop over bytes.
template <std::unsigned_integral T>
T swapped(T value) {
  if constexpr (std::endian::native == std::endian::big || sizeof(T) == 1) return value;
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}

}  // namespace detail

template <std::unsigned_integral T>
void put(std::span<std::uint8_t> out, std::size_t at, T value) {
  value = detail::swapped(value);
  std::memcpy(out.subspan(at, sizeof value).data(), &value, sizeof value);
}

template <std::unsigned_integral T>
T get(std::span<const std::uint8_t> in, std::size_t at) {
  T value;
  std::memcpy(&value, in.subspan(at, sizeof value).data(), sizeof value);
  return detail::swapped(value);
}

}  // namespace weft
