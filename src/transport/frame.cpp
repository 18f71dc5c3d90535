#include "transport/frame.hpp"

#include <algorithm>

namespace weft::transport {
namespace {

constexpr std::uint32_t kNet = 10u << 24;

unsigned traffic_class(const Captured& packet, bool control, std::optional<unsigned> dscp) {
  constexpr unsigned kNotCapable = 0;
  constexpr unsigned kCapable = 2;  // ECT(0)
  constexpr unsigned kExperienced = 3;
  const unsigned ecn = (packet.flags & kMarked) != 0 ? kExperienced : control ? kNotCapable : kCapable;
  const unsigned usual = control ? kDscpAck : (packet.flags & kTrimmed) != 0 ? kDscpTrimmed : kDscpData;
  return dscp.value_or(usual) << 2 | ecn;
}

}  // namespace

std::uint32_t sum_of(std::span<const std::uint8_t> words) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) sum += static_cast<std::uint32_t>(words[i] << 8 | words[i + 1]);
  return sum;
}

std::uint16_t folded(std::uint32_t sum) {
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum & 0xFFFF);
}

void add_ethernet_and_ip(Frame& frame, const Captured& packet, IpProtocol protocol, bool control,
                         std::optional<unsigned> dscp) {
  for (const std::uint32_t endpoint : {packet.header.destination, packet.header.source}) {
    frame.u16(0x0200);  // locally administered
    frame.u32(endpoint);
  }
  frame.u16(0x0800);
  frame.u8(0x45);
  frame.u8(traffic_class(packet, control, dscp));
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
  frame.set_u16(kEthernetBytes + 2, frame.original - kEthernetBytes);
  frame.set_u16(kEthernetBytes + 10, folded(sum_of(frame.from(kEthernetBytes).first(kIpBytes))));
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
  frame.set_u16(kEthernetBytes + kIpBytes + 4, frame.original - kEthernetBytes - kIpBytes);
  finish_ip(frame);
}

}  // namespace weft::transport
