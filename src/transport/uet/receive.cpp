// UET's receiving half: what arrives, what it completes, and what is said back.

#include <algorithm>

#include "transport/uet/uet.hpp"

namespace weft::transport {

Placement Uet::handle(Instant now, std::uint32_t endpoint, PacketType type, std::uint8_t flags, const Header& header) {
  if (type == PacketType::uet_data) return handle_data(endpoint, flags, header);
  if (type == PacketType::uet_ack) handle_ack(now, endpoint, flags, header);
  return {};
}

void Uet::owe(std::uint32_t index, std::uint8_t flags) {
  Receiver& receiver = receivers_[index];
  receiver.owe_flags = flags;
  endpoints_.of(receiver.endpoint).owing.add(receivers_, index);
}

// False: of an earlier life of the peer.
bool Uet::is_of_now(Receiver& receiver, const Header& header) {
  if (header.generation == receiver.generation) return header.generation != 0;
  if (header.generation == 0 || (receiver.generation != 0 && !newer(header.generation, receiver.generation)))
    return false;
  if (receiver.generation != 0) {
    forget(receiver);
    receiver.stream = 0;
    if (const std::uint32_t sender = senders_.find(receiver.endpoint, receiver.peer); sender != kNone)
      hear_of(senders_[sender], header.generation);
  }
  receiver.generation = header.generation;
  return true;
}

// False: of an earlier life, or of a stream that the sender has given up.
bool Uet::admit(std::uint32_t index, const Header& header) {
  Receiver& receiver = receivers_[index];
  if (!is_of_now(receiver, header)) return false;
  if (header.peer_generation != 0 && header.peer_generation != config_.generation) {
    owe(index, 0);  // who it was for is gone; the answer says so
    return false;
  }
  if (header.stream == receiver.stream) return header.stream != 0;
  if (header.stream == 0 || (receiver.stream != 0 && !newer(header.stream, receiver.stream))) return false;
  forget(receiver);
  receiver.stream = header.stream;
  return true;
}

Placement Uet::handle_data(std::uint32_t endpoint, std::uint8_t flags, const Header& header) {
  Placement placement;
  placement.kind = Placement::Kind::dropped;
  const std::uint32_t index = receiver_for(endpoint, header.source);
  Receiver& receiver = receivers_[index];
  if (!admit(index, header)) {
    ++counters_.ignored;
    return placement;
  }
  receiver.echo_path = header.path;
  receiver.echo_resent = (flags & kUetResent) != 0;
  const std::uint8_t echo_flags = flags & kMarked ? kUetMarked : 0;
  if (header.op == Op::read) {
    receiver.echo = receiver.expected;  // so that the bitmap begins where something is missing
    receiver.answers = static_cast<std::uint16_t>(header.data.tag);
    receiver.probed = header.sequence;  // it may have overtaken what it asks for
    receiver.hurry = receiver.hurry || awaits_probed(receiver);
    owe(index, echo_flags);
    placement.kind = Placement::Kind::none;
    return placement;
  }
  const std::uint32_t ahead = header.sequence - receiver.expected;
  if (ahead < kWindow) receiver.echo = header.sequence;
  const bool seen = ahead >= kWindow || receiver.arrived.has(header.sequence);  // or ancient, or from beyond any window
  if (flags & kTrimmed) {
    ++counters_.trimmed_seen;
    owe(index, seen ? 0 : kUetNack);
    placement.kind = Placement::Kind::none;
    return placement;
  }
  if (seen) {
    ++counters_.duplicates;
    owe(index, echo_flags);
    placement.kind = Placement::Kind::duplicate;
    return placement;
  }
  std::uint32_t* link = link_to(receive_messages_, receiver, header.data.first);
  if (*link == kNone) {
    if (!begin_message(receiver, header)) {
      ++counters_.ignored;
      return placement;
    }
    link = link_to(receive_messages_, receiver, header.data.first);
  } else if (!is_part_of(receive_messages_[*link], header)) {
    ++counters_.ignored;
    return placement;
  }
  receiver.arrived.set(header.sequence);
  ++receiver.beyond;
  counters_.marked_seen += (flags & kMarked) != 0;
  deliver(receiver, header, link, placement);
  if (ahead == 0)
    receiver.beyond = static_cast<std::uint16_t>(receiver.beyond - receiver.arrived.pass(receiver.expected));
  receiver.unacked += placement.length + config_.header;
  // The packet that asks may overtake others; those are then acknowledged when they close the gap.
  receiver.hurry = receiver.hurry || (flags & kUetAckNow);
  const bool gap = receiver.beyond > 0 || awaits_probed(receiver);
  const bool asked = (flags & kUetAckNow) || (flags & kMarked) || (receiver.hurry && !gap);
  if (asked || receiver.unacked >= config_.ack_bytes) owe(index, echo_flags);
  if (!gap) receiver.hurry = false;
  return placement;
}

// ---- messages

bool Uet::begin_message(Receiver& receiver, const Header& header) {
  const std::uint32_t packets = packets_of(header.data.size, config_.payload);
  if (header.op != Op::send && header.op != Op::write) return false;
  if (header.sequence - header.data.first >= packets) return false;  // also when packets is 0: too long
  // An honest sender's window overlaps no more messages than it has packets.
  if (receiver.incomplete >= kWindow) return false;
  const std::uint32_t slot = receive_messages_.take();
  receive_messages_[slot] = {header.data.size, header.data.first, packets,  packets,
                             header.data.tag,  receiver.messages, header.op};
  receiver.messages = slot;
  ++receiver.incomplete;
  return true;
}

void Uet::deliver(Receiver& receiver, const Header& header, std::uint32_t* link, Placement& out) {
  const std::uint32_t slot = *link;
  ReceiveMessage& message = receive_messages_[slot];
  place(message, header.sequence, config_.payload, out);
  if (--message.left > 0) return;
  out.complete = true;
  counters_.payload_delivered += message.bytes;
  if (message.op == Op::send)
    completions_.push_back(
        {receiver.endpoint, receiver.peer, message.tag, 0, message.bytes, Completion::Kind::received});
  *link = message.next;
  receive_messages_.give_back(slot);
  --receiver.incomplete;
}

void Uet::forget(Receiver& receiver) {
  while (receiver.messages != kNone) {
    const std::uint32_t slot = receiver.messages;
    receiver.messages = receive_messages_[slot].next;
    receive_messages_.give_back(slot);
  }
  receiver.expected = receiver.echo = receiver.probed = config_.first_sequence;
  receiver.unacked = 0;
  receiver.incomplete = receiver.beyond = receiver.answers = 0;
  receiver.hurry = false;
  receiver.arrived.clear_all();
}

// ---- acknowledgements

bool Uet::poll_ack(std::uint32_t endpoint, Transmit& out) {
  EndpointState* const state = endpoints_.find(endpoint);
  if (state == nullptr || state->owing.first == kNone) return false;
  Receiver& receiver = state->owing.take(receivers_);
  receiver.unacked = 0;
  ++counters_.acks_sent;
  counters_.nacks += (receiver.owe_flags & kUetNack) != 0;
  out.type = PacketType::uet_ack;
  out.flags = receiver.owe_flags;
  out.wire_bytes = config_.header;
  Header& header = out.header;
  header = Header{};
  header.source = receiver.endpoint;
  header.destination = receiver.peer;
  header.path = receiver.echo_path;
  header.fan_in = receiver.answers;
  header.sequence = receiver.expected;
  header.echo = static_cast<std::uint16_t>(receiver.echo);
  header.stream = receiver.stream;
  header.generation = config_.generation;
  header.peer_generation = receiver.generation;
  receiver.answers = 0;
  header.ack.marked = receiver.echo_resent;
  header.ack.arrived = receiver.arrived.from(header.arrived_from());
  return true;
}

std::uint64_t Uet::underway_bytes() const {
  std::uint64_t packets = 0;
  for (std::uint32_t i = 0; i < receivers_.size(); ++i) packets += packets_underway(receivers_[i], receive_messages_);
  return packets * config_.payload;
}

}  // namespace weft::transport
