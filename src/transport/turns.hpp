#pragma once
// Whose turn it is, and who owes an answer: lists of an endpoint through members of what is in them.

#include <algorithm>
#include <cstdint>

#include "transport/operation.hpp"
#include "transport/slab.hpp"

namespace weft::transport {

enum class Turn : std::uint8_t {
  passed,  // nothing to send now
  served,  // it has filled a packet
  over,    // nothing left to do: it leaves the ring
};

// Those with something to do are a ring through `next_active` and served one after the other.
struct Turns {
  std::uint32_t last = kNone;  // served last; kNone: nobody has anything to do

  // Comes next, unless it is there already.
  template <class All>
  void join(All& all, std::uint32_t index) {
    std::uint32_t& next = all[index].next_active;
    if (next != kNone) return;
    if (last == kNone) {
      next = last = index;
    } else {
      next = all[last].next_active;
      all[last].next_active = index;
    }
  }

  // Asks each in turn what it makes of it, ask(index), from the one behind the last served on. False: none was served.
  template <class All, class Ask>
  bool serve(All& all, Ask ask) {
    while (last != kNone) {
      const std::uint32_t end = last;
      std::uint32_t index = end;
      Turn turn = Turn::passed;
      do {
        const std::uint32_t before_it = index;
        index = all[index].next_active;
        turn = ask(index);
        if (turn == Turn::served) {
          last = index;
          return true;
        }
        if (turn == Turn::over) {
          leave(all, before_it, index);
          break;
        }
      } while (index != end);
      if (turn != Turn::over) return false;
    }
    return false;
  }

  // The earliest of the times when(each) at which one wants to be asked.
  template <class All, class When>
  Instant earliest(const All& all, When when) const {
    Instant wake = kNever;
    if (last == kNone) return wake;
    std::uint32_t index = last;
    do {
      wake = std::min(wake, when(all[index]));
      index = all[index].next_active;
    } while (index != last && wake > 0);
    return wake;
  }

 private:
  template <class All>
  void leave(All& all, std::uint32_t before_it, std::uint32_t index) {
    last = before_it == index ? kNone : before_it;
    all[before_it].next_active = all[index].next_active;
    all[index].next_active = kNone;
  }
};

// Those that owe their peer an answer: a list through two members, the latest first.
template <auto kNext, auto kOwing>
struct Owed {
  std::uint32_t first = kNone;

  template <class All>
  void add(All& all, std::uint32_t index) {
    auto& each = all[index];
    if (each.*kOwing) return;
    each.*kOwing = true;
    each.*kNext = first;
    first = index;
  }
  template <class All>
  void remove(All& all, std::uint32_t index) {
    if (!(all[index].*kOwing)) return;
    std::uint32_t* link = &first;
    while (*link != index) link = &(all[*link].*kNext);
    *link = all[index].*kNext;
    all[index].*kOwing = false;
  }
  // The first, of a list that has one.
  template <class All>
  auto& take(All& all) {
    auto& each = all[first];
    first = each.*kNext;
    each.*kOwing = false;
    return each;
  }
};

}  // namespace weft::transport
