// RoCE's sending half: acknowledgements, loss, silence, pacing.

#include <algorithm>
#include <bit>

#include "transport/roce/numbers.hpp"
#include "transport/roce/roce.hpp"

namespace weft::transport {

void Roce::handle_ack(Instant now, std::uint32_t endpoint, std::uint8_t flags, const Header& header) {
  const std::uint32_t index = send_peers_.find(endpoint, header.source);
  if (index == kNone || header.path >= config_.qps || header.stream != send_peers_[index].stream) {
    ++counters_.ignored;
    return;
  }
  SendPeer& peer = send_peers_[index];
  if (peer.peer_generation == 0) peer.peer_generation = header.generation;
  const bool for_us = header.peer_generation == 0 || header.peer_generation == config_.generation;
  if (!for_us || header.generation != peer.peer_generation) {
    ++counters_.ignored;  // of an earlier life of one of us
    return;
  }
  SendQp& qp = send_qps_[peer.qps + header.path];
  const std::uint32_t up_to = unwrap(header.sequence, qp.una);
  if (before(qp.sent, up_to)) {
    ++counters_.ignored;
    return;
  }
  qp.heard = now;
  if (before(up_to, qp.una)) return;  // overtaken by later news
  const bool news = up_to != qp.una;
  acknowledge(qp, up_to);
  if (config_.recovery == RoceConfig::Recovery::selective) {
    note_arrivals(qp, header);
  } else if ((flags & kNak) && qp.una != qp.sent) {
    qp.scan = qp.una;
    qp.resending = qp.first_part;
    qp.lost = qp.sent;
  }
  // What repeats old news does not end the wait for new ones.
  if (news) {
    qp.silent = 0;
    qp.deadline = qp.una == qp.sent ? kNever : now + config_.ack_timeout.count();
  }
}

// Selective repeat: what the bitmap says has arrived; below the highest of it the rest is lost.
void Roce::note_arrivals(SendQp& qp, const Header& header) {
  const std::uint32_t from = unwrap(header.arrived_from() & kPsnMask, qp.una);
  for (std::uint64_t bits = header.ack.arrived; bits != 0; bits &= bits - 1) {
    const std::uint32_t sequence = from + static_cast<std::uint32_t>(std::countr_zero(bits));
    if (before(sequence, qp.una) || !before(sequence, qp.sent)) continue;
    qp.arrived.set(sequence);
    if (before(qp.lost, sequence)) qp.lost = sequence;
  }
  skip_arrived(qp);
}

void Roce::acknowledge(SendQp& qp, std::uint32_t up_to) {
  if (config_.recovery == RoceConfig::Recovery::selective)
    for (std::uint32_t s = qp.una; s != up_to; ++s) qp.arrived.clear(s);
  qp.una = up_to;
  while (qp.first_part != kNone) {
    const std::uint32_t index = qp.first_part;
    const Part& part = parts_[index];
    if (before(qp.una, part.first + part.packets)) break;
    Message& message = messages_[part.message];
    if (--message.parts_left == 0) {
      const SendPeer& peer = send_peers_[qp.peer];
      completions_.push_back(
          {peer.endpoint, peer.peer, message.tag, message.context, message.bytes, Completion::Kind::sent});
      messages_.give_back(part.message);
    }
    qp.first_part = part.next;
    parts_.give_back(index);
  }
  if (before(qp.scan, qp.una)) {
    qp.scan = qp.una;
    qp.resending = qp.first_part;
  }
  if (before(qp.lost, qp.scan)) qp.lost = qp.scan;
}

void Roce::step(SendQp& qp) {
  const Part& part = parts_[qp.resending];
  if (++qp.scan - part.first == part.packets) qp.resending = part.next;
}

void Roce::skip_arrived(SendQp& qp) {
  while (qp.scan != qp.lost && qp.arrived.has(qp.scan)) step(qp);
}

// Nothing came in answer: everything not known to have arrived is lost.
void Roce::time_out(Instant now, SendQp& qp) {
  ++counters_.timeouts;
  // Not before it was tried again at least once: a driver whose wire was blocked asks late.
  if (qp.silent > 0 && now - qp.heard >= config_.give_up.count()) return fail(send_peers_[qp.peer]);
  qp.scan = qp.una;
  qp.resending = qp.first_part;
  qp.lost = qp.sent;
  skip_arrived(qp);
  if (qp.silent < 32) ++qp.silent;
  const bool short_enough = config_.ack_timeout.count() <= longest_timeout_ >> qp.silent;
  const Instant longer = now + (short_enough ? config_.ack_timeout.count() << qp.silent : longest_timeout_);
  qp.deadline = std::max(now + config_.ack_timeout.count(), std::min(longer, qp.heard + config_.give_up.count()));
}

// ---- DCQCN

void Roce::handle_cnp(Instant now, std::uint32_t endpoint, const Header& header) {
  const std::uint32_t index = send_peers_.find(endpoint, header.source);
  if (index == kNone || header.path >= config_.qps || config_.control == RoceConfig::Control::none) {
    ++counters_.ignored;
    return;
  }
  SendQp& qp = send_qps_[send_peers_[index].qps + header.path];
  if (!qp.control.on_cnp(law_, now)) return;
  ++counters_.cnps_handled;
  qp.limited = qp.control.limited(law_);
}

// The rate has grown since the next packet's time was set: it comes as much sooner.
void Roce::follow_rate(Instant now, SendQp& qp) {
  const std::uint64_t before_it = qp.control.rate();
  qp.control.catch_up(law_, now);
  qp.limited = qp.control.limited(law_);
  if (qp.paced_until <= now) return;
  const auto rest = static_cast<std::uint64_t>(qp.paced_until - now);
  qp.paced_until = now + static_cast<Instant>(rest * before_it / qp.control.rate());
}

// ---- packets

void Roce::fill_data(Instant now, SendQp& qp, Transmit& out) {
  const SendPeer& peer = send_peers_[qp.peer];
  const bool again = qp.scan != qp.lost;
  const std::uint32_t sequence = again ? qp.scan : qp.sent;
  const Part& part = parts_[again ? qp.resending : qp.sending];
  const Message& message = messages_[part.message];
  const std::uint32_t packet = part.begin + (sequence - part.first);
  const bool last = sequence - part.first + 1 == part.packets;
  const std::uint64_t offset = std::uint64_t{packet} * config_.mtu;
  const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(config_.mtu, message.bytes - offset));
  if (again) {
    step(qp);
    skip_arrived(qp);
    ++counters_.data_resent;
  } else {
    ++qp.sent;
    if (last) qp.sending = part.next;
    ++counters_.data_sent;
  }
  const bool waits = again ? qp.scan == qp.lost : qp.sent - qp.una == config_.window;
  out.type = PacketType::roce_data;
  out.flags = static_cast<std::uint8_t>((last || waits ? kAckNow : 0) | (again ? kResent : 0));
  out.wire_bytes = config_.header + length;
  Header& header = out.header;
  header = Header{};
  header.source = peer.endpoint;
  header.destination = peer.peer;
  header.path = qp.number;
  header.op = message.op;
  header.sequence = sequence & kPsnMask;
  header.roce = {packet, message.tag, message.bytes};
  header.echo = message.number;
  header.stream = peer.stream;
  header.generation = config_.generation;
  header.peer_generation = peer.peer_generation;
  if (qp.deadline == kNever) {
    qp.deadline = now + config_.ack_timeout.count();
    qp.heard = now;  // nobody was asked before
  }
  if (!qp.limited) return;
  qp.control.on_sent(law_, out.wire_bytes);
  const Instant time = qp.control.time_of(out.wire_bytes);
  // Who was asked late catches up by one packet, so that the rate is the rate.
  qp.paced_until = std::max(qp.paced_until, now - time) + time;
  qp.limited = qp.control.limited(law_);
}

}  // namespace weft::transport
