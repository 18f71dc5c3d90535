// What must always hold inside SRD, looked at from outside the hot path.

#include <vector>

#include "transport/check.hpp"
#include "transport/srd/srd.hpp"

namespace weft::transport {

std::string_view Srd::check_invariants() const {
  std::size_t send_messages = 0;
  std::size_t reads = 0;
  std::vector<std::uint32_t> working(endpoints_.size());
  std::vector<std::uint32_t> allowed(endpoints_.size());
  std::vector<std::size_t> active(endpoints_.size());
  for (std::uint32_t index = 0; index < senders_.size(); ++index) {
    if (!senders_.has(index)) continue;
    const Sender& sender = senders_[index];
    if (sender.first_message != kNone) {
      ++working[sender.endpoint];
      allowed[sender.endpoint] += sender.allowed;
    }
    const std::size_t most = sender.wide == kNone ? kWindow : wide_[sender.wide].size();
    const auto slot_of = [&](std::uint32_t s) {
      return sender.wide == kNone ? sender.near[s % kWindow] : wide_[sender.wide][s % most];
    };
    if (const auto wrong = check_in_flight(sender, static_cast<std::uint32_t>(most), slot_of); !wrong.empty())
      return wrong;
    std::uint64_t unproven = 0;
    std::uint32_t resting = 0;
    std::uint32_t on_path[kMaxPaths] = {};
    for (std::uint32_t s = sender.una; s != sender.next; ++s)
      if (const Slot slot = slot_of(s); slot.is(State::flying)) ++on_path[slot.path];
    for (std::uint32_t path = 0; path < kMaxPaths; ++path) {
      const std::uint64_t bit = std::uint64_t{1} << path;
      const std::uint8_t lag = sender.paths.lag[path];
      if (on_path[path] != sender.paths.flying[path]) return "flying packets are counted by path";
      if (config_.entropies > 0 && sender.paths.entropy[path] >= std::max(config_.entropies, kMaxPaths))
        return "numbers of paths stay below their bound";
      if ((sender.trying & bit) && on_path[path] == 0) return "a path is being tried only while its packet flies";
      if ((lag == kUnused) != (path >= config_.paths)) return "no more paths are in use than asked for";
      if (lag != kUnused && (lag & kUnproven)) unproven |= bit;
      resting += lag == kResting;
      if (!(lag & kUnproven) && lag > kMostLag && lag != kResting) return "a path lags only so far";
    }
    if (resting + sender.in_use != config_.paths) return "paths in use are counted";
    if (unproven != sender.unproven) return "unproven paths are known";
    if (sender.allowed == 0) return "one packet may always fly";
    if (!idle(sender) && (!turns_.has(index) || sender.deadline == kNever)) return "who waits has a deadline";
    if (turns_.has(index)) {
      const EndpointState& state = endpoints_[sender.endpoint];
      ++active[sender.endpoint];
      const Instant when = idle(sender) ? 0 : wake_of(sender, share_of(state, sender));
      if (turns_.earliest(state.active) > 0 && turns_.wake(index) > when) return "nobody is asked too late";
    }
    if (const auto wrong = check_sent(send_messages_, sender, send_messages); !wrong.empty()) return wrong;
    std::uint32_t responses = 0;
    for (std::uint32_t slot = sender.first_message; slot != kNone; slot = send_messages_[slot].next)
      responses += send_messages_[slot].op == Op::response;
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
    if (!receivers_.has(index)) continue;
    const Receiver& receiver = receivers_[index];
    const BitSpan arrived = const_cast<Srd*>(this)->arrived_of(const_cast<Receiver&>(receiver));
    if (const auto wrong = check_received(receive_messages_, receiver, arrived, arrived.size, receive_messages);
        !wrong.empty())
      return wrong;
    if ((receiver.incomplete > 0) != (receiver.listen_next != kNone))
      return "who has incomplete messages is listened to";
  }
  if (receive_messages != receive_messages_.used()) return "no received message is lost to the slab";
  for (std::uint32_t endpoint = 0; endpoint < endpoints_.size(); ++endpoint) {
    const EndpointState& state = endpoints_[endpoint];
    if (state.working != working[endpoint] || state.allowed != allowed[endpoint]) return "who has work is counted";
    if (const auto wrong = turns_.check(state.active); !wrong.empty()) return wrong;
    if (turns_.size(state.active) != active[endpoint]) return "whoever is in a ring is in that of its endpoint";
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
