#include "transport/srd/frames.hpp"

#include "transport/srd/codec.hpp"

namespace weft::transport {

// What the IP header says is not repeated in SRD's; the echo of an acknowledgement is SRD's own.
void SrdFrames::add(Frame& frame, const Captured& packet) const {
  const bool ack = packet.type == PacketType::ack || packet.type == PacketType::ordered_ack;
  const int by_ip = ack ? kMarked : kMarked | kTrimmed;
  const PacketType type = packet.type == PacketType::raw ? PacketType::raw : ack ? PacketType::ack : PacketType::data;
  add_ethernet_and_ip(frame, packet, kUdpOverIp, ack);
  add_udp(frame, dynamic_port(packet.header.path), kSrdPort);
  Encoded encoded;
  encoded.type = type;
  encoded.flags = static_cast<std::uint8_t>(packet.flags & ~by_ip);
  encoded.header = packet.header;
  frame.skip(encode(encoded, frame.rest()));
  finish_udp(frame, packet.bytes);
}

}  // namespace weft::transport
