#include "transport/uet/uet.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "transport/uet/testing_net.hpp"

namespace weft::transport {
namespace {

using testing::TestNet;
using Kind = Completion::Kind;

UetConfig without_trimming() {
  UetConfig config;
  config.trimming = false;
  return config;
}

TEST(Uet, ASendIsSentAndReceivedOnce) {
  TestNet net(2, 1);
  net.post(0, 1, 10'000, Op::send, 7);
  net.run();
  ASSERT_EQ(net.done().size(), 2u);
  EXPECT_EQ(net.done()[0].kind, Kind::received);
  EXPECT_EQ(net.done()[0].endpoint, 1u);
  EXPECT_EQ(net.done()[0].peer, 0u);
  EXPECT_EQ(net.done()[0].tag, 7u);
  EXPECT_EQ(net.done()[0].bytes, 10'000u);
  EXPECT_EQ(net.done()[1].kind, Kind::sent);
  EXPECT_EQ(net.done()[1].endpoint, 0u);
  EXPECT_EQ(net.done()[1].context, 7u);
  EXPECT_EQ(net.placed_from[0], 10'000u);
  EXPECT_EQ(net.uet.messages_held(), 0u);
}

TEST(Uet, AWriteIsPlacedAndOnlyItsPosterIsTold) {
  TestNet net(2, 1);
  net.post(0, 1, 10'000, Op::write);
  net.run();
  ASSERT_EQ(net.done().size(), 1u);
  EXPECT_EQ(net.done()[0].kind, Kind::sent);
  EXPECT_EQ(net.placed_from[0], 10'000u);
}

TEST(Uet, WhatCameOfUnfinishedMessagesIsUnderway) {
  TestNet net(2, 1);
  std::uint64_t most = 0;
  net.placed = [&](std::uint32_t, const Header&, const Placement&) { most = std::max(most, net.uet.underway_bytes()); };
  net.post(0, 1, 10 * 4086);
  net.run();
  EXPECT_EQ(most, 9u * 4086) << "all but the last packet, with which the message is there";
  EXPECT_EQ(net.uet.underway_bytes(), 0u);
}

TEST(Uet, AnEmptyMessageArrives) {
  TestNet net(2, 1);
  net.post(0, 1, 0);
  net.run();
  EXPECT_EQ(net.count(Kind::received), 1u);
  EXPECT_EQ(net.count(Kind::sent), 1u);
}

TEST(Uet, ReadsAndMessagesTooLongForTheNumbersAreRefused) {
  Uet uet{UetConfig{}};
  EXPECT_FALSE(uet.post(0, 0, {Op::read, 1, 10, 1, 1}));
  EXPECT_FALSE(uet.post(0, 0, {Op::send, 1, UINT64_MAX, 1, 1}));
  EXPECT_TRUE(uet.post(0, 0, {Op::send, 1, 4086ull << 30, 1, 1}));
  EXPECT_FALSE(uet.post(0, 0, {Op::send, 1, 4086ull << 30, 1, 1}));
}

// Alone, the wire never waits for the window: the last acknowledgement comes a round trip after the last packet.
TEST(Uet, AnUnloadedTransferTakesItsBytesAndARoundTrip) {
  for (const std::uint64_t packets : {1u, 2u, 5u, 64u, 490u, 5000u}) {
    TestNet net(2, 4);
    net.post(0, 1, packets * 4086);
    net.run();
    const UetConfig& config = net.uet.config();
    EXPECT_EQ(net.done_at(), static_cast<Instant>(packets - 1) * config.packet_time.count() + config.base_rtt.count())
        << packets;
    EXPECT_EQ(net.uet.counters().data_sent, packets);
    EXPECT_EQ(net.uet.counters().data_resent + net.uet.counters().probes, 0u);
  }
}

TEST(Uet, AcknowledgementsAreOneForFourPackets) {
  TestNet net(2, 4);
  net.post(0, 1, 4000 * 4086);
  net.run();
  EXPECT_GE(net.uet.counters().acks_sent, 1000u);
  EXPECT_LE(net.uet.counters().acks_sent, 1010u);
}

TEST(Uet, ATrimmedPacketIsSentAgainAtOnceAndOnAnotherEntropy) {
  for (const std::uint32_t paths : {2u, 64u}) {
    UetConfig config;
    config.paths = paths;
    TestNet net(2, 4, config);
    std::map<std::uint32_t, std::vector<std::pair<Instant, std::uint16_t>>> sent;
    net.deliver = [&](Transmit& packet) {
      if (packet.type != PacketType::uet_data) return true;
      auto& times = sent[packet.header.sequence];
      if (times.empty() && packet.header.sequence % 10 == 3) {
        packet.flags |= kTrimmed;
        packet.wire_bytes = 64;
      }
      times.push_back({net.now(), packet.header.path});
      return true;
    };
    net.post(0, 1, 200 * 4086);
    net.run();
    EXPECT_EQ(net.count(Kind::received), 1u);
    EXPECT_EQ(net.uet.counters().trimmed_seen, 20u);
    EXPECT_EQ(net.uet.counters().nacks, 20u);
    EXPECT_EQ(net.uet.counters().data_resent, 20u);
    EXPECT_EQ(net.uet.counters().timeouts, 0u);
    for (const auto& [sequence, times] : sent) {
      ASSERT_EQ(times.size(), sequence % 10 == 3 ? 2u : 1u);
      if (times.size() == 1) continue;
      EXPECT_NE(times[0].second, times[1].second);
      EXPECT_LT(times[1].first - times[0].first, 2 * net.uet.config().base_rtt.count());
    }
  }
}

TEST(Uet, EntropiesOfUnmarkedPacketsComeBack) {
  TestNet net(2, 4);
  net.post(0, 1, 1000 * 4086);
  net.run();
  // One for every acknowledgement but the last round trip's.
  EXPECT_GT(net.uet.counters().recycled, 200u);
  UetConfig none;
  none.recycle = 0;
  TestNet fresh(2, 4, none);
  fresh.post(0, 1, 1000 * 4086);
  fresh.run();
  EXPECT_EQ(fresh.uet.counters().recycled, 0u);
}

// ---- loss and silence

// The last packets have nothing behind them that could overtake them: a probe finds out.
TEST(Uet, AProbeFindsALostTailBeforeItsTimerDoes) {
  TestNet net(2, 4);
  std::set<std::uint32_t> dropped;
  net.deliver = [&](Transmit& packet) {
    return packet.type != PacketType::uet_data || packet.header.op == Op::read || packet.header.sequence < 17 ||
           !dropped.insert(packet.header.sequence).second;
  };
  net.post(0, 1, 20 * 4086);
  net.run();
  EXPECT_EQ(dropped.size(), 3u);
  EXPECT_EQ(net.count(Kind::sent), 1u);
  EXPECT_EQ(net.uet.counters().probes, 1u);
  EXPECT_EQ(net.uet.counters().timeouts, 0u);
  EXPECT_EQ(net.uet.counters().data_resent, 3u);
  EXPECT_LT(net.done_at(), net.uet.config().rto.count());
}

TEST(Uet, APacketThatManyOvertookIsSentAgain) {
  TestNet net(2, 4, without_trimming());
  bool dropped = false;
  Instant again = 0;
  net.deliver = [&](Transmit& packet) {
    if (packet.type != PacketType::uet_data || packet.header.sequence != 100) return true;
    if (dropped) again = net.now();
    return std::exchange(dropped, true);
  };
  net.post(0, 1, 1000 * 4086);
  net.run();
  EXPECT_EQ(net.uet.counters().overtaken, 1u);
  EXPECT_EQ(net.uet.counters().data_resent, 1u);
  EXPECT_EQ(net.uet.counters().timeouts, 0u);
  EXPECT_LT(again, 100 * net.uet.config().packet_time.count() + 5 * net.uet.config().base_rtt.count());
}

TEST(Uet, OvertakingIsNotLossWherePacketsAreTrimmed) {
  TestNet net(2, 4);
  net.trouble = {.loss = 0, .duplicate = 0, .jitter = 3 * net.uet.config().base_rtt.count(), .until = kNever};
  net.post(0, 1, 1000 * 4086);
  net.run();
  EXPECT_EQ(net.count(Kind::received), 1u);
  EXPECT_EQ(net.uet.counters().data_resent, 0u);
}

// Three packets are too few bytes to be acknowledged unasked, and the one that asks may be the first to arrive.
TEST(Uet, ThePacketThatAsksMayOvertakeTheOthers) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TestNet net(2, 4);
    net.random = Random(seed, 1, 1);
    net.trouble = {.loss = 0, .duplicate = 0, .jitter = net.uet.config().base_rtt.count(), .until = kNever};
    net.post(0, 1, 3 * 4086);
    net.run();
    EXPECT_EQ(net.count(Kind::sent), 1u);
    EXPECT_EQ(net.uet.counters().probes, 0u);
  }
}

// An answer tells of 64 packets: of those beyond them nothing is known, and nothing is sent again.
TEST(Uet, AProbeCondemnsOnlyWhatItsAnswerTellsOf) {
  UetConfig config;
  config.most_window = 500;
  config.probe = microseconds(65);  // when 65 and more were sent well before it
  TestNet net(2, 4, config);
  bool dropped = false;
  bool answered = false;
  net.deliver = [&](Transmit& packet) {
    if (packet.type == PacketType::uet_ack) return answered = answered || packet.header.fan_in != 0;
    return packet.header.op == Op::read || packet.header.sequence != 0 || std::exchange(dropped, true);
  };
  net.post(0, 1, 180 * 4086);
  net.run();
  EXPECT_EQ(net.count(Kind::sent), 1u);
  EXPECT_EQ(net.uet.counters().data_resent, 1u);
  EXPECT_EQ(net.uet.counters().duplicates, 0u);
}

// Ten packets vanish and three follow just before the probe, which is answered after `took`. Gives how many are
// sent again.
int resent_after_probe(Instant took) {
  Uet uet(TestNet::with_times(UetConfig{}));
  const UetConfig& config = uet.config();
  Transmit out;
  uet.post(0, 0, {Op::send, 1, 10 * 4086, 0, 0});
  while (uet.poll(0, 0, out)) {
  }
  const Instant asked = uet.next_wake(0);
  EXPECT_EQ(asked, config.probe.count());
  uet.post(asked - 1, 0, {Op::send, 1, 3 * 4086, 0, 0});
  while (uet.poll(asked - 1, 0, out)) {
  }
  EXPECT_TRUE(uet.poll(asked, 0, out));
  EXPECT_EQ(out.header.op, Op::read);
  EXPECT_EQ(out.wire_bytes, config.header);
  uet.handle(asked, 1, out.type, out.flags, out.header);
  EXPECT_TRUE(uet.poll_ack(1, out));
  uet.handle(asked + took, 0, out.type, out.flags, out.header);
  int resent = 0;
  while (uet.poll(asked + took, 0, out)) ++resent;
  return resent;
}

TEST(Uet, AProbeCondemnsWhatWasSentWellBeforeItIfItCameBackQuickly) {
  const UetConfig config = Uet(TestNet::with_times(UetConfig{})).config();
  EXPECT_EQ(resent_after_probe(config.base_rtt.count()), 10);
  EXPECT_EQ(resent_after_probe(config.base_rtt.count() + config.target_delay.count()), 0);
}

TEST(Uet, AShortPacketDoesNotMakeTheRoundTripShorter) {
  TestNet net(2, 4);
  net.post(0, 1, 1);
  net.run();
  std::uint32_t packets = 0;
  net.deliver = [&](Transmit& packet) {
    packets += packet.header.op == Op::send;
    return false;
  };
  net.post(0, 1, 1'000'000);
  const UetConfig& config = net.uet.config();
  net.run(net.now() + 2 * config.base_rtt.count());
  EXPECT_EQ(packets, config.base_rtt.count() * 3 / 2 / config.packet_time.count());
}

// What was trimmed before a pause does not make the few acknowledgements after it a sign of congestion.
TEST(Uet, AfterAPauseTheWindowIsWhatItWas) {
  // How much quick adapt saw arrive before the pause depends on where the message ends.
  for (std::uint64_t packets = 60; packets < 130; ++packets) {
    TestNet net(2, 4);
    std::uint32_t trims = 2;
    net.deliver = [&](Transmit& packet) {
      if (packet.type == PacketType::uet_data && trims > 0) {
        --trims;
        packet.flags |= kTrimmed;
      }
      return true;
    };
    net.post(0, 1, packets * 4086);
    net.run();
    net.let_pass(1000 * kMicrosecond);
    const Instant from = net.now();
    net.post(0, 1, 490 * 4086);
    net.run();
    EXPECT_EQ(net.done_at() - from, 489 * net.uet.config().packet_time.count() + net.uet.config().base_rtt.count())
        << packets;
  }
}

TEST(Uet, APauseOfAnyLengthIsNotLoss) {
  // Send times are kept in few bits, which wrap every 137 ms.
  for (Instant pause = 0; pause < 300'000 * kMicrosecond; pause += 20'000 * kMicrosecond) {
    TestNet net(2, 4);
    net.post(0, 1, 100'000);
    net.run();
    net.let_pass(pause);
    net.post(0, 1, 100'000);
    net.run();
    EXPECT_EQ(net.count(Kind::sent), 2u);
    EXPECT_EQ(net.uet.counters().data_resent + net.uet.counters().probes, 0u) << pause;
  }
}

TEST(Uet, WhoStaysSilentFailsAndTheNextMessageBeginsAnew) {
  UetConfig config;
  config.give_up = microseconds(5'000);
  TestNet net(2, 4, config);
  bool cut = true;
  net.deliver = [&](Transmit&) { return !cut; };
  net.post(0, 1, 100'000, Op::send, 1);
  net.post(0, 1, 100, Op::write, 2);
  net.run();
  EXPECT_EQ(net.count(Kind::failed), 2u);
  EXPECT_GE(net.done_at(), config.give_up.count());
  EXPECT_LE(net.done_at(), config.give_up.count() + config.give_up.count() / 10);
  cut = false;
  net.post(0, 1, 100'000, Op::send, 3);
  net.run();
  EXPECT_EQ(net.count(Kind::received), 1u);
  EXPECT_EQ(net.done().back().context, 3u);
  EXPECT_EQ(net.uet.messages_held(), 0u);
}

TEST(Uet, SilenceIsAskedEverMoreRarely) {
  UetConfig config;
  config.give_up = microseconds(1'000'000);
  TestNet net(2, 4, config);
  std::uint64_t packets = 0;
  net.deliver = [&](Transmit&) {
    ++packets;
    return false;
  };
  net.post(0, 1, 10'000'000);
  net.run();
  EXPECT_EQ(net.count(Kind::failed), 1u);
  EXPECT_GT(packets, 60u);
  EXPECT_LT(packets, 600u);
}

// What comes late from a stream that has failed changes nothing in the one after it.
TEST(Uet, PacketsOfAnOldStreamAreIgnored) {
  UetConfig config;
  config.give_up = microseconds(1'000);
  TestNet net(2, 4, config);
  std::vector<Transmit> old;
  net.deliver = [&](Transmit& packet) {
    old.push_back(packet);
    return false;
  };
  net.post(0, 1, 100'000);
  net.run();
  ASSERT_EQ(net.count(Kind::failed), 1u);
  net.deliver = [](Transmit&) { return true; };
  net.post(0, 1, 1'000'000);
  net.run(net.now() + net.uet.config().base_rtt.count());
  for (const Transmit& packet : old)
    EXPECT_EQ(net.uet.handle(net.now(), 1, packet.type, packet.flags, packet.header).kind, Placement::Kind::dropped);
  Header ack;
  ack.source = 1;
  ack.stream = 1;
  ack.generation = ack.peer_generation = 1;
  ack.sequence = 20;
  net.uet.handle(net.now(), 0, PacketType::uet_ack, 0, ack);
  EXPECT_EQ(net.uet.counters().ignored, old.size() + 1);
  net.run();
  EXPECT_EQ(net.count(Kind::received), 1u);
  EXPECT_EQ(net.placed_from[0], 1'000'000u);
}

// ---- properties

void exactly_once(const UetConfig& base) {
  UetConfig config = base;
  config.first_sequence = 0u - *rc::gen::inRange<std::uint32_t>(0, 700);
  config.paths = *rc::gen::inRange<std::uint32_t>(1, 65);
  TestNet net(3, 4, config);
  net.random = Random(*rc::gen::arbitrary<std::uint64_t>(), 1, 1);
  net.trouble = {.loss = *rc::gen::inRange<std::uint32_t>(0, 40),
                 .duplicate = *rc::gen::inRange<std::uint32_t>(0, 30),
                 .jitter = *rc::gen::inRange<Instant>(0, 100 * kMicrosecond),
                 .until = *rc::gen::inRange<Instant>(0, 20'000 * kMicrosecond)};
  std::uint64_t bytes[3] = {};
  std::multiset<std::uint64_t> sizes;
  for (std::uint32_t i = 0; i < 12; ++i) {
    const std::uint64_t size = *rc::gen::inRange<std::uint64_t>(0, 400'000);
    net.post(i % 3, (i + 1 + i / 6) % 3, size, Op::send, i);
    bytes[i % 3] += size;
    sizes.insert(size);
  }
  net.run();
  RC_ASSERT(net.count(Kind::sent) == 12u);
  RC_ASSERT(net.count(Kind::received) == 12u);
  for (const Completion& each : net.done())
    if (each.kind == Kind::received) sizes.erase(sizes.find(each.bytes));
  RC_ASSERT(sizes.empty());
  for (std::uint32_t e = 0; e < 3; ++e) RC_ASSERT(net.placed_from[e] == bytes[e]);
  RC_ASSERT(net.uet.counters().payload_delivered == bytes[0] + bytes[1] + bytes[2]);
  RC_ASSERT(net.uet.messages_held() == 0u);
}

RC_GTEST_PROP(Uet, EverythingArrivesExactlyOnceWithTrimming, ()) { exactly_once(UetConfig{}); }
RC_GTEST_PROP(Uet, EverythingArrivesExactlyOnceWithoutTrimming, ()) { exactly_once(without_trimming()); }

RC_GTEST_PROP(Uet, NonsenseIsHarmless, ()) {
  TestNet net(2, 2);
  net.post(0, 1, 2'000'000);
  net.post(1, 0, 2'000'000);
  Random random(*rc::gen::arbitrary<std::uint64_t>(), 1, 1);
  for (int i = 0; i < 300; ++i) {
    net.run(net.now() + 500'000);
    Header header;
    header.source = random.below(2);
    header.destination = 1 - header.source;
    header.path = static_cast<std::uint16_t>(random.next());
    header.fan_in = static_cast<std::uint16_t>(random.below(4));
    // Of no stream that was ever opened: with the right one, a forged acknowledgement is as good as a true one.
    header.stream = static_cast<std::uint16_t>(random.below(2) == 0 ? 0 : 0xFFF0 + random.below(16));
    header.generation = header.peer_generation = 1;
    header.sequence = random.below(2) == 0 ? random.below(600) : static_cast<std::uint32_t>(random.next());
    header.data = {static_cast<std::uint32_t>(random.next()), 1, random.next() >> random.below(64)};
    header.echo = static_cast<std::uint16_t>(random.next());
    const PacketType type = random.below(2) == 0 ? PacketType::uet_data : PacketType::uet_ack;
    net.uet.handle(net.now(), header.destination, type, static_cast<std::uint8_t>(random.below(16)), header);
  }
  net.run();
  RC_ASSERT(net.count(Kind::sent) == 2u);
  RC_ASSERT(net.count(Kind::received) == 2u);
}

TEST(Uet, MessagesThatNeverEndAreHeldOnlyAsManyAsAWindowBegins) {
  Uet uet{UetConfig{}};
  for (std::uint32_t i = 0; i < 1000; ++i) {
    Header header;
    header.source = 1;
    header.stream = 1;
    header.generation = header.peer_generation = 1;
    header.op = Op::send;
    header.sequence = i;
    header.data = {i, 0, 2 * 4086};
    uet.handle(0, 0, PacketType::uet_data, 0, header);
  }
  EXPECT_EQ(uet.messages_held(), 256u);
  EXPECT_EQ(uet.check_invariants(), "");
}

// Whatever a known peer says in the right stream, what is held for it stays bounded and consistent.
RC_GTEST_PROP(Uet, AHostilePeerCannotMakeUsHoldMore, ()) {
  Uet uet{TestNet::with_times(UetConfig{})};
  Random random(*rc::gen::arbitrary<std::uint64_t>(), 1, 1);
  Transmit out;
  uet.post(0, 0, {Op::send, 1, 1'000'000, 0, 0});
  for (int i = 0; i < 2000; ++i) {
    Header header;
    header.source = 1;
    header.destination = 0;
    header.stream = 1;
    header.generation = header.peer_generation = 1;
    header.sequence = random.below(300);
    header.fan_in = static_cast<std::uint16_t>(random.below(4));
    header.data = {header.sequence - random.below(3), 1, random.next() >> random.below(64)};
    header.echo = static_cast<std::uint16_t>(random.below(300));
    const PacketType type = random.below(2) == 0 ? PacketType::uet_data : PacketType::uet_ack;
    uet.handle(i * 1000, 0, type, static_cast<std::uint8_t>(random.below(16)), header);
    while (uet.poll_ack(0, out)) {
    }
    uet.poll(i * 1000, 0, out);
    RC_ASSERT(uet.check_invariants() == "");
    RC_ASSERT(uet.messages_held() <= 257u);
  }
}

}  // namespace
}  // namespace weft::transport
