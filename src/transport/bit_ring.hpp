#pragma once
// A bit for each of a run of sequence numbers, wherever the run is: number s has bit s % kSize.

#include <bit>
#include <cstdint>

namespace weft::transport {

// Of a size that is known when it runs: a power of two, at least 64.
struct BitSpan {
  std::uint64_t* words;
  std::uint32_t size;

  static std::uint64_t bit(std::uint32_t sequence) { return std::uint64_t{1} << sequence % 64; }
  std::uint64_t& word(std::uint32_t sequence) const { return words[(sequence & (size - 1)) / 64]; }

  bool has(std::uint32_t sequence) const { return word(sequence) >> sequence % 64 & 1; }
  void set(std::uint32_t sequence) const { word(sequence) |= bit(sequence); }
  void clear(std::uint32_t sequence) const { word(sequence) &= ~bit(sequence); }
  void clear_all() const {
    for (std::uint32_t i = 0; i < size / 64; ++i) words[i] = 0;
  }
  std::uint32_t count() const {
    int ones = 0;
    for (std::uint32_t i = 0; i < size / 64; ++i) ones += std::popcount(words[i]);
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
  std::uint32_t pass(std::uint32_t& sequence) const {
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

template <std::uint32_t kSize>
struct BitRing {
  static_assert(std::has_single_bit(kSize) && kSize >= 64);
  std::uint64_t words[kSize / 64];

  BitSpan span() { return {words, kSize}; }
  const BitSpan span() const { return {const_cast<std::uint64_t*>(words), kSize}; }

  static std::uint64_t bit(std::uint32_t sequence) { return BitSpan::bit(sequence); }
  std::uint64_t& word(std::uint32_t sequence) { return span().word(sequence); }
  const std::uint64_t& word(std::uint32_t sequence) const { return span().word(sequence); }
  bool has(std::uint32_t sequence) const { return span().has(sequence); }
  void set(std::uint32_t sequence) { span().set(sequence); }
  void clear(std::uint32_t sequence) { span().clear(sequence); }
  void clear_all() { span().clear_all(); }
  std::uint32_t count() const { return span().count(); }
  std::uint64_t from(std::uint32_t sequence) const { return span().from(sequence); }
  std::uint32_t pass(std::uint32_t& sequence) { return span().pass(sequence); }
};

}  // namespace weft::transport
