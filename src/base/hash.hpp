#pragma once
// The one mixing function of the project: routing choices, random streams and digests use it, so
// that equal seeds give equal answers on every compiler.

#include <cstdint>

namespace weft {

// Finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014): every input bit reaches every output.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// A number below `choices` from a hash, without division and without favouring low values.
constexpr std::uint32_t pick(std::uint64_t hash, std::uint32_t choices) {
  return static_cast<std::uint32_t>(((hash >> 32) * choices) >> 32);
}

}  // namespace weft
