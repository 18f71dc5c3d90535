#include "sim/packet/wheel.hpp"

#include <algorithm>
#include <bit>

namespace weft::sim {

Wheel::Wheel(std::int64_t window)
    : window_(window),
      inverse_(window == 1 ? UINT64_MAX : UINT64_MAX / static_cast<std::uint64_t>(window)),
      part_shift_(std::max(0, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(window - 1))) - kPartBits)),
      parts_(kWindows * kParts) {}

std::uint32_t Wheel::take_chunk() {
  if (free_ == kNone) {
    // A slab more, all of whose chunks but the first are free.
    const auto first = static_cast<std::uint32_t>(next_.size());
    slabs_.push_back(std::make_unique<Chunk[]>(kSlab));
    for (std::uint32_t i = 1; i <= kSlab; ++i) next_.push_back(i < kSlab ? first + i : kNone);
    free_ = first;
  }
  const std::uint32_t chunk = free_;
  free_ = next_[chunk];
  next_[chunk] = kNone;
  return chunk;
}

void Wheel::lengthen(Part& part, std::int64_t window) {
  const std::uint32_t added = take_chunk();
  (part.last == kNone ? part.first : next_[part.last]) = added;
  part.last = added;
  part.next = chunk(added).events.data();
  const auto slot = static_cast<std::size_t>(window % kWindows);
  filled_[slot / 64] |= std::uint64_t{1} << (slot % 64);
}

Event& Wheel::wait(std::int64_t window) {
  overflow_first_ = std::min(overflow_first_, window);
  return overflow_.emplace_back();
}

std::int64_t Wheel::next() const {
  // Once around, from the current window's bit on; at the end its word's lower bits, which are the last windows.
  const auto start = static_cast<std::size_t>(current_ % kWindows);
  std::uint64_t word = filled_[start / 64] >> (start % 64) << (start % 64);
  for (std::size_t i = 0; i <= filled_.size(); ++i, word = filled_[(start / 64 + i) % filled_.size()]) {
    if (word == 0) continue;
    const std::size_t slot = (start / 64 + i) * 64 + static_cast<std::size_t>(std::countr_zero(word));
    return std::min(current_ + static_cast<std::int64_t>(slot - start), overflow_first_);
  }
  return overflow_first_;
}

void Wheel::move_to(std::int64_t window) {
  current_ = window;
  // What waited beyond the wheel comes within reach: in large helpings, so that it is seldom looked at.
  if (overflow_first_ - window > kWindows / 2) return;
  std::size_t kept = 0;
  overflow_first_ = kNothing;
  for (std::size_t i = 0; i < overflow_.size(); ++i) {
    const std::int64_t its = window_of(overflow_[i].time);
    if (its - window < kWindows) {
      add(overflow_[i].time) = overflow_[i];
    } else {
      overflow_first_ = std::min(overflow_first_, its);
      overflow_[kept++] = overflow_[i];
    }
  }
  overflow_.resize(kept);
}

std::size_t Wheel::size() const {
  std::size_t events = 0;
  const Part* part = first_part(current_);
  for (std::int64_t i = 0; i < kParts; ++i)
    for (std::uint32_t each = part[i].first; each != kNone; each = next_[each])
      events += each == part[i].last ? in_last(part[i]) : kChunk;
  return events;
}

void Wheel::clear() {
  const auto slot = static_cast<std::size_t>(current_ % kWindows);
  for (std::size_t i = slot * kParts; i < (slot + 1) * kParts; ++i) {
    if (parts_[i].last == kNone) continue;
    next_[parts_[i].last] = free_;
    free_ = parts_[i].first;
    parts_[i] = Part{};
  }
  filled_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
}

}  // namespace weft::sim
