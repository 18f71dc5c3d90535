#include "transport/srd.hpp"

#include <algorithm>
#include <bit>

#include "base/hash.hpp"

namespace weft::transport {
namespace {

constexpr int kTimeShift = 10;  // 1.024 ns: 32 bits last 4.4 s, far longer than any packet flies
constexpr std::uint8_t kMaxLevel = 15;
constexpr std::uint8_t kGiveUp = 7;  // third bad packet in a row
constexpr std::uint32_t kFixed = 256;  // fixed point of windows
constexpr std::uint32_t kIncrease = 4;  // packets per round trip: flows that share a link become equal in tens of them

std::uint64_t pair_key(std::uint32_t a, std::uint32_t b) { return (std::uint64_t{a} << 32) | b; }

// Sequence numbers wrap; a is before b when the distance from a to b is short.
bool before(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) < 0; }

std::uint32_t stamp(Instant now) { return static_cast<std::uint32_t>(now >> kTimeShift); }

}  // namespace

Srd::Srd(const SrdConfig& config) : config_(config) {
  config_.paths = std::min(config_.paths, kMaxPaths);
  // A round trip's worth, what waits at the receiver for an acknowledgement, and a little queue.
  const std::int64_t each = std::max<std::int64_t>(1, config_.packet_time);
  const std::int64_t round_trip = (config_.base_rtt + each - 1) / each;
  const std::int64_t packets = round_trip + config_.ack_every + round_trip / 2 + 1;
  full_window_ = static_cast<std::uint32_t>(std::min<std::int64_t>(packets, kWindow - 1)) * kFixed;
}

Srd::EndpointState& Srd::state_of(std::uint32_t endpoint) {
  if (endpoint >= endpoints_.size()) endpoints_.resize(endpoint + 1);
  return endpoints_[endpoint];
}

std::uint32_t Srd::sender_for(std::uint32_t endpoint, std::uint32_t peer) {
  if (const std::uint32_t known = sender_index_.find(pair_key(endpoint, peer)); known != kNone) return known;
  const std::uint32_t index = senders_.take();
  sender_index_.insert(pair_key(endpoint, peer), index);
  Sender& sender = senders_[index];
  sender = Sender{};
  sender.endpoint = endpoint;
  sender.peer = peer;
  sender.next_active = kNone;
  sender.window = full_window_;
  sender.first_message = sender.last_message = sender.sending = kNone;
  sender.fan_in = 1;
  sender.deadline = kNever;
  // Each pair starts its turn of the paths elsewhere, so that senders do not march in step.
  sender.path = static_cast<std::uint8_t>(pick(mix64(pair_key(endpoint, peer)), config_.paths));
  for (std::uint32_t i = 0; i < config_.paths; ++i) sender.entropy[i] = static_cast<std::uint16_t>(i);
  sender.fresh_entropy = static_cast<std::uint16_t>(config_.paths);
  return index;
}

std::uint32_t Srd::receiver_for(std::uint32_t endpoint, std::uint32_t peer) {
  if (const std::uint32_t known = receiver_index_.find(pair_key(endpoint, peer)); known != kNone) return known;
  const std::uint32_t index = receivers_.take();
  receiver_index_.insert(pair_key(endpoint, peer), index);
  Receiver& receiver = receivers_[index];
  receiver = Receiver{};
  receiver.endpoint = endpoint;
  receiver.peer = peer;
  receiver.next_owing = kNone;
  receiver.messages = kNone;
  return index;
}

void Srd::activate(std::uint32_t index) {
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

void Srd::post(Instant now, std::uint32_t endpoint, std::uint32_t peer, std::uint64_t bytes,
               std::uint32_t tag) {
  const std::uint32_t index = sender_for(endpoint, peer);
  Sender& sender = senders_[index];
  const std::uint32_t slot = send_messages_.take();
  SendMessage& message = send_messages_[slot];
  message.bytes = bytes;
  message.tag = tag;
  message.first = sender.end;
  message.packets = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (bytes + config_.payload - 1) / config_.payload));
  message.left = message.packets;
  message.number = sender.messages++;
  message.next = kNone;
  sender.end += message.packets;
  if (sender.last_message == kNone) {
    sender.first_message = slot;
  } else {
    send_messages_[sender.last_message].next = slot;
  }
  sender.last_message = slot;
  if (sender.sending == kNone) sender.sending = slot;
  if (sender.deadline == kNever) sender.deadline = now + 2 * config_.base_rtt;
  activate(index);
}

// ---- receiving

void Srd::handle(Instant now, std::uint32_t endpoint, PacketType type, std::uint8_t flags,
                 const Header& header) {
  if (type == PacketType::ack) {
    handle_ack(now, endpoint, flags, header);
  } else {
    handle_data(now, endpoint, flags, header);
  }
}

void Srd::owe(std::uint32_t index, std::uint8_t flags) {
  Receiver& receiver = receivers_[index];
  receiver.owe_flags = flags;
  if (receiver.owing) return;
  receiver.owing = true;
  EndpointState& state = state_of(receiver.endpoint);
  receiver.next_owing = state.owing;
  state.owing = index;
}

void Srd::handle_data(Instant, std::uint32_t endpoint, std::uint8_t flags, const Header& header) {
  const std::uint32_t index = receiver_for(endpoint, header.source);
  Receiver& receiver = receivers_[index];
  const std::uint32_t ahead = header.sequence - receiver.expected;
  receiver.echo = header.sequence;
  receiver.echo_path = header.path;
  if (flags & kTrimmed) {
    ++counters_.trimmed_seen;
    const bool missing = ahead < kWindow && !(receiver.arrived[header.sequence % kWindow / 64] >> (header.sequence % 64) & 1);
    owe(index, missing ? kTrimmed : 0);
    return;
  }
  const std::uint64_t bit = std::uint64_t{1} << (header.sequence % 64);
  std::uint64_t& word = receiver.arrived[header.sequence % kWindow / 64];
  if (ahead >= kWindow || (word & bit)) {  // ancient, or from beyond any window, or seen
    ++counters_.duplicates;
    owe(index, 0);
    return;
  }
  word |= bit;
  std::uint64_t& marks = receiver.marked[header.sequence % kWindow / 64];
  marks = flags & kMarked ? marks | bit : marks & ~bit;
  counters_.marked_seen += (flags & kMarked) != 0;
  const bool complete = deliver(receiver, header);
  while (receiver.arrived[receiver.expected % kWindow / 64] >> (receiver.expected % 64) & 1) {
    receiver.arrived[receiver.expected % kWindow / 64] &= ~(std::uint64_t{1} << (receiver.expected % 64));
    ++receiver.expected;
  }
  // The packet that asks may overtake others; those are then acknowledged when they close the gap.
  receiver.hurry = receiver.hurry || (flags & kAckNow);
  bool gap = false;
  for (const std::uint64_t bits : receiver.arrived) gap = gap || bits != 0;
  const bool due = ++receiver.unacked >= config_.ack_every || (flags & kAckNow) || complete || (receiver.hurry && !gap);
  if (due) owe(index, 0);
  if (!gap) receiver.hurry = false;
}

bool Srd::deliver(Receiver& receiver, const Header& header) {
  std::uint32_t* link = &receiver.messages;
  while (*link != kNone && receive_messages_[*link].number != header.data.first)
    link = &receive_messages_[*link].next;
  if (*link == kNone) {
    if (receiver.messages == kNone) ++state_of(receiver.endpoint).listening;
    const std::uint32_t slot = receive_messages_.take();
    const auto packets = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (header.data.size + config_.payload - 1) / config_.payload));
    receive_messages_[slot] = {header.data.first, packets, header.data.size, header.data.tag, kNone};
    *link = slot;
    // `link` may point into the slab that just grew; find it again from the head.
    link = &receiver.messages;
    while (*link != slot) link = &receive_messages_[*link].next;
  }
  ReceiveMessage& message = receive_messages_[*link];
  if (--message.left > 0) return false;
  counters_.payload_delivered += message.bytes;
  completions_.push_back({receiver.endpoint, receiver.peer, message.tag, message.bytes, false});
  const std::uint32_t done = *link;
  *link = message.next;
  receive_messages_.give_back(done);
  if (receiver.messages == kNone) --state_of(receiver.endpoint).listening;
  return true;
}

void Srd::handle_ack(Instant now, std::uint32_t endpoint, std::uint8_t flags, const Header& header) {
  const std::uint32_t index = sender_index_.find(pair_key(endpoint, header.source));
  if (index == kNone) return;
  Sender& sender = senders_[index];
  if (before(sender.next, header.sequence)) return;  // acknowledges what was never sent
  const std::uint32_t echo = header.echoed();
  sender.fan_in = std::max<std::uint16_t>(1, header.fan_in);
  const auto marked = [&](std::uint32_t sequence) {
    const std::uint32_t back = echo - sequence;
    return back < 64 && (header.ack.marked >> back & 1);
  };
  const std::uint32_t una = sender.una;
  for (std::uint32_t s = sender.una; before(s, header.sequence); ++s)
    if (sender.state[s % kWindow] != State::arrived) acknowledge(sender, s, marked(s));
  for (std::uint64_t bits = header.ack.arrived; bits != 0; bits &= bits - 1) {
    const std::uint32_t s = header.sequence + static_cast<std::uint32_t>(std::countr_zero(bits));
    if (before(s, sender.next) && !before(s, sender.una) && sender.state[s % kWindow] != State::arrived)
      acknowledge(sender, s, marked(s));
  }
  while (sender.una != sender.next && sender.state[sender.una % kWindow] == State::arrived) {
    sender.state[sender.una % kWindow] = State::empty;
    ++sender.una;
  }
  if (flags & kTrimmed) {
    State& state = sender.state[echo % kWindow];
    if (before(echo, sender.next) && !before(echo, sender.una) && state == State::flying) {
      state = State::lost;
      --sender.flying;
      ++sender.lost;
      if (before(echo, sender.lost_scan) || sender.lost == 1) sender.lost_scan = echo;
      const std::uint8_t path = sender.path_of[echo % kWindow];
      blame(sender, path, false);
      ++sender.epoch_acked;
      ++sender.epoch_marked;
    }
  }
  if (sender.una != una || header.ack.arrived != 0 || (flags & kTrimmed)) {
    sender.deadline = now + 2 * (config_.base_rtt + config_.packet_time * sender.fan_in);
    sender.probed = false;
  }
  find_lost(now, sender);
  if (sender.epoch_acked >= window_of(sender)) end_epoch(sender);
  finish_messages(sender);
  if (sender.first_message == kNone) {
    sender.deadline = kNever;
  } else {
    activate(index);
  }
}

void Srd::acknowledge(Sender& sender, std::uint32_t sequence, bool marked) {
  const std::uint32_t slot = sequence % kWindow;
  if (sender.state[slot] == State::flying) --sender.flying;
  if (sender.state[slot] == State::lost) --sender.lost;
  sender.state[slot] = State::arrived;
  const std::uint8_t path = sender.path_of[slot];
  std::uint8_t& level = sender.level[path];
  if (marked) {
    blame(sender, path, false);
  } else {
    level /= 2;
  }
  ++sender.epoch_acked;
  sender.epoch_marked += marked;
  if (static_cast<std::int32_t>(sender.sent_at[slot] - sender.latest_sent) > 0) sender.latest_sent = sender.sent_at[slot];
  // Messages are runs of sequences; the one it belongs to is near the front.
  std::uint32_t message = sender.first_message;
  while (message != kNone && !(sequence - send_messages_[message].first < send_messages_[message].packets))
    message = send_messages_[message].next;
  if (message != kNone) --send_messages_[message].left;
}

// A path that stays bad is given up for another entropy: there are more ways than paths in use.
void Srd::blame(Sender& sender, std::uint8_t path, bool dead) {
  std::uint8_t& level = sender.level[path];
  level = dead ? kMaxLevel : std::min<std::uint8_t>(kMaxLevel, static_cast<std::uint8_t>(level * 2 + 1));
  sender.skip[path] = level;
  if (level < kGiveUp) return;
  sender.entropy[path] = sender.fresh_entropy++;
  level = sender.skip[path] = 1;
}

void Srd::end_epoch(Sender& sender) {
  const std::uint32_t share = full_window_ / sender.fan_in;
  if (sender.epoch_marked * 2 > sender.epoch_acked) {
    // Beyond one half, in proportion: all marked halves the window. Where the receiver's share is the
    // limit, marks say nothing about the paths.
    const std::uint32_t beyond = sender.epoch_marked * 2 - sender.epoch_acked;
    if (sender.window <= share || sender.fan_in == 1)
      sender.window -= static_cast<std::uint32_t>(std::uint64_t{sender.window} * beyond / (2 * std::uint64_t{sender.epoch_acked}));
    sender.window = std::max(sender.window, kFixed);
  } else if (sender.epoch_marked * 4 <= sender.epoch_acked) {
    sender.window = std::min(full_window_, sender.window + kFixed * kIncrease);
  }
  sender.epoch_acked = sender.epoch_marked = 0;
}

void Srd::finish_messages(Sender& sender) {
  std::uint32_t* link = &sender.first_message;
  std::uint32_t last = kNone;
  while (*link != kNone) {
    SendMessage& message = send_messages_[*link];
    if (message.left > 0) {
      last = *link;
      link = &message.next;
      continue;
    }
    completions_.push_back({sender.endpoint, sender.peer, message.tag, message.bytes, true});
    const std::uint32_t done = *link;
    *link = message.next;
    send_messages_.give_back(done);
  }
  sender.last_message = last;
}

// A packet sent well before one that has arrived is lost. "Well before" allows for paths of different
// length and load: half a base round trip.
void Srd::find_lost(Instant, Sender& sender) {
  const auto margin = static_cast<std::uint32_t>((config_.base_rtt / 2) >> kTimeShift) + 1;
  if (sender.flying == 0) return;
  const std::uint32_t oldest = sender.una % kWindow;
  if (sender.state[oldest] != State::flying) return;  // the front is what blocks; look only there
  for (std::uint32_t s = sender.una; before(s, sender.next); ++s) {
    const std::uint32_t slot = s % kWindow;
    if (sender.state[slot] != State::flying) continue;
    if (static_cast<std::int32_t>(sender.latest_sent - sender.sent_at[slot]) <= static_cast<std::int32_t>(margin * 4)) break;
    sender.state[slot] = State::lost;
    --sender.flying;
    ++sender.lost;
    if (before(s, sender.lost_scan) || sender.lost == 1) sender.lost_scan = s;
    blame(sender, sender.path_of[slot], true);
  }
}

bool Srd::time_out(Instant now, Sender& sender) {
  if (now < sender.deadline || sender.first_message == kNone) return false;
  if (!sender.probed && sender.flying > 0) {
    // Silence: perhaps only nobody asked for an acknowledgement. The oldest packet asks again.
    std::uint32_t s = sender.una;
    while (sender.state[s % kWindow] != State::flying) ++s;
    sender.state[s % kWindow] = State::lost;
    --sender.flying;
    ++sender.lost;
    if (before(s, sender.lost_scan) || sender.lost == 1) sender.lost_scan = s;
    sender.probed = true;
    sender.paced_until = now;
    sender.deadline = now + config_.rto;
    return true;
  }
  ++counters_.timeouts;
  for (std::uint32_t s = sender.una; before(s, sender.next); ++s) {
    const std::uint32_t slot = s % kWindow;
    if (sender.state[slot] != State::flying) continue;
    sender.state[slot] = State::lost;
    --sender.flying;
    ++sender.lost;
    blame(sender, sender.path_of[slot], true);
  }
  sender.lost_scan = sender.una;
  sender.deadline = now + config_.rto;
  return true;
}

// ---- sending

std::uint32_t Srd::window_of(const Sender& sender) const {
  const std::uint32_t share = full_window_ / sender.fan_in;
  return std::max<std::uint32_t>(1, std::min(sender.window, share) / kFixed);
}

bool Srd::can_send(Instant now, const Sender& sender) const {
  if (sender.flying >= window_of(sender) || now < sender.paced_until) return false;
  if (sender.lost > 0) return true;
  return sender.next != sender.end && sender.next - sender.una < kWindow;
}

std::uint8_t Srd::choose_path(Sender& sender, std::uint8_t avoid) {
  if (sender.burst_left > 0 && avoid == 0xFF) {
    --sender.burst_left;
    return sender.path;
  }
  // In turn; a path with turns to skip gives them up one by one. Two rounds at most: when every path
  // is bad, the next one it is.
  for (std::uint32_t tries = 0; tries < 2 * config_.paths; ++tries) {
    sender.path = static_cast<std::uint8_t>((sender.path + 1) % config_.paths);
    if (sender.path == avoid) continue;
    if (sender.skip[sender.path] == 0) break;
    --sender.skip[sender.path];
  }
  sender.burst_left = static_cast<std::uint8_t>(config_.burst - 1);
  // A path that stays marked is skipped again next time without waiting for the mark to come back.
  sender.skip[sender.path] = sender.level[sender.path];
  return sender.path;
}

void Srd::fill_data(Instant now, Sender& sender, Transmit& out) {
  std::uint32_t sequence = sender.next;
  std::uint32_t message = sender.sending;
  std::uint8_t avoid = 0xFF;
  out.flags = 0;
  if (sender.lost > 0) {
    sequence = sender.lost_scan;
    while (sender.state[sequence % kWindow] != State::lost) ++sequence;
    sender.lost_scan = sequence + 1;
    --sender.lost;
    ++counters_.data_resent;
    out.flags |= kResent | kAckNow;
    avoid = sender.path_of[sequence % kWindow];
    message = sender.first_message;
    while (!(sequence - send_messages_[message].first < send_messages_[message].packets))
      message = send_messages_[message].next;
  } else {
    ++sender.next;
    if (sender.next == send_messages_[message].first + send_messages_[message].packets)
      sender.sending = send_messages_[message].next;
    ++counters_.data_sent;
  }
  const SendMessage& part = send_messages_[message];
  const std::uint32_t slot = sequence % kWindow;
  const std::uint8_t path = choose_path(sender, avoid);
  sender.state[slot] = State::flying;
  sender.path_of[slot] = path;
  sender.sent_at[slot] = stamp(now);
  ++sender.flying;
  const bool last = sequence + 1 == part.first + part.packets;
  if (last || sender.flying >= window_of(sender)) out.flags |= kAckNow;
  const std::uint64_t offset = std::uint64_t{sequence - part.first} * config_.payload;
  const std::uint64_t bytes = std::min<std::uint64_t>(config_.payload, part.bytes - std::min(part.bytes, offset));
  out.type = PacketType::data;
  out.wire_bytes = static_cast<std::uint32_t>(bytes) + config_.header;
  out.header = Header{};
  out.header.source = sender.endpoint;
  out.header.destination = sender.peer;
  out.header.path = sender.entropy[path];
  out.header.sequence = sequence;
  out.header.op = Op::send;
  out.header.data = {part.first, part.tag, part.bytes};
  if (sender.fan_in > 1) sender.paced_until = now + config_.packet_time * sender.fan_in;
}

void Srd::fill_ack(EndpointState& state, Transmit& out) {
  const std::uint32_t index = state.owing;
  Receiver& receiver = receivers_[index];
  state.owing = receiver.next_owing;
  receiver.owing = false;
  receiver.unacked = 0;
  ++counters_.acks_sent;
  out.type = PacketType::ack;
  out.flags = receiver.owe_flags;
  out.wire_bytes = config_.header;
  out.header = Header{};
  out.header.source = receiver.endpoint;
  out.header.destination = receiver.peer;
  out.header.path = receiver.echo_path;
  out.header.sequence = receiver.expected;
  out.header.echo = static_cast<std::uint16_t>(receiver.echo);
  out.header.fan_in = static_cast<std::uint16_t>(std::min<std::uint32_t>(0xFFFF, state.listening));
  const auto gather = [](const std::uint64_t* words, std::uint32_t from) {
    const std::uint32_t word = from % kWindow / 64;
    const std::uint32_t shift = from % 64;
    std::uint64_t bits = words[word] >> shift;
    if (shift > 0) bits |= words[(word + 1) % (kWindow / 64)] << (64 - shift);
    return bits;
  };
  out.header.ack.arrived = gather(receiver.arrived, receiver.expected);
  // Marks of the 64 sequences up to the echo, newest in bit 0.
  std::uint64_t marks = gather(receiver.marked, receiver.echo - 63);
  std::uint64_t reversed = 0;
  for (; marks != 0; marks &= marks - 1) reversed |= std::uint64_t{1} << (63 - std::countr_zero(marks));
  out.header.ack.marked = reversed;
}

bool Srd::poll_ack(std::uint32_t endpoint, Transmit& out) {
  if (endpoint >= endpoints_.size() || endpoints_[endpoint].owing == kNone) return false;
  fill_ack(endpoints_[endpoint], out);
  return true;
}

bool Srd::poll(Instant now, std::uint32_t endpoint, Transmit& out) {
  if (endpoint >= endpoints_.size()) return false;
  EndpointState& state = endpoints_[endpoint];
  // Peers in turn, starting behind the one served last.
  while (state.active != kNone) {
    const std::uint32_t last = state.active;
    std::uint32_t index = last;
    bool served = false;
    bool removed = false;
    do {
      const std::uint32_t before_it = index;
      index = senders_[index].next_active;
      Sender& sender = senders_[index];
      time_out(now, sender);
      if (sender.first_message == kNone) {  // nothing left: leave the ring
        const bool alone = sender.next_active == index;
        senders_[before_it].next_active = sender.next_active;
        sender.next_active = kNone;
        state.active = alone ? kNone : before_it;
        removed = true;
        break;
      }
      if (can_send(now, sender)) {
        fill_data(now, sender, out);
        state.active = index;
        served = true;
        break;
      }
    } while (index != last);
    if (served) return true;
    if (!removed) return false;
  }
  return false;
}

Instant Srd::next_wake(std::uint32_t endpoint) const {
  if (endpoint >= endpoints_.size()) return kNever;
  const EndpointState& state = endpoints_[endpoint];
  if (state.active == kNone) return kNever;
  Instant wake = kNever;
  std::uint32_t index = state.active;
  do {
    const Sender& sender = senders_[index];
    wake = std::min(wake, sender.deadline);
    const bool wants = sender.lost > 0 || (sender.next != sender.end && sender.next - sender.una < kWindow);
    if (wants && sender.flying < window_of(sender)) wake = std::min(wake, sender.paced_until);
    index = sender.next_active;
  } while (index != state.active);
  return wake;
}

}  // namespace weft::transport
