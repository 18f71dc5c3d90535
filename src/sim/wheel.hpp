#pragma once
// Events of the future, by window of time. A slot is a chain of chunks from one pool, so memory is
// what is in flight and not what once was. Events beyond the wheel wait in an overflow list.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/event.hpp"

namespace weft::sim {

class Wheel {
 public:
  Wheel(std::int64_t window, std::int64_t start);

  void add(const Event& event);
  // Moves to the next window that holds anything; false when there is none.
  bool advance();
  std::int64_t window_end() const { return (current_ + 1) * window_; }
  std::int64_t window_start() const { return current_ * window_; }

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

 private:
  static constexpr std::uint32_t kChunk = 64;
  static constexpr std::uint32_t kSlots = 1024;
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  struct Slot {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
    std::uint32_t count = 0;
  };
  static std::size_t slot(std::int64_t window) { return static_cast<std::size_t>(window) % kSlots; }
  void put(const Event& event, std::int64_t window);
  std::uint32_t take_chunk();

  std::int64_t window_;
  std::int64_t current_;
  std::uint64_t pending_ = 0;
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<std::array<Event, kChunk>>> chunks_;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint8_t> fill_;
  std::uint32_t free_ = kNone;
  std::vector<Event> overflow_;
};

}  // namespace weft::sim
