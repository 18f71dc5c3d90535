#pragma once
// What must always hold in whoever sends by in_flight.hpp and messages.hpp, looked at from outside the hot path. Each
// gives what is wrong, or nothing.

#include <cstdint>
#include <string_view>

#include "transport/in_flight.hpp"
#include "transport/messages.hpp"

namespace weft::transport {

// `most` slots, slot_of(sequence) gives one.
template <class Sender, class SlotOf>
std::string_view check_in_flight(const Sender& sender, std::uint32_t most, SlotOf slot_of) {
  using State = Slot::State;
  if (before(sender.next, sender.una) || before(sender.end, sender.next)) return "una <= next <= end";
  if (sender.next - sender.una > most) return "no more numbers are open than have slots";
  std::uint32_t flying = 0;
  std::uint32_t lost = 0;
  for (std::uint32_t s = sender.una; s != sender.una + most; ++s) {
    const Slot slot = slot_of(s);
    if (before(s, sender.next) == slot.is(State::empty)) return "slots are in use from una to next";
    if (slot.is(State::lost) && before(s, sender.lost_scan)) return "no lost packet is below the scan";
    flying += slot.is(State::flying);
    lost += slot.is(State::lost);
  }
  if (flying != sender.flying) return "flying packets are counted";
  if (lost != sender.lost) return "lost packets are counted";
  if (sender.una != sender.next && slot_of(sender.una).is(State::arrived)) return "una is the oldest not acknowledged";
  return {};
}

// Adds them to `count`.
template <class Sender>
std::string_view check_sent(const Slab<SendMessage>& messages, const Sender& sender, std::size_t& count) {
  std::uint32_t last = kNone;
  std::uint32_t from = sender.una;
  for (std::uint32_t slot = sender.first_message; slot != kNone; slot = messages[slot].next) {
    const SendMessage& message = messages[slot];
    if (message.left == 0 || message.left > message.packets) return "a message in the list has packets left";
    if (last != kNone && before(message.first, from)) return "messages follow one another";
    from = message.first + message.packets;
    last = slot;
    ++count;
  }
  if (before(sender.end, from)) return "no message goes beyond the numbers given out";
  if (last != sender.last_message || (last == kNone) != (sender.una == sender.end))
    return "messages cover what is open";
  return {};
}

// Likewise. A receiver that can tell `most` packets beyond a gap apart, of which these have `arrived`.
template <class Receiver, class Message, class Arrived>
std::string_view check_received(const Slab<Message>& messages, const Receiver& receiver, const Arrived& arrived,
                                std::uint32_t most, std::size_t& count) {
  std::uint32_t incomplete = 0;
  for (std::uint32_t slot = receiver.messages; slot != kNone; slot = messages[slot].next) {
    if (messages[slot].left == 0 || messages[slot].left > messages[slot].packets)
      return "an incomplete message misses packets";
    ++incomplete;
  }
  count += incomplete;
  if (incomplete != receiver.incomplete || incomplete > most) return "incomplete messages are counted and bounded";
  if (arrived.count() != receiver.beyond) return "arrivals beyond the gap are counted";
  if (arrived.has(receiver.expected)) return "expected has not arrived";
  return {};
}

}  // namespace weft::transport
