#pragma once
// Messages under way. A message to a peer is a run of sequence numbers, and messages follow one another as they were
// posted: a list from `first_message` to `last_message`, of which `sending` is the one that the next fresh packet is
// of. A receiver's incomplete ones are a list in any order.

#include <algorithm>
#include <cstdint>

#include "transport/numbers.hpp"
#include "transport/operation.hpp"
#include "transport/slab.hpp"

namespace weft::transport {

struct SendMessage {
  std::uint64_t bytes;
  std::uint32_t tag;
  std::uint32_t context;
  std::uint32_t first = 0;  // sequence of its first packet
  std::uint32_t packets;
  std::uint32_t left;          // not yet acknowledged
  std::uint32_t next = kNone;  // later message to the peer
  Op op;
};

// Behind all others, with the numbers that come next.
template <class Sender, class Message>
void append(Slab<Message>& messages, Sender& sender, const Message& message) {
  const std::uint32_t slot = messages.take();
  messages[slot] = message;
  messages[slot].first = sender.end;
  sender.end += message.packets;
  (sender.last_message == kNone ? sender.first_message : messages[sender.last_message].next) = slot;
  sender.last_message = slot;
  if (sender.sending == kNone) sender.sending = slot;
}

// The one that a number belongs to: `from` or a later one.
template <class Message>
std::uint32_t message_with(const Slab<Message>& messages, std::uint32_t sequence, std::uint32_t from) {
  while (sequence - messages[from].first >= messages[from].packets) from = messages[from].next;
  return from;
}

// The next fresh number goes out.
template <class Sender, class Message>
std::uint32_t take_fresh(const Slab<Message>& messages, Sender& sender) {
  const Message& message = messages[sender.sending];
  const std::uint32_t sequence = sender.next++;
  if (sender.next == message.first + message.packets) sender.sending = message.next;
  return sequence;
}

// Calls done(message) for each of which nothing is left to be acknowledged, and forgets it.
template <class Sender, class Done>
void finish_sent(Slab<SendMessage>& messages, Sender& sender, Done done) {
  std::uint32_t* link = &sender.first_message;
  std::uint32_t last = kNone;
  while (*link != kNone) {
    SendMessage& message = messages[*link];
    if (message.left > 0) {
      if (!before(message.first, sender.next)) return;  // behind the one being sent, none has begun
      last = *link;
      link = &message.next;
      continue;
    }
    done(message);
    const std::uint32_t slot = *link;
    *link = message.next;
    messages.give_back(slot);
  }
  sender.last_message = last;
}

// Calls fail(message) for each, and forgets them all.
template <class Sender, class Message, class Fail>
void fail_all(Slab<Message>& messages, Sender& sender, Fail fail) {
  while (sender.first_message != kNone) {
    const std::uint32_t slot = sender.first_message;
    fail(messages[slot]);
    sender.first_message = messages[slot].next;
    messages.give_back(slot);
  }
}

template <class Sender, class Message>
Completion end_of(const Sender& sender, const Message& message, Completion::Kind kind) {
  return {sender.endpoint, sender.peer, message.tag, message.context, message.bytes, kind};
}

// ---- at the receiver

// The link to the incomplete message whose first packet has this number; to kNone where there is none.
template <class Receiver, class Message>
std::uint32_t* link_to(Slab<Message>& messages, Receiver& receiver, std::uint32_t first) {
  std::uint32_t* link = &receiver.messages;
  while (*link != kNone && messages[*link].first != first) link = &messages[*link].next;
  return link;
}

// Whether a packet is what it says to be: of this message.
template <class Message>
bool is_part_of(const Message& message, const Header& header) {
  return message.op == header.op && message.bytes == header.data.size &&
         header.sequence - message.first < message.packets;
}

// Where a packet's payload goes.
template <class Message>
void place(const Message& message, std::uint32_t sequence, std::uint32_t payload, Placement& out) {
  out.kind = Placement::Kind::place;
  out.op = message.op;
  out.first = message.first;
  out.tag = message.tag;
  out.offset = std::uint64_t{sequence - message.first} * payload;
  out.length =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(payload, message.bytes - std::min(message.bytes, out.offset)));
}

// Packets that are there of messages of which others are missing.
template <class Receiver, class Message>
std::uint64_t packets_underway(const Receiver& receiver, const Slab<Message>& messages) {
  std::uint64_t packets = 0;
  for (std::uint32_t at = receiver.messages; at != kNone; at = messages[at].next)
    packets += messages[at].packets - messages[at].left;
  return packets;
}

}  // namespace weft::transport
