#include "transport/tcp/tcp.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "transport/testing_times.hpp"
#include "transport/testing_wire.hpp"

namespace weft::transport {
namespace {

using Kind = Completion::Kind;
using Net = TestingWire<Tcp>;

constexpr Instant kMillisecond = 1000 * kMicrosecond;

TcpConfig config_of(const WireConfig& wire) {
  TcpConfig config;
  config.mtu = 1052;  // segments of 1000 bytes
  config.base_rtt = Duration(2 * wire.delay + 2 * wire.ps_per_byte * 1180);
  return config;
}

TEST(Tcp, ASendIsSentAndReceivedOnce) {
  const WireConfig wire;
  Net net(wire, config_of(wire));
  std::vector<Placement> placed;
  net.placed = [&](std::uint32_t, const Header&, const Placement& placement) {
    if (placement.kind == Placement::Kind::place) placed.push_back(placement);
  };
  ASSERT_TRUE(net.post(0, {Op::send, 1, 2500, 7, 99}));
  net.run();
  ASSERT_EQ(net.done().size(), 2u);
  EXPECT_EQ(net.done()[0].kind, Kind::received);
  EXPECT_EQ(net.done()[0].tag, 7u);
  EXPECT_EQ(net.done()[0].endpoint, 1u);
  EXPECT_EQ(net.done()[0].bytes, 2500u);
  EXPECT_EQ(net.done()[1].kind, Kind::sent);
  EXPECT_EQ(net.done()[1].context, 99u);
  ASSERT_EQ(placed.size(), 3u);
  EXPECT_EQ(placed[2].length, 500u);
  EXPECT_EQ(placed[2].offset, 2000u);
  EXPECT_TRUE(placed[2].complete);
  EXPECT_FALSE(placed[1].complete);
  EXPECT_EQ(net[0].messages_held() + net[1].messages_held(), 0u);
}

TEST(Tcp, AWriteIsPlacedAndOnlyItsPosterIsTold) {
  const WireConfig wire;
  Net net(wire, config_of(wire));
  ASSERT_TRUE(net.post(0, {Op::write, 1, 2500, 7, 99}));
  net.run();
  ASSERT_EQ(net.done().size(), 1u);
  EXPECT_EQ(net.done()[0].kind, Kind::sent);
  EXPECT_EQ(net[1].counters().payload_delivered, 2500u);
}

TEST(Tcp, WhatCannotBeDoneIsRefused) {
  Tcp tcp(config_of({}));
  EXPECT_FALSE(tcp.post(0, 0, {Op::read, 1, 10, 1, 1}));
  EXPECT_FALSE(tcp.post(0, 0, {Op::send, 1, UINT64_MAX, 1, 1}));
  EXPECT_TRUE(tcp.post(0, 0, {Op::send, 1, 1000ull << 30, 1, 1}));
  EXPECT_FALSE(tcp.post(0, 0, {Op::send, 1, 1000ull << 30, 1, 1}));
  EXPECT_EQ(tcp.check_invariants(), "");
}

// One segment: its time on two links and the way; the answer of 90 bytes likewise.
TEST(Tcp, AnUnloadedSegmentTakesItsTimeOnTheWire) {
  const WireConfig wire;
  Net net(wire, config_of(wire));
  Instant received = 0;
  net.placed = [&](std::uint32_t, const Header&, const Placement& placement) {
    if (placement.complete) received = net.now();
  };
  ASSERT_TRUE(net.post(0, {Op::send, 1, 1000, 0, 0}));
  net.run();
  EXPECT_EQ(received, wire.delay + 2 * wire.ps_per_byte * 1090);
  EXPECT_EQ(net.now(), received + wire.delay + 2 * wire.ps_per_byte * 90);
}

// 10, 20, 40, ...: with no time on links, a round trip each.
TEST(Tcp, SlowStartDoublesEveryRoundTrip) {
  WireConfig wire;
  wire.ps_per_byte = 1;
  wire.delay = 100 * kMicrosecond;
  Net net(wire, config_of(wire));
  std::map<Instant, int> sent;
  net.deliver = [&](Transmit& packet) {
    if (packet.type == PacketType::tcp_data) ++sent[net.now() / (2 * wire.delay)];
    return true;
  };
  const int rounds = 7;
  ASSERT_TRUE(net.post(0, {Op::send, 1, 1000 * 10 * ((1 << rounds) - 1), 0, 0}));
  net.run();
  ASSERT_EQ(sent.size(), static_cast<std::size_t>(rounds));
  for (int i = 0; i < rounds; ++i) EXPECT_EQ(sent[i], 10 << i) << i;
  EXPECT_LT(net.now(), rounds * 2 * wire.delay + 10 * kMicrosecond);
}

TEST(Tcp, ALongTransferFillsTheWire) {
  const WireConfig wire;
  Net net(wire, config_of(wire));
  const Instant segments = 20'000;
  ASSERT_TRUE(net.post(0, {Op::send, 1, 1000 * segments, 0, 0}));
  net.run();
  EXPECT_EQ(net.count(Kind::sent), 1u);
  EXPECT_EQ(net[0].counters().data_resent, 0u);
  EXPECT_LT(net.now(), segments * 1090 * wire.ps_per_byte * 101 / 100 + 10 * wire.delay);
}

// Slow start that only losses end leaves one with all of the link and the others with nothing until their timeouts, 200
// ms later: whoever sends as fast as the link takes keeps its queue full, and never loses.
TEST(Tcp, FlowsShareALinkAsFastAsTheirNics) {
  for (const std::uint32_t flows : {2u, 4u}) {
    WireConfig wire;
    wire.endpoints = flows + 1;
    wire.queue = 1'000'000;
    TcpConfig config;
    config.base_rtt = microseconds(4);
    Net net(wire, config);
    net.checking = false;
    constexpr std::int64_t kBytes = 40'000'000;
    for (std::uint32_t i = 0; i < flows; ++i) ASSERT_TRUE(net.post(i, {Op::send, flows, kBytes, 0, 0}));
    const Instant all = flows * kBytes * wire.ps_per_byte;
    Instant first = 0;
    net.each = [&] {
      if (first == 0 && net.count(Kind::sent) > 0) first = net.now();
    };
    net.run(2 * all);
    EXPECT_EQ(net.count(Kind::sent), flows);
    EXPECT_GT(first, all * 8 / 10) << flows;  // nobody had much more than its share
    EXPECT_LT(net.done_at(), all * 11 / 10) << flows;
    for (std::uint32_t i = 0; i < flows; ++i) EXPECT_EQ(net[i].counters().timeouts, 0u) << i << " of " << flows;
  }
}

TEST(Tcp, TheReceiveWindowBoundsWhatIsOpen) {
  WireConfig wire;
  wire.ps_per_byte = 1;
  wire.delay = 100 * kMicrosecond;
  TcpConfig config = config_of(wire);
  config.receive_window = 64'000;
  Net net(wire, config);
  ASSERT_TRUE(net.post(0, {Op::send, 1, 640'000, 0, 0}));
  net.run();
  // Rounds of 10, 20, 40 and then 64.
  EXPECT_NEAR(static_cast<double>(net.now()), static_cast<double>((3 + (640 - 70 + 63) / 64) * 2 * wire.delay),
              static_cast<double>(wire.delay) / 10);
}

// The acknowledgement of a full window does not wait for more segments than the window has.
TEST(Tcp, ASmallReceiveWindowDoesNotWaitForDelayedAcknowledgements) {
  const WireConfig wire;
  for (const std::uint32_t window : {2u, 3u, 7u}) {
    TcpConfig config = config_of(wire);
    config.receive_window = window * 1000;
    config.ack_every = 8;
    config.quick_acks = 0;
    Net net(wire, config);
    ASSERT_TRUE(net.post(0, {Op::send, 1, 200'000, 0, 0}));
    net.run();
    EXPECT_EQ(net.count(Kind::sent), 1u);
    EXPECT_LT(net.done_at(), config.delayed_ack.count()) << window;
  }
}

// Every second segment, every one at first, and the last at once.
TEST(Tcp, AcknowledgementsAreFew) {
  const WireConfig wire;
  TcpConfig config = config_of(wire);
  config.quick_acks = 4;
  Net net(wire, config);
  ASSERT_TRUE(net.post(0, {Op::send, 1, 105'000, 0, 0}));
  net.run();
  EXPECT_EQ(net[1].counters().acks_sent, 4u + 50 + 1);
  EXPECT_LT(net.now(), kMillisecond);
}

TEST(Tcp, ASegmentWithoutPushIsAcknowledgedAfterTheDelay) {
  TcpConfig config = config_of({});
  config.quick_acks = 0;
  Tcp sender(config);
  Tcp receiver(config);
  ASSERT_TRUE(sender.post(0, 0, {Op::send, 1, 5000, 0, 0}));
  Transmit out;
  ASSERT_TRUE(sender.poll(0, 0, out));
  receiver.handle(kMicrosecond, 1, out.type, out.flags, out.header);
  Transmit ack;
  EXPECT_FALSE(receiver.poll_ack(1, ack));
  EXPECT_EQ(receiver.next_wake(1), kMicrosecond + 40 * kMillisecond);
  EXPECT_FALSE(receiver.poll(40 * kMillisecond, 1, ack));
  ASSERT_TRUE(receiver.poll(41 * kMillisecond, 1, ack));
  EXPECT_EQ(ack.type, PacketType::tcp_ack);
  EXPECT_EQ(ack.header.sequence, 1u);
  EXPECT_EQ(receiver.next_wake(1), kNever);
  // The second segment after it needs no timer.
  ASSERT_TRUE(sender.poll(0, 0, out));
  receiver.handle(42 * kMillisecond, 1, out.type, out.flags, out.header);
  ASSERT_TRUE(sender.poll(0, 0, out));
  receiver.handle(42 * kMillisecond, 1, out.type, out.flags, out.header);
  EXPECT_TRUE(receiver.poll_ack(1, ack));
  EXPECT_EQ(receiver.next_wake(1), kNever);
  EXPECT_EQ(receiver.check_invariants(), "");
}

// The first 64 segments that a sender sends, to be given to a receiver as a test likes.
std::vector<Transmit> segments_of(TcpConfig config) {
  config.initial_window = 64;
  config.receive_window = 1 << 20;
  Tcp sender(config);
  EXPECT_TRUE(sender.post(0, 0, {Op::send, 1, 64'000, 0, 0}));
  std::vector<Transmit> out(64);
  for (Transmit& one : out) EXPECT_TRUE(sender.poll(0, 0, one));
  return out;
}

TEST(Tcp, AcknowledgementsNameTheNewestRangesFirst) {
  const TcpConfig config = config_of({});
  const std::vector<Transmit> segments = segments_of(config);
  Tcp receiver(config);
  const auto ranges_after = [&](std::uint32_t sequence) {
    const Transmit& packet = segments[sequence];
    receiver.handle(0, 1, packet.type, packet.flags, packet.header);
    Transmit ack;
    EXPECT_TRUE(receiver.poll_ack(1, ack));
    EXPECT_FALSE(receiver.poll_ack(1, ack));
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
    for (const auto& range : ack.header.tcp.sack)
      if (range.from < range.to) ranges.emplace_back(ack.header.sequence + range.from, ack.header.sequence + range.to);
    return ranges;
  };
  using Ranges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  EXPECT_EQ(ranges_after(0), (Ranges{}));
  EXPECT_EQ(ranges_after(2), (Ranges{{2, 3}}));
  EXPECT_EQ(ranges_after(4), (Ranges{{4, 5}, {2, 3}}));
  EXPECT_EQ(ranges_after(8), (Ranges{{8, 9}, {4, 5}, {2, 3}}));
  EXPECT_EQ(ranges_after(10), (Ranges{{10, 11}, {8, 9}, {4, 5}}));
  EXPECT_EQ(ranges_after(9), (Ranges{{8, 11}, {4, 5}}));  // three have grown together
  EXPECT_EQ(ranges_after(5), (Ranges{{4, 6}, {8, 11}}));
  EXPECT_EQ(ranges_after(1), (Ranges{{4, 6}, {8, 11}}));
  EXPECT_EQ(ranges_after(3), (Ranges{{8, 11}}));
  EXPECT_EQ(receiver.check_invariants(), "");
}

TEST(Tcp, ASegmentThatCameTwiceIsNamed) {
  const TcpConfig config = config_of({});
  const std::vector<Transmit> segments = segments_of(config);
  Tcp receiver(config);
  Transmit ack;
  for (const std::uint32_t sequence : {0u, 5u, 6u, 6u, 0u}) {
    const Placement placement =
        receiver.handle(0, 1, segments[sequence].type, segments[sequence].flags, segments[sequence].header);
    ASSERT_TRUE(receiver.poll_ack(1, ack));
    ASSERT_EQ(placement.kind == Placement::Kind::duplicate, (ack.flags & kRepeated) != 0);
    ASSERT_EQ(ack.header.tcp.repeated, ack.flags & kRepeated ? sequence : 0);
  }
  EXPECT_EQ(receiver.counters().duplicates, 2u);
}

// RFC 8257, 3.2: a change from unmarked to marked, or back, is told at once.
TEST(Tcp, MarksAreCountedAndAChangeIsToldAtOnce) {
  TcpConfig config = config_of({});
  config.quick_acks = 0;
  const std::vector<Transmit> segments = segments_of(config);
  Tcp receiver(config);
  Transmit ack{};
  std::vector<int> told;
  const bool marked[] = {false, false, false, true, true, true, false};
  for (std::uint32_t i = 0; i < 7; ++i) {
    receiver.handle(0, 1, PacketType::tcp_data, marked[i] ? kMarked : 0, segments[i].header);
    told.push_back(receiver.poll_ack(1, ack) ? ack.header.marks : -1);
  }
  EXPECT_EQ(told, (std::vector<int>{-1, 0, -1, 1, -1, 3, 3}));
}

TEST(Tcp, WhatIsBeyondTheReceiveWindowIsDropped) {
  TcpConfig config = config_of({});
  config.receive_window = 20'000;
  const std::vector<Transmit> segments = segments_of(config);
  Tcp receiver(config);
  const auto kind = [&](std::uint32_t sequence) {
    return receiver.handle(0, 1, segments[sequence].type, segments[sequence].flags, segments[sequence].header).kind;
  };
  EXPECT_EQ(kind(20), Placement::Kind::dropped);
  EXPECT_EQ(kind(19), Placement::Kind::place);
  EXPECT_EQ(kind(0), Placement::Kind::place);
  EXPECT_EQ(kind(20), Placement::Kind::place);
}

TEST(Tcp, MessagesAreHandedOverInOrder) {
  const WireConfig wire;
  Net net(wire, config_of(wire));
  bool dropped = false;
  net.deliver = [&](Transmit& packet) {
    const bool drop = packet.type == PacketType::tcp_data && packet.header.sequence == 1 && !dropped;
    dropped = dropped || drop;
    return !drop;
  };
  for (std::uint32_t i = 0; i < 8; ++i) ASSERT_TRUE(net.post(0, {i == 5 ? Op::write : Op::send, 1, 700, i, i}));
  net.run();
  std::vector<std::uint32_t> order;
  for (const Completion& one : net.done())
    if (one.kind == Kind::received) order.push_back(one.tag);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 6, 7}));
  EXPECT_EQ(net.count(Kind::sent), 8u);
}

TEST(Tcp, ConnectionsTakeMessagesInTurnEachOnItsOwnPath) {
  const WireConfig wire;
  TcpConfig config = config_of(wire);
  config.connections = 4;
  Net net(wire, config);
  std::map<std::uint16_t, std::set<std::uint16_t>> paths;
  net.deliver = [&](Transmit& packet) {
    if (packet.type == PacketType::tcp_data) paths[packet.header.stream].insert(packet.header.path);
    return true;
  };
  for (std::uint32_t i = 0; i < 8; ++i) ASSERT_TRUE(net.post(0, {Op::send, 1, 100'000, i, i}));
  net.run();
  ASSERT_EQ(paths.size(), 4u);
  std::set<std::uint16_t> all;
  for (const auto& [stream, of_it] : paths) {
    EXPECT_EQ(of_it.size(), 1u);
    all.insert(of_it.begin(), of_it.end());
  }
  EXPECT_EQ(all.size(), 4u);
  EXPECT_EQ(net.count(Kind::received), 8u);
}

TEST(Tcp, PacingSpreadsTheFirstWindow) {
  WireConfig wire;
  wire.delay = 50 * kMicrosecond;
  TcpConfig config = config_of(wire);
  config.pacing = true;
  Net net(wire, config);
  std::vector<Instant> sent;
  net.deliver = [&](Transmit& packet) {
    if (packet.type == PacketType::tcp_data) sent.push_back(net.now());
    return true;
  };
  ASSERT_TRUE(net.post(0, {Op::send, 1, 10'000, 0, 0}));
  net.run();
  ASSERT_EQ(sent.size(), 10u);
  for (std::size_t i = 1; i < sent.size(); ++i) EXPECT_EQ(sent[i] - sent[i - 1], config.base_rtt.count() / 2 / 10) << i;
}

TEST(Tcp, TheWindowDoesNotGrowWhileItIsNotTheLimit) {
  const WireConfig wire;
  Net net(wire, config_of(wire));
  for (std::uint32_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(net.post(0, {Op::send, 1, 4000, i, i}));
    net.run();
  }
  EXPECT_EQ(net[0].window_to(0, 1)->segments(), 10u);
}

TEST(Tcp, APeerThatStaysSilentFailsWhatWasPostedAndANewConnectionFollows) {
  const WireConfig wire;
  TcpConfig config = config_of(wire);
  config.give_up = microseconds(1'000'000);
  Net net(wire, config);
  ASSERT_TRUE(net.post(0, {Op::send, 1, 3000, 1, 1}));
  net.run();
  net.wire().lose = 1024;
  ASSERT_TRUE(net.post(0, {Op::send, 1, 100'000, 2, 2}));
  ASSERT_TRUE(net.post(0, {Op::write, 1, 1000, 3, 3}));
  const Instant begin = net.now();
  net.run();
  EXPECT_EQ(net.count(Kind::failed), 2u);
  EXPECT_EQ(net.now() - begin, config.give_up.count());
  EXPECT_EQ(net[0].messages_held(), 0u);
  net.wire().lose = 0;
  ASSERT_TRUE(net.post(0, {Op::send, 1, 100'000, 4, 4}));
  net.run();
  EXPECT_EQ(net.count(Kind::sent), 2u);
  EXPECT_EQ(net.done().back().tag, 4u);
  EXPECT_EQ(net.count(Kind::received), 2u);
}

TEST(Tcp, ALongTransferIsNotSilence) {
  const WireConfig wire;
  TcpConfig config = config_of(wire);
  config.give_up = microseconds(1'000);
  config.tail_probe = false;
  Net net(wire, config);
  ASSERT_TRUE(net.post(0, {Op::send, 1, 40'000'000, 0, 0}));
  net.run();
  EXPECT_GT(net.now(), 3 * config.give_up.count());
  EXPECT_EQ(net.count(Kind::sent), 1u);
}

TEST(Tcp, AnIdleConnectionStartsAnewOnlyWhereAsked) {
  const WireConfig wire;
  for (const bool restart : {false, true}) {
    TcpConfig config = config_of(wire);
    config.idle_restart = restart;
    Net net(wire, config);
    ASSERT_TRUE(net.post(0, {Op::send, 1, 1'000'000, 0, 0}));
    net.run();
    const std::uint32_t grown = net[0].window_to(0, 1)->segments();
    EXPECT_GT(grown, 40u);
    net.run(net.now() + 10'000 * kMillisecond);
    ASSERT_TRUE(net.post(0, {Op::send, 1, 1000, 0, 0}));
    EXPECT_EQ(net[0].window_to(0, 1)->segments(), restart ? 10 : grown);
  }
}

// A segment of a connection that has been replaced must not be taken for one of the new.
TEST(Tcp, AncientSegmentsAreIgnored) {
  const WireConfig wire;
  TcpConfig config = config_of(wire);
  config.give_up = microseconds(1'000'000);
  Net net(wire, config);
  std::vector<Transmit> old;
  net.deliver = [&](Transmit& packet) {
    if (packet.type == PacketType::tcp_data) old.push_back(packet);
    return false;
  };
  ASSERT_TRUE(net.post(0, {Op::send, 1, 5000, 1, 1}));
  net.run();
  EXPECT_EQ(net.count(Kind::failed), 1u);
  net.deliver = [](Transmit&) { return true; };
  ASSERT_TRUE(net.post(0, {Op::send, 1, 50'000, 2, 2}));
  net.run(net.now() + 3 * kMicrosecond);
  for (const Transmit& packet : old) net.inject(packet);
  net.run();
  EXPECT_EQ(net.count(Kind::received), 1u);
  EXPECT_EQ(net[1].counters().ignored, old.size());
}

// ---- properties

RC_GTEST_PROP(Tcp, EverythingArrivesOnceThroughLossReorderingAndDuplication, ()) {
  WireConfig wire;
  wire.endpoints = 3;
  wire.seed = *rc::gen::inRange<std::uint64_t>(0, 1u << 30);
  wire.lose = *rc::gen::inRange(0u, 200u);
  wire.duplicate = *rc::gen::inRange(0u, 200u);
  wire.hold_back = *rc::gen::inRange(0u, 300u);
  wire.jitter = *rc::gen::inRange<Instant>(1, 50 * kMicrosecond);
  wire.queue = *rc::gen::inRange(5'000, 200'000);
  wire.mark_above = *rc::gen::inRange(0, 100'000);
  TcpConfig config = config_of(wire);
  config.control = *rc::gen::element(TcpConfig::Control::cubic, TcpConfig::Control::dctcp);
  config.connections = *rc::gen::inRange(1u, 4u);
  config.pacing = *rc::gen::arbitrary<bool>();
  config.ecn = *rc::gen::arbitrary<bool>();
  config.hystart_least = Duration(*rc::gen::element<Instant>(4 * kMillisecond, kMicrosecond));
  config.plb_rounds = *rc::gen::element(0u, 2u);
  config.repath_on_timeout = *rc::gen::arbitrary<bool>();
  config.receive_window = *rc::gen::element(6u << 20, 20'000u);
  config.rto_min = Duration(*rc::gen::element(200 * kMillisecond, 20 * kMicrosecond));
  config.timer_least = Duration(*rc::gen::element(2 * kMillisecond, Instant{0}));
  config.give_up = microseconds(1'000'000'000);
  config.first_sequence = 0u - *rc::gen::inRange<std::uint32_t>(0, 300);
  Net net(wire, config);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> bytes;  // by receiver and tag
  net.placed = [&](std::uint32_t at, const Header&, const Placement& placement) {
    if (placement.kind == Placement::Kind::place) bytes[{at, placement.tag}] += placement.length;
  };
  const std::uint32_t messages = 12;
  std::uint32_t sends = 0;
  std::vector<std::uint64_t> sizes;
  for (std::uint32_t i = 0; i < messages; ++i) {
    sizes.push_back(*rc::gen::inRange(0u, 60'000u));
    const Op op = i % 4 == 3 ? Op::write : Op::send;
    sends += op == Op::send;
    RC_ASSERT(net.post(i % 2, {op, 2 - i % 2, sizes[i], i, i + 100}));
    if (i == messages / 2) net.run(net.now() + 300 * kMicrosecond);
  }
  net.run(net.now() + 20 * kMillisecond);
  net.wire().lose = net.wire().duplicate = net.wire().hold_back = 0;
  net.run();
  RC_ASSERT(net.count(Kind::failed) == 0u);
  RC_ASSERT(net.count(Kind::sent) == messages);
  RC_ASSERT(net.count(Kind::received) == sends);
  for (std::uint32_t i = 0; i < messages; ++i) RC_ASSERT((bytes[{2 - i % 2, i}]) == sizes[i]);
  std::map<std::uint32_t, std::uint32_t> last;
  if (config.connections == 1) {
    for (const Completion& one : net.done()) {
      if (one.kind != Kind::received) continue;
      RC_ASSERT(last.count(one.peer) == 0 || last[one.peer] < one.tag);
      last[one.peer] = one.tag;
    }
  }
  for (std::uint32_t i = 0; i < 3; ++i) RC_ASSERT(net[i].messages_held() == 0u);
}

// Headers may say anything.
RC_GTEST_PROP(Tcp, NonsenseIsHarmless, ()) {
  TcpConfig config = config_of({});
  config.connections = 2;
  Tcp tcp(config);
  Random random(*rc::gen::inRange<std::uint64_t>(0, 1u << 30), 0, 0);
  Instant now = 0;
  Transmit out;
  for (std::uint32_t i = 0; i < 3; ++i) RC_ASSERT(tcp.post(0, 0, {Op::send, 1, 40'000, i, i}));
  for (int i = 0; i < 2000; ++i) {
    now += random.below(1'000'000);
    Header header;
    header.source = 1;
    header.stream = static_cast<std::uint16_t>(random.below(4) == 0 ? random.next() : 8 + random.below(2));
    header.sequence = random.below(4) == 0 ? static_cast<std::uint32_t>(random.next()) : random.below(60);
    const bool data = random.below(2) == 0;
    if (data) {
      header.op = static_cast<Op>(random.below(5));
      header.data = {header.sequence - random.below(5), random.below(9), random.below(9000)};
      if (random.below(8) == 0) header.data.size = random.next();
    } else {
      header.marks = static_cast<std::uint16_t>(random.next());
      for (auto& range : header.tcp.sack)
        range = {static_cast<std::uint16_t>(random.below(50)), static_cast<std::uint16_t>(random.below(50))};
      header.tcp.repeated = random.below(60);
    }
    const auto flags = static_cast<std::uint8_t>(random.below(16));
    tcp.handle(now, 0, data ? PacketType::tcp_data : PacketType::tcp_ack, flags, header);
    if (random.below(2) == 0) tcp.poll_ack(0, out);
    if (random.below(2) == 0) tcp.poll(now, 0, out);
    RC_ASSERT(tcp.check_invariants() == "");
  }
  RC_ASSERT(tcp.messages_held() < 5000u);
}

}  // namespace
}  // namespace weft::transport
