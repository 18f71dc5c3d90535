#pragma once
// What a sender knows of packets that are not acknowledged: a slot of four bytes each, by sequence, from `una` on.
// SRD's and UET's.

#include <bit>
#include <cstdint>

#include "transport/numbers.hpp"
#include "transport/operation.hpp"

namespace weft::transport {

// Send times are kept in 23 bits of 16.4 ns: fine enough for a round trip of microseconds, and 137 ms
// until they wrap, while no packet flies longer than kLongestFlight before it counts as lost.
inline constexpr int kTimeShift = 14;
inline constexpr std::uint32_t kTimeMask = (1u << 23) - 1;
inline constexpr Instant kLongestFlight = Instant{1} << 35;  // 34 ms

inline std::uint32_t stamp(Instant now) { return static_cast<std::uint32_t>(now >> kTimeShift) & kTimeMask; }
// Signed distance in those units.
inline std::int32_t since(std::uint32_t later, std::uint32_t earlier) {
  return static_cast<std::int32_t>((later - earlier) << 9) >> 9;
}

struct Slot {
  enum class State : std::uint8_t { empty, flying, arrived, lost };

  std::uint32_t sent : 23;  // in units of 2^kTimeShift ps
  std::uint32_t resent : 1;
  std::uint32_t path : 6;
  std::uint32_t state : 2;  // State

  bool is(State which) const { return state == static_cast<std::uint32_t>(which); }
  void become(State which) { state = static_cast<std::uint32_t>(which) & 3; }
};
static_assert(sizeof(Slot) == 4);

struct Slots {  // of a sender, by sequence
  Slot* at;
  std::uint32_t mask;
  Slot& operator[](std::uint32_t sequence) const { return at[sequence & mask]; }
};

// Calls acknowledge(slot, sequence), upwards, for every packet of which this acknowledgement is the first news; it is
// to make the slot `arrived`. Moves `una` over those that have.
template <class Sender, class Acknowledge>
void take_news(Sender& sender, Slots slots, const Header& header, Acknowledge acknowledge) {
  using State = Slot::State;
  const std::uint32_t una = sender.una;
  for (std::uint32_t s = una; before(s, header.sequence); ++s)
    if (Slot& slot = slots[s]; !slot.is(State::arrived)) acknowledge(slot, s);
  const std::uint32_t from = header.arrived_from();
  for (std::uint64_t bits = header.ack.arrived; bits != 0; bits &= bits - 1) {
    const std::uint32_t s = from + static_cast<std::uint32_t>(std::countr_zero(bits));
    if (Slot& slot = slots[s]; before(s, sender.next) && !before(s, una) && !slot.is(State::arrived))
      acknowledge(slot, s);
  }
  while (sender.una != sender.next && slots[sender.una].is(State::arrived)) {
    slots[sender.una].become(State::empty);
    ++sender.una;
  }
}

// What is lost is sent again, the oldest first: no lost packet is below `lost_scan`.
template <class Sender>
void note_lost(Sender& sender, Slots slots, std::uint32_t sequence) {
  slots[sequence].become(Slot::State::lost);
  if (sender.lost++ == 0 || before(sequence, sender.lost_scan)) sender.lost_scan = sequence;
}
// Where there is one.
template <class Sender>
std::uint32_t take_lost(Sender& sender, Slots slots) {
  std::uint32_t sequence = sender.lost_scan;
  while (!slots[sequence].is(Slot::State::lost)) ++sequence;
  sender.lost_scan = sequence + 1;
  --sender.lost;
  return sequence;
}

}  // namespace weft::transport
