// What captures have of packets: the headers of each transport, read back field by field.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "transport/roce/frames.hpp"
#include "transport/uet/frames.hpp"
#include "transport/uet/uet.hpp"

namespace weft::transport {
namespace {

class Fields {
 public:
  explicit Fields(std::string bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t next(std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes_.at(at_++));
    return value;
  }
  void skip_to(std::size_t at) { at_ = at; }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

Captured packet_of(PacketType type, std::uint8_t flags, std::uint32_t sequence, std::uint32_t bytes) {
  Captured p;
  p.type = type;
  p.flags = flags;
  p.bytes = bytes;
  p.header.source = 1;
  p.header.destination = 258;
  p.header.path = 9;
  p.header.stream = 5;
  p.header.sequence = sequence;
  return p;
}

// Ethernet, IP and UDP as all have them; what follows is left to the caller.
Fields behind_udp(const Frame& frame, const Captured& packet, std::uint16_t port) {
  const std::string bytes = frame.captured();
  Fields in(bytes);
  EXPECT_EQ(in.next(6), 0x0200'0000'0000u + packet.header.destination);
  EXPECT_EQ(in.next(6), 0x0200'0000'0000u + packet.header.source);
  EXPECT_EQ(in.next(2), 0x0800u);
  EXPECT_EQ(in.next(1), 0x45u);
  in.skip_to(16);
  EXPECT_EQ(in.next(2), frame.original - 14) << "length of the IP packet";
  in.skip_to(22);
  EXPECT_EQ(in.next(2), 64u << 8 | 17u) << "time to live, UDP";
  in.skip_to(26);
  EXPECT_EQ(in.next(4), (10u << 24) + packet.header.source);
  EXPECT_EQ(in.next(4), (10u << 24) + packet.header.destination);
  const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  EXPECT_EQ(folded(sum_of({first + 14, 20})), 0u) << "the checksum makes it so";
  EXPECT_EQ(in.next(2), 49152u + packet.header.path);
  EXPECT_EQ(in.next(2), port);
  EXPECT_EQ(in.next(2), frame.original - 34) << "length of UDP's";
  EXPECT_EQ(in.next(2), 0u);
  return in;
}

Frame uet_frame(const Captured& packet) {
  Frame frame;
  UetFrames({}, {}).add(frame, packet);
  return frame;
}

// Ultra Ethernet 1.0: types 2 RUD_REQ, 8 ACK_CC, 10 NACK, 11 control, of which 6 is a probe; flag 3 asks for an
// answer, 4 says sent again, 5 of an answer that the packet came marked.
TEST(UetFrames, RequestsAndProbesSayWhichTheyAre) {
  struct Case {
    Op op;
    std::uint8_t flags;
    std::uint64_t type, next, wire_flags;
  };
  for (const Case& each :
       {Case{Op::send, 0, 2, 0, 0}, Case{Op::write, kUetResent, 2, 0, 1 << 4}, Case{Op::send, kUetAckNow, 2, 0, 1 << 3},
        Case{Op::send, kUetResent | kUetAckNow, 2, 0, 3 << 3}, Case{Op::read, kUetAckNow, 11, 6, 1 << 3}}) {
    Captured packet = packet_of(PacketType::uet_data, each.flags, 77, 4160);
    packet.header.op = each.op;
    const Frame frame = uet_frame(packet);
    EXPECT_EQ(frame.original, 4160u);
    Fields in = behind_udp(frame, packet, 4793);
    EXPECT_EQ(in.left(), 12u);
    const std::uint64_t prologue = in.next(2);
    EXPECT_EQ(prologue >> 11, each.type);
    EXPECT_EQ(prologue >> 7 & 15, each.next);
    EXPECT_EQ(prologue & 127, each.wire_flags);
    EXPECT_EQ(in.next(2), 0u);
    EXPECT_EQ(in.next(4), 77u);
    EXPECT_EQ(in.next(4), 5u << 16 | 5u);
  }
}

// Cumulative below what has all arrived; the answered packet and the bitmap are counted from there.
TEST(UetFrames, AnAcknowledgementIsCountedFromTheCumulativeOne) {
  for (const bool marked : {false, true})
    for (const std::uint16_t echo : std::initializer_list<std::uint16_t>{100, 103, 163, 190}) {
      Captured packet = packet_of(PacketType::uet_ack, marked ? kUetMarked : 0, 100, 64);
      packet.header.echo = echo;
      packet.header.ack.arrived = 0x8000'0000'0000'000Au;
      const Frame frame = uet_frame(packet);
      Fields in = behind_udp(frame, packet, 4793);
      ASSERT_EQ(in.left(), 32u);
      EXPECT_EQ(in.next(2), 8u << 11 | (marked ? 1u << 5 : 0));
      EXPECT_EQ(in.next(2), echo - 99u);
      EXPECT_EQ(in.next(4), 99u);
      EXPECT_EQ(in.next(4), 5u << 16 | 5u);
      EXPECT_EQ(in.next(2), 0u);
      EXPECT_EQ(in.next(2), echo < 164 ? 1u : echo - 63u - 99u) << "where the bitmap begins";
      EXPECT_EQ(in.next(8), 0x8000'0000'0000'000Au);
      EXPECT_EQ(in.next(8), 0u) << "no state of congestion control";
    }
}

TEST(UetFrames, ARefusalNamesThePacketThatWasTrimmed) {
  Captured packet = packet_of(PacketType::uet_ack, kUetNack, 100, 64);
  packet.header.echo = 101;
  Fields in = behind_udp(uet_frame(packet), packet, 4793);
  ASSERT_EQ(in.left(), 16u);
  EXPECT_EQ(in.next(2), 10u << 11);
  EXPECT_EQ(in.next(2), 1u << 8) << "trimmed";
  EXPECT_EQ(in.next(4), 101u);
  EXPECT_EQ(in.next(4), 5u << 16 | 5u);
  EXPECT_EQ(in.next(4), 100u);
}

// Each queue pair sends its part of a message as a message of its own: first, middle, last, or only.
RC_GTEST_PROP(RoceFrames, ThePartsOfAMessageBeginAndEnd, ()) {
  RoceConfig config;
  config.mtu = 1024;
  config.qps = *rc::gen::inRange(1u, 5u);
  config.split = *rc::gen::arbitrary<bool>();
  config.split_above = *rc::gen::element<std::uint64_t>(0, 3000, 6000);
  const auto size = *rc::gen::inRange<std::uint64_t>(0, 12'000);
  const auto packets = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (size + 1023) / 1024));
  const bool split = config.split && size > config.split_above;
  const std::uint32_t each = split ? (packets + config.qps - 1) / config.qps : packets;
  const bool write = *rc::gen::arbitrary<bool>();
  for (std::uint32_t place = 0; place < packets; ++place) {
    Captured packet = packet_of(PacketType::roce_data, place + 1 == packets ? kAckNow : 0, 700 + place, 1086);
    packet.header.op = write ? Op::write : Op::send;
    packet.header.roce = {place, 0, size};
    Frame frame;
    RoceFrames(config, {}).add(frame, packet);
    Fields in = behind_udp(frame, packet, 4791);
    const bool first = place % each == 0;
    const bool last = place % each == each - 1 || place + 1 == packets;
    RC_ASSERT(in.next(1) == (write ? 6u : 0u) + (first && last ? 4u : first ? 0u : last ? 2u : 1u));
    RC_ASSERT(in.next(1) == 0u);
    RC_ASSERT(in.next(2) == 0xFFFFu);
    RC_ASSERT(in.next(1) == 0u);
    RC_ASSERT(in.next(3) == 11u);  // queue pairs from 2 on
    RC_ASSERT(in.next(1) == (place + 1 == packets ? 0x80u : 0u));
    RC_ASSERT(in.next(3) == 700u + place);
    if (!write || !first) continue;
    RC_ASSERT(in.next(8) == 0u);
    RC_ASSERT(in.next(4) == 0u);
    RC_ASSERT(in.next(4) == size);
  }
}

TEST(RoceFrames, AnswersSayUpToWhereOrWhatIsMissing) {
  const auto fields = [](PacketType type, std::uint8_t flags) {
    const Captured packet = packet_of(type, flags, 50, type == PacketType::roce_cnp ? 78 : 66);
    Frame frame;
    RoceFrames({}, {}).add(frame, packet);
    return behind_udp(frame, packet, 4791);
  };
  for (const bool nak : {false, true}) {
    Fields in = fields(PacketType::roce_ack, nak ? kNak : 0);
    EXPECT_EQ(in.next(1), 17u);
    in.next(8);
    EXPECT_EQ(in.next(3), nak ? 50u : 49u);
    EXPECT_EQ(in.next(1), nak ? 0x60u : 0x1Fu);
    EXPECT_EQ(in.next(3), 0u);
    EXPECT_EQ(in.left(), 4u) << "its check";
  }
  Fields in = fields(PacketType::roce_cnp, 0);
  EXPECT_EQ(in.next(1), 0x81u);
  in.next(3);
  EXPECT_EQ(in.next(1), 0x40u) << "BECN";
  in.next(4);
  EXPECT_EQ(in.next(3), 0u);
  EXPECT_EQ(in.left(), 20u) << "16 that are reserved, and its check";
}

}  // namespace
}  // namespace weft::transport
