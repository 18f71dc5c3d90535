#include "transport/srd/tcp_over_srd.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "transport/testing_times.hpp"
#include "transport/testing_wire.hpp"

namespace weft::transport {
namespace {

SrdConfig config_of() {
  SrdConfig config;
  config.payload = 1000;
  config.header = 116;
  config.packet_time = Duration(80 * 1116);
  config.base_rtt = Duration(2 * (2 * kMicrosecond + 2 * config.packet_time.count()));
  config.give_up = microseconds(20'000);
  return config;
}

// Half of the packets are held back by up to 20 us: many overtake each other.
WireConfig reordering(std::uint64_t seed) {
  WireConfig wire;
  wire.hold_back = 512;
  wire.jitter = 20 * kMicrosecond;
  wire.seed = seed;
  return wire;
}

// When each completion came.
template <class Transport>
struct Timed {
  Timed(const WireConfig& wire, const SrdConfig& config) : net(wire, config) {
    net.each = [this] {
      for (; seen < net.done().size(); ++seen) when[{net.done()[seen].kind, net.done()[seen].tag}] = net.now();
    };
  }
  TestingWire<Transport> net;
  std::size_t seen = 0;
  std::map<std::pair<Completion::Kind, std::uint32_t>, Instant> when;
};

template <class Transport>
std::vector<std::uint32_t> order_of(const TestingWire<Transport>& net, Completion::Kind kind) {
  std::vector<std::uint32_t> tags;
  for (const Completion& each : net.done())
    if (each.kind == kind) tags.push_back(each.tag);
  return tags;
}

template <class Transport>
void post_many(TestingWire<Transport>& net, const std::vector<std::uint64_t>& sizes) {
  for (std::uint32_t i = 0; i < sizes.size(); ++i) ASSERT_TRUE(net.post(0, {Op::send, 1, sizes[i], i, 1000 + i}));
  net.run();
}

TEST(TcpOverSrd, MessagesEndInTheOrderOfPostingAtBothEnds) {
  const std::vector<std::uint64_t> sizes(100, 2500);
  std::vector<std::uint32_t> in_order;
  for (std::uint32_t i = 0; i < sizes.size(); ++i) in_order.push_back(i);
  TestingWire<TcpOverSrd> stream(reordering(1), config_of());
  post_many(stream, sizes);
  EXPECT_EQ(order_of(stream, Completion::Kind::received), in_order);
  EXPECT_EQ(order_of(stream, Completion::Kind::sent), in_order);
  EXPECT_EQ(stream[0].messages_held() + stream[1].messages_held(), 0u);
  // The network does reorder: SRD alone hands over as things come.
  TestingWire<Srd> alone(reordering(1), config_of());
  post_many(alone, sizes);
  EXPECT_NE(order_of(alone, Completion::Kind::received), in_order);
}

RC_GTEST_PROP(TcpOverSrd, WhateverTheNetworkDoesOrderIsKept, ()) {
  WireConfig wire = reordering(*rc::gen::inRange<std::uint64_t>(1, 1'000'000));
  wire.lose = *rc::gen::inRange(0u, 100u);
  wire.duplicate = *rc::gen::inRange(0u, 100u);
  const auto sizes = *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 20'000));
  TestingWire<TcpOverSrd> net(wire, config_of());
  post_many(net, sizes);
  const auto received = order_of(net, Completion::Kind::received);
  const auto sent = order_of(net, Completion::Kind::sent);
  RC_ASSERT(received.size() == sizes.size());
  RC_ASSERT(std::is_sorted(received.begin(), received.end()));
  RC_ASSERT(std::is_sorted(sent.begin(), sent.end()));
}

// Alone it is SRD to the picosecond, with longer headers.
TEST(TcpOverSrd, AMessageAloneTakesItsPacketsAndARoundTrip) {
  constexpr std::uint64_t kPackets = 20;
  Timed<TcpOverSrd> stream({}, config_of());
  post_many(stream.net, {kPackets * 1000});
  Timed<Srd> alone({}, config_of());
  post_many(alone.net, {kPackets * 1000});
  const Instant wire = 80 * 1116;                                      // of a segment with all its headers
  const Instant received = kPackets * wire + wire + 2 * kMicrosecond;  // up, the last one down, the way
  EXPECT_EQ((stream.when[{Completion::Kind::received, 0}]), received);
  EXPECT_EQ((stream.when[{Completion::Kind::sent, 0}]), (alone.when[{Completion::Kind::sent, 0}]));
}

TEST(TcpOverSrd, ALossHoldsUpWhatIsBehindItAndNothingElse) {
  Timed<TcpOverSrd> stream({}, config_of());
  bool lost = false;
  stream.net.deliver = [&](Transmit& packet) {
    const bool victim = packet.type == PacketType::ordered_data && packet.header.data.tag == 2 && !lost;
    lost = lost || victim;
    return !victim;
  };
  post_many(stream.net, std::vector<std::uint64_t>(5, 1000));
  const auto received = [&](std::uint32_t tag) { return stream.when[{Completion::Kind::received, tag}]; };
  EXPECT_LT(received(1), 10 * kMicrosecond);
  EXPECT_GT(received(2), config_of().base_rtt.count());
  EXPECT_EQ(received(3), received(2));
  EXPECT_EQ(received(4), received(2));
}

TEST(TcpOverSrd, AResetFailsAllThatWasNotAcknowledgedInOrderAndTheNextBegins) {
  Timed<TcpOverSrd> stream({}, config_of());
  bool broken = true;
  stream.net.deliver = [&](Transmit& packet) {
    return !(broken && packet.type == PacketType::ordered_data && packet.header.data.tag == 1);
  };
  for (std::uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(stream.net.post(0, {Op::send, 1, 1000, i, i}));
  // Until SRD takes the peer for dead, nothing of it comes through either.
  stream.net.run(500 * kMicrosecond);
  EXPECT_EQ(order_of(stream.net, Completion::Kind::received), (std::vector<std::uint32_t>{0}));
  stream.net.deliver = [](Transmit&) { return false; };
  stream.net.run();
  EXPECT_EQ(order_of(stream.net, Completion::Kind::sent), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(order_of(stream.net, Completion::Kind::failed), (std::vector<std::uint32_t>{1, 2, 3}));
  stream.net.deliver = [](Transmit&) { return true; };
  ASSERT_TRUE(stream.net.post(0, {Op::send, 1, 5000, 7, 7}));
  stream.net.run();
  EXPECT_EQ(order_of(stream.net, Completion::Kind::received), (std::vector<std::uint32_t>{0, 7}));
  EXPECT_EQ(order_of(stream.net, Completion::Kind::sent), (std::vector<std::uint32_t>{0, 7}));
  EXPECT_EQ(stream.net[0].messages_held() + stream.net[1].messages_held(), 0u);
}

TEST(TcpOverSrd, WritesKeepTheirPlaceAndReadsAreRefused) {
  TestingWire<TcpOverSrd> net(reordering(3), config_of());
  EXPECT_FALSE(net.post(0, {Op::read, 1, 1000, 0, 0}));
  for (std::uint32_t i = 0; i < 40; ++i) ASSERT_TRUE(net.post(0, {i % 3 == 0 ? Op::write : Op::send, 1, 3000, i, i}));
  net.run();
  const auto received = order_of(net, Completion::Kind::received);
  EXPECT_EQ(received.size(), 26u);
  EXPECT_TRUE(std::is_sorted(received.begin(), received.end()));
  EXPECT_EQ(order_of(net, Completion::Kind::sent).size(), 40u);
}

// A peer whose numbers leave a hole for ever must not make us keep all that comes behind it.
TEST(TcpOverSrd, NonsenseIsNotKeptForEver) {
  TcpOverSrd stream(config_of());
  Transmit out;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    Header header;
    header.source = 0;
    header.destination = 1;
    header.op = Op::send;
    header.sequence = i;
    header.data = {i == 0 ? 0 : i, i, i == 0 ? 2000u : 1000u};  // the first claims the number of the second
    header.stream = header.generation = 1;
    stream.handle(kMicrosecond, 1, PacketType::ordered_data, 0, header);
    while (stream.poll_ack(1, out)) {
    }
    ASSERT_EQ(stream.check_invariants(), "");
  }
  EXPECT_TRUE(stream.completions().empty());
  EXPECT_LE(stream.messages_held(), 300u);
}

}  // namespace
}  // namespace weft::transport
