#include "sim/wheel.hpp"

#include <algorithm>

namespace weft::sim {

Wheel::Wheel(std::int64_t window)
    : window_(window), inverse_(window == 1 ? UINT64_MAX : UINT64_MAX / static_cast<std::uint64_t>(window)), slots_(kSlots) {}

std::uint32_t Wheel::take_chunk() {
  if (free_ == kNone) {
    const auto chunk = static_cast<std::uint32_t>(next_.size());
    chunks_.push_back(std::make_unique<std::array<Event, kChunk>>());
    next_.push_back(kNone);
    fill_.push_back(0);
    return chunk;
  }
  const std::uint32_t chunk = free_;
  free_ = next_[chunk];
  next_[chunk] = kNone;
  fill_[chunk] = 0;
  return chunk;
}

void Wheel::lengthen(Slot& slot) {
  const std::uint32_t chunk = take_chunk();
  (slot.last == kNone ? slot.first : next_[slot.last]) = chunk;
  slot.last = chunk;
}

Event& Wheel::wait(std::int64_t window) {
  overflow_first_ = std::min(overflow_first_, window);
  return overflow_.emplace_back();
}

std::int64_t Wheel::next() const {
  if (pending_ == overflow_.size()) return overflow_first_;
  std::int64_t window = current_;
  while (slots_[slot(window)].count == 0) ++window;
  return std::min(window, overflow_first_);
}

void Wheel::move_to(std::int64_t window) {
  current_ = window;
  // What waited beyond the wheel comes within reach: in large helpings, so that it is seldom looked at.
  if (overflow_first_ - window > kSlots / 2) return;
  std::size_t kept = 0;
  overflow_first_ = kNothing;
  for (std::size_t i = 0; i < overflow_.size(); ++i) {
    const std::int64_t its = window_of(overflow_[i].time);
    if (its - window < kSlots) {
      put(its) = overflow_[i];
    } else {
      overflow_first_ = std::min(overflow_first_, its);
      overflow_[kept++] = overflow_[i];
    }
  }
  overflow_.resize(kept);
}

void Wheel::clear() {
  Slot& at = slots_[slot(current_)];
  pending_ -= at.count;
  if (at.last != kNone) {
    next_[at.last] = free_;
    free_ = at.first;
  }
  at = Slot{};
}

}  // namespace weft::sim
