#include "sim/wheel.hpp"

#include <algorithm>

namespace weft::sim {

Wheel::Wheel(std::int64_t window, std::int64_t start) : window_(window), current_(start / window - 1), slots_(kSlots) {}

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

void Wheel::put(const Event& event, std::int64_t window) {
  Slot& at = slots_[slot(window)];
  if (at.last == kNone || fill_[at.last] == kChunk) {
    const std::uint32_t chunk = take_chunk();
    (at.last == kNone ? at.first : next_[at.last]) = chunk;
    at.last = chunk;
  }
  (*chunks_[at.last])[fill_[at.last]++] = event;
  ++at.count;
}

void Wheel::add(const Event& event) {
  ++pending_;
  const std::int64_t window = event.time / window_;
  if (window - current_ < static_cast<std::int64_t>(kSlots)) {
    put(event, window);
  } else {
    overflow_.push_back(event);
  }
}

bool Wheel::advance() {
  if (pending_ == 0) return false;
  for (std::uint32_t step = 0; step < kSlots; ++step) {
    ++current_;
    // Once a turn, what waited beyond the wheel comes within reach.
    if (!overflow_.empty() && slot(current_) == 0) {
      std::vector<Event> waiting;
      waiting.swap(overflow_);
      pending_ -= waiting.size();
      for (const Event& event : waiting) add(event);
    }
    if (slots_[slot(current_)].count > 0) return true;
  }
  // A whole empty turn: jump to the earliest event that waits.
  std::int64_t earliest = INT64_MAX;
  for (const Event& event : overflow_) earliest = std::min(earliest, event.time);
  if (earliest == INT64_MAX) return false;
  current_ = earliest / window_ - 1;
  std::vector<Event> waiting;
  waiting.swap(overflow_);
  pending_ -= waiting.size();
  for (const Event& event : waiting) add(event);
  return advance();
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
