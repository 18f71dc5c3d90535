// What differs from peer to peer, and peers that come and go.
#include <gtest/gtest.h>

#include <map>

#include "transport/srd/srd.hpp"
#include "transport/testing_times.hpp"
#include "transport/testing_wire.hpp"

namespace weft::transport {
namespace {

SrdConfig peers_config() {
  SrdConfig config;
  config.payload = 8000;
  config.packet_time = Duration(80 * 8064);
  config.base_rtt = Duration(4'400'000 + 4 * config.packet_time.count());
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

// ---- peers that come and go

// One object for all, as in a driver that serves many.
TEST(SrdPeers, CanBeRemovedAndTheirMemoryReturns) {
  WireConfig wire;
  wire.endpoints = 2;
  TestingWire<Srd> net(wire, peers_config());
  ASSERT_TRUE(net.post(0, {Op::send, 1, 100'000, 0, 0}));
  ASSERT_TRUE(net.post(0, {Op::read, 1, 100'000, 1, 1}));
  net.run();
  Srd& srd = net[0];
  const std::size_t before = srd.bytes_held();
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t peer = 2; peer < 2002; ++peer) {
      ASSERT_TRUE(srd.post(net.now(), 0, {Op::send, peer, 1'000'000, peer, peer}));
      ASSERT_TRUE(srd.post(net.now(), 0, {Op::read, peer, 1000, peer, peer}));
      Header from{};
      from.source = peer;
      from.generation = from.stream = 1;
      from.data = {0, 0, 100'000};
      srd.handle(net.now(), 0, PacketType::data, kAckNow, from);  // half a message, whose answer is still owed
    }
    Transmit out{};
    for (int i = 0; i < 3000; ++i) ASSERT_TRUE(srd.poll(net.now(), 0, out));
    EXPECT_EQ(srd.check_invariants(), "");
    EXPECT_GT(srd.bytes_held(), before + 2000 * 2000);
    for (std::uint32_t i = 0; i < 2000; ++i) {
      const std::uint32_t peer = 2 + i * 7 % 2000;
      srd.remove_peer(net.now(), 0, peer);
      ASSERT_EQ(srd.completions().size(), 2u);
      for (const Completion& end : srd.completions()) {
        EXPECT_EQ(end.kind, Completion::Kind::failed);
        EXPECT_EQ(end.peer, peer);
      }
      srd.completions().clear();
      if (i % 100 == 0) {
        EXPECT_EQ(srd.check_invariants(), "");
      }
    }
    EXPECT_EQ(srd.check_invariants(), "");
    EXPECT_LT(srd.bytes_held(), before + 16 * 4096);
    EXPECT_EQ(srd.messages_held(), 0u);
    EXPECT_FALSE(srd.poll_ack(0, out));
    EXPECT_FALSE(srd.poll(net.now(), 0, out));
    EXPECT_EQ(srd.next_wake(0), kNever);
  }
  ASSERT_TRUE(net.post(0, {Op::send, 1, 100'000, 2, 2}));  // who stays is served as before
  net.run();
  EXPECT_EQ(net.count(Completion::Kind::sent), 2u);
  srd.remove_endpoint(net.now(), 0);
  EXPECT_EQ(srd.bytes_held(), 0u);
}

// A peer that remembers takes no stream for new that is not.
TEST(SrdPeers, WhoWasRemovedMayComeAgain) {
  TestingWire<Srd> net({}, peers_config());
  for (std::uint32_t round = 0; round < 20; ++round) {
    ASSERT_TRUE(net.post(0, {Op::send, 1, 100'000, round, round}));
    net.run();
    ASSERT_EQ(net.count(Completion::Kind::received), round + 1);
    net[0].remove_peer(net.now(), 0, 1);
  }
  EXPECT_EQ(net.count(Completion::Kind::sent), 20u);
  EXPECT_EQ(net.count(Completion::Kind::failed), 0u);
}

}  // namespace
}  // namespace weft::transport
