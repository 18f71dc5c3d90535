#pragma once
// The project's own generator: a counter through mix64. A stream is named by (seed, run, entity), so
// that what one entity draws never depends on what another does.

#include <cstdint>

#include "base/hash.hpp"

namespace weft {

class Random {
 public:
  constexpr Random() = default;
  constexpr Random(std::uint64_t seed, std::uint64_t run, std::uint64_t entity)
      : state_(mix64(mix64(mix64(seed) ^ run) ^ entity)) {}

  constexpr std::uint64_t next() { return mix64(state_ += 0x9e3779b97f4a7c15ULL); }
  constexpr std::uint32_t below(std::uint32_t n) { return pick(next(), n); }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace weft
