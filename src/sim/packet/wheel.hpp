#pragma once
// Events of the future, by window of time. A window is kept in parts, earlier and later ones, so that its
// events come out nearly in order and little is left to sort. A part is a chain of chunks from one pool,
// so memory is what is in flight and not what once was. Events beyond the wheel wait in an overflow list.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/wide.hpp"
#include "sim/packet/event.hpp"

namespace weft::sim {

class Wheel {
 public:
  static constexpr std::int64_t kNothing = INT64_MAX;

  explicit Wheel(std::int64_t window);

  // Room for an event of that time; the caller fills it, time included.
  Event& add(std::int64_t time) {
    const Place place = place_of(time);
    if (place.window - current_ >= kWindows) return wait(place.window);
    const std::int64_t part = place.window * kParts + (place.since >> part_shift_);
    Part& at = parts_[static_cast<std::size_t>(part) % (kWindows * kParts)];
    if (reinterpret_cast<std::uintptr_t>(at.next) % sizeof(Chunk) == 0) lengthen(at, place.window);
    return *at.next++;
  }
  // The window an event of that time belongs to.
  std::int64_t window_of(std::int64_t time) const { return place_of(time).window; }
  // The first window from the current one on that holds anything.
  std::int64_t next() const;
  // Makes a window the current one; none before it may hold anything.
  void move_to(std::int64_t window);
  std::int64_t end_of(std::int64_t window) const { return (window + 1) * window_; }
  std::int64_t start_of(std::int64_t window) const { return window * window_; }

  // Calls visit(event) for all events of the current window, those of earlier parts first. They stay where they are
  // until it is cleared.
  template <class Visit>
  void for_each(Visit visit) const {
    const Part* part = first_part(current_);
    for (std::int64_t i = 0; i < kParts; ++i) visit_part(part[i], visit);
  }
  // Events of the current window.
  std::size_t size() const;
  // Gives the chunks of the current window back.
  void clear();
  // Calls visit(event) for everything that is still to come, in no order.
  template <class Visit>
  void for_all(Visit visit) const {
    for (const Part& part : parts_) visit_part(part, visit);
    for (const Event& event : overflow_) visit(event);
  }

 private:
  static constexpr std::uint32_t kChunk = 16;     // events
  static constexpr std::uint32_t kSlab = 64;      // chunks that are allocated together
  static constexpr std::int64_t kWindows = 1024;  // longer than a round trip, also where cables are short
  static constexpr int kPartBits = 3;
  static constexpr std::int64_t kParts = 1 << kPartBits;  // of a window
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  // Aligned to its size, so that a place in it tells whether it is the first.
  struct alignas(kChunk * sizeof(Event)) Chunk {
    std::array<Event, kChunk> events;
  };
  struct Part {
    Event* next = nullptr;  // where the next event goes; at the end of a chunk, or null: nowhere yet
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
  };
  struct Place {
    std::int64_t window;
    std::int64_t since;  // its start
  };
  Place place_of(std::int64_t time) const {
    // Division by multiplication: the estimate is right or one too low.
    const auto window =
        static_cast<std::int64_t>((static_cast<UnsignedWide>(static_cast<std::uint64_t>(time)) * inverse_) >> 64);
    const std::int64_t since = time - window * window_;
    return since < window_ ? Place{window, since} : Place{window + 1, since - window_};
  }
  const Part* first_part(std::int64_t window) const {
    return &parts_[static_cast<std::size_t>(window % kWindows * kParts)];
  }
  Chunk& chunk(std::uint32_t number) const { return slabs_[number / kSlab][number % kSlab]; }
  // Events in the last chunk of a part; all others are full.
  static std::uint32_t in_last(const Part& part) {
    const auto bytes = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(part.next) % sizeof(Chunk));
    return bytes == 0 ? kChunk : bytes / static_cast<std::uint32_t>(sizeof(Event));
  }
  template <class Visit>
  void visit_part(const Part& part, const Visit& visit) const {
    for (std::uint32_t each = part.first; each != kNone; each = next_[each]) {
      const Chunk& events = chunk(each);
      const std::uint32_t used = each == part.last ? in_last(part) : kChunk;
      for (std::uint32_t i = 0; i < used; ++i) visit(events.events[i]);
    }
  }
  Event& wait(std::int64_t window);
  void lengthen(Part& part, std::int64_t window);
  std::uint32_t take_chunk();

  std::int64_t window_;
  std::uint64_t inverse_;
  int part_shift_;
  std::int64_t current_ = 0;
  std::vector<Part> parts_;                            // by window and part of it
  std::array<std::uint64_t, kWindows / 64> filled_{};  // bit per window: it holds something
  std::vector<std::unique_ptr<Chunk[]>> slabs_;
  std::vector<std::uint32_t> next_;  // by chunk
  std::uint32_t free_ = kNone;
  std::vector<Event> overflow_;
  std::int64_t overflow_first_ = kNothing;  // its earliest window
};

}  // namespace weft::sim
