// What goes out next, and what becomes of operations as the carrier and the peer tell how they went.

#include <algorithm>

#include "base/hash.hpp"
#include "transport/rdm/rdm.hpp"

namespace weft::transport::rdm {

void Rdm::list(std::uint32_t index) {
  Peer& peer = peer_of(index);
  if (peer.listed) return;
  peer.listed = true;
  active_.push_back(index);
}

bool Rdm::next_outgoing(Outgoing& out) {
  while (!active_.empty()) {
    const std::uint32_t peer = active_.front();
    active_.pop_front();
    peers_[peer].listed = false;
    // sent() or a grant lists it again
    if (!has_any(peers_[peer]) || peers_[peer].carried >= kMostCarried || !give(peer, out)) continue;
    if (has_any(peers_[peer])) list(peer);
    return true;
  }
  return false;
}

bool Rdm::has_any(const Peer& peer) {
  return !peer.sends.empty() || !peer.requests.empty() || !peer.answers.empty() || !peer.replies.empty() ||
         peer.owes_grant;
}

// Bundles and the heads of the three queues in turn, so that none starves another.
bool Rdm::give(std::uint32_t peer, Outgoing& out) {
  for (int tried = 0; tried < 4; ++tried) {
    bool given = false;
    switch (peers_[peer].turn++ % 4) {
      case 0:
        given = give_bundle(peer, out);
        break;
      case 1:
        given = give_answer(peer, out);
        break;
      case 2:
        given = give_write(peer, out);
        break;
      default:
        given = give_message(peer, out);
    }
    if (given) return true;
  }
  return false;
}

// ---- by themselves

std::uint32_t Rdm::carry(std::uint32_t peer, Outgoing& out) {
  const std::uint32_t index = carried_.take();
  carried_[index] = {.live = true, .peer = peer};
  ++peers_[peer].carried;
  out = {};
  out.peer = peer;
  out.context = index;
  return index;
}

void Rdm::give_one(std::uint32_t peer, std::uint32_t op, Outgoing& out) {
  const std::uint32_t index = carry(peer, out);
  chain_up(op, carried_[index].ops);
  out.payload = ops_[op].local;
  out.bytes = ops_[op].bytes;
}

bool Rdm::give_answer(std::uint32_t index, Outgoing& out) {
  Peer& peer = peers_[index];
  const std::uint32_t first = peer.answers.first;
  if (first == kNone || record_size(ops_[first]) <= config_.bundle) return false;
  peer.answers.remove(ops_, first);
  give_one(index, first, out);
  Writer to(out.envelope.bytes);
  to.put(static_cast<std::uint8_t>(EnvelopeKind::answer));
  to.put(ops_[first].context);
  out.envelope.size = static_cast<std::uint8_t>(to.size());
  return true;
}

bool Rdm::give_write(std::uint32_t index, Outgoing& out) {
  Peer& peer = peers_[index];
  const std::uint32_t first = peer.requests.first;
  if (first == kNone || record_size(ops_[first]) <= config_.bundle || !may_ask(peer, ops_[first])) return false;
  Op& op = ops_[first];
  peer.requests.remove(ops_, first);
  open(peer, op);
  give_one(index, first, out);
  Writer to(out.envelope.bytes);
  to.put(static_cast<std::uint8_t>(EnvelopeKind::write));
  WriteHead{op.has_data, id_of(first), op.remote, op.data}.write(to);
  out.envelope.size = static_cast<std::uint8_t>(to.size());
  return true;
}

bool Rdm::give_message(std::uint32_t index, Outgoing& out) {
  Peer& peer = peers_[index];
  const std::uint32_t first = peer.sends.first;
  if (first == kNone || record_size(ops_[first]) <= config_.bundle || !has_credit(peer, ops_[first])) return false;
  peer.sends.remove(ops_, first);
  const MessageHead head = head_of(peer, first);
  give_one(index, first, out);
  Writer to(out.envelope.bytes);
  to.put(static_cast<std::uint8_t>(EnvelopeKind::message));
  head.write(to);
  out.envelope.size = static_cast<std::uint8_t>(to.size());
  ++counters_.eager;
  return true;
}

// ---- together

bool Rdm::give_bundle(std::uint32_t index, Outgoing& out) {
  Peer& peer = peers_[index];
  const std::uint64_t buffer = buffers_.take(config_.bundle);
  Writer to(buffers_.of(buffer));
  std::uint32_t chain = kNone;
  add_replies(peer, to);
  add_answers(peer, to, chain);
  add_requests(peer, to, chain);
  add_sends(peer, to, chain);
  if (to.size() == 0) {
    buffers_.give_back(buffer);
    return false;
  }
  const std::uint32_t carried = carry(index, out);
  carried_[carried].ops = chain;
  carried_[carried].buffer = buffer;
  out.envelope.size = 1;
  out.envelope.bytes[0] = static_cast<std::byte>(EnvelopeKind::bundle);
  out.payload = {buffer, 0};
  out.bytes = to.size();
  ++counters_.bundles;
  return true;
}

void Rdm::add_replies(Peer& peer, Writer& to) {
  while (!peer.replies.empty()) {
    const std::uint32_t first = peer.replies.first;
    const Reply reply = replies_[first];
    const std::span<std::byte> fetched = buffers_.of(reply.buffer);
    if (to.room() < Done::kMost + fetched.size()) return;
    to.put(static_cast<std::uint8_t>(RecordKind::done));
    reply.done.write(to);
    std::ranges::copy(fetched, to.payload(static_cast<std::uint32_t>(fetched.size())).begin());
    ++counters_.records;
    if (reply.buffer != 0) buffers_.give_back(reply.buffer);
    peer.replies.remove(replies_, first);
    replies_.give_back(first);
  }
  if (!peer.owes_grant || to.room() < kGrantRecord) return;
  peer.owes_grant = false;
  peer.told_messages = peer.consumed_messages;
  peer.told_bytes = peer.consumed_bytes;
  to.put(static_cast<std::uint8_t>(RecordKind::grant));
  Grant{peer.consumed_messages + config_.window, peer.consumed_bytes + config_.unexpected}.write(to);
  ++counters_.records;
}

void Rdm::add_payload(Writer& to, Place from, std::uint64_t bytes) {
  const std::span<std::byte> room = to.payload(static_cast<std::uint32_t>(bytes));
  if (room.empty()) return;
  if (from.memory & kOwnMemory)
    std::ranges::copy(buffers_.of(from.memory).subspan(from.offset, bytes), room.begin());
  else
    memory_.get(from, room);
}

void Rdm::chain_up(std::uint32_t index, std::uint32_t& chain) {
  ops_[index].carried = true;
  ops_[index].after = chain;
  chain = index;
}

void Rdm::add_answers(Peer& peer, Writer& to, std::uint32_t& chain) {
  while (!peer.answers.empty()) {
    const std::uint32_t first = peer.answers.first;
    Op& op = ops_[first];
    if (record_size(op) > to.room()) return;
    to.put(static_cast<std::uint8_t>(RecordKind::answer));
    to.put(op.context);
    add_payload(to, op.local, op.bytes);
    ++counters_.records;
    op.bundled = true;
    peer.answers.remove(ops_, first);
    chain_up(first, chain);
  }
}

void Rdm::add_requests(Peer& peer, Writer& to, std::uint32_t& chain) {
  while (!peer.requests.empty()) {
    const std::uint32_t first = peer.requests.first;
    Op& op = ops_[first];
    if (record_size(op) > to.room() || !may_ask(peer, op)) return;
    const std::uint64_t id = id_of(first);
    if (op.kind == Op::Kind::write) {
      to.put(static_cast<std::uint8_t>(RecordKind::write));
      WriteHead{op.has_data, id, op.remote, op.data}.write(to);
      add_payload(to, op.local, op.bytes);
    } else if (op.kind == Op::Kind::atomic) {
      to.put(static_cast<std::uint8_t>(RecordKind::atomic));
      AtomicHead{
          id,       op.remote, static_cast<std::uint8_t>(op.atomic_op), static_cast<std::uint8_t>(op.atomic_type),
          op.fetch, op.count}
          .write(to);
      const std::uint64_t comparand = has_comparand(op.atomic_op) ? op.bytes / 2 : 0;
      add_payload(to, op.local, op.bytes - comparand);
      add_payload(to, {op.local.memory, op.local.offset + op.bytes - comparand}, comparand);
    } else {
      to.put(static_cast<std::uint8_t>(RecordKind::read));
      ReadHead{id, op.remote, op.bytes}.write(to);
    }
    ++counters_.records;
    op.bundled = true;
    open(peer, op);
    peer.requests.remove(ops_, first);
    chain_up(first, chain);
  }
}

void Rdm::add_sends(Peer& peer, Writer& to, std::uint32_t& chain) {
  while (!peer.sends.empty()) {
    const std::uint32_t first = peer.sends.first;
    Op& op = ops_[first];
    if (record_size(op) > to.room() || !has_credit(peer, op)) return;
    const bool offer = op.bytes > config_.eager;
    if (offer) {
      op.awaits_done = true;
      op.remote.key = kOfferKey | (mix64(config_.seed + ++drawn_) << 32 & ~kOfferKey) | first;
      ++counters_.offers;
    }
    const MessageHead head = head_of(peer, first);
    to.put(static_cast<std::uint8_t>(offer ? RecordKind::offer : RecordKind::message));
    head.write(to);
    if (offer)
      OfferBody{op.bytes, {0, op.remote.key}}.write(to);
    else
      add_payload(to, op.local, op.bytes);
    ++counters_.records;
    op.bundled = true;
    peer.sends.remove(ops_, first);
    chain_up(first, chain);
  }
}

// ---- what may go

// Bytes of a record of it, at most. Beyond a bundle's it goes by itself.
std::uint32_t Rdm::record_size(const Op& op) const {
  const auto with = [&](std::uint32_t head) {
    return op.bytes > config_.bundle ? config_.bundle + 1 : head + static_cast<std::uint32_t>(op.bytes);
  };
  switch (op.kind) {
    case Op::Kind::send:
      return op.bytes > config_.eager ? kOfferRecord : with(kMessageRecord);
    case Op::Kind::write:
      return with(kWriteRecord);
    case Op::Kind::atomic:
      return with(kAtomicRecord);
    case Op::Kind::answer:
      return with(kAnswerRecord);
    case Op::Kind::read:
    case Op::Kind::pull:
      break;
  }
  return kReadRecord;
}

bool Rdm::may_ask(const Peer& peer, const Op& op) const {
  const bool reads = op.kind == Op::Kind::read || op.kind == Op::Kind::pull;
  return op.tries > 0 || (reads ? peer.open_reads < config_.reads : peer.open_requests < config_.requests);
}

void Rdm::open(Peer& peer, Op& op) {
  op.asked = true;
  if (op.tries > 0) return;  // is open since its first try
  const bool reads = op.kind == Op::Kind::read || op.kind == Op::Kind::pull;
  ++(reads ? peer.open_reads : peer.open_requests);
}

void Rdm::close(Op& op) {
  op.awaits_done = false;
  op.replied = true;
  if (op.kind == Op::Kind::send) return;
  Peer& peer = peers_[op.peer];
  const bool reads = op.kind == Op::Kind::read || op.kind == Op::Kind::pull;
  --(reads ? peer.open_reads : peer.open_requests);
  list(op.peer);
}

bool Rdm::has_credit(const Peer& peer, const Op& op) const {
  if (static_cast<std::int32_t>(peer.granted_messages - peer.next_sequence) <= 0) return false;
  return op.bytes > config_.eager ||
         (peer.granted_bytes > peer.sent_bytes && op.bytes <= peer.granted_bytes - peer.sent_bytes);
}

// Numbers it, at the expense of our credit.
MessageHead Rdm::head_of(Peer& peer, std::uint32_t index) {
  Op& op = ops_[index];
  op.asked = op.awaits_done;
  if (op.bytes <= config_.eager) peer.sent_bytes += op.bytes;
  return {.tagged = op.tagged,
          .has_data = op.has_data,
          .wants_done = op.awaits_done,
          .sequence = peer.next_sequence++,
          .tag = op.tag,
          .data = op.data,
          .id = id_of(index)};
}

// ---- ends

void Rdm::sent(Instant, std::uint32_t context) {
  const Carried carried = carried_[context];
  carried_[context].live = false;
  carried_.give_back(context);
  if (carried.buffer != 0) buffers_.give_back(carried.buffer);
  --peers_[carried.peer].carried;
  list(carried.peer);
  for (std::uint32_t op = carried.ops, next; op != kNone; op = next) {
    next = ops_[op].after;
    ops_[op].carried = false;
    settle(op);
  }
}

// Tells of an operation once nothing of the user's memory is needed any more, and forgets it once nobody names it.
void Rdm::settle(std::uint32_t index) {
  Op& op = ops_[index];
  if (op.awaits_done || op.answers > 0) return;
  if (op.carried && !(op.bundled && op.replied)) return;
  report(op);
  if (op.carried) return;
  if (op.kind == Op::Kind::answer) {
    --peers_[op.peer].answering;
    if (op.subject != kNone) {
      --ops_[op.subject].answers;
      settle(op.subject);
    } else if (const auto region = regions_.find(op.remote.key); region != regions_.end()) {
      --region->second.answering;
      tell_access(op.peer, op.remote.key, true, false);
    }
  }
  release_op(index);
}

void Rdm::report(Op& op) {
  if (op.reported) return;
  op.reported = true;
  Completion completion{.kind = Completion::Kind::sent, .error = op.error, .tagged = op.tagged, .peer = op.peer};
  completion.context = op.context;
  completion.tag = op.tag;
  completion.bytes = op.bytes;
  switch (op.kind) {
    case Op::Kind::send:
      break;
    case Op::Kind::write:
      completion.kind = Completion::Kind::written;
      break;
    case Op::Kind::read:
      completion.kind = Completion::Kind::read;
      break;
    case Op::Kind::atomic:
      completion.kind = Completion::Kind::atomic;
      break;
    case Op::Kind::pull:
    case Op::Kind::answer:
      return;
  }
  if (op.error == Error::none && op.quiet) return;
  completions_.push_back(completion);
}

Instant Rdm::next_wake() const {
  Instant wake = kNever;
  for (const Sleeper& each : sleepers_) wake = std::min(wake, each.until);
  return wake;
}

void Rdm::tick(Instant now) {
  for (std::size_t i = 0; i < sleepers_.size();) {
    Sleeper& each = sleepers_[i];
    if (each.until <= now && ops_[each.op].carried)
      each.until = now + config_.not_ready_wait.count();  // the refused copy
    if (each.until > now) {
      ++i;
      continue;
    }
    const Sleeper sleeper = each;
    sleepers_[i] = sleepers_.back();
    sleepers_.pop_back();
    // In front: those that wait may wait for this one to be over.
    peers_[ops_[sleeper.op].peer].requests.push_front(ops_, sleeper.op);
    list(ops_[sleeper.op].peer);
  }
}

}  // namespace weft::transport::rdm
