#pragma once
// A running hash that changes when any bit of what it was fed changes. One per entity, always on.

#include <cstdint>

namespace weft {

class Digest {
 public:
  constexpr void add(std::uint64_t word) {
    // Multiplication by an odd constant and the fold are both invertible, so a difference in `word`
    // can never be lost, only spread.
    value_ = (value_ ^ word) * 0x9e3779b97f4a7c15ULL;
    value_ ^= value_ >> 32;
  }
  constexpr std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x243f6a8885a308d3ULL;
};

}  // namespace weft
