// What must always hold inside SRD, looked at from outside the hot path.

#include <bit>
#include <vector>

#include "transport/srd/numbers.hpp"
#include "transport/srd/srd.hpp"

namespace weft::transport {

std::string_view Srd::check_invariants() const {
  std::size_t send_messages = 0;
  std::size_t reads = 0;
  std::vector<std::uint32_t> working(endpoints_.size());
  std::vector<std::uint32_t> allowed(endpoints_.size());
  for (std::uint32_t index = 0; index < senders_.size(); ++index) {
    const Sender& sender = senders_[index];
    if (sender.first_message != kNone) {
      ++working[sender.endpoint];
      allowed[sender.endpoint] += sender.allowed;
    }
    if (before(sender.next, sender.una) || before(sender.end, sender.next)) return "una <= next <= end";
    const std::uint32_t most = sender.wide == kNone ? kWindow : kOpen;
    const auto slot_of = [&](std::uint32_t s) {
      return sender.wide == kNone ? sender.near[s % kWindow] : wide_[sender.wide][s % kOpen];
    };
    if (sender.next - sender.una > most) return "no more numbers are open than have slots";
    std::uint32_t flying = 0;
    std::uint32_t lost = 0;
    std::uint64_t unproven = 0;
    std::uint32_t on_path[kMaxPaths] = {};
    for (std::uint32_t s = sender.una; s != sender.una + most; ++s) {
      const Slot slot = slot_of(s);
      if (before(s, sender.next) == slot.is(State::empty)) return "slots are in use from una to next";
      if (slot.is(State::lost) && before(s, sender.lost_scan)) return "no lost packet is below the scan";
      flying += slot.is(State::flying);
      lost += slot.is(State::lost);
      if (!slot.is(State::flying)) continue;
      ++on_path[slot.path];
    }
    if (flying != sender.flying) return "flying packets are counted";
    if (lost != sender.lost) return "lost packets are counted";
    for (std::uint32_t path = 0; path < kMaxPaths; ++path) {
      const std::uint64_t bit = std::uint64_t{1} << path;
      const std::uint8_t lag = sender.paths.lag[path];
      if (on_path[path] != sender.paths.flying[path]) return "flying packets are counted by path";
      if ((sender.trying & bit) && on_path[path] == 0) return "a path is being tried only while its packet flies";
      if ((lag == kUnused) != (path >= config_.paths)) return "no more paths are in use than asked for";
      if (lag != kUnused && (lag & kUnproven)) unproven |= bit;
      if (!(lag & kUnproven) && lag > kMostLag) return "a path lags only so far";
    }
    if (unproven != sender.unproven) return "unproven paths are known";
    if (sender.una != sender.next && slot_of(sender.una).is(State::arrived))
      return "una is the oldest not acknowledged";
    if (sender.allowed == 0) return "one packet may always fly";
    if (!idle(sender) && (sender.next_active == kNone || sender.deadline == kNever)) return "who waits has a deadline";
    std::uint32_t last = kNone;
    std::uint32_t responses = 0;
    std::uint32_t from = sender.una;
    for (std::uint32_t slot = sender.first_message; slot != kNone; slot = send_messages_[slot].next) {
      const SendMessage& message = send_messages_[slot];
      if (message.left == 0 || message.left > message.packets) return "a message in the list has packets left";
      if (last != kNone && before(message.first, from)) return "messages follow one another";
      from = message.first + message.packets;
      responses += message.op == Op::response;
      last = slot;
      ++send_messages;
    }
    if (before(sender.end, from)) return "no message goes beyond the numbers given out";
    if (last != sender.last_message || (last == kNone) != (sender.una == sender.end))
      return "messages cover what is open";
    if (responses != sender.responses) return "responses are counted";
    for (std::uint32_t slot = sender.reads; slot != kNone; slot = reads_[slot].next) {
      if (reads_[slot].sender != index) return "a read belongs to its sender";
      ++reads;
    }
  }
  if (send_messages != send_messages_.used()) return "no message is lost to the slab";
  if (reads != reads_.used()) return "no read is lost to the slab";

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
    if (incomplete != receiver.incomplete || incomplete > kOpen) return "incomplete messages are counted and bounded";
    if ((incomplete > 0) != (receiver.listen_next != kNone)) return "who has incomplete messages is listened to";
    int beyond = 0;
    for (const std::uint64_t bits : receiver.arrived) beyond += std::popcount(bits);
    if (beyond != receiver.beyond) return "arrivals beyond the gap are counted";
    if (receiver.arrived[receiver.expected % kOpen / 64] >> (receiver.expected % 64) & 1)
      return "expected has not arrived";
  }
  if (receive_messages != receive_messages_.used()) return "no received message is lost to the slab";
  for (std::size_t endpoint = 0; endpoint < endpoints_.size(); ++endpoint) {
    const EndpointState& state = endpoints_[endpoint];
    if (state.working != working[endpoint] || state.allowed != allowed[endpoint]) return "who has work is counted";
    std::uint32_t listening = 0;
    std::uint32_t incomplete = 0;
    for (std::uint32_t index = state.listeners; index != kNone;) {
      incomplete += receivers_[index].incomplete;
      if (++listening > state.listening) return "listeners are a ring";
      index = receivers_[index].listen_next;
      if (receivers_[index].listen_before == kNone) return "listeners are linked both ways";
      if (index == state.listeners) break;
    }
    if (listening != state.listening || incomplete != state.incomplete) return "listeners are counted";
    if (incomplete > config_.receive_messages + receivers_.size()) return "what is held for others is bounded";
  }
  return {};
}

}  // namespace weft::transport
