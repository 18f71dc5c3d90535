#pragma once
// A bit for each of a run of sequence numbers, wherever the run is: number s has bit s % kSize.

#include <bit>
#include <cstdint>

namespace weft::transport {

template <std::uint32_t kSize>
struct BitRing {
  static_assert(std::has_single_bit(kSize) && kSize >= 64);
  std::uint64_t words[kSize / 64];

  static std::uint64_t bit(std::uint32_t sequence) { return std::uint64_t{1} << sequence % 64; }
  std::uint64_t& word(std::uint32_t sequence) { return words[sequence % kSize / 64]; }
  const std::uint64_t& word(std::uint32_t sequence) const { return words[sequence % kSize / 64]; }

  bool has(std::uint32_t sequence) const { return word(sequence) >> sequence % 64 & 1; }
  void set(std::uint32_t sequence) { word(sequence) |= bit(sequence); }
  void clear(std::uint32_t sequence) { word(sequence) &= ~bit(sequence); }
  void clear_all() {
    for (std::uint64_t& each : words) each = 0;
  }
  std::uint32_t count() const {
    int ones = 0;
    for (const std::uint64_t each : words) ones += std::popcount(each);
    return static_cast<std::uint32_t>(ones);
  }

  // Those of the 64 numbers from this one on, it in bit 0.
  std::uint64_t from(std::uint32_t sequence) const {
    const std::uint32_t shift = sequence % 64;
    std::uint64_t bits = word(sequence) >> shift;
    if (shift > 0) bits |= word(sequence + 64) << (64 - shift);
    return bits;
  }

  // Moves a number over the ones from it on and clears them. How many they were.
  std::uint32_t pass(std::uint32_t& sequence) {
    const std::uint32_t start = sequence;
    while (true) {
      const std::uint32_t shift = sequence % 64;
      std::uint64_t& bits = word(sequence);
      const auto run = static_cast<std::uint32_t>(std::countr_one(bits >> shift));
      bits &= run == 64 ? 0 : ~(((std::uint64_t{1} << run) - 1) << shift);
      sequence += run;
      if (shift + run < 64) return sequence - start;  // not the end of a word
    }
  }
};

}  // namespace weft::transport
