#pragma once
// Numbers in the order of networks, at any offset.

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

template <class T>
constexpr void put(std::span<std::uint8_t> out, std::size_t at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    out[at + i] = static_cast<std::uint8_t>(value >> (8 * (sizeof(T) - 1 - i)));
}

template <class T>
constexpr T get(std::span<const std::uint8_t> in, std::size_t at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>((std::uint64_t{value} << 8) | in[at + i]);
  return value;
}

}  // namespace weft
