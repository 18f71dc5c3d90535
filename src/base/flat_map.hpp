#pragma once
// A hash table from 64-bit keys to 32-bit values in one array: a lookup is one cache line most of the
// time. There is no iteration, so its order can never leak into a result.

#include <cstdint>
#include <vector>

#include "base/hash.hpp"

namespace weft {

class FlatMap {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  // kNone when the key is not there.
  std::uint32_t find(std::uint64_t key) const {
    if (slots_.empty()) return kNone;
    for (std::size_t at = mix64(key) & mask_;; at = (at + 1) & mask_)
      if (slots_[at].value == kNone || slots_[at].key == key) return slots_[at].value;
  }

  // The key must not be there yet.
  void insert(std::uint64_t key, std::uint32_t value) {
    if ((size_ + 1) * 2 > slots_.size()) resize(slots_.empty() ? 16 : slots_.size() * 2);
    place(key, value);
    ++size_;
  }

  // The key must be there. What stood behind it because its place was taken moves up.
  void erase(std::uint64_t key) {
    std::size_t hole = mix64(key) & mask_;
    while (slots_[hole].key != key || slots_[hole].value == kNone) hole = (hole + 1) & mask_;
    for (std::size_t at = (hole + 1) & mask_; slots_[at].value != kNone; at = (at + 1) & mask_) {
      const std::size_t home = mix64(slots_[at].key) & mask_;
      if (((at - home) & mask_) < ((at - hole) & mask_)) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole].value = kNone;
    --size_;
    if (size_ * 16 < slots_.size()) resize(size_ == 0 ? 0 : slots_.size() / 4);
  }

  std::size_t slots() const { return slots_.size(); }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = kNone;
  };

  void place(std::uint64_t key, std::uint32_t value) {
    std::size_t at = mix64(key) & mask_;
    while (slots_[at].value != kNone) at = (at + 1) & mask_;
    slots_[at] = {key, value};
  }

  void resize(std::size_t slots) {
    std::vector<Slot> old(slots);
    old.swap(slots_);
    mask_ = slots_.empty() ? 0 : slots_.size() - 1;
    for (const Slot& slot : old)
      if (slot.value != kNone) place(slot.key, slot.value);
  }

  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  std::size_t size_ = 0;
};

}  // namespace weft
