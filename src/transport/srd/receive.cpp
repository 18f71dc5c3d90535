// SRD's receiving half: what arrives, what it completes, and what is said back.

#include <algorithm>
#include <bit>

#include "transport/srd/srd.hpp"

namespace weft::transport {

void Srd::owe(std::uint32_t index, std::uint8_t flags) {
  Receiver& receiver = receivers_[index];
  receiver.owe_flags = flags;
  endpoints_.of(receiver.endpoint).owing.add(receivers_, index);
}

// A packet whose generations or stream are not those of the packet before it. True: it counts.
bool Srd::admit(Instant now, std::uint32_t index, const Header& header) {
  Receiver& receiver = receivers_[index];
  if (header.generation != receiver.generation && !meet(now, receiver.endpoint, receiver.peer, header.generation))
    return false;
  if (header.peer_generation != 0 && header.peer_generation != config_.generation) {
    // Meant for our predecessor. The peer has to learn that it is gone, which our generation says; more
    // would be wrong where it has long known and this packet is a late copy.
    receiver.echo_path = header.path;
    if (newer(config_.generation, header.peer_generation)) owe(index, 0);
    return false;
  }
  if (header.stream == 0) return false;
  if (receiver.stream != header.stream) {
    if (receiver.stream != 0 && !newer(header.stream, receiver.stream)) return false;
    forget(receiver);
    receiver.stream = header.stream;
  }
  return true;
}

Placement Srd::handle_data(Instant now, std::uint32_t endpoint, std::uint8_t flags, const Header& header) {
  Placement placement;  // one object for every return, built where the caller wants it
  placement.kind = Placement::Kind::dropped;
  std::uint32_t index = receivers_.find(endpoint, header.source);
  if (index == kNone) index = receiver_for(endpoint, header.source);
  Receiver& receiver = receivers_[index];
  if (header.generation != receiver.generation || header.stream != receiver.stream ||
      header.peer_generation != config_.generation) {
    if (!admit(now, index, header)) {
      ++counters_.ignored;
      return placement;
    }
  }
  receiver.echo_path = static_cast<std::uint16_t>(header.path + header.echo);
  receiver.heard = static_cast<std::uint32_t>(now >> kHeardShift);
  if (receiver.broken) {
    owe(index, kStale);
    return placement;
  }
  const std::uint32_t ahead = header.sequence - receiver.expected;
  // Compiled twice: for rings of a size that is known, and for those of which it is not.
  const auto take = [&](auto& arrived, auto& marked, std::uint32_t size) __attribute__((always_inline)) {
    if (ahead < size) receiver.echo = header.sequence;
    const std::uint64_t bit = BitSpan::bit(header.sequence);
    std::uint64_t& word = arrived.word(header.sequence);
    const bool seen = ahead >= size || (word & bit);  // or ancient, or from beyond any window
    if (flags & kTrimmed) {
      ++counters_.trimmed_seen;
      owe(index, seen ? 0 : kTrimmed);
      placement.kind = Placement::Kind::none;
      return;
    }
    if (seen) {
      ++counters_.duplicates;
      owe(index, config_.drops ? kSeenBefore : 0);  // trimmed headers leave no doubt about what was lost
      placement.kind = Placement::Kind::duplicate;
      return;
    }
    std::uint32_t* link = link_to(receive_messages_, receiver, header.data.first);
    if (*link == kNone) {
      bool not_ready = false;
      if (!begin_message(now, receiver, header, not_ready)) {
        if (not_ready) {
          ++counters_.not_ready;
          owe(index, kNotReady);
        } else {
          ++counters_.ignored;
        }
        return;
      }
      link = link_to(receive_messages_, receiver, header.data.first);  // the slab may have grown
    } else if (!is_part_of(receive_messages_[*link], header)) {
      ++counters_.ignored;
      return;
    }
    word |= bit;
    ++receiver.beyond;
    std::uint64_t& marks = marked.word(header.sequence);
    marks = flags & kMarked ? marks | bit : marks & ~bit;
    counters_.marked_seen += (flags & kMarked) != 0;
    deliver(now, receiver, header, link, placement);
    if (ahead == 0) receiver.beyond = static_cast<std::uint16_t>(receiver.beyond - arrived.pass(receiver.expected));
    // The packet that asks may overtake others; those are then acknowledged when they close the gap.
    receiver.hurry = receiver.hurry || (flags & kAckNow);
    const bool gap = receiver.beyond > 0;
    const bool due =
        ++receiver.unacked >= config_.ack_every || (flags & kAckNow) || placement.complete || (receiver.hurry && !gap);
    if (due) owe(index, 0);
    if (!gap) receiver.hurry = false;
  };
  if (ahead < kOpen && receiver.far == kNone) [[likely]] {
    take(receiver.arrived, receiver.marked, kOpen);
  } else {
    if (ahead < kFarOpen && receiver.far == kNone) go_far(receiver);
    const BitSpan arrived = arrived_of(receiver);
    const BitSpan marked = marked_of(receiver);
    take(arrived, marked, arrived.size);
  }
  return placement;
}

// A packet has come from beyond the numbers that most receivers ever tell apart.
[[gnu::noinline]] void Srd::go_far(Receiver& receiver) {
  FarBits bits;
  for (auto* words : {&bits.arrived, &bits.marked}) words->resize(kFarOpen / 64);
  const BitSpan arrived{bits.arrived.data(), kFarOpen};
  const BitSpan marked{bits.marked.data(), kFarOpen};
  for (std::uint32_t s = receiver.expected; s != receiver.expected + kOpen; ++s) {
    // What has not arrived has no mark: that one is of the number a ring before it, of which acknowledgements tell.
    const bool there = receiver.arrived.has(s);
    if (there) arrived.set(s);
    if (receiver.marked.has(s)) marked.set(there ? s : s - kOpen);
  }
  receiver.far = far_.take();
  far_[receiver.far] = std::move(bits);
  elsewhere_ += kFarOpen / 4;
}

// Nothing of it has arrived beyond a gap.
void Srd::come_near(Receiver& receiver) {
  far_[receiver.far] = FarBits();
  far_.give_back(receiver.far);
  receiver.far = kNone;
  elsewhere_ -= kFarOpen / 4;
  receiver.arrived.clear_all();
  receiver.marked.clear_all();
}

// ---- messages

bool Srd::begin_message(Instant now, Receiver& receiver, const Header& header, bool& not_ready) {
  const std::uint32_t packets = packets_for(header.op, header.data.size, receiver.payload);
  if (header.sequence - header.data.first >= packets) return false;  // also when packets is 0: too long
  EndpointState& state = endpoints_.of(receiver.endpoint);
  // An honest sender's window overlaps no more messages than it has packets.
  if (receiver.incomplete >= arrived_of(receiver).size) return false;
  if (header.op == Op::read) {
    const std::uint32_t sender = senders_.find(receiver.endpoint, receiver.peer);
    // Twice what an honest peer has open, for it opens the next before we have its last acknowledgement.
    not_ready = sender != kNone && senders_[sender].responses >= 2 * config_.reads;
  } else if (packets > 1) {
    drop_silent_listener(now, state);
    // The oldest message of a peer always has room: behind it the peer's window is closed, so that whoever
    // took the room instead could wait for ever.
    const bool oldest = receiver.expected - header.data.first < packets;
    not_ready = state.incomplete >= (oldest ? 0xFFFFu : config_.receive_messages);
  }
  if (not_ready) return false;
  std::uint32_t read = kNone;
  if (header.op == Op::response) {
    const std::uint32_t sender = senders_.find(receiver.endpoint, receiver.peer);
    if (sender != kNone) read = senders_[sender].reads;
    while (read != kNone && !(reads_[read].id == header.data.tag && reads_[read].bytes == header.data.size))
      read = reads_[read].next;
    for (std::uint32_t other = receiver.messages; other != kNone; other = receive_messages_[other].next)
      if (receive_messages_[other].read == read) read = kNone;  // is being answered already
  }
  const std::uint32_t slot = receive_messages_.take();
  receive_messages_[slot] = {header.data.first, packets, header.data.size,  packets,
                             header.data.tag,   read,    receiver.messages, header.op};
  receiver.messages = slot;
  if (receiver.incomplete++ == 0) listen(receiver);
  ++state.incomplete;
  return true;
}

void Srd::deliver(Instant now, Receiver& receiver, const Header& header, std::uint32_t* link, Placement& out) {
  ReceiveMessage& message = receive_messages_[*link];
  place(message, header.sequence, receiver.payload, out);
  if (message.op == Op::read) {
    out.kind = Placement::Kind::none;
    out.length = 0;
  }
  if (message.op == Op::response) {
    if (message.read == kNone) {
      out.kind = Placement::Kind::dropped;  // nobody waits for it any more
    } else {
      const Read& read = reads_[message.read];
      out.tag = read.tag;
      out.context = read.context;
      senders_[read.sender].heard = now;
    }
  }
  if (--message.left == 0) {
    out.complete = true;
    finish(now, receiver, link);
  }
}

void Srd::finish(Instant now, Receiver& receiver, std::uint32_t* link) {
  const std::uint32_t slot = *link;
  const ReceiveMessage message = receive_messages_[slot];
  *link = message.next;
  receive_messages_.give_back(slot);
  --endpoints_.of(receiver.endpoint).incomplete;
  if (--receiver.incomplete == 0) stop_listening(receiver);
  const auto complete = [&](std::uint32_t tag, std::uint32_t context, Completion::Kind kind) {
    counters_.payload_delivered += message.bytes;
    completions_.push_back({receiver.endpoint, receiver.peer, tag, context, message.bytes, kind});
  };
  if (message.op == Op::send || (message.op == Op::write && config_.tell_writes))
    complete(message.tag, 0, Completion::Kind::received);
  if (message.op == Op::write && !config_.tell_writes) counters_.payload_delivered += message.bytes;
  if (message.op == Op::read) {
    // Named by stream too: after a reset the same numbers come again.
    const std::uint32_t id = message.first + (std::uint32_t{receiver.stream} << 16);
    const std::uint32_t sender = sender_for(receiver.endpoint, receiver.peer);
    if (enqueue(now, sender, {Op::response, receiver.peer, message.bytes, id, 0})) ++senders_[sender].responses;
  }
  if (message.op == Op::response && message.read != kNone) {
    const Read read = reads_[message.read];
    std::uint32_t* waiting = &senders_[read.sender].reads;
    while (*waiting != message.read) waiting = &reads_[*waiting].next;
    *waiting = read.next;
    reads_.give_back(message.read);
    ask_again(read.sender);
    complete(read.tag, read.context, Completion::Kind::read_done);
  }
}

void Srd::forget(Receiver& receiver) {
  while (receiver.messages != kNone) {
    const std::uint32_t slot = receiver.messages;
    receiver.messages = receive_messages_[slot].next;
    receive_messages_.give_back(slot);
    --endpoints_.of(receiver.endpoint).incomplete;
    if (--receiver.incomplete == 0) stop_listening(receiver);
  }
  receiver.expected = receiver.echo = config_.first_sequence;
  receiver.unacked = receiver.beyond = 0;
  receiver.hurry = receiver.broken = false;
  if (receiver.far != kNone) come_near(receiver);
  receiver.arrived.clear_all();
  receiver.marked.clear_all();
}

// ---- who is being listened to

void Srd::listen(Receiver& receiver) {
  EndpointState& state = endpoints_.of(receiver.endpoint);
  const std::uint32_t self = receivers_.find(receiver.endpoint, receiver.peer);
  ++state.listening;
  if (state.listeners == kNone) {
    state.listeners = receiver.listen_next = receiver.listen_before = self;
    return;
  }
  Receiver& next = receivers_[state.listeners];
  receiver.listen_next = state.listeners;
  receiver.listen_before = next.listen_before;
  receivers_[next.listen_before].listen_next = self;
  next.listen_before = self;
}

void Srd::stop_listening(Receiver& receiver) {
  EndpointState& state = endpoints_.of(receiver.endpoint);
  --state.listening;
  if (state.listening == 0) {
    state.listeners = kNone;
  } else {
    receivers_[receiver.listen_before].listen_next = receiver.listen_next;
    receivers_[receiver.listen_next].listen_before = receiver.listen_before;
    state.listeners = receiver.listen_next;
  }
  receiver.listen_next = receiver.listen_before = kNone;
}

// A sender that died in the middle of a message would hold its room, and count in everybody's share, for
// ever. Each new message looks at one listener; in turn all are looked at.
void Srd::drop_silent_listener(Instant now, EndpointState& state) {
  if (state.listeners == kNone) return;
  Receiver& receiver = receivers_[state.listeners];
  state.listeners = receiver.listen_next;
  const auto silence = static_cast<Instant>(static_cast<std::uint32_t>(now >> kHeardShift) - receiver.heard);
  if (silence <= (2 * config_.give_up.count() >> kHeardShift) + 1) return;
  forget(receiver);
  receiver.broken = true;
}

// ---- acknowledgements

void Srd::fill_ack(const EndpointState& state, Receiver& receiver, Transmit& out) {
  receiver.unacked = 0;
  ++counters_.acks_sent;
  out.type = PacketType::ack;
  out.flags = receiver.owe_flags;
  out.wire_bytes = config_.header;
  Header& header = out.header;
  header.source = receiver.endpoint;
  header.destination = receiver.peer;
  header.path = receiver.echo_path;
  header.sequence = receiver.expected;
  header.echo = static_cast<std::uint16_t>(receiver.echo);
  header.fan_in = std::max<std::uint16_t>(1, state.listening);
  header.stream = receiver.stream;
  header.generation = config_.generation;
  header.peer_generation = receiver.generation;
  header.ack.arrived = arrived_of(receiver).from(header.arrived_from());
  // Marks of the 64 sequences up to the echo, newest in bit 0.
  std::uint64_t marks = marked_of(receiver).from(receiver.echo - 63);
  std::uint64_t reversed = 0;
  for (; marks != 0; marks &= marks - 1) reversed |= std::uint64_t{1} << (63 - std::countr_zero(marks));
  header.ack.marked = reversed;
}

std::uint64_t Srd::underway_bytes() const {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < receivers_.size(); ++i)
    if (receivers_.has(i)) bytes += packets_underway(receivers_[i], receive_messages_) * receivers_[i].payload;
  return bytes;
}

}  // namespace weft::transport
