// Which message goes into which receive, in which order, and what becomes of those that nobody waits for.

#include <algorithm>

#include "transport/rdm/rdm.hpp"

namespace weft::transport::rdm {

Rdm::Peer& Rdm::peer_of(std::uint32_t peer) {
  while (peer >= peers_.size()) {
    Peer& fresh = peers_.emplace_back();
    fresh.granted_messages = config_.window;
    fresh.granted_bytes = config_.unexpected;
  }
  return peers_[peer];
}

bool Rdm::suits(const Receive& receive, const Message& message) {
  return (receive.peer == kAnyPeer || receive.peer == message.peer) &&
         ((receive.tag ^ message.tag) & ~receive.ignore) == 0;
}

std::uint32_t Rdm::waiting_for(const Receive& receive) const {
  std::uint32_t at = waiting_[receive.tagged].first;
  while (at != kNone && !suits(receive, messages_[at])) at = messages_[at].after;
  return at;
}

std::uint32_t Rdm::posted_for(const Message& message) const {
  std::uint32_t at = receives_[message.tagged].first;
  while (at != kNone && !suits(posted_[at].what, message)) at = posted_[at].after;
  return at;
}

// ---- what is asked

std::uint32_t Rdm::post(const Receive& receive) {
  const std::uint32_t index = posted_.take();
  posted_[index] = {};
  posted_[index].what = receive;
  if (!receive.tagged) posted_[index].what.tag = 0, posted_[index].what.ignore = ~std::uint64_t{0};
  posted_[index].live = true;
  posted_[index].listed = true;
  receives_[receive.tagged].push_back(posted_, index);
  return index;
}

void Rdm::receive(const Receive& receive) {
  const std::uint32_t index = post(receive);
  const Receive what = posted_[index].what;
  // A receive of many takes as much as is there.
  for (std::uint32_t message = waiting_for(what); message != kNone; message = waiting_for(what)) {
    waiting_[what.tagged].remove(messages_, message);
    messages_[message].waiting = false;
    attach(message, index);
    const bool open = posted_[index].listed;
    proceed(message);
    if (!open) return;
  }
}

bool Rdm::cancel(bool tagged, std::uint64_t context) {
  std::uint32_t at = receives_[tagged].first;
  while (at != kNone && posted_[at].what.context != context) at = posted_[at].after;
  if (at == kNone) return false;
  Posted& posted = posted_[at];
  receives_[tagged].remove(posted_, at);
  posted.listed = false;
  Completion completion{.kind = Completion::Kind::received, .error = Error::canceled, .tagged = tagged};
  completion.context = context;
  completion.tag = posted.what.tag;
  completions_.push_back(completion);
  // Of a receive of many, messages may still be on their way into it; their ends are told as always.
  posted.what.least_left = 0;
  if (posted.filling == 0) {
    posted.live = false;
    posted_.give_back(at);
  }
  return true;
}

Waiting Rdm::describe(std::uint32_t index) const {
  const Message& message = messages_[index];
  return {.number = std::uint64_t{message.generation} << 32 | index,
          .peer = message.peer,
          .tag = message.tag,
          .bytes = message.bytes,
          .has_data = message.has_data,
          .data = message.data};
}

std::optional<Waiting> Rdm::peek(const Receive& like) const {
  Receive what = like;
  if (!what.tagged) what.ignore = ~std::uint64_t{0};
  const std::uint32_t message = waiting_for(what);
  if (message == kNone) return std::nullopt;
  return describe(message);
}

std::optional<Waiting> Rdm::claim(const Receive& like) {
  const std::optional<Waiting> found = peek(like);
  if (!found) return found;
  const auto index = static_cast<std::uint32_t>(found->number);
  waiting_[like.tagged].remove(messages_, index);
  messages_[index].waiting = false;
  return found;
}

std::uint32_t Rdm::claimed(std::uint64_t number) const {
  const auto index = static_cast<std::uint32_t>(number);
  if (index >= messages_.size()) return kNone;
  const Message& message = messages_[index];
  const bool ours = message.live && message.generation == number >> 32 && !message.waiting && !message.early &&
                    message.receive == kNone && !message.discarded;
  return ours ? index : kNone;
}

bool Rdm::receive_claimed(std::uint64_t number, const Receive& receive) {
  const std::uint32_t message = claimed(number);
  if (message == kNone) return false;
  attach(message, post(receive));
  proceed(message);
  return true;
}

bool Rdm::discard(std::uint64_t number) {
  const std::uint32_t message = claimed(number);
  if (message == kNone) return false;
  drop(message);
  return true;
}

// ---- one message and one receive

void Rdm::attach(std::uint32_t index, std::uint32_t to) {
  Message& message = messages_[index];
  Posted& posted = posted_[to];
  const std::uint64_t left = posted.what.bytes - posted.used;
  message.receive = to;
  message.place = {posted.what.to.memory, posted.what.to.offset + posted.used};
  message.room = std::min(message.bytes, left);
  ++posted.filling;
  posted.used += message.room;
  const bool full = posted.what.least_left == 0 || left - message.room < posted.what.least_left;
  if (!full) return;
  receives_[posted.what.tagged].remove(posted_, to);
  posted.listed = false;
}

// A message that waited has found its receive.
void Rdm::proceed(std::uint32_t index) {
  Message& message = messages_[index];
  if (message.state == Message::State::coming) return;  // until it has landed
  if (message.state == Message::State::whole) {
    if (message.buffer != 0 && message.room > 0)
      memory_.put(message.place, buffers_.of(message.buffer).first(message.room));
    return deliver(index, Error::none);
  }
  consume(message);
  if (message.room == 0) return deliver(index, Error::none);
  const std::uint32_t pull = new_op(Op::Kind::pull, message.peer);
  Op& op = ops_[pull];
  op.local = message.place;
  op.bytes = message.room;
  op.remote = message.source;
  op.subject = index;
  op.awaits_done = true;
  peer_of(message.peer).requests.push_back(ops_, pull);
  list(message.peer);
}

// Its bytes are in place, or never will be.
void Rdm::deliver(std::uint32_t index, Error error) {
  Message& message = messages_[index];
  const std::uint32_t posted = message.receive;
  const std::uint64_t cut = message.bytes - message.room;
  if (error == Error::none && cut > 0) error = Error::truncated;
  Completion completion{.kind = Completion::Kind::received,
                        .error = error,
                        .tagged = message.tagged,
                        .has_data = message.has_data,
                        .peer = message.peer};
  completion.context = posted_[posted].what.context;
  completion.tag = message.tag;
  completion.data = message.data;
  completion.bytes = message.room;
  completion.cut = cut;
  completion.place = message.place;
  completions_.push_back(completion);
  let_go(posted);
  if (message.wants_done && message.run == peers_[message.peer].run)
    reply(message.peer, message.id, error == Error::bad_access ? Verdict::bad_access : Verdict::fine);
  consume(message);
  release_message(index);
}

void Rdm::let_go(std::uint32_t index) {
  Posted& posted = posted_[index];
  if (--posted.filling > 0 || posted.listed) return;
  if (posted.what.least_left > 0)
    completions_.push_back({.kind = Completion::Kind::released, .context = posted.what.context});
  posted.live = false;
  posted_.give_back(index);
}

// Nobody will ever want it.
void Rdm::drop(std::uint32_t index) {
  Message& message = messages_[index];
  if (message.state == Message::State::coming) {
    message.discarded = true;
    return;
  }
  if (message.wants_done && message.run == peers_[message.peer].run) reply(message.peer, message.id, Verdict::fine);
  consume(message);
  release_message(index);
}

void Rdm::consume(Message& message) {
  Peer& peer = peers_[message.peer];
  if (message.consumed || message.run != peer.run) return;
  message.consumed = true;
  const std::uint64_t bytes = message.state == Message::State::offered ? 0 : message.bytes;
  --peer.held_messages;
  peer.held_bytes -= bytes;
  ++peer.consumed_messages;
  peer.consumed_bytes += bytes;
  if (peer.consumed_messages - peer.told_messages < config_.window / 4 &&
      peer.consumed_bytes - peer.told_bytes < config_.unexpected / 4)
    return;
  peer.owes_grant = true;
  list(message.peer);
}

void Rdm::release_message(std::uint32_t index) {
  Message& message = messages_[index];
  if (message.buffer != 0) buffers_.give_back(message.buffer);
  message.live = false;
  messages_.give_back(index);
}

// ---- order

// Whether an honest peer can have sent it now.
bool Rdm::admissible(const Peer& peer, std::uint32_t sequence, std::uint64_t bytes) const {
  if (peer.held_messages >= config_.window || bytes > config_.unexpected - peer.held_bytes) return false;
  if (!config_.ordered) return true;
  const std::uint32_t ahead = sequence - peer.expected;
  if (ahead >= config_.window) return false;
  return ahead == 0 || peer.early.empty() || peer.early[sequence % config_.window] == kNone;
}

std::uint32_t Rdm::new_message(std::uint32_t peer, const MessageHead& head, std::uint64_t bytes) {
  const std::uint32_t index = messages_.take();
  const std::uint32_t generation = messages_[index].generation + 1;
  Message& message = messages_[index];
  message = {};
  message.generation = generation;
  message.live = true;
  message.peer = peer;
  message.run = peers_[peer].run;
  message.tagged = head.tagged;
  message.tag = head.tag;
  message.has_data = head.has_data;
  message.data = head.data;
  message.wants_done = head.wants_done;
  message.id = head.id;
  message.sequence = head.sequence;
  message.bytes = bytes;
  ++peers_[peer].held_messages;
  return index;
}

// Matches it if it is its turn, and then those that waited for it. A message that came with its payload has it in a
// buffer by now, or has found its receive before.
void Rdm::take_in(std::uint32_t index) {
  const std::uint32_t from = messages_[index].peer;
  if (!config_.ordered) return match(index);
  Peer& peer = peers_[from];
  if (messages_[index].sequence != peer.expected) {
    ++counters_.early;
    if (peer.early.empty()) peer.early.assign(config_.window, kNone);
    peer.early[messages_[index].sequence % config_.window] = index;
    messages_[index].early = true;
    return;
  }
  match(index);
  ++peer.expected;
  while (!peer.early.empty()) {
    std::uint32_t& place = peer.early[peer.expected % config_.window];
    if (place == kNone) return;
    const std::uint32_t next = place;
    place = kNone;
    messages_[next].early = false;
    match(next);
    ++peer.expected;
  }
}

void Rdm::match(std::uint32_t index) {
  if (messages_[index].receive == kNone) {
    const std::uint32_t posted = posted_for(messages_[index]);
    if (posted == kNone) {
      ++counters_.unexpected;
      messages_[index].waiting = true;
      waiting_[messages_[index].tagged].push_back(messages_, index);
      return;
    }
    attach(index, posted);
  }
  proceed(index);
}

}  // namespace weft::transport::rdm
