#include "transport/roce/frames.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace weft::transport {
namespace {

constexpr std::size_t kFcs = 4;
constexpr std::size_t kIcrc = 4;
constexpr std::uint16_t kRocePort = 4791;

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
  constexpr std::size_t kChanged[] = {1, 8, 10, 11, kIpBytes + 6, kIpBytes + 7, kIpBytes + 8 + 4};
  Crc32 crc;
  for (std::size_t i = 0; i < kMissing; ++i) crc.add(0xFF);
  for (std::size_t i = 0; i < packet.size(); ++i)
    crc.add(std::find(std::begin(kChanged), std::end(kChanged), i) != std::end(kChanged) ? 0xFF : packet[i]);
  for (std::size_t i = 0; i < zeros; ++i) crc.add(0);
  return crc.value();
}

}  // namespace

void RoceFrames::add(Frame& frame, const Captured& packet) const {
  enum Opcode : unsigned { kSend = 0, kWrite = 6, kAcknowledge = 17, kCnp = 0x81 };
  const Header& header = packet.header;
  unsigned opcode = packet.type == PacketType::roce_cnp ? kCnp : kAcknowledge;
  const bool nak = packet.type == PacketType::roce_ack && (packet.flags & kNak) != 0;
  std::uint32_t psn = packet.type == PacketType::roce_cnp ? 0 : nak ? header.sequence : header.sequence - 1;
  bool begins = false;
  if (packet.type == PacketType::roce_data) {
    const RoceConfig& roce = config_;
    const std::uint64_t packets = std::max<std::uint64_t>(1, (header.roce.size + roce.mtu - 1) / roce.mtu);
    const bool split = roce.split && header.roce.size > roce.split_above;
    const std::uint64_t each = split ? (packets + roce.qps - 1) / roce.qps : packets;  // of a queue pair
    begins = header.roce.packet % each == 0;
    const bool ends = header.roce.packet + 1 == packets || (header.roce.packet + 1) % each == 0;
    opcode = (header.op == Op::write ? kWrite : kSend) + (begins && ends ? 4u : begins ? 0u : ends ? 2u : 1u);
    psn = header.sequence;
  }
  const bool cnp = packet.type == PacketType::roce_cnp;
  add_ethernet_and_ip(frame, packet, kUdpOverIp, cnp, cnp ? kDscpCnp : kDscpRoce);
  add_udp(frame, dynamic_port(header.path), kRocePort);
  frame.u8(opcode);
  frame.u8(0);
  frame.u16(0xFFFF);                                         // the default partition
  frame.u8(packet.type == PacketType::roce_cnp ? 0x40 : 0);  // BECN
  frame.u24(2u + header.path);
  frame.u8(packet.type == PacketType::roce_data && (packet.flags & kAckNow) != 0 ? 0x80 : 0);
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
  frame.icrc = icrc_of(frame.from(kEthernetBytes), frame.original - frame.size() - kIcrc);
}

}  // namespace weft::transport
