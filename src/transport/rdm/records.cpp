// The records of a bundle: small messages, requests and replies.

#include <algorithm>

#include "transport/rdm/rdm.hpp"

namespace weft::transport::rdm {

// Behind a record that makes no sense nothing can be told apart.
void Rdm::take_records(Instant now, std::uint32_t peer, std::span<const std::byte> records) {
  Reader from(records);
  while (!from.empty() && from.good())
    if (!take_record(now, peer, from)) ++counters_.nonsense;
}

bool Rdm::take_record(Instant now, std::uint32_t peer, Reader& from) {
  switch (static_cast<RecordKind>(from.take<std::uint8_t>())) {
    case RecordKind::message:
      return message_record(peer, from);
    case RecordKind::offer:
      return offer_record(peer, from);
    case RecordKind::write:
      return write_record(peer, from);
    case RecordKind::read:
      return read_record(peer, from);
    case RecordKind::answer:
      return answer_record(peer, from);
    case RecordKind::atomic:
      return atomic_record(peer, from);
    case RecordKind::done:
      return done_record(now, peer, from);
    case RecordKind::grant:
      return grant_record(peer, from);
  }
  from = Reader({});
  return false;
}

bool Rdm::message_record(std::uint32_t peer, Reader& from) {
  const MessageHead head = MessageHead::read(from);
  const std::span<const std::byte> payload = from.payload();
  if (!from.good() || !admissible(peers_[peer], head.sequence, payload.size())) return false;
  const std::uint32_t index = new_message(peer, head, payload.size());
  peers_[peer].held_bytes += payload.size();
  Message& message = messages_[index];
  message.state = Message::State::whole;
  const bool now = !config_.ordered || head.sequence == peers_[peer].expected;
  const std::uint32_t posted = now ? posted_for(message) : kNone;
  if (posted == kNone) {
    message.buffer = buffers_.take(payload.size());
    std::ranges::copy(payload, buffers_.of(message.buffer).begin());
  } else {
    attach(index, posted);
    if (message.room > 0) memory_.put(message.place, payload.first(message.room));
  }
  take_in(index);
  return true;
}

bool Rdm::offer_record(std::uint32_t peer, Reader& from) {
  const MessageHead head = MessageHead::read(from);
  const OfferBody body = OfferBody::read(from);
  if (!from.good() || !head.wants_done || !admissible(peers_[peer], head.sequence, 0)) return false;
  const std::uint32_t index = new_message(peer, head, body.bytes);
  messages_[index].state = Message::State::offered;
  messages_[index].source = body.source;
  take_in(index);
  return true;
}

bool Rdm::write_record(std::uint32_t peer, Reader& from) {
  const WriteHead head = WriteHead::read(from);
  const std::span<const std::byte> payload = from.payload();
  if (!from.good()) return false;
  const std::optional<Place> place = target(head.target, payload.size(), false, true);
  if (place && !payload.empty()) memory_.put(*place, payload);
  if (place) tell(peer, head, payload.size());
  reply(peer, head.id, place ? Verdict::fine : Verdict::bad_access);
  return true;
}

bool Rdm::read_record(std::uint32_t peer, Reader& from) {
  const ReadHead head = ReadHead::read(from);
  if (!from.good()) return false;
  std::optional<Place> place;
  std::uint32_t subject = kNone;
  if (head.source.key & kOfferKey) {
    subject = static_cast<std::uint32_t>(head.source.key);
    if (subject < ops_.size()) {
      const Op& op = ops_[subject];
      if (op.live && op.peer == peer && op.kind == Op::Kind::send && op.remote.key == head.source.key &&
          op.awaits_done && head.source.address <= op.bytes && head.bytes <= op.bytes - head.source.address)
        place = Place{op.local.memory, op.local.offset + head.source.address};
    }
  } else {
    place = target(head.source, head.bytes, true, false);
  }
  if (!place) return reply(peer, head.id, Verdict::bad_access), true;
  // Twice what the peer has open, for it opens the next before its carrier has told ours of the last.
  if (peers_[peer].answering >= 2 * config_.reads) return reply(peer, head.id, Verdict::not_ready), true;
  ++peers_[peer].answering;
  const std::uint32_t answer = new_op(Op::Kind::answer, peer);
  Op& op = ops_[answer];
  op.context = head.id;
  op.bytes = head.bytes;
  op.local = *place;
  op.remote = head.source;
  op.subject = subject;
  if (subject != kNone)
    ++ops_[subject].answers;
  else
    ++regions_.find(head.source.key)->second.answering;
  peers_[peer].answers.push_back(ops_, answer);
  list(peer);
  return true;
}

bool Rdm::answer_record(std::uint32_t peer, Reader& from) {
  const std::uint32_t index = op_of(peer, from.take<std::uint64_t>());
  const std::span<const std::byte> payload = from.payload();
  if (!from.good() || index == kNone) return false;
  Op& op = ops_[index];
  if ((op.kind != Op::Kind::read && op.kind != Op::Kind::pull) || op.answering || op.bytes != payload.size())
    return false;
  if (!payload.empty()) memory_.put(op.local, payload);
  answered(index);
  return true;
}

bool Rdm::atomic_record(std::uint32_t peer, Reader& from) {
  const AtomicHead head = AtomicHead::read(from);
  const std::span<const std::byte> operand = from.payload();
  const std::span<const std::byte> comparand = from.payload();
  if (!from.good()) return false;
  if (!known(head.op, head.type)) return reply(peer, head.id, Verdict::unsupported), true;
  const auto op = static_cast<AtomicOp>(head.op);
  const std::uint64_t bytes = head.count * std::uint64_t{size_of(static_cast<AtomicType>(head.type))};
  const bool sizes = operand.size() == (op == AtomicOp::read ? 0 : bytes) &&
                     comparand.size() == (has_comparand(op) ? bytes : 0) && bytes <= atomic_limit();
  if (!sizes) return reply(peer, head.id, Verdict::unsupported), false;
  const std::optional<Place> place = target(head.target, bytes, head.fetch, op != AtomicOp::read);
  if (!place) return reply(peer, head.id, Verdict::bad_access), true;
  reply(peer, head.id, Verdict::fine, carry_out(head, *place, operand, comparand));
  tell_access(peer, head.target.key, head.fetch, op != AtomicOp::read);
  return true;
}

// A buffer with what was there, where that is asked for, or 0.
std::uint64_t Rdm::carry_out(const AtomicHead& head, Place at, std::span<const std::byte> operand,
                             std::span<const std::byte> comparand) {
  const auto type = static_cast<AtomicType>(head.type);
  const std::uint64_t buffer = buffers_.take(head.count * size_of(type));
  const std::span<std::byte> before = buffers_.of(buffer);
  memory_.get(at, before);
  std::vector<std::byte> after(before.begin(), before.end());
  apply(static_cast<AtomicOp>(head.op), type, after, operand, comparand);
  if (static_cast<AtomicOp>(head.op) != AtomicOp::read) memory_.put(at, after);
  if (head.fetch) return buffer;
  buffers_.give_back(buffer);
  return 0;
}

bool Rdm::done_record(Instant now, std::uint32_t peer, Reader& from) {
  const Done done = Done::read(from);
  const std::span<const std::byte> fetched = from.payload();
  if (!from.good()) return false;
  const std::uint32_t index = op_of(peer, done.id);
  if (index == kNone || ops_[index].answering) return false;
  Op& op = ops_[index];
  const bool reads = op.kind == Op::Kind::read || op.kind == Op::Kind::pull;
  if (reads && done.verdict == Verdict::fine) return false;  // the bytes say that
  if (reads && done.verdict == Verdict::not_ready) {
    ++counters_.not_ready;
    op.asked = false;
    sleepers_.push_back({now + (config_.not_ready_wait.count() << std::min<int>(op.tries, 6)), index});
    if (op.tries < 255) ++op.tries;
    return true;
  }
  if (done.verdict == Verdict::bad_access) op.error = Error::bad_access;
  if (done.verdict == Verdict::unsupported || done.verdict == Verdict::not_ready) op.error = Error::unsupported;
  if (op.kind == Op::Kind::atomic && op.fetch && op.error == Error::none) {
    if (fetched.size() == op.count * size_of(op.atomic_type))
      memory_.put(op.result, fetched);
    else
      op.error = Error::unsupported;
  }
  close(op);
  if (op.kind == Op::Kind::pull) deliver(op.subject, op.error);
  settle(index);
  return true;
}

bool Rdm::grant_record(std::uint32_t index, Reader& from) {
  const Grant grant = Grant::read(from);
  if (!from.good()) return false;
  Peer& peer = peers_[index];
  // Bundles overtake each other.
  if (static_cast<std::int32_t>(grant.messages - peer.granted_messages) > 0) peer.granted_messages = grant.messages;
  peer.granted_bytes = std::max(peer.granted_bytes, grant.bytes);
  list(index);
  return true;
}

}  // namespace weft::transport::rdm
