#include "report/frames.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "transport/srd/codec.hpp"
#include "transport/transports.hpp"
#include "transport/uet/uet.hpp"

namespace weft::report {
namespace {

using transport::Captured;
using transport::Header;
using transport::Op;
using transport::PacketType;
using transport::Protocol;

constexpr std::size_t kEthernet = 14;
constexpr std::size_t kIp = 20;
constexpr std::size_t kFcs = 4;
constexpr std::size_t kIcrc = 4;
constexpr std::size_t kTcpFraming = 24;  // FCS, preamble and gap: TcpConfig::framing without the Ethernet header
constexpr std::uint16_t kRocePort = 4791;
constexpr std::uint16_t kUetPort = 4793;
constexpr unsigned kUdp = 17;
constexpr unsigned kTcp = 6;
constexpr std::uint32_t kNet = 10u << 24;

std::uint32_t sum_of(std::span<const std::uint8_t> words) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) sum += static_cast<std::uint32_t>(words[i] << 8 | words[i + 1]);
  return sum;
}

std::uint16_t folded(std::uint32_t sum) {
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum & 0xFFFF);
}

unsigned traffic_class(const Captured& packet) {
  constexpr unsigned kNotCapable = 0;
  constexpr unsigned kCapable = 2;  // ECT(0)
  constexpr unsigned kExperienced = 3;
  const bool control = transport::goes_first(packet.type);
  const unsigned ecn = (packet.flags & transport::kMarked) != 0 ? kExperienced : control ? kNotCapable : kCapable;
  unsigned dscp = control ? kDscpAck : (packet.flags & transport::kTrimmed) != 0 ? kDscpTrimmed : kDscpData;
  if (transport::protocol_of(packet.type) == Protocol::rocev2)
    dscp = packet.type == PacketType::roce_cnp ? kDscpCnp : kDscpRoce;
  return dscp << 2 | ecn;
}

// Lengths and checksums are filled in when the rest is known.
void add_ethernet_and_ip(Frame& frame, const Captured& packet, unsigned protocol) {
  for (const std::uint32_t endpoint : {packet.header.destination, packet.header.source}) {
    frame.u16(0x0200);  // locally administered
    frame.u32(endpoint);
  }
  frame.u16(0x0800);
  frame.u8(0x45);
  frame.u8(traffic_class(packet));
  frame.u16(0);
  frame.u16(0);
  frame.u16(0x4000);  // never fragmented
  frame.u8(64);
  frame.u8(protocol);
  frame.u16(0);
  frame.u32(kNet + packet.header.source);
  frame.u32(kNet + packet.header.destination);
}

void finish_ip(Frame& frame) {
  frame.set_u16(kEthernet + 2, frame.original - kEthernet);
  frame.set_u16(kEthernet + 10, folded(sum_of(frame.from(kEthernet).first(kIp))));
}

std::uint16_t dynamic_port(std::uint32_t number) {
  constexpr std::uint32_t kPorts = 0x4000;
  return static_cast<std::uint16_t>(kFirstSourcePort + number % kPorts);
}

void add_udp(Frame& frame, std::uint16_t from, std::uint16_t to) {
  frame.u16(from);
  frame.u16(to);
  frame.u16(0);
  frame.u16(0);  // no checksum, as IPv4 allows
}

void finish_udp(Frame& frame, std::size_t original) {
  frame.original = std::clamp<std::size_t>(original, frame.size(), 0xFFFF);
  frame.set_u16(kEthernet + kIp + 4, frame.original - kEthernet - kIp);
  finish_ip(frame);
}

// CRC-32 as of Ethernet, a byte at a time.
class Crc32 {
 public:
  void add(std::uint8_t byte) { state_ = kTable[(state_ ^ byte) & 0xFF] ^ state_ >> 8; }
  std::uint32_t value() const { return ~state_; }

 private:
  static constexpr std::array<std::uint32_t, 256> kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      table[i] = i;
      for (int bit = 0; bit < 8; ++bit) table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xEDB88320u : 0);
    }
    return table;
  }();
  std::uint32_t state_ = 0xFFFFFFFF;
};

// Over all that switches do not change, and ones for what they do (RoCEv2 annex A17.3.3): the missing link header, type
// of service, time to live, both checksums, and the byte of congestion notifications.
std::uint32_t icrc_of(std::span<const std::uint8_t> packet, std::size_t zeros) {
  constexpr std::size_t kMissing = 8;
  constexpr std::size_t kChanged[] = {1, 8, 10, 11, kIp + 6, kIp + 7, kIp + 8 + 4};
  Crc32 crc;
  for (std::size_t i = 0; i < kMissing; ++i) crc.add(0xFF);
  for (std::size_t i = 0; i < packet.size(); ++i)
    crc.add(std::find(std::begin(kChanged), std::end(kChanged), i) != std::end(kChanged) ? 0xFF : packet[i]);
  for (std::size_t i = 0; i < zeros; ++i) crc.add(0);
  return crc.value();
}

// What the IP header says is not repeated in SRD's; the echo of an acknowledgement is SRD's own.
void add_srd(Frame& frame, const Captured& packet) {
  const bool ack = packet.type == PacketType::ack || packet.type == PacketType::ordered_ack;
  const int by_ip = ack ? transport::kMarked : transport::kMarked | transport::kTrimmed;
  const PacketType type = packet.type == PacketType::raw ? PacketType::raw : ack ? PacketType::ack : PacketType::data;
  add_udp(frame, dynamic_port(packet.header.path), transport::kSrdPort);
  frame.skip(transport::encode(type, static_cast<std::uint8_t>(packet.flags & ~by_ip), packet.header, frame.rest()));
  finish_udp(frame, packet.bytes);
}

// The header of the packet delivery sublayer: 5 bits of type, 4 of next header, 7 of flags.
void add_uet(Frame& frame, const Captured& packet) {
  enum Type : unsigned { kRequest = 2, kAckCc = 8, kNack = 10, kControl = 11 };
  constexpr unsigned kProbe = 4;    // type of a control packet
  constexpr unsigned kTrimmed = 1;  // reason of a NACK
  const Header& header = packet.header;
  const auto prologue = [&](unsigned type, unsigned flags) { frame.u16(type << 11 | flags); };
  const auto contexts = [&] {
    frame.u16(header.stream);
    frame.u16(header.stream);
  };
  add_udp(frame, dynamic_port(header.path), kUetPort);
  if (packet.type == PacketType::uet_data) {
    const bool probe = header.op == Op::read;
    const unsigned flags = ((packet.flags & transport::kUetResent) != 0 ? 1u << 4 : 0) |
                           ((packet.flags & transport::kUetAckNow) != 0 ? 1u << 3 : 0);
    prologue(probe ? kControl : kRequest, probe ? kProbe << 7 | flags : flags);
    frame.u16(0);
    frame.u32(header.sequence);
    contexts();
  } else if ((packet.flags & transport::kUetNack) != 0) {
    prologue(kNack, 0);
    frame.u8(kTrimmed);
    frame.u8(0);
    frame.u32(header.echoed());
    contexts();
    frame.u32(header.sequence);
  } else {
    prologue(kAckCc, (packet.flags & transport::kUetMarked) != 0 ? 1u << 5 : 0);
    frame.u16(header.echoed() - (header.sequence - 1));  // from the cumulative one to the one that is answered
    frame.u32(header.sequence - 1);
    contexts();
    frame.u16(0);
    frame.u16(header.arrived_from() - (header.sequence - 1));
    frame.u64(header.ack.arrived);
    frame.u64(0);
  }
  finish_udp(frame, packet.bytes);
}

}  // namespace

FrameMaker::FrameMaker(const WireNumbers& numbers, std::span<const Captured> packets) : numbers_(numbers) {
  const std::uint64_t segment = numbers_.tcp_segment;
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
std::uint64_t FrameMaker::byte_of(const Connection& connection, std::uint32_t segment) const {
  const std::uint64_t full = std::uint64_t{segment} * numbers_.tcp_segment;
  const auto messages = missing_.find(connection);
  if (messages == missing_.end()) return full;
  const auto next = messages->second.upper_bound(segment);
  return next == messages->second.begin() ? full : full - std::prev(next)->second;
}

void FrameMaker::add_roce(Frame& frame, const Captured& packet) const {
  enum Opcode : unsigned { kSend = 0, kWrite = 6, kAcknowledge = 17, kCnp = 0x81 };
  const Header& header = packet.header;
  unsigned opcode = packet.type == PacketType::roce_cnp ? kCnp : kAcknowledge;
  const bool nak = packet.type == PacketType::roce_ack && (packet.flags & transport::kNak) != 0;
  std::uint32_t psn = packet.type == PacketType::roce_cnp ? 0 : nak ? header.sequence : header.sequence - 1;
  bool begins = false;
  if (packet.type == PacketType::roce_data) {
    const transport::RoceConfig& roce = numbers_.roce;
    const std::uint64_t packets = std::max<std::uint64_t>(1, (header.roce.size + roce.mtu - 1) / roce.mtu);
    const bool split = roce.split && header.roce.size > roce.split_above;
    const std::uint64_t each = split ? (packets + roce.qps - 1) / roce.qps : packets;  // of a queue pair
    begins = header.roce.packet % each == 0;
    const bool ends = header.roce.packet + 1 == packets || (header.roce.packet + 1) % each == 0;
    opcode = (header.op == Op::write ? kWrite : kSend) + (begins && ends ? 4u : begins ? 0u : ends ? 2u : 1u);
    psn = header.sequence;
  }
  add_udp(frame, dynamic_port(header.path), kRocePort);
  frame.u8(opcode);
  frame.u8(0);
  frame.u16(0xFFFF);                                         // the default partition
  frame.u8(packet.type == PacketType::roce_cnp ? 0x40 : 0);  // BECN
  frame.u24(2u + header.path);
  frame.u8(packet.type == PacketType::roce_data && (packet.flags & transport::kAckNow) != 0 ? 0x80 : 0);
  frame.u24(psn);
  if (packet.type == PacketType::roce_ack) {
    frame.u8(nak ? 0x60 : 0x1F);  // a sequence error; or all well, without counting credits
    frame.u24(0);
  }
  if (packet.type == PacketType::roce_cnp)
    for (int i = 0; i < 2; ++i) frame.u64(0);
  std::size_t extra = 0;
  if (packet.type == PacketType::roce_data && header.op == Op::write &&
      begins) {  // RETH, which the simulator leaves out
    frame.u64(0);
    frame.u32(0);
    frame.u32(std::min<std::uint64_t>(header.roce.size, UINT32_MAX));
    extra = 16;
  }
  const std::size_t whole = packet.bytes - std::min<std::size_t>(packet.bytes, kFcs) + extra;
  finish_udp(frame, std::max(whole, frame.size() + kIcrc));
  frame.icrc = icrc_of(frame.from(kEthernet), frame.original - frame.size() - kIcrc);
}

void FrameMaker::add_tcp(Frame& frame, const Captured& packet) const {
  enum Flags : unsigned { kPush = 0x08, kAck = 0x10 };
  constexpr std::size_t kStart = kEthernet + kIp;
  constexpr std::int64_t kMillisecond = 1'000'000'000;
  const Header& header = packet.header;
  const bool data = packet.type == PacketType::tcp_data;
  const std::uint16_t ours = dynamic_port(header.stream);
  const Connection connection = data ? Connection{header.source, header.destination, header.stream}
                                     : Connection{header.destination, header.source, header.stream};
  const std::uint64_t segment = byte_of(connection, header.sequence);
  frame.u16(data ? ours : transport::kSrdPort);
  frame.u16(data ? transport::kSrdPort : ours);
  frame.u32(data ? segment : 0);
  frame.u32(data ? 0 : segment);
  const bool push = data && (packet.flags & transport::kAckNow) != 0;
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
    if ((packet.flags & transport::kRepeated) != 0)
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
  const std::uint32_t pseudo =
      sum_of(frame.from(kEthernet + 12).first(8)) + kTcp + static_cast<std::uint32_t>(frame.original - kStart);
  frame.set_u16(kStart + 16, folded(pseudo + sum_of(frame.from(kStart))));
  finish_ip(frame);
}

Frame FrameMaker::make(const Captured& packet) const {
  Frame frame;
  const Protocol protocol = transport::protocol_of(packet.type);
  add_ethernet_and_ip(frame, packet, protocol == Protocol::tcp ? kTcp : kUdp);
  switch (protocol) {
    case Protocol::rocev2:
      add_roce(frame, packet);
      break;
    case Protocol::tcp:
      add_tcp(frame, packet);
      break;
    case Protocol::uet:
      add_uet(frame, packet);
      break;
    case Protocol::srd:
    case Protocol::tcp_over_srd:
    case Protocol::raw:
      add_srd(frame, packet);
      break;
  }
  return frame;
}

}  // namespace weft::report
