#include "transport/tcp/frames.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace weft::transport {
namespace {

constexpr std::uint16_t kTcpPort = 7791;  // as SRD's
constexpr std::size_t kTcpFraming = 24;   // FCS, preamble and gap: TcpConfig::framing without the Ethernet header

}  // namespace

TcpFrames::TcpFrames(const TcpConfig& config, std::span<const Captured> packets)
    : segment_(config.mtu - config.headers) {
  const std::uint64_t segment = segment_;
  for (const Captured& packet : packets) {
    if (packet.type != PacketType::tcp_data) continue;
    const Header& header = packet.header;
    const std::uint64_t segments = std::max<std::uint64_t>(1, (header.data.size + segment - 1) / segment);
    const auto behind = static_cast<std::uint32_t>(header.data.first + segments);
    missing_[{header.source, header.destination, header.stream}][behind] = segments * segment - header.data.size;
  }
  for (auto& [connection, messages] : missing_) {
    std::uint64_t sum = 0;
    for (auto& [behind, missing] : messages) missing = sum += missing;
  }
}

// Messages that were not captured count as full segments.
std::uint64_t TcpFrames::byte_of(const Connection& connection, std::uint32_t segment) const {
  const std::uint64_t full = std::uint64_t{segment} * segment_;
  const auto messages = missing_.find(connection);
  if (messages == missing_.end()) return full;
  const auto next = messages->second.upper_bound(segment);
  return next == messages->second.begin() ? full : full - std::prev(next)->second;
}

void TcpFrames::add(Frame& frame, const Captured& packet) const {
  enum Flags : unsigned { kPush = 0x08, kAck = 0x10 };
  constexpr std::size_t kStart = kEthernetBytes + kIpBytes;
  constexpr std::int64_t kMillisecond = 1'000'000'000;
  const Header& header = packet.header;
  const bool data = packet.type == PacketType::tcp_data;
  const std::uint16_t ours = dynamic_port(header.stream);
  const Connection connection = data ? Connection{header.source, header.destination, header.stream}
                                     : Connection{header.destination, header.source, header.stream};
  const std::uint64_t segment = byte_of(connection, header.sequence);
  add_ethernet_and_ip(frame, packet, kTcpOverIp, false);
  frame.u16(data ? ours : kTcpPort);
  frame.u16(data ? kTcpPort : ours);
  frame.u32(data ? segment : 0);
  frame.u32(data ? 0 : segment);
  const bool push = data && (packet.flags & kAckNow) != 0;
  const unsigned marks = data ? 0 : header.marks & 7u;
  frame.u16(marks << 6 | kAck | (push ? kPush : 0u));  // the header's length is known at the end
  frame.u16(0xFFFF);
  frame.u16(0);
  frame.u16(0);
  frame.u32(0x0101080A);  // two fillers, timestamps
  frame.u32(static_cast<std::uint64_t>(packet.time / kMillisecond));
  frame.u32(0);
  if (!data) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    if ((packet.flags & kRepeated) != 0)
      ranges.emplace_back(byte_of(connection, header.tcp.repeated), byte_of(connection, header.tcp.repeated + 1));
    for (const auto& range : header.tcp.sack)
      if (range.from != range.to && ranges.size() < 3)  // all that fits beside timestamps
        ranges.emplace_back(byte_of(connection, header.sequence + range.from),
                            byte_of(connection, header.sequence + range.to));
    if (!ranges.empty()) frame.u32(0x01010500 | (2 + 8 * ranges.size()));
    for (const auto& [from, to] : ranges) {
      frame.u32(from);
      frame.u32(to);
    }
  }
  const std::size_t length = frame.size() - kStart;
  frame.set_u16(kStart + 12, length / 4 << 12 | marks << 6 | kAck | (push ? kPush : 0u));
  const std::size_t whole = packet.bytes - std::min<std::size_t>(packet.bytes, kTcpFraming);
  frame.original = data ? std::clamp<std::size_t>(whole, frame.size(), 0xFFFF) : frame.size();
  const std::uint32_t pseudo = sum_of(frame.from(kEthernetBytes + 12).first(8)) + kTcpOverIp +
                               static_cast<std::uint32_t>(frame.original - kStart);
  frame.set_u16(kStart + 16, folded(pseudo + sum_of(frame.from(kStart))));
  finish_ip(frame);
}

}  // namespace weft::transport
