// What must always hold inside UET, looked at from outside the hot path.

#include <bit>

#include "transport/srd/numbers.hpp"
#include "transport/uet/uet.hpp"

namespace weft::transport {

std::string_view Uet::check_invariants() const {
  std::size_t send_messages = 0;
  for (std::uint32_t index = 0; index < senders_.size(); ++index) {
    const Sender& sender = senders_[index];
    if (before(sender.next, sender.una) || before(sender.end, sender.next)) return "una <= next <= end";
    if (sender.next - sender.una > kWindow) return "at most a window of sequences is open";
    std::uint32_t flying = 0;
    std::uint32_t lost = 0;
    for (std::uint32_t s = sender.una; s != sender.una + kWindow; ++s) {
      const Slot& slot = sender.slot[s % kWindow];
      if (before(s, sender.next) == slot.is(State::empty)) return "slots are in use from una to next";
      if (slot.is(State::lost) && before(s, sender.lost_scan)) return "no lost packet is below the scan";
      flying += slot.is(State::flying);
      lost += slot.is(State::lost);
    }
    if (flying != sender.flying) return "flying packets are counted";
    if (lost != sender.lost) return "lost packets are counted";
    if (sender.una != sender.next && sender.slot[sender.una % kWindow].is(State::arrived))
      return "una is the oldest not acknowledged";
    if (!before(sender.highest, sender.next)) return "only what was sent is acknowledged";
    if (sender.window.bytes < rules_.packet || sender.window.bytes > rules_.most_bytes) return "windows have bounds";
    if (sender.allowed == 0 || sender.allowed >= kWindow) return "one packet may always fly, and no more than fit";
    if (sender.paths.recycled > config_.recycle) return "the cache of entropies has a size";
    const bool idle = sender.first_message == kNone;
    if (!idle && (sender.next_active == kNone || sender.expire_at == kNever)) return "who waits has a deadline";
    if (idle && (sender.probe_due || sender.probe_at != kNever)) return "who has nothing to send asks nothing";
    std::uint32_t last = kNone;
    std::uint32_t from = sender.una;
    for (std::uint32_t slot = sender.first_message; slot != kNone; slot = send_messages_[slot].next) {
      const SendMessage& message = send_messages_[slot];
      if (message.left == 0 || message.left > message.packets) return "a message in the list has packets left";
      if (last != kNone && before(message.first, from)) return "messages follow one another";
      from = message.first + message.packets;
      last = slot;
      ++send_messages;
    }
    if (before(sender.end, from)) return "no message goes beyond the numbers given out";
    if (last != sender.last_message || idle != (sender.una == sender.end)) return "messages cover what is open";
  }
  if (send_messages != send_messages_.used()) return "no message is lost to the slab";

  std::size_t receive_messages = 0;
  for (std::uint32_t index = 0; index < receivers_.size(); ++index) {
    const Receiver& receiver = receivers_[index];
    std::uint32_t incomplete = 0;
    for (std::uint32_t slot = receiver.messages; slot != kNone; slot = receive_messages_[slot].next) {
      const ReceiveMessage& message = receive_messages_[slot];
      if (message.left == 0 || message.left > message.packets) return "an incomplete message misses packets";
      ++incomplete;
    }
    receive_messages += incomplete;
    if (incomplete != receiver.incomplete || incomplete > kWindow) return "incomplete messages are counted and bounded";
    int beyond = 0;
    for (const std::uint64_t bits : receiver.arrived) beyond += std::popcount(bits);
    if (beyond != receiver.beyond) return "arrivals beyond the gap are counted";
    if (receiver.arrived[receiver.expected % kWindow / 64] >> (receiver.expected % 64) & 1)
      return "expected has not arrived";
  }
  if (receive_messages != receive_messages_.used()) return "no received message is lost to the slab";
  return {};
}

}  // namespace weft::transport
