#include "report/pcapng.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "transport/codec.hpp"

namespace weft::report {
namespace {

using transport::Captured;
using transport::PacketType;

constexpr std::size_t kEthernet = 14;
constexpr std::size_t kIp = 20;
constexpr std::size_t kUdp = 8;
constexpr std::size_t kHeaders = kEthernet + kIp + kUdp + transport::kWireHeader;

// Block types and options of draft-ietf-opsawg-pcapng.
constexpr std::uint32_t kSectionHeader = 0x0A0D0D0A;
constexpr std::uint32_t kInterface = 1;
constexpr std::uint32_t kEnhancedPacket = 6;
constexpr std::uint16_t kEndOfOptions = 0;
constexpr std::uint16_t kComment = 1;
constexpr std::uint16_t kInterfaceName = 2;
constexpr std::uint16_t kTimeResolution = 9;
constexpr std::uint16_t kEthernetLink = 1;

// Blocks are little-endian, as the section header's magic says; packets are big-endian.
class Block {
 public:
  explicit Block(std::uint32_t type) {
    u32(type);
    u32(0);  // the length, known at the end
  }
  void u16(std::uint16_t n) {
    for (int i = 0; i < 2; ++i) bytes_.push_back(static_cast<char>(n >> (8 * i) & 0xFF));
  }
  void u32(std::uint32_t n) {
    for (int i = 0; i < 4; ++i) bytes_.push_back(static_cast<char>(n >> (8 * i) & 0xFF));
  }
  void text(std::string_view chars) {
    bytes_.insert(bytes_.end(), chars.begin(), chars.end());
    bytes_.resize((bytes_.size() + 3) / 4 * 4);
  }
  void option(std::uint16_t code, std::string_view value) {
    u16(code);
    u16(static_cast<std::uint16_t>(value.size()));
    text(value);
  }
  void write(std::ostream& out) {
    const auto length = static_cast<std::uint32_t>(bytes_.size() + 4);
    for (std::size_t i = 0; i < 4; ++i) bytes_[4 + i] = static_cast<char>(length >> (8 * i) & 0xFF);
    u32(length);
    out.write(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
  }

 private:
  std::vector<char> bytes_;
};

class Frame {
 public:
  void u8(unsigned n) { bytes_[size_++] = static_cast<std::uint8_t>(n); }
  void u16(std::size_t n) {
    u8(static_cast<unsigned>(n >> 8 & 0xFF));
    u8(static_cast<unsigned>(n & 0xFF));
  }
  void u32(std::uint32_t n) {
    u16(n >> 16);
    u16(n & 0xFFFF);
  }
  void set_u16(std::size_t at, std::uint16_t n) {
    bytes_[at] = static_cast<std::uint8_t>(n >> 8);
    bytes_[at + 1] = static_cast<std::uint8_t>(n & 0xFF);
  }
  std::span<const std::uint8_t> from(std::size_t at) const { return std::span(bytes_).subspan(at, size_ - at); }
  std::span<std::uint8_t> rest() { return std::span(bytes_).subspan(size_); }
  void skip(std::size_t n) { size_ += n; }
  std::string_view chars() const { return {reinterpret_cast<const char*>(bytes_.data()), size_}; }

 private:
  std::array<std::uint8_t, kHeaders> bytes_{};
  std::size_t size_ = 0;
};

std::uint16_t ip_checksum(std::span<const std::uint8_t> header) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < header.size(); i += 2)
    sum += static_cast<std::uint32_t>(header[i] << 8 | header[i + 1]);
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum & 0xFFFF);
}

unsigned traffic_class(const Captured& packet) {
  constexpr unsigned kNotCapable = 0;
  constexpr unsigned kCapable = 2;  // ECT(0)
  constexpr unsigned kExperienced = 3;
  const bool ack = packet.type == PacketType::ack;
  const unsigned ecn = (packet.flags & transport::kMarked) != 0 ? kExperienced : ack ? kNotCapable : kCapable;
  const unsigned dscp = ack ? kDscpAck : (packet.flags & transport::kTrimmed) != 0 ? kDscpTrimmed : kDscpData;
  return dscp << 2 | ecn;
}

// What the IP header says is not repeated in SRD's; the echo of an acknowledgement is SRD's own.
std::uint8_t srd_flags(const Captured& packet) {
  const int by_ip = packet.type == PacketType::ack ? transport::kMarked : transport::kMarked | transport::kTrimmed;
  return static_cast<std::uint8_t>(packet.flags & ~by_ip);
}

void add_ethernet(Frame& frame, const Captured& packet) {
  for (const std::uint32_t endpoint : {packet.header.destination, packet.header.source}) {
    frame.u16(0x0200);  // locally administered
    frame.u32(endpoint);
  }
  frame.u16(0x0800);
}

void add_ip(Frame& frame, const Captured& packet, std::size_t wire_bytes) {
  constexpr std::uint32_t kNet = 10u << 24;
  constexpr std::size_t kChecksumAt = 10;
  frame.u8(0x45);
  frame.u8(traffic_class(packet));
  frame.u16(wire_bytes - kEthernet);
  frame.u16(0);
  frame.u16(0x4000);  // never fragmented
  frame.u8(64);
  frame.u8(17);
  frame.u16(0);
  frame.u32(kNet + packet.header.source);
  frame.u32(kNet + packet.header.destination);
  frame.set_u16(kEthernet + kChecksumAt, ip_checksum(frame.from(kEthernet)));
}

void add_udp(Frame& frame, const Captured& packet, std::size_t wire_bytes) {
  constexpr std::uint16_t kPorts = 0x4000;
  frame.u16(static_cast<std::size_t>(kFirstSourcePort + packet.header.path % kPorts));
  frame.u16(transport::kSrdPort);
  frame.u16(wire_bytes - kEthernet - kIp);
  frame.u16(0);
}

}  // namespace

PcapngWriter::PcapngWriter(std::ostream& out, std::span<const std::string> links) : out_(out) {
  Block section(kSectionHeader);
  section.u32(0x1A2B3C4D);
  section.u16(1);
  section.u16(0);
  section.u32(0xFFFFFFFF);  // the section's length is not given
  section.u32(0xFFFFFFFF);
  section.write(out_);
  for (const std::string& link : links) {
    Block interface(kInterface);
    interface.u16(kEthernetLink);
    interface.u16(0);
    interface.u32(0);  // no limit on the captured length
    interface.option(kInterfaceName, std::string_view(link).substr(0, 0xFFFF));
    interface.option(kTimeResolution, "\x09");  // 10^-9
    interface.option(kEndOfOptions, "");
    interface.write(out_);
  }
}

void PcapngWriter::add(const Captured& packet) {
  // An IPv4 packet cannot be longer than this; jumbo frames are far below.
  const std::size_t wire_bytes = std::clamp<std::size_t>(packet.bytes, kHeaders, 0xFFFF);
  Frame frame;
  add_ethernet(frame, packet);
  add_ip(frame, packet, wire_bytes);
  add_udp(frame, packet, wire_bytes);
  frame.skip(transport::encode(packet.type, srd_flags(packet), packet.header, frame.rest()));

  constexpr std::int64_t kPsPerTick = 1000;
  const auto time = static_cast<std::uint64_t>(packet.time / kPsPerTick);
  Block block(kEnhancedPacket);
  block.u32(packet.link);
  block.u32(static_cast<std::uint32_t>(time >> 32));
  block.u32(static_cast<std::uint32_t>(time));
  block.u32(static_cast<std::uint32_t>(kHeaders));
  block.u32(static_cast<std::uint32_t>(wire_bytes));
  block.text(frame.chars());
  if (const std::int64_t rest = packet.time % kPsPerTick; rest != 0) {
    block.option(kComment, fmt::format("+{} ps", rest));
    block.option(kEndOfOptions, "");
  }
  block.write(out_);
}

}  // namespace weft::report
