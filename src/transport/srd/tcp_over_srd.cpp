#include "transport/srd/tcp_over_srd.hpp"

namespace weft::transport {
namespace {

PacketType wrapped(PacketType type) {
  return type == PacketType::data ? PacketType::ordered_data : PacketType::ordered_ack;
}
PacketType plain(PacketType type) { return type == PacketType::ordered_data ? PacketType::data : PacketType::ack; }

template <class T>
T& find_or_add(Peers<T>& peers, std::uint32_t endpoint, std::uint32_t peer) {
  const std::uint32_t known = peers.find(endpoint, peer);
  return peers[known != kNone ? known : peers.add(endpoint, peer)];
}

}  // namespace

bool TcpOverSrd::post(Instant now, std::uint32_t endpoint, const Operation& operation) {
  if (operation.op != Op::send && operation.op != Op::write) return false;
  const std::uint32_t slot = sends_.take();
  sends_[slot] = {operation.context, kNone, {}, false};
  Operation inner = operation;
  inner.context = slot;
  if (!srd_.post(now, endpoint, inner)) {
    sends_.give_back(slot);
    return false;
  }
  Sender& sender = find_or_add(senders_, endpoint, operation.peer);
  (sender.last == kNone ? sender.first : sends_[sender.last].next) = slot;
  sender.last = slot;
  return true;
}

Placement TcpOverSrd::handle(Instant now, std::uint32_t endpoint, PacketType type, std::uint8_t flags,
                             const Header& header) {
  // A read is no part of a stream; only nonsense asks for one.
  if (type == PacketType::ordered_data && header.op != Op::send && header.op != Op::write)
    return {.kind = Placement::Kind::dropped};
  const Placement placement = srd_.handle(now, endpoint, plain(type), flags, header);
  const Completion* received = nullptr;
  for (const Completion& end : srd_.completions()) {
    if (end.kind == Completion::Kind::received) {
      received = &end;
    } else {
      note_end(end);
    }
  }
  if (placement.complete) arrived(endpoint, placement, header, received);
  srd_.completions().clear();
  return placement;
}

bool TcpOverSrd::poll_ack(std::uint32_t endpoint, Transmit& out) {
  if (!srd_.poll_ack(endpoint, out)) return false;
  out.type = wrapped(out.type);
  return true;
}

bool TcpOverSrd::poll(Instant now, std::uint32_t endpoint, Transmit& out) {
  const bool found = srd_.poll(now, endpoint, out);
  for (const Completion& end : srd_.completions()) note_end(end);  // of peers that were silent for too long
  srd_.completions().clear();
  if (found) out.type = wrapped(out.type);
  return found;
}

// ---- the sender: ends in the order of posting

void TcpOverSrd::note_end(const Completion& end) {
  Send& send = sends_[end.context];
  send.end = end;
  send.end.context = send.context;
  send.known = true;
  Sender& sender = senders_[senders_.find(end.endpoint, end.peer)];
  // SRD fails all that is open at once, so the first one failed here means that the connection is gone: what arrived
  // behind it was never handed over.
  bool reset = false;
  while (sender.first != kNone && sends_[sender.first].known) {
    const std::uint32_t slot = sender.first;
    Completion& first = sends_[slot].end;
    reset = reset || first.kind == Completion::Kind::failed;
    if (reset) first.kind = Completion::Kind::failed;
    completions_.push_back(first);
    sender.first = sends_[slot].next;
    if (sender.first == kNone) sender.last = kNone;
    sends_.give_back(slot);
  }
}

// ---- the receiver: messages in the order of their numbers

// A message is whole. `end` is what SRD says of it: nothing of a write.
void TcpOverSrd::arrived(std::uint32_t endpoint, const Placement& placement, const Header& header,
                         const Completion* end) {
  Receiver& receiver = find_or_add(receivers_, endpoint, header.source);
  if (receiver.generation != header.generation || receiver.stream != header.stream) {
    // A new connection. What waited for a gap of the former one is gone with it.
    for (; receiver.early != kNone; --receiver.count) {
      const std::uint32_t slot = receiver.early;
      receiver.early = early_[slot].next;
      early_.give_back(slot);
    }
    receiver.generation = header.generation;
    receiver.stream = header.stream;
    receiver.next = srd_.config().first_sequence;
  }
  if (receiver.count == kMostEarly) return;  // its numbers make no sense
  const std::uint32_t slot = early_.take();
  early_[slot] = {end != nullptr ? *end : Completion{}, placement.first,
                  packets_of(header.data.size, srd_.config().payload), kNone, end != nullptr};
  std::uint32_t* link = &receiver.early;
  while (*link != kNone && before(early_[*link].first, placement.first)) link = &early_[*link].next;
  early_[slot].next = *link;
  *link = slot;
  ++receiver.count;
  hand_over(receiver);
}

void TcpOverSrd::hand_over(Receiver& receiver) {
  while (receiver.early != kNone && early_[receiver.early].first == receiver.next) {
    const std::uint32_t slot = receiver.early;
    const Early& message = early_[slot];
    if (message.told) completions_.push_back(message.end);
    receiver.next += message.packets;
    receiver.early = message.next;
    --receiver.count;
    early_.give_back(slot);
  }
}

std::string_view TcpOverSrd::check_invariants() const {
  std::size_t sends = 0;
  for (std::uint32_t i = 0; i < senders_.size(); ++i)
    for (std::uint32_t slot = senders_[i].first; slot != kNone; slot = sends_[slot].next) ++sends;
  if (sends != sends_.used()) return "a message to be sent belongs to nobody";
  std::size_t early = 0;
  for (std::uint32_t i = 0; i < receivers_.size(); ++i) {
    std::uint32_t count = 0;
    for (std::uint32_t slot = receivers_[i].early; slot != kNone; slot = early_[slot].next) ++count;
    if (count != receivers_[i].count || count > kMostEarly) return "messages beyond a gap are not counted";
    early += count;
  }
  if (early != early_.used()) return "a message beyond a gap belongs to nobody";
  return srd_.check_invariants();
}

}  // namespace weft::transport
