#include "transport/raw/messages.hpp"

#include <algorithm>

#include "transport/numbers.hpp"

namespace weft::transport {

RawMessages::RawMessages(const RawConfig& config)
    : payload_(std::max(1u, config.payload)), header_(config.header), paths_(std::max(1u, config.paths)) {}

std::uint64_t RawMessages::packets_of(std::uint64_t bytes, std::uint32_t payload) {
  return std::max<std::uint64_t>(1, bytes / payload + (bytes % payload != 0));
}

bool RawMessages::post(Instant, std::uint32_t endpoint, const Operation& operation) {
  if (operation.op != Op::send || packets_of(operation.bytes, payload_) > kMostPackets) return false;
  if (endpoint >= lines_.size()) lines_.resize(endpoint + 1);
  const std::uint32_t slot = waiting_.take();
  waiting_[slot] = {operation.bytes, operation.peer, operation.tag, operation.context, 0, kNone};
  Line& line = lines_[endpoint];
  if (line.head == kNone) {
    line.head = slot;
  } else {
    waiting_[line.tail].next = slot;
  }
  line.tail = slot;
  return true;
}

std::uint32_t RawMessages::length_of(std::uint64_t bytes, std::uint32_t packet) const {
  const std::uint64_t offset = std::uint64_t{packet} * payload_;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(payload_, bytes - std::min(bytes, offset)));
}

bool RawMessages::poll(Instant, std::uint32_t endpoint, Transmit& out) {
  if (endpoint >= lines_.size() || lines_[endpoint].head == kNone) return false;
  Line& line = lines_[endpoint];
  const std::uint32_t slot = line.head;
  Waiting& message = waiting_[slot];
  const std::uint32_t bytes = length_of(message.bytes, message.sent);
  out.type = PacketType::raw;
  out.flags = 0;
  out.wire_bytes = bytes + header_;
  out.header = Header{};
  out.header.source = endpoint;
  out.header.destination = message.peer;
  out.header.path = static_cast<std::uint16_t>(line.sequence % paths_);
  out.header.op = Op::send;
  out.header.sequence = line.sequence;
  out.header.data = {line.sequence - message.sent, message.tag, message.bytes};
  ++line.sequence;
  ++counters_.data_sent;
  completions_.push_back({endpoint, message.peer, message.tag, message.context, bytes, Completion::Kind::sent});
  if (++message.sent == packets_of(message.bytes, payload_)) {
    line.head = message.next;
    waiting_.give_back(slot);
  }
  return true;
}

void RawMessages::handle(Instant, std::uint32_t endpoint, PacketType type, std::uint8_t flags, const Header& header) {
  const std::uint32_t packet = header.sequence - header.data.first;
  if (type != PacketType::raw || (flags & kTrimmed) || packet >= packets_of(header.data.size, payload_)) {
    ++counters_.ignored;
    return;
  }
  const std::uint32_t bytes = length_of(header.data.size, packet);
  counters_.marked_seen += (flags & kMarked) != 0;
  counters_.payload_delivered += bytes;
  completions_.push_back({endpoint, header.source, header.data.tag, 0, bytes, Completion::Kind::received});
}

}  // namespace weft::transport
