// What the carrier brings, and what is left when a peer is lost.

#include <algorithm>

#include "transport/rdm/rdm.hpp"

namespace weft::transport::rdm {

Sink Rdm::nonsense() {
  ++counters_.nonsense;
  return {};
}

Sink Rdm::arrived(Instant, std::uint32_t peer, std::span<const std::byte> envelope, std::uint64_t bytes) {
  if (peer_of(peer).landing >= kMostCarried) return nonsense();
  Reader from(envelope);
  switch (static_cast<EnvelopeKind>(from.take<std::uint8_t>())) {
    case EnvelopeKind::bundle:
      return bundle_arrives(peer, bytes);
    case EnvelopeKind::message:
      return message_arrives(peer, from, bytes);
    case EnvelopeKind::write:
      return write_arrives(peer, from, bytes);
    case EnvelopeKind::answer:
      return answer_arrives(peer, from, bytes);
  }
  return nonsense();
}

std::uint32_t Rdm::new_landing(EnvelopeKind kind, std::uint32_t peer, std::uint64_t bytes) {
  const std::uint32_t index = landings_.take();
  landings_[index] = {.kind = kind, .live = true, .peer = peer, .bytes = bytes};
  ++peers_[peer].landing;
  return index;
}

Sink Rdm::bundle_arrives(std::uint32_t peer, std::uint64_t bytes) {
  if (bytes > kMostBundle) return nonsense();
  const std::uint32_t index = new_landing(EnvelopeKind::bundle, peer, bytes);
  landings_[index].buffer = buffers_.take(bytes);
  return {Sink::Kind::place, index, {landings_[index].buffer, 0}, bytes};
}

Sink Rdm::message_arrives(std::uint32_t peer, Reader& envelope, std::uint64_t bytes) {
  const MessageHead head = MessageHead::read(envelope);
  if (!envelope.good() || !admissible(peers_[peer], head.sequence, bytes)) return nonsense();
  const std::uint32_t message = new_message(peer, head, bytes);
  peers_[peer].held_bytes += bytes;
  // A receive that is there already gets the payload as it comes.
  take_in(message);
  const std::uint32_t landing = new_landing(EnvelopeKind::message, peer, bytes);
  landings_[landing].subject = message;
  Message& it = messages_[message];
  if (it.receive != kNone) return {Sink::Kind::place, landing, it.place, it.room};
  it.buffer = buffers_.take(bytes);
  return {Sink::Kind::place, landing, {it.buffer, 0}, bytes};
}

Sink Rdm::write_arrives(std::uint32_t peer, Reader& envelope, std::uint64_t bytes) {
  const WriteHead head = WriteHead::read(envelope);
  if (!envelope.good()) return nonsense();
  const std::optional<Place> place = target(head.target, bytes, false, true);
  const std::uint32_t index = new_landing(EnvelopeKind::write, peer, bytes);
  landings_[index].head = head;
  if (place) return {Sink::Kind::place, index, *place, bytes};
  landings_[index].verdict = Verdict::bad_access;
  return {Sink::Kind::place, index, {}, 0};
}

Sink Rdm::answer_arrives(std::uint32_t peer, Reader& envelope, std::uint64_t bytes) {
  const std::uint32_t index = op_of(peer, envelope.take<std::uint64_t>());
  if (!envelope.good() || index == kNone) return nonsense();
  Op& op = ops_[index];
  if ((op.kind != Op::Kind::read && op.kind != Op::Kind::pull) || op.answering || op.bytes != bytes) return nonsense();
  op.answering = true;
  const std::uint32_t landing = new_landing(EnvelopeKind::answer, peer, bytes);
  landings_[landing].subject = index;
  return {Sink::Kind::place, landing, op.local, bytes};
}

void Rdm::landed(Instant now, std::uint32_t peer, std::uint32_t context) {
  const Landing landing = landings_[context];
  landings_[context].live = false;
  landings_.give_back(context);
  --peers_[peer].landing;
  switch (landing.kind) {
    case EnvelopeKind::bundle:
      take_records(now, peer, buffers_.of(landing.buffer));
      buffers_.give_back(landing.buffer);
      break;
    case EnvelopeKind::message:
      message_landed(landing.subject);
      break;
    case EnvelopeKind::write:
      if (landing.verdict == Verdict::fine) tell(peer, landing.head, landing.bytes);
      reply(peer, landing.head.id, landing.verdict);
      break;
    case EnvelopeKind::answer:
      answered(landing.subject);
      break;
  }
}

void Rdm::message_landed(std::uint32_t index) {
  Message& message = messages_[index];
  message.state = Message::State::whole;
  if (message.discarded) return drop(index);
  if (message.receive == kNone) return;  // early, or nobody waits
  proceed(index);
}

void Rdm::answered(std::uint32_t index) {
  Op& op = ops_[index];
  close(op);
  if (op.kind == Op::Kind::pull) deliver(op.subject, op.error);
  settle(index);
}

void Rdm::tell(std::uint32_t peer, const WriteHead& head, std::uint64_t bytes) {
  if (!head.has_data) return tell_access(peer, head.target.key, false, true);
  Completion completion{.kind = Completion::Kind::told, .has_data = true, .changed = true, .peer = peer};
  completion.data = head.data;
  completion.key = head.target.key;
  completion.bytes = bytes;
  completions_.push_back(completion);
}

void Rdm::tell_access(std::uint32_t peer, std::uint64_t key, bool fetched, bool changed) {
  if (!config_.tells_accesses) return;
  Completion completion{.kind = Completion::Kind::told, .fetched = fetched, .changed = changed, .peer = peer};
  completion.key = key;
  completions_.push_back(completion);
}

// An operation of ours that waits for this peer's word.
std::uint32_t Rdm::op_of(std::uint32_t peer, std::uint64_t id) const {
  const auto index = static_cast<std::uint32_t>(id);
  if (index >= ops_.size()) return kNone;
  const Op& op = ops_[index];
  const bool ours = op.live && op.peer == peer && op.generation == id >> 32 && op.awaits_done && op.asked;
  return ours ? index : kNone;
}

void Rdm::reply(std::uint32_t index, std::uint64_t id, Verdict verdict, std::uint64_t buffer) {
  Peer& peer = peer_of(index);
  // More than an honest peer can have open; its carrier takes nothing, and it asks on and on.
  if (peer.replies.size >= 2 * (config_.window + config_.requests + config_.reads)) {
    if (buffer != 0) buffers_.give_back(buffer);
    ++counters_.nonsense;
    return;
  }
  const std::uint32_t reply = replies_.take();
  replies_[reply] = {.done = {id, verdict}, .buffer = buffer};
  peer.replies.push_back(replies_, reply);
  list(index);
}

std::optional<Place> Rdm::target(const Remote& remote, std::uint64_t bytes, bool reads, bool writes) {
  const auto at = regions_.find(remote.key);
  if (at == regions_.end()) return std::nullopt;
  const Region& region = at->second.region;
  const std::uint64_t offset = remote.address - region.address;
  if (offset > region.bytes || bytes > region.bytes - offset) return std::nullopt;
  if ((reads && !region.readable) || (writes && !region.writable)) return std::nullopt;
  return Place{region.place.memory, region.place.offset + offset};
}

// ---- the end of a connection

void Rdm::peer_failed(Instant, std::uint32_t index) {
  Peer& peer = peer_of(index);
  for (std::uint32_t i = 0; i < carried_.size(); ++i) {
    if (!carried_[i].live || carried_[i].peer != index) continue;
    if (carried_[i].buffer != 0) buffers_.give_back(carried_[i].buffer);
    carried_[i].live = false;
    carried_.give_back(i);
  }
  for (std::uint32_t i = 0; i < landings_.size(); ++i) {
    if (!landings_[i].live || landings_[i].peer != index) continue;
    if (landings_[i].buffer != 0) buffers_.give_back(landings_[i].buffer);
    landings_[i].live = false;
    landings_.give_back(i);
  }
  while (!peer.replies.empty()) {
    const std::uint32_t first = peer.replies.first;
    if (replies_[first].buffer != 0) buffers_.give_back(replies_[first].buffer);
    peer.replies.remove(replies_, first);
    replies_.give_back(first);
  }
  std::erase_if(sleepers_, [&](const Sleeper& each) { return ops_[each.op].peer == index; });
  Peer fresh;
  fresh.run = peer.run + 1;
  fresh.listed = peer.listed;
  fresh.granted_messages = config_.window;
  fresh.granted_bytes = config_.unexpected;
  peer = fresh;
  fail_ops(index);
  fail_messages(index);
}

void Rdm::fail_ops(std::uint32_t peer) {
  for (std::uint32_t i = 0; i < ops_.size(); ++i) {
    Op& op = ops_[i];
    if (!op.live || op.peer != peer) continue;
    op.error = Error::peer_lost;
    report(op);
    if (op.kind == Op::Kind::pull && op.awaits_done) deliver(op.subject, Error::peer_lost);
    if (op.kind == Op::Kind::answer && op.subject == kNone)
      if (const auto region = regions_.find(op.remote.key); region != regions_.end()) --region->second.answering;
    release_op(i);
  }
}

// What was whole and in its turn can still be received.
void Rdm::fail_messages(std::uint32_t peer) {
  for (std::uint32_t i = 0; i < messages_.size(); ++i) {
    Message& message = messages_[i];
    if (!message.live || message.peer != peer) continue;
    if (message.state == Message::State::whole && !message.early) continue;
    if (message.waiting) waiting_[message.tagged].remove(messages_, i);
    message.waiting = false;
    if (message.receive != kNone)
      deliver(i, Error::peer_lost);
    else
      release_message(i);
  }
}

}  // namespace weft::transport::rdm
