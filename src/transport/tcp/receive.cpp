// TCP's receiving half: order, gaps, acknowledgements.

#include "transport/tcp/tcp.hpp"

#include <bit>

namespace weft::transport {

Placement Tcp::handle_data(Instant now, std::uint32_t endpoint, std::uint8_t flags, const Header& header) {
  Placement out;
  out.kind = Placement::Kind::dropped;
  out.op = header.op;
  out.first = header.data.first;
  out.tag = header.data.tag;
  const std::uint32_t which = header.stream % (1u << kConnectionBits);
  const std::uint32_t segments = packets_of(header.data.size, segment_);
  const std::uint32_t number = header.sequence - header.data.first;  // within its message
  if ((header.op != Op::send && header.op != Op::write) || which >= config_.connections ||
      header.stream >> kConnectionBits == 0 || number >= segments) {
    ++counters_.ignored;
    return out;
  }
  if (flags & kTrimmed) {  // a damaged packet to a TCP that knows nothing of trimming
    ++counters_.trimmed_seen;
    return out;
  }
  const std::uint32_t pair = receivers_for(endpoint, header.source);
  const std::uint32_t index = pair + which;
  Receiver& receiver = receivers_[index];
  if (header.peer_generation != 0 && header.peer_generation != config_.generation) {
    // Of a connection that died with our predecessor.
    ++counters_.ignored;
    if (newer(config_.generation, header.peer_generation)) owe(index);
    return out;
  }
  if (header.generation != receiver.generation && !meet(pair, header.generation)) {
    ++counters_.ignored;
    return out;
  }
  if (receiver.stream != header.stream) {
    const auto lives = static_cast<std::uint16_t>(header.stream - receiver.stream);
    if (receiver.stream != 0 && static_cast<std::int16_t>(lives) < 0) {
      ++counters_.ignored;
      return out;
    }
    begin_life(receiver, header.stream);
  }
  const bool marked = flags & kMarked;
  const bool changed = marked != receiver.marked;
  receiver.marked = marked;
  receiver.marks = static_cast<std::uint16_t>(receiver.marks + marked);
  counters_.marked_seen += marked;
  // Whoever was silent for long has a small window and waits for every answer.
  if (now - receiver.heard > config_.rto_min.count()) receiver.quick = static_cast<std::uint8_t>(config_.quick_acks);
  receiver.heard = now;

  const std::uint32_t beyond = header.sequence - receiver.expected;
  const bool old = before(header.sequence, receiver.expected);
  if (old || (beyond < kRing && receiver.gap != kNone && whole(receiver, header.sequence, header.sequence + 1))) {
    out.kind = Placement::Kind::duplicate;
    ++counters_.duplicates;
    receiver.repeats = true;
    receiver.repeated = header.sequence;
    judge_ack(now, index, flags, true);
    return out;
  }
  if (beyond >= receive_segments_) {
    ++counters_.ignored;
    judge_ack(now, index, flags, true);
    return out;
  }
  const std::uint64_t offset = std::uint64_t{number} * segment_;
  out.kind = Placement::Kind::place;
  out.offset = offset;
  out.length = static_cast<std::uint32_t>(std::min<std::uint64_t>(segment_, header.data.size - offset));
  counters_.payload_delivered += out.length;
  const std::uint32_t end = header.data.first + segments;
  const bool last = number + 1 == segments;
  const bool at_once = receiver.gap != kNone || beyond > 0;
  if (beyond > 0) {
    place_beyond(receiver, header.sequence);
    if (last && header.op == Op::send) keep(receiver, header, end);
  } else {
    ++receiver.expected;
    if (last && header.op == Op::send)
      completions_.push_back(
          {receiver.endpoint, receiver.peer, out.tag, 0, header.data.size, Completion::Kind::received});
    if (receiver.gap != kNone) advance(receiver);
  }
  out.complete = whole(receiver, header.data.first, end);
  judge_ack(now, index, flags, at_once || changed);
  return out;
}

// Another generation than the one we know. False: an older one. With a newer one all connections begin anew.
bool Tcp::meet(std::uint32_t receivers, std::uint16_t generation) {
  const std::uint16_t known = receivers_[receivers].generation;
  if (known != 0 && !newer(generation, known)) return false;
  for (std::uint32_t i = 0; i < config_.connections; ++i) {
    Receiver& receiver = receivers_[receivers + i];
    if (known != 0) begin_life(receiver, 0);
    receiver.generation = generation;
  }
  return true;
}

// The peer gave up the former connection and has made a new one.
void Tcp::begin_life(Receiver& receiver, std::uint16_t stream) {
  while (receiver.messages != kNone) {
    const std::uint32_t slot = receiver.messages;
    receiver.messages = receive_messages_[slot].next;
    receive_messages_.give_back(slot);
  }
  receiver.last_message = kNone;
  if (receiver.gap != kNone) gaps_.give_back(receiver.gap);
  receiver.gap = kNone;
  receiver.beyond = 0;
  receiver.stream = stream;
  receiver.expected = config_.first_sequence;
  receiver.marks = 0;
  receiver.repeats = false;
  receiver.quick = static_cast<std::uint8_t>(config_.quick_acks);
}

// ---- gaps

// Whether all of [first, end) has arrived; looks at 64 words at most.
bool Tcp::whole(const Receiver& receiver, std::uint32_t first, std::uint32_t end) const {
  if (before(first, receiver.expected)) first = receiver.expected;
  if (!before(first, end)) return true;
  if (receiver.gap == kNone || end - receiver.expected > kRing) return false;
  return !before(range_end(gaps_[receiver.gap], receiver, first), end);
}

void Tcp::place_beyond(Receiver& receiver, std::uint32_t sequence) {
  if (receiver.gap == kNone) {
    receiver.gap = gaps_.take();
    gaps_[receiver.gap] = Gap{};
    for (std::uint32_t& recent : receiver.recent) recent = receiver.expected;
  }
  Gap& gap = gaps_[receiver.gap];
  gap.set(sequence);
  ++receiver.beyond;
  // The newest goes first, before others that are not of its range.
  const std::uint32_t begin = range_begin(gap, receiver, sequence);
  const std::uint32_t end = range_end(gap, receiver, sequence);
  std::uint32_t moving = sequence;
  for (std::uint32_t& recent : receiver.recent) {
    std::swap(recent, moving);
    if (!before(moving, begin) && before(moving, end)) break;
  }
}

// `expected` has arrived: on to the next that has not.
void Tcp::advance(Receiver& receiver) {
  const std::uint32_t run = gaps_[receiver.gap].pass(receiver.expected);
  receiver.beyond = static_cast<std::uint16_t>(receiver.beyond - run);
  hand_over(receiver);
  if (receiver.beyond > 0) return;
  gaps_.give_back(receiver.gap);
  receiver.gap = kNone;
}

// The first sequence of the run of arrivals that has this one, which has arrived.
std::uint32_t Tcp::range_begin(const Gap& gap, const Receiver& receiver, std::uint32_t sequence) const {
  while (before(receiver.expected, sequence)) {
    const std::uint32_t at = (sequence - 1) % 64;
    const std::uint64_t missing = ~(gap.word(sequence - 1) << (63 - at));
    const auto run = std::min<std::uint32_t>(static_cast<std::uint32_t>(std::countl_zero(missing)), at + 1);
    sequence -= run;
    if (run < at + 1) break;
  }
  return sequence;
}

// The first sequence from this one on that has not arrived.
std::uint32_t Tcp::range_end(const Gap& gap, const Receiver& receiver, std::uint32_t sequence) const {
  while (sequence - receiver.expected < kRing) {
    const std::uint32_t at = sequence % 64;
    const std::uint64_t missing = ~(gap.word(sequence) >> at);
    const auto run = std::min<std::uint32_t>(static_cast<std::uint32_t>(std::countr_zero(missing)), 64 - at);
    sequence += run;
    if (run < 64 - at) break;
  }
  return sequence;
}

// ---- messages whose end arrived beyond a gap

void Tcp::keep(Receiver& receiver, const Header& header, std::uint32_t end) {
  const std::uint32_t slot = receive_messages_.take();
  receive_messages_[slot] = {header.data.size, end, header.data.tag, kNone};
  // Ends mostly arrive in order.
  std::uint32_t behind = receiver.last_message;
  if (behind != kNone && before(end, receive_messages_[behind].end)) {
    behind = kNone;
    for (std::uint32_t at = receiver.messages; before(receive_messages_[at].end, end); at = receive_messages_[at].next)
      behind = at;
  }
  std::uint32_t& link = behind == kNone ? receiver.messages : receive_messages_[behind].next;
  receive_messages_[slot].next = link;
  link = slot;
  if (receive_messages_[slot].next == kNone) receiver.last_message = slot;
}

void Tcp::hand_over(Receiver& receiver) {
  while (receiver.messages != kNone) {
    const std::uint32_t slot = receiver.messages;
    const ReceiveMessage& message = receive_messages_[slot];
    if (before(receiver.expected, message.end)) return;
    completions_.push_back(
        {receiver.endpoint, receiver.peer, message.tag, 0, message.bytes, Completion::Kind::received});
    receiver.messages = message.next;
    receive_messages_.give_back(slot);
  }
  receiver.last_message = kNone;
}

// ---- acknowledgements

void Tcp::judge_ack(Instant now, std::uint32_t index, std::uint8_t flags, bool at_once) {
  Receiver& receiver = receivers_[index];
  ++receiver.unacked;
  const bool quick = receiver.quick > 0;
  if (quick) --receiver.quick;
  if (at_once || quick || (flags & kAckNow) || receiver.gap != kNone || receiver.unacked >= config_.ack_every) {
    owe(index);
  } else {
    delay(now, index);
  }
}

void Tcp::owe(std::uint32_t index) {
  stop_delay(index);
  endpoints_.of(receivers_[index].endpoint).owing.add(receivers_, index);
}

void Tcp::delay(Instant now, std::uint32_t index) {
  Receiver& receiver = receivers_[index];
  if (receiver.delayed || receiver.owing) return;
  receiver.delayed = true;
  receiver.ack_due = now + config_.delayed_ack.count();
  EndpointState& state = endpoints_.of(receiver.endpoint);
  receiver.earlier = state.last_delayed;
  receiver.later = kNone;
  (state.last_delayed == kNone ? state.first_delayed : receivers_[state.last_delayed].later) = index;
  state.last_delayed = index;
}

void Tcp::stop_delay(std::uint32_t index) {
  Receiver& receiver = receivers_[index];
  if (!receiver.delayed) return;
  receiver.delayed = false;
  EndpointState& state = endpoints_.of(receiver.endpoint);
  (receiver.earlier == kNone ? state.first_delayed : receivers_[receiver.earlier].later) = receiver.later;
  (receiver.later == kNone ? state.last_delayed : receivers_[receiver.later].earlier) = receiver.earlier;
}

void Tcp::fill_ack(Receiver& receiver, Transmit& out) {
  ++counters_.acks_sent;
  receiver.unacked = 0;
  out.type = PacketType::tcp_ack;
  out.flags = receiver.repeats ? kRepeated : 0;
  out.header = Header{};
  out.header.source = receiver.endpoint;
  out.header.destination = receiver.peer;
  out.header.path = receiver.path;
  out.header.stream = receiver.stream;
  out.header.generation = config_.generation;
  out.header.peer_generation = receiver.generation;
  out.header.sequence = receiver.expected;
  out.header.marks = receiver.marks;
  out.header.tcp = {};
  out.header.tcp.repeated = receiver.repeats ? receiver.repeated : 0;
  const std::uint32_t ranges = fill_ranges(receiver, out.header) + receiver.repeats;
  receiver.repeats = false;
  // An option of 2 bytes, 8 for each range, filled up to words (RFC 2018).
  out.wire_bytes = config_.framing + config_.headers + (ranges > 0 ? 4 + 8 * ranges : 0);
}

std::uint32_t Tcp::fill_ranges(const Receiver& receiver, Header& header) const {
  if (receiver.gap == kNone) return 0;
  const Gap& gap = gaps_[receiver.gap];
  std::uint32_t count = 0;
  for (const std::uint32_t recent : receiver.recent) {
    if (!before(receiver.expected, recent)) continue;
    const std::uint32_t from = range_begin(gap, receiver, recent) - receiver.expected;
    const std::uint32_t to = range_end(gap, receiver, recent) - receiver.expected;
    // Ranges that have grown together are told once.
    bool told = false;
    for (std::uint32_t i = 0; i < count; ++i) told = told || header.tcp.sack[i].from == from;
    if (!told) header.tcp.sack[count++] = {static_cast<std::uint16_t>(from), static_cast<std::uint16_t>(to)};
  }
  return count;
}

}  // namespace weft::transport
