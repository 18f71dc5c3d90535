// RoCE's receiving half: order, parts of messages, acknowledgements and CNPs.

#include <algorithm>

#include "transport/roce/numbers.hpp"
#include "transport/roce/roce.hpp"

namespace weft::transport {

Placement Roce::handle_data(Instant now, std::uint32_t endpoint, std::uint8_t flags, const Header& header) {
  Placement nothing;
  nothing.kind = Placement::Kind::dropped;
  const Shares shares = shares_of(header.roce.size);
  // On a queue pair of a split message only its own part may come; no packets: the message is too long.
  const bool nonsense = header.path >= config_.qps || (header.op != Op::send && header.op != Op::write) ||
                        header.roce.packet >= shares.packets ||
                        (shares.parts > 1 && header.roce.packet / shares.each != header.path);
  if (nonsense) {
    ++counters_.ignored;
    return nothing;
  }
  ReceivePeer& peer = receive_peers_[receive_peer_for(endpoint, header.source)];
  if (!admit(peer, header)) {
    ++counters_.ignored;
    return nothing;
  }
  const std::uint32_t index = peer.qps + header.path;
  ReceiveQp& qp = receive_qps_[index];
  const std::uint32_t sequence = unwrap(header.sequence, qp.expected);
  if (flags & kMarked) notice_mark(now, index);
  if (before(sequence, qp.expected)) {
    // The acknowledgement was lost, or is on its way.
    ++counters_.duplicates;
    owe(index, 0);
    nothing.kind = Placement::Kind::duplicate;
    return nothing;
  }
  if (!fits(qp, sequence, shares, header.roce.packet)) {
    ++counters_.ignored;
    return nothing;
  }
  const bool trimmed = flags & kTrimmed;
  counters_.trimmed_seen += trimmed;
  const bool selective = config_.recovery == RoceConfig::Recovery::selective;
  if (sequence != qp.expected && selective && !trimmed) return keep_early(index, sequence, shares, header);
  if (sequence != qp.expected || trimmed) {
    ++counters_.out_of_order;
    if (!qp.nak_sent) owe(index, kNak);
    qp.nak_sent = true;
    return nothing;
  }
  const bool last = shares.ends_part(header.roce.packet);
  // As if it were lost: it will come again, and by then others may have completed.
  if (last && !has_room(peer, shares, header)) return nothing;
  Placement out = place(qp, sequence, shares, header);
  qp.nak_sent = false;
  qp.echo = sequence;
  ++qp.expected;
  if (last) {
    out.complete = cover(peer, header.echo, shares.parts);
    finish_part(peer, qp, {header.roce.size, sequence, header.roce.tag, kNone, header.echo, header.op, true});
  }
  if (selective && advance(peer, qp)) out.complete = true;
  const bool closed_a_gap = qp.expected != sequence + 1;
  if (++qp.unacked >= config_.ack_every || (flags & kAckNow) || closed_a_gap) owe(index, 0);
  return out;
}

// A packet goes on with the part that is being received, or belongs to one that begins beyond. What is so old
// that its number has come round again mostly does neither.
bool Roce::fits(const ReceiveQp& qp, std::uint32_t sequence, const Shares& shares, std::uint32_t packet) {
  const std::uint32_t start = sequence - (packet - shares.begin_on(qp.number));
  return start == qp.begin || before(qp.expected, start);
}

// False for a packet of an older connection; a newer one makes us forget the former.
bool Roce::admit(ReceivePeer& peer, const Header& header) {
  // Queue pairs of our predecessor: NICs drop what is for numbers they do not know, and the sender's retries run out.
  if (header.peer_generation != 0 && header.peer_generation != config_.generation) return false;
  if (header.generation != peer.generation) {
    if (peer.generation != 0 && !newer(header.generation, peer.generation)) return false;
    if (peer.stream != 0) forget(peer);
    peer.stream = 0;
    peer.generation = header.generation;
  }
  if (header.stream == peer.stream) return peer.stream != 0;
  if (header.stream == 0 || (peer.stream != 0 && !newer(header.stream, peer.stream))) return false;
  if (peer.stream != 0) forget(peer);
  peer.stream = header.stream;
  return true;
}

void Roce::forget(ReceivePeer& peer) {
  for (std::uint32_t i = 0; i < config_.qps; ++i) {
    ReceiveQp& qp = receive_qps_[peer.qps + i];
    for (; qp.ends != kNone; qp.ends = ends_[qp.ends].next) ends_.give_back(qp.ends);
    qp.expected = qp.begin = qp.echo = config_.first_psn;
    qp.unacked = 0;
    qp.nak_sent = false;
    qp.arrived.clear_all();
  }
  for (; peer.halves != kNone; peer.halves = halves_[peer.halves].next) halves_.give_back(peer.halves);
  peer.half_count = 0;
}

Placement Roce::place(const ReceiveQp& qp, std::uint32_t sequence, const Shares& shares, const Header& header) const {
  Placement out;
  out.kind = Placement::Kind::place;
  out.op = header.op;
  out.tag = header.roce.tag;
  out.offset = std::uint64_t{header.roce.packet} * config_.mtu;
  out.length = static_cast<std::uint32_t>(std::min<std::uint64_t>(config_.mtu, header.roce.size - out.offset));
  // Whole messages are named by queue pair and number of the first packet, split ones by their own.
  out.first = shares.parts > 1 ? 0xFF000000u | header.echo
                               : std::uint32_t{qp.number} << 24 | ((sequence - header.roce.packet) & kPsnMask);
  return out;
}

// ---- order

// Selective repeat: a packet beyond a gap. Its place is known; what its message's end says has to wait.
Placement Roce::keep_early(std::uint32_t index, std::uint32_t sequence, const Shares& shares, const Header& header) {
  ReceiveQp& qp = receive_qps_[index];
  Placement out;
  if (sequence - qp.expected >= kBitmap) {
    ++counters_.ignored;
    out.kind = Placement::Kind::dropped;
    return out;
  }
  ++counters_.out_of_order;
  if (qp.arrived.has(sequence)) {
    ++counters_.duplicates;
    out.kind = Placement::Kind::duplicate;
  } else {
    qp.arrived.set(sequence);
    out = place(qp, sequence, shares, header);
    if (shares.ends_part(header.roce.packet)) {
      const std::uint32_t end = ends_.take();
      ends_[end] = {header.roce.size, sequence, header.roce.tag, qp.ends, header.echo, header.op, false};
      qp.ends = end;
    }
    out.complete = cover_early(qp, sequence, shares, header.roce.packet) &&
                   cover(receive_peers_[qp.peer], header.echo, shares.parts);
  }
  qp.echo = sequence;
  owe(index, kNak);
  return out;
}

// True when all of the packet's part is there now, though something before it is not.
bool Roce::cover_early(ReceiveQp& qp, std::uint32_t sequence, const Shares& shares, std::uint32_t packet) {
  const std::uint32_t start = sequence - (packet - shares.begin_on(qp.number));
  const std::uint32_t packets = shares.packets_on(qp.number);
  if (!before(qp.expected, start) || start - qp.expected + packets > kBitmap) return false;
  const std::uint32_t last = start + packets - 1;
  if (!qp.arrived.has(last)) return false;  // mostly: it comes last
  for (std::uint32_t s = start; s != last; ++s)
    if (!qp.arrived.has(s)) return false;
  std::uint32_t end = qp.ends;
  while (end != kNone && ends_[end].sequence != last) end = ends_[end].next;
  if (end == kNone || ends_[end].covered) return false;  // somebody lies
  ends_[end].covered = true;
  return true;
}

// Over what had come early. True when the message whose gap was closed is complete with it; later ones have been so.
bool Roce::advance(ReceivePeer& peer, ReceiveQp& qp) {
  bool complete = false;
  while (qp.arrived.has(qp.expected)) {
    qp.arrived.clear(qp.expected);
    const std::uint32_t sequence = qp.expected++;
    for (std::uint32_t* link = &qp.ends; *link != kNone; link = &ends_[*link].next) {
      if (ends_[*link].sequence != sequence) continue;
      const std::uint32_t slot = *link;
      *link = ends_[slot].next;
      if (!ends_[slot].covered) complete = cover(peer, ends_[slot].number, shares_of(ends_[slot].size).parts);
      finish_part(peer, qp, ends_[slot]);
      ends_.give_back(slot);
      break;
    }
  }
  return complete;
}

// All of a part has been received in order.
void Roce::finish_part(ReceivePeer& peer, ReceiveQp& qp, const End& end) {
  const Shares shares = shares_of(end.size);
  const bool honest = end.sequence - qp.begin + 1 == shares.packets_on(qp.number);
  qp.begin = end.sequence + 1;
  if (!honest) {
    ++counters_.ignored;
    return;
  }
  if (shares.parts > 1 && !finish_share(peer, end.number, shares.parts)) return;
  counters_.payload_delivered += end.size;
  if (end.op == Op::send)
    completions_.push_back({peer.endpoint, peer.peer, end.tag, 0, end.size, Completion::Kind::received});
}

// ---- split messages

// The oldest split message needs no new room unless nobody has finished a part of it, and then nobody has of a later
// one: refusing beyond a limit cannot block.
bool Roce::has_room(const ReceivePeer& peer, const Shares& shares, const Header& header) const {
  if (shares.parts == 1 || peer.half_count < kMostHalves) return true;
  std::uint32_t half = peer.halves;
  while (half != kNone && halves_[half].number != header.echo) half = halves_[half].next;
  return half != kNone;
}

// The link to a split message; a new one at the end of the list.
std::uint32_t* Roce::half_of(ReceivePeer& peer, std::uint16_t number, std::uint32_t parts) {
  std::uint32_t before_it = kNone;
  std::uint32_t half = peer.halves;
  while (half != kNone && halves_[half].number != number) {
    before_it = half;
    half = halves_[half].next;
  }
  if (half == kNone) {
    half = halves_.take();
    halves_[half] = {kNone, number, static_cast<std::uint8_t>(parts), static_cast<std::uint8_t>(parts)};
    (before_it == kNone ? peer.halves : halves_[before_it].next) = half;
    ++peer.half_count;
  }
  return before_it == kNone ? &peer.halves : &halves_[before_it].next;
}

// Nothing is missing of a part. True when nothing is of the message.
bool Roce::cover(ReceivePeer& peer, std::uint16_t number, std::uint32_t parts) {
  if (parts == 1) return true;
  Half& half = halves_[*half_of(peer, number, parts)];
  return half.uncovered > 0 && --half.uncovered == 0;
}

// A part has been received. True when the message has been.
bool Roce::finish_share(ReceivePeer& peer, std::uint16_t number, std::uint32_t parts) {
  std::uint32_t* const link = half_of(peer, number, parts);
  const std::uint32_t half = *link;
  if (--halves_[half].left > 0) return false;
  *link = halves_[half].next;
  halves_.give_back(half);
  --peer.half_count;
  return true;
}

// ---- what goes back

void Roce::notice_mark(Instant now, std::uint32_t index) {
  ++counters_.marked_seen;
  ReceiveQp& qp = receive_qps_[index];
  if (config_.control == RoceConfig::Control::none || now < qp.next_cnp) return;
  qp.next_cnp = now + config_.cnp_interval.count();
  endpoints_.of(receive_peers_[qp.peer].endpoint).owing_cnp.add(receive_qps_, index);
}

void Roce::owe(std::uint32_t index, std::uint8_t flags) {
  ReceiveQp& qp = receive_qps_[index];
  qp.owe_flags = static_cast<std::uint8_t>(qp.owing ? qp.owe_flags | flags : flags);
  endpoints_.of(receive_peers_[qp.peer].endpoint).owing.add(receive_qps_, index);
}

void Roce::fill_ack(ReceiveQp& qp, Transmit& out) {
  const ReceivePeer& peer = receive_peers_[qp.peer];
  qp.unacked = 0;
  ++counters_.acks_sent;
  counters_.naks_sent += (qp.owe_flags & kNak) != 0;
  out.type = PacketType::roce_ack;
  out.flags = qp.owe_flags;
  out.wire_bytes = config_.ack_bytes;
  Header& header = out.header;
  header = Header{};
  header.source = peer.endpoint;
  header.destination = peer.peer;
  header.path = qp.number;
  header.sequence = qp.expected & kPsnMask;
  header.echo = static_cast<std::uint16_t>(qp.echo);
  header.stream = peer.stream;
  header.generation = config_.generation;
  header.peer_generation = peer.generation;
  // The 64 sequences from arrived_from() on; all zero with go-back-N.
  header.ack.arrived = qp.arrived.from(unwrap(header.arrived_from() & kPsnMask, qp.expected));
}

void Roce::fill_cnp(const ReceiveQp& qp, Transmit& out) {
  const ReceivePeer& peer = receive_peers_[qp.peer];
  ++counters_.cnps_sent;
  out.type = PacketType::roce_cnp;
  out.flags = 0;
  out.wire_bytes = config_.cnp_bytes;
  out.header = Header{};
  out.header.source = peer.endpoint;
  out.header.destination = peer.peer;
  out.header.path = qp.number;
  out.header.stream = peer.stream;
}

std::uint64_t Roce::underway_bytes() const {
  std::uint64_t packets = 0;
  for (std::uint32_t i = 0; i < receive_qps_.size(); ++i) packets += receive_qps_[i].expected - receive_qps_[i].begin;
  return packets * config_.mtu;
}

}  // namespace weft::transport
