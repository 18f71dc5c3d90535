#pragma once
// Events of the future, by window of time. A slot is a chain of chunks from one pool, so memory is
// what is in flight and not what once was. Events beyond the wheel wait in an overflow list.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/wide.hpp"
#include "sim/event.hpp"

namespace weft::sim {

class Wheel {
 public:
  static constexpr std::int64_t kNothing = INT64_MAX;

  explicit Wheel(std::int64_t window);

  // Room for an event of that time; the caller fills it, time included.
  Event& add(std::int64_t time) {
    ++pending_;
    const std::int64_t window = window_of(time);
    return window - current_ < kSlots ? put(window) : wait(window);
  }
  // The window an event of that time belongs to.
  std::int64_t window_of(std::int64_t time) const {
    // Division by multiplication: the estimate is right or one too low.
    const auto t = static_cast<std::uint64_t>(time);
    auto window = static_cast<std::uint64_t>((static_cast<UnsignedWide>(t) * inverse_) >> 64);
    if (t - window * static_cast<std::uint64_t>(window_) >= static_cast<std::uint64_t>(window_)) ++window;
    return static_cast<std::int64_t>(window);
  }
  // The first window from the current one on that holds anything.
  std::int64_t next() const;
  // Makes a window the current one; none before it may hold anything.
  void move_to(std::int64_t window);
  std::int64_t end_of(std::int64_t window) const { return (window + 1) * window_; }
  std::int64_t start_of(std::int64_t window) const { return window * window_; }

  // Calls visit(index, event) for all events of the current window.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t chunk = slots_[slot(current_)].first; chunk != kNone; chunk = next_[chunk]) {
      const std::uint32_t used = fill_[chunk];
      for (std::uint32_t i = 0; i < used; ++i) visit(chunk * kChunk + i, (*chunks_[chunk])[i]);
    }
  }
  const Event& event(std::uint32_t index) const { return (*chunks_[index / kChunk])[index % kChunk]; }
  std::size_t size() const { return slots_[slot(current_)].count; }
  // Gives the chunks of the current window back.
  void clear();
  std::uint64_t pending() const { return pending_; }
  // Calls visit(event) for everything that is still to come, in no order.
  template <class Visit>
  void for_all(Visit visit) const {
    for (const Slot& each : slots_)
      for (std::uint32_t chunk = each.first; chunk != kNone; chunk = next_[chunk])
        for (std::uint32_t i = 0; i < fill_[chunk]; ++i) visit((*chunks_[chunk])[i]);
    for (const Event& event : overflow_) visit(event);
  }

 private:
  static constexpr std::uint32_t kChunk = 64;
  static constexpr std::int64_t kSlots = 4096;  // longer than a round trip, also where cables are short
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  struct Slot {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
    std::uint32_t count = 0;
  };
  static std::size_t slot(std::int64_t window) { return static_cast<std::size_t>(window) % kSlots; }
  Event& put(std::int64_t window) {
    Slot& at = slots_[slot(window)];
    if (at.last == kNone || fill_[at.last] == kChunk) lengthen(at);
    ++at.count;
    return (*chunks_[at.last])[fill_[at.last]++];
  }
  Event& wait(std::int64_t window);
  void lengthen(Slot& slot);
  std::uint32_t take_chunk();

  std::int64_t window_;
  std::uint64_t inverse_;
  std::int64_t current_ = 0;
  std::uint64_t pending_ = 0;
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<std::array<Event, kChunk>>> chunks_;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint8_t> fill_;
  std::uint32_t free_ = kNone;
  std::vector<Event> overflow_;
  std::int64_t overflow_first_ = kNothing;  // its earliest window
};

}  // namespace weft::sim
