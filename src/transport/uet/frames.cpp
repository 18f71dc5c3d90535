#include "transport/uet/frames.hpp"

#include "transport/uet/uet.hpp"

namespace weft::transport {
namespace {

constexpr std::uint16_t kUetPort = 4793;

}  // namespace

// The header of the packet delivery sublayer: 5 bits of type, 4 of next header, 7 of flags.
void UetFrames::add(Frame& frame, const Captured& packet) const {
  enum Type : unsigned { kRequest = 2, kAckCc = 8, kNack = 10, kControl = 11 };
  constexpr unsigned kProbe = 6;       // type of a control packet
  constexpr unsigned kWasTrimmed = 1;  // reason of a NACK
  const Header& header = packet.header;
  const auto prologue = [&](unsigned type, unsigned flags) { frame.u16(type << 11 | flags); };
  const auto contexts = [&] {
    frame.u16(header.stream);
    frame.u16(header.stream);
  };
  add_ethernet_and_ip(frame, packet, kUdpOverIp, packet.type == PacketType::uet_ack);
  add_udp(frame, dynamic_port(header.path), kUetPort);
  if (packet.type == PacketType::uet_data) {
    const bool probe = header.op == Op::read;
    const unsigned flags =
        ((packet.flags & kUetResent) != 0 ? 1u << 4 : 0) | ((packet.flags & kUetAckNow) != 0 ? 1u << 3 : 0);
    prologue(probe ? kControl : kRequest, probe ? kProbe << 7 | flags : flags);
    frame.u16(0);
    frame.u32(header.sequence);
    contexts();
  } else if ((packet.flags & kUetNack) != 0) {
    prologue(kNack, 0);
    frame.u8(kWasTrimmed);
    frame.u8(0);
    frame.u32(header.echoed());
    contexts();
    frame.u32(header.sequence);
  } else {
    prologue(kAckCc, (packet.flags & kUetMarked) != 0 ? 1u << 5 : 0);
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

}  // namespace weft::transport
