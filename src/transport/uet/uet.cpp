#include "transport/uet/uet.hpp"

#include <algorithm>

namespace weft::transport {

Uet::Uet(const UetConfig& config) : config_(config) {
  config_.payload = std::clamp(config_.payload, 1u, 1u << 16);
  config_.header = std::min(config_.header, 1u << 16);
  config_.paths = std::clamp(config_.paths, 1u, UetPaths::kMost);
  config_.recycle = std::min(config_.recycle, UetPaths::kCache);
  config_.lost_penalty = std::min(config_.lost_penalty, 255u);
  config_.reference_rtt = Duration(std::max<std::int64_t>(1, config_.reference_rtt.count()));
  config_.reference_bytes = std::max<std::uint64_t>(1, config_.reference_bytes);
  config_.decrease = std::min(config_.decrease, 100u);
  config_.most_cut = std::min(config_.most_cut, 100u);
  config_.delay_weight = std::max(1u, config_.delay_weight);
  config_.quick_gate = std::min(config_.quick_gate, 31u);
  config_.adjust_packets = std::min(config_.adjust_packets, kWindow);
  config_.base_rtt = Duration(std::clamp<std::int64_t>(config_.base_rtt.count(), 1, kLongestFlight / 8));
  config_.packet_time = Duration(std::max<std::int64_t>(1, config_.packet_time.count()));
  const auto derive = [](Duration& time, std::int64_t otherwise) {
    time = Duration(std::clamp<std::int64_t>(time.count() > 0 ? time.count() : otherwise, 1, kLongestFlight));
  };
  constexpr std::int64_t kRtoBase = 15'000'000;  // as said beside rto
  derive(config_.target_delay, config_.trimming ? config_.base_rtt.count() * 3 / 4 : config_.base_rtt.count());
  config_.longest_wait = Duration(std::clamp<std::int64_t>(config_.longest_wait.count(), 0, kLongestFlight / 2));
  derive(config_.probe, 3 * config_.base_rtt.count() + config_.longest_wait.count());
  derive(config_.probe_again, 5 * config_.base_rtt.count() + config_.longest_wait.count());
  derive(config_.rto, kRtoBase + (config_.trimming ? 6 : 30) * config_.base_rtt.count() + config_.longest_wait.count());
  rules_ = UetWindowRules(config_, kWindow - 1);
}

// ---- endpoints and peers

std::uint32_t Uet::sender_for(std::uint32_t endpoint, std::uint32_t peer) {
  if (const std::uint32_t known = senders_.find(endpoint, peer); known != kNone) return known;
  const std::uint32_t index = senders_.add(endpoint, peer);
  Sender& sender = senders_[index];
  sender.endpoint = endpoint;
  sender.peer = peer;
  sender.next_active = kNone;
  sender.paths.begin(pair_key(endpoint, peer));
  begin_stream(sender);
  return index;
}

std::uint32_t Uet::receiver_for(std::uint32_t endpoint, std::uint32_t peer) {
  if (const std::uint32_t known = receivers_.find(endpoint, peer); known != kNone) return known;
  const std::uint32_t index = receivers_.add(endpoint, peer);
  Receiver& receiver = receivers_[index];
  receiver.endpoint = endpoint;
  receiver.peer = peer;
  receiver.next_owing = receiver.messages = kNone;
  receiver.expected = receiver.echo = receiver.probed = config_.first_sequence;
  return index;
}

bool Uet::post(Instant now, std::uint32_t endpoint, const Operation& operation) {
  if (operation.op != Op::send && operation.op != Op::write) return false;
  const std::uint32_t index = sender_for(endpoint, operation.peer);
  Sender& sender = senders_[index];
  const std::uint32_t packets = packets_of(operation.bytes, config_.payload);
  if (packets == 0 || sender.end - sender.una + packets > (1u << 31) - kWindow) return false;
  if (sender.first_message == kNone) {
    sender.heard = now;
    sender.expire_at = now + config_.rto.count();
    sender.window.resume();
  }
  append(send_messages_, sender,
         {.bytes = operation.bytes,
          .tag = operation.tag,
          .context = operation.context,
          .packets = packets,
          .left = packets,
          .op = operation.op});
  endpoints_.of(endpoint).active.join(senders_, index);
  return true;
}

bool Uet::poll(Instant now, std::uint32_t endpoint, Transmit& out) {
  EndpointState* const state = endpoints_.find(endpoint);
  return state != nullptr && state->active.serve(senders_, [&](std::uint32_t index) {
    Sender& sender = senders_[index];
    if (now >= std::min(sender.expire_at, sender.probe_at)) time_out(now, sender);
    if (sender.first_message == kNone) return Turn::over;
    if (!can_send(sender)) return Turn::passed;
    if (sender.probe_due) {
      fill_probe(now, sender, out);
    } else {
      fill_data(now, sender, out);
    }
    return Turn::served;
  });
}

Instant Uet::next_wake(std::uint32_t endpoint) const {
  const EndpointState* const state = endpoints_.find(endpoint);
  if (state == nullptr) return kNever;
  return state->active.earliest(senders_, [&](const Sender& sender) {
    return can_send(sender) ? 0 : std::min(sender.expire_at, sender.probe_at);  // 0: only the wire holds it back
  });
}

// ---- streams

// A peer's generation, heard from it. Whoever it replaced has taken along what was under way.
void Uet::hear_of(Sender& sender, std::uint16_t generation) {
  if (sender.peer_generation != 0 && newer(generation, sender.peer_generation)) fail(sender);
}

// Everything not yet acknowledged fails, and numbers begin anew.
void Uet::fail(Sender& sender) {
  fail_all(send_messages_, sender, [&](const SendMessage& message) {
    completions_.push_back(end_of(sender, message, Completion::Kind::failed));
  });
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
