#include "transport/uet/uet.hpp"

#include <algorithm>

#include "transport/srd/numbers.hpp"

namespace weft::transport {

Uet::Uet(const UetConfig& config) : config_(config) {
  config_.payload = std::clamp(config_.payload, 1u, 1u << 16);
  config_.header = std::min(config_.header, 1u << 16);
  config_.paths = std::clamp(config_.paths, 1u, UetPaths::kMost);
  config_.recycle = std::min(config_.recycle, UetPaths::kCache);
  config_.lost_penalty = std::min(config_.lost_penalty, 255u);
  config_.reference_rtt = std::max<std::int64_t>(1, config_.reference_rtt);
  config_.reference_bytes = std::max<std::uint64_t>(1, config_.reference_bytes);
  config_.decrease = std::min(config_.decrease, 100u);
  config_.most_cut = std::min(config_.most_cut, 100u);
  config_.delay_weight = std::max(1u, config_.delay_weight);
  config_.quick_gate = std::min(config_.quick_gate, 31u);
  config_.adjust_packets = std::min(config_.adjust_packets, kWindow);
  config_.base_rtt = std::clamp<std::int64_t>(config_.base_rtt, 1, kLongestFlight / 8);
  config_.packet_time = std::max<std::int64_t>(1, config_.packet_time);
  const auto derive = [](std::int64_t& time, std::int64_t otherwise) {
    time = std::clamp<std::int64_t>(time > 0 ? time : otherwise, 1, kLongestFlight);
  };
  constexpr std::int64_t kRtoBase = 15'000'000;  // as said beside rto
  derive(config_.target_delay, config_.trimming ? config_.base_rtt * 3 / 4 : config_.base_rtt);
  config_.longest_wait = std::clamp<std::int64_t>(config_.longest_wait, 0, kLongestFlight / 2);
  derive(config_.probe, 3 * config_.base_rtt + config_.longest_wait);
  derive(config_.probe_again, 5 * config_.base_rtt + config_.longest_wait);
  derive(config_.rto, kRtoBase + (config_.trimming ? 6 : 30) * config_.base_rtt + config_.longest_wait);
  rules_ = UetWindowRules(config_, kWindow - 1);
}

// ---- endpoints and peers

Uet::EndpointState& Uet::state_of(std::uint32_t endpoint) {
  if (endpoint >= endpoints_.size()) endpoints_.resize(endpoint + 1);
  return endpoints_[endpoint];
}

std::uint32_t Uet::sender_for(std::uint32_t endpoint, std::uint32_t peer) {
  if (const std::uint32_t known = sender_index_.find(pair_key(endpoint, peer)); known != kNone) return known;
  const std::uint32_t index = senders_.take();
  sender_index_.insert(pair_key(endpoint, peer), index);
  Sender& sender = senders_[index];
  sender = Sender{};
  sender.endpoint = endpoint;
  sender.peer = peer;
  sender.next_active = kNone;
  sender.paths.begin(pair_key(endpoint, peer));
  begin_stream(sender);
  return index;
}

std::uint32_t Uet::receiver_for(std::uint32_t endpoint, std::uint32_t peer) {
  if (const std::uint32_t known = receiver_index_.find(pair_key(endpoint, peer)); known != kNone) return known;
  const std::uint32_t index = receivers_.take();
  receiver_index_.insert(pair_key(endpoint, peer), index);
  Receiver& receiver = receivers_[index];
  receiver = Receiver{};
  receiver.endpoint = endpoint;
  receiver.peer = peer;
  receiver.next_owing = receiver.messages = kNone;
  receiver.expected = receiver.echo = receiver.probed = config_.first_sequence;
  return index;
}

std::uint32_t Uet::packets_of(std::uint64_t bytes) const {
  const std::uint64_t packets = bytes / config_.payload + (bytes % config_.payload != 0);
  if (packets > kMaxPackets) return 0;
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(packets));
}

void Uet::activate(std::uint32_t index) {
  Sender& sender = senders_[index];
  if (sender.next_active != kNone) return;
  EndpointState& state = state_of(sender.endpoint);
  if (state.active == kNone) {
    sender.next_active = index;
    state.active = index;
  } else {
    sender.next_active = senders_[state.active].next_active;
    senders_[state.active].next_active = index;
  }
}

bool Uet::post(Instant now, std::uint32_t endpoint, const Operation& operation) {
  if (operation.op != Op::send && operation.op != Op::write) return false;
  const std::uint32_t index = sender_for(endpoint, operation.peer);
  Sender& sender = senders_[index];
  const std::uint32_t packets = packets_of(operation.bytes);
  if (packets == 0 || sender.end - sender.una + packets > (1u << 31) - kWindow) return false;
  if (sender.first_message == kNone) {
    sender.heard = now;
    sender.expire_at = now + config_.rto;
    sender.window.resume();
  }
  const std::uint32_t slot = send_messages_.take();
  send_messages_[slot] = {operation.bytes, operation.tag, operation.context, sender.end, packets,
                          packets,         kNone,         operation.op};
  sender.end += packets;
  if (sender.last_message == kNone) {
    sender.first_message = slot;
  } else {
    send_messages_[sender.last_message].next = slot;
  }
  sender.last_message = slot;
  if (sender.sending == kNone) sender.sending = slot;
  activate(index);
  return true;
}

bool Uet::poll(Instant now, std::uint32_t endpoint, Transmit& out) {
  if (endpoint >= endpoints_.size()) return false;
  EndpointState& state = endpoints_[endpoint];
  // Peers in turn, starting behind the one served last.
  while (state.active != kNone) {
    const std::uint32_t last = state.active;
    std::uint32_t index = last;
    bool removed = false;
    do {
      const std::uint32_t before_it = index;
      index = senders_[index].next_active;
      Sender& sender = senders_[index];
      if (now >= std::min(sender.expire_at, sender.probe_at)) time_out(now, sender);
      if (sender.first_message == kNone) {  // nothing left: leave the ring
        const bool alone = sender.next_active == index;
        senders_[before_it].next_active = sender.next_active;
        sender.next_active = kNone;
        state.active = alone ? kNone : before_it;
        removed = true;
        break;
      }
      if (can_send(sender)) {
        if (sender.probe_due) {
          fill_probe(now, sender, out);
        } else {
          fill_data(now, sender, out);
        }
        state.active = index;
        return true;
      }
    } while (index != last);
    if (!removed) return false;
  }
  return false;
}

Instant Uet::next_wake(std::uint32_t endpoint) const {
  if (endpoint >= endpoints_.size()) return kNever;
  const std::uint32_t start = endpoints_[endpoint].active;
  if (start == kNone) return kNever;
  Instant wake = kNever;
  std::uint32_t index = start;
  do {
    const Sender& sender = senders_[index];
    if (can_send(sender)) return 0;  // only the wire holds it back
    wake = std::min({wake, sender.expire_at, sender.probe_at});
    index = sender.next_active;
  } while (index != start);
  return wake;
}

// ---- streams

// A peer's generation, heard from it. Whoever it replaced has taken along what was under way.
void Uet::hear_of(Sender& sender, std::uint16_t generation) {
  if (sender.peer_generation != 0 && newer(generation, sender.peer_generation)) fail(sender);
}

// Everything not yet acknowledged fails, and numbers begin anew.
void Uet::fail(Sender& sender) {
  while (sender.first_message != kNone) {
    const std::uint32_t slot = sender.first_message;
    const SendMessage& message = send_messages_[slot];
    completions_.push_back(
        {sender.endpoint, sender.peer, message.tag, message.context, message.bytes, Completion::Kind::failed});
    sender.first_message = message.next;
    send_messages_.give_back(slot);
  }
  begin_stream(sender);
}

// With whichever process is there by now: it says so in its first answer.
void Uet::begin_stream(Sender& sender) {
  sender.peer_generation = 0;
  if (++sender.stream == 0) sender.stream = 1;
  sender.una = sender.next = sender.end = sender.lost_scan = sender.order_scan = config_.first_sequence;
  sender.highest = config_.first_sequence - 1;
  sender.flying = sender.lost = sender.unasked = 0;
  sender.first_message = sender.last_message = sender.sending = kNone;
  sender.silent = 0;
  sender.probe_due = sender.only_asks = false;
  sender.probed = 0;
  sender.expire_at = sender.probe_at = kNever;
  for (Slot& slot : sender.slot) slot = Slot{};
  sender.window.begin(rules_);
  set_allowed(sender);
}

}  // namespace weft::transport
