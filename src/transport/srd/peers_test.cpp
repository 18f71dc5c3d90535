// What differs from peer to peer, and peers that come and go.
#include <gtest/gtest.h>

#include <map>

#include "transport/srd/srd.hpp"
#include "transport/testing_wire.hpp"

namespace weft::transport {
namespace {

constexpr Instant kMicrosecond = 1'000'000;

SrdConfig peers_config() {
  SrdConfig config;
  config.payload = 8000;
  config.packet_time = 80 * 8064;
  config.base_rtt = 4'400'000 + 4 * config.packet_time;
  return config;
}

// ---- packets of other sizes

TEST(SrdPayload, EachPeerHasItsOwnAndBytesComeWhereTheyBelong) {
  WireConfig wire;
  wire.endpoints = 3;
  TestingWire<Srd> net(wire, peers_config());
  ASSERT_TRUE(net[0].set_payload(0, 1, 1400));
  ASSERT_TRUE(net[1].set_payload(1, 0, 1400));
  std::map<std::uint32_t, std::uint32_t> longest;  // by the packet's destination
  std::map<std::uint32_t, std::uint64_t> bytes;
  net.placed = [&](std::uint32_t to, const Header& header, const Placement& placement) {
    if (placement.kind != Placement::Kind::place) return;
    EXPECT_TRUE(net[to].has_length(to, header, placement.length));
    EXPECT_FALSE(net[to].has_length(to, header, placement.length + 1));
    EXPECT_EQ(placement.offset % (to == 2 || header.source == 2 ? 8000 : 1400), 0u);
    longest[to] = std::max(longest[to], placement.length);
    bytes[to] += placement.length;
  };
  for (const std::uint32_t peer : {1u, 2u}) ASSERT_TRUE(net.post(0, {Op::send, peer, 100'000, peer, peer}));
  ASSERT_TRUE(net.post(0, {Op::read, 1, 100'000, 3, 3}));
  net.run();
  EXPECT_EQ(net.count(Completion::Kind::sent), 2u);
  EXPECT_EQ(net.count(Completion::Kind::read_done), 1u);
  EXPECT_EQ(longest, (std::map<std::uint32_t, std::uint32_t>{{0, 1400}, {1, 1400}, {2, 8000}}));
  for (const std::uint32_t to : {0u, 1u, 2u}) EXPECT_EQ(bytes[to], 100'000u);
}

// Of somebody who cuts messages in other parts no byte is taken.
TEST(SrdPayload, OtherLengthsAreFoundOut) {
  SrdConfig longer = peers_config();
  longer.payload = 9000;
  Srd sender(longer);
  const Srd receiver(peers_config());
  ASSERT_TRUE(sender.post(0, 0, {Op::send, 1, 20'000, 0, 0}));
  Transmit out{};
  for (const std::uint32_t length : {9000u, 9000u, 2000u}) {
    ASSERT_TRUE(sender.poll(0, 0, out));
    EXPECT_EQ(out.wire_bytes, length + longer.header);
    EXPECT_FALSE(receiver.has_length(1, out.header, length));
  }
}

TEST(SrdPayload, ChangesOnlyBetweenMessages) {
  TestingWire<Srd> net({}, peers_config());
  ASSERT_TRUE(net.post(0, {Op::send, 1, 100'000, 0, 0}));
  EXPECT_FALSE(net[0].set_payload(0, 1, 1400));
  net.run(5 * kMicrosecond);
  EXPECT_FALSE(net[1].set_payload(1, 0, 1400));
  net.run();
  EXPECT_TRUE(net[0].set_payload(0, 1, 1400));
  EXPECT_TRUE(net[1].set_payload(1, 0, 1400));
  ASSERT_TRUE(net.post(0, {Op::send, 1, 100'000, 0, 0}));
  net.run();
  EXPECT_EQ(net.count(Completion::Kind::received), 2u);
  EXPECT_EQ(net[0].counters().data_sent, 13u + 72u);
}

}  // namespace
}  // namespace weft::transport
