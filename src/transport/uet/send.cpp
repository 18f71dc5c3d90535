// UET's sending half: acknowledgements, and what goes out.

#include <algorithm>

#include "transport/uet/uet.hpp"

namespace weft::transport {

// ---- acknowledgements

void Uet::handle_ack(Instant now, std::uint32_t endpoint, std::uint8_t flags, const Header& header) {
  const std::uint32_t index = senders_.find(endpoint, header.source);
  if (index == kNone) return;
  Sender& sender = senders_[index];
  const bool for_us = header.generation != 0 && header.peer_generation == config_.generation;
  if (for_us) hear_of(sender, header.generation);
  if (!for_us || header.stream != sender.stream || before(sender.next, header.sequence)) {
    ++counters_.ignored;
    return;
  }
  if (sender.peer_generation == 0) sender.peer_generation = header.generation;
  if (header.generation != sender.peer_generation) {
    ++counters_.ignored;
    return;
  }
  const bool marked = flags & kUetMarked;
  const Instant delay = delay_of(now, sender, flags, header);
  const std::uint32_t news = acknowledge(sender, header);
  const std::uint32_t path = header.path % config_.paths;
  const std::uint32_t echo = header.echoed();
  const bool nack = (flags & kUetNack) && before(echo, sender.next) && !before(echo, sender.una) &&
                    sender.slot[echo % kWindow].is(State::flying);
  if (nack) {
    refuse(now, sender, echo);
  } else if (!(flags & kUetNack)) {
    if (marked) {
      sender.paths.bad(config_, path, config_.marked_penalty);
    } else {
      sender.paths.good(config_, path);
    }
    sender.window.on_ack(rules_, now, marked, delay, news * rules_.packet, flying_bytes(sender));
  }
  sender.heard = now;
  // What repeats old news does not end the wait for new ones.
  if (news > 0 || nack) {
    sender.silent = 0;
    sender.probe_at = now + config_.probe.count();
  }
  judge_probe(now, sender, header);
  judge_order(sender);
  set_allowed(sender);
  ask_if_stuck(sender);
  finish_sent(send_messages_, sender, [&](const SendMessage& message) {
    completions_.push_back(end_of(sender, message, Completion::Kind::sent));
  });
  if (sender.first_message == kNone) {
    sender.expire_at = sender.probe_at = kNever;
    sender.probe_due = sender.only_asks = false;
  }
}

// How long the echoed packet queued; where that is not known, the mean.
Instant Uet::delay_of(Instant now, Sender& sender, std::uint8_t flags, const Header& header) {
  const std::uint32_t echo = header.echoed();
  const Slot& slot = sender.slot[echo % kWindow];
  // The first transmission of a packet sent again says nothing of the second; and a probe's answer repeats an old echo.
  const bool resent = header.ack.marked != 0;
  if ((flags & kUetNack) || header.fan_in != 0 || !before(echo, sender.next) || before(echo, sender.una) ||
      !slot.is(State::flying) || slot.resent != resent)
    return sender.window.mean_delay;
  const Instant rtt = Instant{std::max(0, since(stamp(now), slot.sent))} << kTimeShift;
  // A short packet is faster than any queue explains, and of one sent again and again an earlier copy may be answered.
  if (rtt < sender.window.least_rtt && (resent || !is_full(sender, echo))) return 0;
  return sender.window.sample(rules_, rtt, flags & kUetMarked);
}

bool Uet::is_full(const Sender& sender, std::uint32_t sequence) const {
  const SendMessage& message = send_messages_[message_with(send_messages_, sequence, sender.first_message)];
  return (std::uint64_t{sequence - message.first} + 1) * config_.payload <= message.bytes;
}

// Packets of which this is the first news.
std::uint32_t Uet::acknowledge(Sender& sender, const Header& header) {
  const std::uint32_t open = sender.flying + sender.lost;
  std::uint32_t message = sender.first_message;
  take_news(sender, slots_of(sender), header, [&](Slot& slot, std::uint32_t sequence) {
    sender.flying -= slot.is(State::flying);
    sender.lost -= slot.is(State::lost);
    slot.become(State::arrived);
    if (before(sender.highest, sequence)) sender.highest = sequence;
    // Messages are runs of sequences, and acknowledgements go upwards from one to the next.
    message = message_with(send_messages_, sequence, message);
    --send_messages_[message].left;
  });
  return open - sender.flying - sender.lost;
}

// The echoed packet got there without its payload.
void Uet::refuse(Instant now, Sender& sender, std::uint32_t sequence) {
  lose(sender, sequence);
  sender.paths.bad(config_, sender.slot[sequence % kWindow].path, config_.trimmed_penalty);
  sender.window.on_trim(rules_, now, flying_bytes(sender));
}

void Uet::set_allowed(Sender& sender) const { sender.allowed = std::max(1u, sender.window.bytes / rules_.packet); }

// Whoever fills the window asks for news. A window that shrinks before it is full leaves packets in flight that did not
// ask and are too few for the receiver to speak of by itself: both ends would wait until a timer ends it.
void Uet::ask_if_stuck(Sender& sender) const {
  if (sender.probe_due || can_send(sender) || sender.flying == 0 || sender.flying > sender.unasked) return;
  if (flying_bytes(sender) >= config_.ack_bytes) return;
  sender.probe_due = sender.only_asks = true;
}

// ---- sending

// What is lost comes first.
std::uint32_t Uet::next_sequence(Sender& sender, std::uint32_t& message) {
  if (sender.lost == 0) {
    message = sender.sending;
    return take_fresh(send_messages_, sender);
  }
  const std::uint32_t sequence = take_lost(sender, slots_of(sender));
  message = message_with(send_messages_, sequence, sender.first_message);
  return sequence;
}

void Uet::fill_data(Instant now, Sender& sender, Transmit& out) {
  const bool resend = sender.lost > 0;
  std::uint32_t index = kNone;
  const std::uint32_t sequence = next_sequence(sender, index);
  const SendMessage& message = send_messages_[index];
  Slot& slot = sender.slot[sequence % kWindow];
  const std::uint32_t avoid = resend ? slot.path : UetPaths::kNone;
  const std::uint32_t path = sender.paths.choose(config_, avoid, counters_.recycled);
  slot = {stamp(now) & kTimeMask, resend, path & (UetPaths::kMost - 1), static_cast<std::uint32_t>(State::flying)};
  if (sender.flying++ == 0) sender.probe_at = now + config_.probe.count();
  ++(resend ? counters_.data_resent : counters_.data_sent);
  const bool last = sequence + 1 == message.first + message.packets;
  out.flags = resend ? kUetResent | kUetAckNow : 0;
  if (last || sender.flying >= sender.allowed) out.flags |= kUetAckNow;
  sender.unasked = out.flags & kUetAckNow ? 0 : sender.unasked + 1;
  const std::uint64_t offset = std::uint64_t{sequence - message.first} * config_.payload;
  out.wire_bytes =
      config_.header + static_cast<std::uint32_t>(std::min<std::uint64_t>(config_.payload, message.bytes - offset));
  fill_header(sender, out);
  out.header.path = static_cast<std::uint16_t>(path);
  out.header.op = message.op;
  out.header.sequence = sequence;
  out.header.data = {message.first, message.tag, message.bytes};
}

void Uet::fill_probe(Instant now, Sender& sender, Transmit& out) {
  sender.probed = sender.only_asks ? 0 : now;
  sender.probe_due = sender.only_asks = false;
  sender.unasked = 0;
  if (++sender.probe == 0) sender.probe = 1;
  ++counters_.probes;
  out.flags = kUetAckNow;
  out.wire_bytes = config_.header;
  fill_header(sender, out);
  out.header.path = static_cast<std::uint16_t>(sender.paths.choose(config_, UetPaths::kNone, counters_.recycled));
  out.header.op = Op::read;
  out.header.sequence = sender.next;
  out.header.data = {sender.una, sender.probe, 0};
}

void Uet::fill_header(const Sender& sender, Transmit& out) const {
  out.type = PacketType::uet_data;
  out.header = Header{};
  out.header.source = sender.endpoint;
  out.header.destination = sender.peer;
  out.header.stream = sender.stream;
  out.header.generation = config_.generation;
  out.header.peer_generation = sender.peer_generation;
}

}  // namespace weft::transport
