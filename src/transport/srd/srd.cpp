#include "transport/srd/srd.hpp"

#include <algorithm>

#include "base/hash.hpp"

namespace weft::transport {
namespace {

constexpr std::uint32_t kFirstBytes = 32 << 10;
// Where queues may be deep: units of 131 ns, and a second until they wrap.
constexpr int kCoarseShift = 17;

}  // namespace

Srd::Srd(const SrdConfig& config) : config_(config) {
  time_shift_ = config_.drops ? kCoarseShift : kTimeShift;
  longest_flight_ = kLongestFlight << (time_shift_ - kTimeShift);
  config_.payload = std::max(1u, config_.payload);
  config_.paths = std::clamp(config_.paths, 1u, kMaxPaths);
  config_.burst = std::clamp(config_.burst, 1u, 64u);
  config_.entropies = std::min(config_.entropies, 0x10000u);
  if (config_.entropies > 0) config_.paths = std::min(config_.paths, config_.entropies);
  config_.ack_every = std::clamp(config_.ack_every, 1u, 64u);  // the acknowledgement's bitmap
  config_.receive_messages = std::clamp(config_.receive_messages, 1u, 0x8000u);
  config_.generation = std::max<std::uint16_t>(1, config_.generation);
  config_.reads = std::clamp(config_.reads, 1u, 1024u);
  config_.most_cut = std::min(config_.most_cut, 100u);
  config_.base_rtt = Duration(std::clamp<std::int64_t>(config_.base_rtt.count(), 1, longest_flight_ / 8));
  config_.packet_time = Duration(std::max<std::int64_t>(1, config_.packet_time.count()));
  const auto derive = [&](Duration& time, std::int64_t otherwise) {
    time = Duration(std::min(time.count() > 0 ? time.count() : otherwise, longest_flight_));
  };
  config_.longest_wait = Duration(std::clamp<std::int64_t>(config_.longest_wait.count(), 0, longest_flight_ / 2));
  rto_derived_ = config_.rto.count() == 0;
  derive(config_.rto, 5 * config_.base_rtt.count() + config_.longest_wait.count());
  derive(config_.not_ready_wait, config_.base_rtt.count());
  if (config_.window == 0) {
    // A round trip's worth, what waits at the receiver for an acknowledgement, and a little queue.
    const std::int64_t round_trip =
        (config_.base_rtt.count() + config_.packet_time.count() - 1) / config_.packet_time.count();
    const std::int64_t packets = round_trip + config_.ack_every + round_trip / 2 + 1;
    config_.window = static_cast<std::uint32_t>(std::min<std::int64_t>(packets, kMostFarWindow));
  }
  config_.window = std::min(config_.window, config_.drops ? kMostFarWindow : kMostSrdWindow);
  full_window_ = config_.window * kFixed;
  first_window_ = !config_.drops ? full_window_
                                 : std::min(full_window_, std::clamp(kFirstBytes / config_.payload, 4u, 16u) * kFixed);
  const auto units = [&](std::int64_t time) {
    return static_cast<std::uint32_t>(std::max<std::int64_t>(1, time >> time_shift_));
  };
  target_ = units(config_.delay_target.count() > 0 ? config_.delay_target.count() : config_.base_rtt.count() * 4 / 5);
  base_ = units(config_.base_rtt.count());
  Duration reorder = config_.reorder;  // which stays 0 where it is to be measured
  derive(reorder, 5 * config_.base_rtt.count() + config_.longest_wait.count());
  reorder_ = units(reorder.count());
  longest_wait_ = static_cast<std::uint32_t>(config_.longest_wait.count() >> time_shift_);
  leave_lag_ = std::min<std::uint32_t>(std::max(1u, config_.bad_marks) * kTrimmedLag, kMostLag);
}

// ---- endpoints and peers

std::uint32_t Srd::sender_for(std::uint32_t endpoint, std::uint32_t peer) {
  if (const std::uint32_t known = senders_.find(endpoint, peer); known != kNone) return known;
  const std::uint32_t index = senders_.add(endpoint, peer);
  Sender& sender = senders_[index];
  sender.endpoint = endpoint;
  sender.peer = peer;
  sender.reads = sender.wide = kNone;
  sender.least_rtt = base_;
  sender.lately_least = kTimeMask;
  sender.mean_rtt = (base_ + target_ / 2) * kMeanOf;
  sender.spread = base_ / 2 * kMeanOf;
  sender.target = target_;
  sender.payload = config_.payload;
  const std::uint32_t receiver = receivers_.find(endpoint, peer);
  if (receiver != kNone) {
    sender.peer_generation = receivers_[receiver].generation;
    sender.payload = receivers_[receiver].payload;
  }
  // Each pair starts its turn of the paths elsewhere, so that senders do not march in step.
  sender.path = static_cast<std::uint8_t>(pick(mix64(pair_key(endpoint, peer)), config_.paths));
  for (std::uint32_t i = 0; i < kMaxPaths; ++i) {
    sender.paths.entropy[i] = static_cast<std::uint16_t>(i);
    sender.paths.lag[i] = i < config_.paths ? 0 : kUnused;
  }
  sender.in_use = static_cast<std::uint8_t>(config_.paths);
  sender.next_awake = sender.path;
  sender.fresh_entropy = static_cast<std::uint16_t>(config_.paths);
  sender.stream = retired_stream_;
  begin_stream(sender);
  return index;
}

std::uint32_t Srd::receiver_for(std::uint32_t endpoint, std::uint32_t peer) {
  if (const std::uint32_t known = receivers_.find(endpoint, peer); known != kNone) return known;
  const std::uint32_t index = receivers_.add(endpoint, peer);
  Receiver& receiver = receivers_[index];
  receiver.endpoint = endpoint;
  receiver.peer = peer;
  receiver.next_owing = receiver.listen_next = receiver.listen_before = receiver.messages = receiver.far = kNone;
  receiver.expected = receiver.echo = config_.first_sequence;
  receiver.payload = config_.payload;
  const std::uint32_t sender = senders_.find(endpoint, peer);
  if (sender != kNone) {
    receiver.generation = senders_[sender].peer_generation;
    receiver.payload = senders_[sender].payload;
  }
  return index;
}

bool Srd::set_payload(std::uint32_t endpoint, std::uint32_t peer, std::uint32_t bytes) {
  Receiver& receiver = receivers_[receiver_for(endpoint, peer)];
  const std::uint32_t sender = senders_.find(endpoint, peer);
  if (receiver.messages != kNone || (sender != kNone && !idle(senders_[sender]))) return false;
  receiver.payload = std::max(1u, bytes);
  if (sender != kNone) {
    senders_[sender].payload = receiver.payload;
    senders_[sender].most = full_window_of(senders_[sender]);
  }
  return true;
}

bool Srd::has_length(std::uint32_t endpoint, const Header& header, std::uint64_t length) const {
  const std::uint32_t index = receivers_.find(endpoint, header.source);
  const std::uint32_t payload = index != kNone ? receivers_[index].payload : config_.payload;
  const std::uint64_t offset = std::uint64_t{header.sequence - header.data.first} * payload;
  if (header.op == Op::read) return length == 0;
  return length == std::min<std::uint64_t>(payload, header.data.size - std::min(header.data.size, offset));
}

// A read that is too long is one whose answer is.
std::uint32_t Srd::packets_for(Op op, std::uint64_t bytes, std::uint32_t payload) {
  const std::uint32_t packets = packets_of(bytes, payload);
  return op == Op::read ? std::min(1u, packets) : packets;
}

bool Srd::post(Instant now, std::uint32_t endpoint, const Operation& operation) {
  return operation.op != Op::response && enqueue(now, sender_for(endpoint, operation.peer), operation);
}

void Srd::hear(Instant now, std::uint32_t endpoint, std::uint32_t peer) {
  if (const std::uint32_t sender = senders_.find(endpoint, peer); sender != kNone)
    senders_[sender].heard = std::max(senders_[sender].heard, now);
}

void Srd::remove_peer(Instant now, std::uint32_t endpoint, std::uint32_t peer) {
  if (const std::uint32_t index = senders_.find(endpoint, peer); index != kNone) {
    if (!idle(senders_[index])) fail(now, index);
    if (turns_.has(index)) turns_.leave(endpoints_[endpoint].active, index);
    // A peer that remembers us takes no older stream than it knows.
    if (newer(senders_[index].stream, retired_stream_)) retired_stream_ = senders_[index].stream;
    senders_.remove(endpoint, peer);
    turns_.release_from(senders_.size());
  }
  if (const std::uint32_t index = receivers_.find(endpoint, peer); index != kNone) {
    forget(receivers_[index]);
    endpoints_.of(endpoint).owing.remove(receivers_, index);
    receivers_.remove(endpoint, peer);
  }
  wide_.release_if_unused();
  send_messages_.release_if_unused();
  receive_messages_.release_if_unused();
  reads_.release_if_unused();
}

// From the last on: those go back for good.
void Srd::remove_endpoint(Instant now, std::uint32_t endpoint) {
  for (std::size_t i = senders_.size(); i-- > 0;)
    if (i < senders_.size() && senders_.has(static_cast<std::uint32_t>(i)) &&
        senders_[static_cast<std::uint32_t>(i)].endpoint == endpoint)
      remove_peer(now, endpoint, senders_[static_cast<std::uint32_t>(i)].peer);
  for (std::size_t i = receivers_.size(); i-- > 0;)
    if (i < receivers_.size() && receivers_.has(static_cast<std::uint32_t>(i)) &&
        receivers_[static_cast<std::uint32_t>(i)].endpoint == endpoint)
      remove_peer(now, endpoint, receivers_[static_cast<std::uint32_t>(i)].peer);
  endpoints_.remove(endpoint);
}

bool Srd::poll_ack(std::uint32_t endpoint, Transmit& out) {
  EndpointState* const state = endpoints_.find(endpoint);
  if (state == nullptr || state->owing.first == kNone) return false;
  fill_ack(*state, state->owing.take(receivers_), out);
  return true;
}

bool Srd::poll(Instant now, std::uint32_t endpoint, Transmit& out) {
  EndpointState* const state = endpoints_.find(endpoint);
  if (state == nullptr) return false;
  // Most send to one peer at a time, and can: nothing else has to be looked at.
  if (const std::uint32_t only = turns_.only(state->active); only != kNone && state->working <= 1) {
    Sender& sender = senders_[only];
    if (turns_.wake(only) > now && sender.burst_left == 0) return false;
    if (now < sender.deadline && now >= sender.paced_until && can_send(sender, kFarOpen)) [[likely]] {
      fill_data(now, sender, kFarOpen, out);
      return true;
    }
  }
  return poll_among(now, *state, out);
}

[[gnu::noinline]] bool Srd::poll_among(Instant now, EndpointState& state, Transmit& out) {
  if (state.working > 1 && turns_.somebody_wants(state.active)) share_more(state);
  const auto ask = [&](std::uint32_t index) {
    if (now >= senders_[index].deadline) time_out(now, index);
    Sender& sender = senders_[index];
    const std::uint32_t share = share_of(state, sender);
    if (now >= sender.paced_until && can_send(sender, share)) {
      fill_data(now, sender, share, out);
      turns_.wait(index, 0);
      return Turn::served;
    }
    const Turn turn = idle(sender) ? Turn::over : Turn::passed;
    if (turn == Turn::passed) wait(index, share);
    if (state.working > 1 && turns_.somebody_wants(state.active)) share_more(state);
    return turn;
  };
  // A train is not interrupted.
  const std::uint32_t last = state.active.last;
  if (config_.burst > 1 && last != kNone && senders_[last].burst_left > 0 && ask(last) == Turn::served) return true;
  const bool served = turns_.serve(state.active, now, ask);
  if (!served && state.working > 1) wait_longer(state);
  return served;
}

Instant Srd::next_wake(std::uint32_t endpoint) const {
  const EndpointState* const state = endpoints_.find(endpoint);
  return state == nullptr ? kNever : turns_.earliest(state->active);
}

// Who could send more if it were not for the others waits for a greater share, too.
[[gnu::noinline]] void Srd::wait(std::uint32_t index, std::uint32_t share) {
  const Sender& sender = senders_[index];
  Wanted wanted;
  // With so many in flight none fits any more; where trains are sent, no whole one.
  const bool one = config_.burst == 1 || sender.lost > 0 || sender.burst_left > 0 || sender.flying == 0;
  const std::uint32_t more = one ? 1 : std::min({train_of(sender), sender.end - sender.next, sender.allowed});
  const std::uint32_t full = sender.flying + more - 1;
  if (full >= share && can_send(sender, kFarOpen))
    wanted = {static_cast<std::uint16_t>(full), static_cast<std::uint16_t>(sender.allowed - full)};
  turns_.wait(index, wake_of(sender, share), wanted);
}

// There may be greater shares than when some said until when they wait: share_of() above what these have in flight.
[[gnu::noinline]] void Srd::share_more(EndpointState& state) {
  const std::uint32_t fair = state.working <= 1 ? kFarOpen : full_window_ / kFixed / state.working;
  const std::uint32_t others = state.allowed - std::min(state.allowed, enough_of_all());
  std::uint32_t index = kNone;
  while ((index = turns_.find_wanting(state.active, fair, others)) != kNone)
    turns_.wait(index, wake_of(senders_[index], share_of(state, senders_[index])));
}

// And there may be smaller ones.
[[gnu::noinline]] void Srd::wait_longer(EndpointState& state) {
  while (true) {
    const std::uint32_t index = turns_.find_earliest(state.active);
    if (index == kNone) return;
    const std::uint32_t share = share_of(state, senders_[index]);
    if (turns_.wake(index) >= wake_of(senders_[index], share)) return;
    wait(index, share);
  }
}

// ---- restarts

// A packet of the peer names a generation that is not the one we know. False: an older one. A newer one
// has forgotten whatever we had with the former.
bool Srd::meet(Instant now, std::uint32_t endpoint, std::uint32_t peer, std::uint16_t generation) {
  const std::uint32_t sender = senders_.find(endpoint, peer);
  const std::uint32_t receiver = receivers_.find(endpoint, peer);
  const std::uint16_t known = sender != kNone ? senders_[sender].peer_generation : receivers_[receiver].generation;
  if (generation == 0 || (known != 0 && !newer(generation, known))) return false;
  if (sender != kNone) {
    if (known != 0) fail(now, sender);
    senders_[sender].peer_generation = generation;
  }
  if (receiver != kNone) {
    if (known != 0) {
      forget(receivers_[receiver]);
      receivers_[receiver].stream = 0;
    }
    receivers_[receiver].generation = generation;
  }
  return true;
}

// Everything not yet acknowledged fails, and numbers begin anew.
void Srd::fail(Instant, std::uint32_t index) {
  Sender& sender = senders_[index];
  ++counters_.restarts;
  if (sender.first_message != kNone) end_work(sender);
  fail_all(send_messages_, sender, [&](const SendMessage& message) {
    if (message.op == Op::send || message.op == Op::write)
      completions_.push_back(end_of(sender, message, Completion::Kind::failed));
  });
  fail_reads(sender);
  begin_stream(sender);
  ask_again(index);
}

void Srd::fail_reads(Sender& sender) {
  if (const std::uint32_t index = receivers_.find(sender.endpoint, sender.peer); index != kNone) {
    for (std::uint32_t slot = receivers_[index].messages; slot != kNone; slot = receive_messages_[slot].next)
      receive_messages_[slot].read = kNone;
  }
  while (sender.reads != kNone) {
    const std::uint32_t slot = sender.reads;
    const Read& read = reads_[slot];
    completions_.push_back(end_of(sender, read, Completion::Kind::failed));
    sender.reads = read.next;
    reads_.give_back(slot);
  }
}

void Srd::begin_stream(Sender& sender) {
  if (++sender.stream == 0) sender.stream = 1;
  sender.una = sender.next = sender.end = sender.lost_scan = config_.first_sequence;
  sender.flying = sender.lost = sender.responses = 0;
  sender.first_message = sender.last_message = sender.sending = kNone;
  sender.window = first_window_;
  sender.most = full_window_of(sender);
  sender.drops = sender.starting = config_.drops;
  sender.epoch_lost = 0;
  sender.gap = 0;
  sender.congested = 0;
  sender.epoch_acked = sender.epoch_rtt = sender.epoch_samples = 0;
  sender.fan_in = 1;
  sender.burst_left = sender.silent = sender.questions = 0;
  sender.trying = sender.mixed = 0;
  sender.deadline = kNever;
  sender.paced_until = 0;
  for (Slot& slot : sender.near) slot = Slot{};
  if (sender.wide != kNone) narrow(sender);
  for (std::uint8_t& flying : sender.paths.flying) flying = 0;
  set_allowed(sender);
  use_paths(sender, sender.drops ? paths_for(sender) : config_.paths);
}

}  // namespace weft::transport
