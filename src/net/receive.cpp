// What arrives at a node: checked, handed to the transport, and put where the layer wants it.

#include <algorithm>
#include <cstring>

#include "base/crc32c.hpp"
#include "net/node.hpp"

namespace weft::net {
namespace {

constexpr std::int64_t kMostAge = 1'000'000'000;  // ns
// Packets that one acknowledgement tells of: of the 64 of its bitmap some are those of other paths, still missing.
constexpr std::uint32_t kTellWithin = 32;
// Answers at once in a row after which the next is expected, too.
constexpr std::uint8_t kKnownPrompt = 4;

}  // namespace

// True: there may be more.
bool Node::receive() {
  ++looks_;
  bool more = false;
  for (taking_ = 0; taking_ < nics_; ++taking_) {
    const Inbox::Taken taken =
        inbox_.take(sockets_[taking_], expected(), [&](const Inbox::Datagram& datagram) { take(datagram); });
    ++counters_.system_calls;
    counters_.datagrams_in += taken.datagrams;
    more = more || taken.all_slots;
  }
  return more;
}

// The packets behind the newest of a message, where nothing later has come: their places are known, and empty.
Inbox::Expected Node::expected() {
  if (next_.connection == transport::kNone) return {};
  const Connection& connection = connections_[next_.connection];
  const auto found = arriving_.find(std::uint64_t{next_.connection} << 32 | next_.first);
  if (connection.state != State::up || connection.seal || found == arriving_.end() ||
      next_.sequence != connection.newest + 1)
    return {};
  const std::uint64_t offset = std::uint64_t{next_.sequence - next_.first} * connection.fragment;
  std::uint64_t end = found->second.sink.room;
  if (end < next_.size) end -= end % connection.fragment;  // what is cut goes nowhere
  if (offset >= end) return {};
  return {transport::kWireHeader + next_.envelope, connection.fragment, found->second.bytes + offset, end - offset,
          [this, ours = connection.ours](std::span<const std::uint8_t> head, std::size_t i) {
            return transport::is_data(head, ours, next_.first, next_.sequence + static_cast<std::uint32_t>(i)) &&
                   head[transport::kEnvelopeAt] == next_.envelope;
          }};
}

void Node::take(const Inbox::Datagram& datagram) {
  counters_.bytes_in += datagram.bytes.size() + datagram.in_place.size();
  now_ = std::max(now_, datagram.now);
  if (datagram.bytes.size() < 2) {
    ++counters_.not_ours;
  } else if (datagram.bytes[1] == static_cast<std::uint8_t>(transport::PacketType::ack) &&
             datagram.bytes.size() > ack_bytes()) {
    Inbox::Datagram part = datagram;
    part.bytes = datagram.bytes.first(ack_bytes());
    take_packet(part);
    part.bytes = datagram.bytes.subspan(ack_bytes());
    take_packet(part);
  } else if (datagram.bytes[1] <= static_cast<std::uint8_t>(transport::PacketType::ack)) {
    take_packet(datagram);
  } else {
    take_control(datagram);
  }
}

void Node::take_packet(const Inbox::Datagram& datagram) {
  auto packet = transport::decode(datagram.bytes);
  const auto known = packet ? by_number_.find(transport::connection_of(packet->header)) : by_number_.end();
  if (known == by_number_.end()) {
    ++counters_.not_ours;
    return;
  }
  const std::uint32_t number = known->second;
  Connection& connection = connections_[number];
  if (config_.key && (!connection.seal || !connection.seal->open(datagram.bytes))) {
    ++counters_.damaged;
    return;
  }
  const auto rest = datagram.bytes.subspan(transport::kWireHeader)
                        .first(datagram.bytes.size() - transport::kWireHeader - (config_.key ? kSealBytes : 0));
  const bool data = packet->type == transport::PacketType::data;
  packet->header.source = number;
  packet->header.destination = 0;
  // The first packet may overtake what says how long packets are; it says so itself.
  if (data && connection.state == State::accepted && packet->fragment + around_payload() <= connection.datagram)
    come_up(number, packet->fragment + around_payload());
  if (connection.state != State::up || (data && !fits(*packet, connection.fragment, rest, datagram.in_place))) {
    ++counters_.damaged;
    return;
  }
  connection.heard = connection.answered = now_;
  auto flags = packet->flags;
  if (data) {
    flags &= transport::kAckNow | transport::kResent;
    if (datagram.marked) flags |= transport::kMarked;
  }
  // Neither what waited here counts as a round trip, nor what waited at the peer.
  Instant at = datagram.at;
  if (data) {
    connection.arrived = at;
    if (connection.asked != 0 && connection.asked != looks_) connection.prompt = 0;
    connection.asked = looks_;
    connection.certain_way = packet->header.echo != 0;
    owes_ = true;
    owes_now_ = owes_now_ || connection.certain_way || connection.prompt < kKnownPrompt;
  }
  if (!data) at -= std::min<std::int64_t>(packet->waited, kMostAge) * 1000;
  if (!data && peers_[connection.peer].watch)
    peers_[connection.peer].watch->acknowledged(at, packet->flags, packet->header);
  const transport::Placement placement =
      srd_.handle(at, 0, packet->type, flags, packet->header, std::max<Instant>(0, datagram.now - at));
  const bool placed = placement.kind == transport::Placement::Kind::place;
  if (placed) place(number, *packet, placement, rest, datagram.in_place, at);
  // One acknowledgement for all that came in one call, unless it had more to say than fits.
  if (data && (!placed || ++connections_[number].unsaid >= kTellWithin)) take_acks();
  if (!srd_.completions().empty()) finish();
}

// Whether its contents are what its header says.
bool Node::fits(const transport::Encoded& packet, std::uint16_t fragment, std::span<const std::uint8_t> rest,
                std::span<const std::uint8_t> in_place) const {
  return packet.header.op == transport::Op::send && packet.fragment == fragment && rest.size() >= packet.envelope &&
         srd_.has_length(0, packet.header, rest.size() + in_place.size() - packet.envelope) &&
         (config_.key || crc32c(in_place, crc32c(rest)) == packet.payload_checksum);  // a seal has said so already
}

void Node::place(std::uint32_t number, const transport::Encoded& packet, const transport::Placement& placement,
                 std::span<const std::uint8_t> rest, std::span<const std::uint8_t> in_place, Instant at) {
  using transport::rdm::Sink;
  const std::uint64_t size = packet.header.data.size;
  const std::uint64_t key = std::uint64_t{number} << 32 | placement.first;
  const bool whole = placement.complete && size <= packet.fragment;
  auto found = whole ? arriving_.end() : arriving_.find(key);
  Arriving arriving{};
  if (found == arriving_.end()) {
    const auto envelope = std::as_bytes(rest.first(packet.envelope));
    arriving.sink = layer_.arrived(at, connections_[number].peer, envelope, size);
    if (arriving.sink.kind == Sink::Kind::refused) return fail(number, "it sent what has no place here");
    arriving.bytes = arriving.sink.room > 0 ? bytes_at(arriving.sink.place) : nullptr;
    if (!whole) {
      found = arriving_.emplace(key, arriving).first;
      connections_[number].arriving.insert(placement.first);
    }
  } else {
    arriving = found->second;
  }
  const auto payload = in_place.empty() ? rest.subspan(packet.envelope) : in_place;
  if (placement.offset < arriving.sink.room && in_place.empty())
    std::memcpy(arriving.bytes + placement.offset, payload.data(),
                std::min<std::uint64_t>(payload.size(), arriving.sink.room - placement.offset));
  Connection& connection = connections_[number];
  const std::uint32_t sequence = packet.header.sequence;
  if (transport::before(connection.newest, sequence)) connection.newest = sequence;
  if (!placement.complete) {
    next_ = {number, placement.first, sequence + 1, size, packet.envelope};
    return;
  }
  if (!whole) {
    arriving_.erase(found);
    connections_[number].arriving.erase(placement.first);
  }
  layer_.landed(at, connections_[number].peer, arriving.sink.context);
}

}  // namespace weft::net
