#include "transport/roce/roce.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "transport/roce/testing_net.hpp"

namespace weft::transport {
namespace {

using Recovery = RoceConfig::Recovery;

RoceConfig selective_config() {
  RoceConfig config = roce_config();
  config.recovery = Recovery::selective;
  return config;
}

// Loses the first transmission of the data packets with these numbers.
auto lose(std::set<std::uint32_t> psns) {
  return [psns](Transmit& packet) {
    return packet.type != PacketType::roce_data || (packet.flags & kResent) || !psns.contains(packet.header.sequence);
  };
}

// ---- messages

TEST(Roce, ASendIsSentAndReceivedOnce) {
  RoceNet net;
  std::vector<Placement> placed;
  net.placed = [&](std::uint32_t endpoint, auto&, const Placement& each) {
    if (endpoint == 1) placed.push_back(each);
  };
  ASSERT_TRUE(net.post(0, {Op::send, 1, 2500, 7, 99}));
  net.run();
  ASSERT_EQ(net.done().size(), 2u);
  EXPECT_EQ(net.done()[0].kind, Completion::Kind::received);
  EXPECT_EQ(net.done()[0].tag, 7u);
  EXPECT_EQ(net.done()[0].endpoint, 1u);
  EXPECT_EQ(net.done()[0].peer, 0u);
  EXPECT_EQ(net.done()[1].kind, Completion::Kind::sent);
  EXPECT_EQ(net.done()[1].context, 99u);
  EXPECT_EQ(net.done()[1].bytes, 2500u);
  ASSERT_EQ(placed.size(), 3u);
  EXPECT_FALSE(placed[1].complete);
  EXPECT_TRUE(placed[2].complete);
  EXPECT_EQ(placed[2].offset, 2048u);
  EXPECT_EQ(placed[2].length, 452u);
  EXPECT_EQ(net[0].messages_held() + net[1].messages_held(), 0u);
}

TEST(Roce, AWriteIsPlacedAndOnlyItsPosterIsTold) {
  RoceNet net;
  ASSERT_TRUE(net.post(0, {Op::write, 1, 2500, 7, 99}));
  net.run();
  ASSERT_EQ(net.done().size(), 1u);
  EXPECT_EQ(net.done()[0].kind, Completion::Kind::sent);
  EXPECT_EQ(net[1].counters().payload_delivered, 2500u);
}

TEST(Roce, AnEmptyMessageIsOnePacket) {
  RoceNet net;
  ASSERT_TRUE(net.post(0, {Op::send, 1, 0, 7, 99}));
  net.run();
  EXPECT_EQ(net.count(Completion::Kind::received), 1u);
  EXPECT_EQ(net[0].counters().data_sent, 1u);
}

TEST(Roce, WhatItCannotDoIsRefused) {
  Roce roce(roce_config());
  EXPECT_FALSE(roce.post(0, 0, {Op::read, 1, 10, 1, 1}));
  EXPECT_FALSE(roce.post(0, 0, {Op::send, 1, UINT64_MAX, 1, 1}));
  EXPECT_TRUE(roce.post(0, 0, {Op::send, 1, 1024ull << 30, 1, 1}));
  EXPECT_FALSE(roce.post(0, 0, {Op::send, 1, 1024, 1, 1}));
  EXPECT_EQ(roce.check_invariants(), "");
}

TEST(Roce, AnUnloadedTransferTakesAsLongAsTheArithmeticSays) {
  for (const std::uint32_t mtu : {1024u, 2048u, 4096u}) {
    RoceConfig config = roce_config();
    config.mtu = mtu;
    config.packet_time = Duration(packet_time_at(config, 100'000'000'000));
    RoceNet net(2, config);
    const std::uint32_t packets = 1000;
    net.post(0, {Op::send, 1, std::uint64_t{packets} * mtu, 7, 99});
    net.run();
    // Every packet over the wire, the last one through the port as well, the way there, the way back.
    EXPECT_EQ(net.done_at(), (packets + 1) * config.packet_time.count() + 2 * kRoceDelay);
    EXPECT_EQ(net[0].counters().data_resent, 0u);
  }
}

TEST(Roce, AcknowledgementsAreCoalesced) {
  RoceConfig config = roce_config();
  config.ack_every = 8;
  RoceNet net(2, config);
  net.post(0, {Op::send, 1, 60 * 1024, 7, 99});
  net.run();
  EXPECT_EQ(net[1].counters().acks_sent, 8u);  // after 8, 16, ... 56, and the last
}

TEST(Roce, NoMoreThanTheWindowIsUnderWay) {
  RoceConfig config = roce_config();
  config.window = 20;
  RoceNet net(2, config);
  std::uint64_t sent = 0;
  net.deliver = [&](Transmit& packet) {
    sent += packet.type == PacketType::roce_data;
    return packet.type == PacketType::roce_data;
  };
  net.post(0, {Op::send, 1, 1000 * 1024, 7, 99});
  net.run(1000 * kMicrosecond);
  EXPECT_EQ(sent, 20u);
}

// ---- queue pairs

TEST(Roce, MessagesTakeTheQueuePairsInTurn) {
  RoceConfig config = roce_config();
  config.qps = 4;
  RoceNet net(2, config);
  std::map<std::uint32_t, std::set<std::uint16_t>> paths;
  net.deliver = [&](Transmit& packet) {
    if (packet.type == PacketType::roce_data) paths[packet.header.roce.tag].insert(packet.header.path);
    return true;
  };
  for (std::uint32_t tag = 0; tag < 8; ++tag) net.post(0, {Op::send, 1, 30'000, tag, tag});
  net.run();
  EXPECT_EQ(net.count(Completion::Kind::sent), 8u);
  for (std::uint32_t tag = 0; tag < 8; ++tag)
    EXPECT_EQ(paths[tag], std::set<std::uint16_t>{static_cast<std::uint16_t>(tag % 4)});
}

TEST(Roce, ASplitMessageTakesAllQueuePairsAndIsReceivedWithItsLastPart) {
  RoceConfig config = roce_config();
  config.qps = 4;
  config.split = true;
  config.split_above = 2048;
  RoceNet net(2, config);
  std::map<std::uint16_t, std::uint64_t> bytes;
  std::uint64_t whole = 0;
  net.placed = [&](std::uint32_t, const Header& header, const Placement& each) {
    if (each.kind != Placement::Kind::place) return;
    bytes[header.path] += each.length;
    whole += each.complete;
  };
  net.deliver = lose({3});  // on each queue pair
  ASSERT_TRUE(net.post(0, {Op::send, 1, 40 * 1024 - 100, 7, 99}));
  net.run();
  EXPECT_EQ(net.count(Completion::Kind::received), 1u);
  EXPECT_EQ(net.count(Completion::Kind::sent), 1u);
  EXPECT_EQ(whole, 1u);
  ASSERT_EQ(bytes.size(), 4u);
  EXPECT_EQ(bytes[0], 10u * 1024);
  EXPECT_EQ(bytes[3], 10u * 1024 - 100);
  bytes.clear();
  net.deliver = [](Transmit&) { return true; };
  net.post(0, {Op::send, 1, 2048, 7, 99});
  net.run();
  EXPECT_EQ(bytes.size(), 1u);
}

TEST(Roce, ASplitMessageOfFewPacketsTakesFewQueuePairs) {
  RoceConfig config = roce_config();
  config.qps = 16;
  config.split = true;
  RoceNet net(2, config);
  for (const std::uint64_t bytes : {0u, 1u, 1024u, 1025u, 5000u, 17 * 1024u, 18 * 1024u, 33 * 1024u})
    net.post(0, {Op::send, 1, bytes, 7, 99});
  net.run();
  EXPECT_EQ(net.count(Completion::Kind::received), 8u);
  EXPECT_EQ(net.count(Completion::Kind::sent), 8u);
  EXPECT_EQ(net[1].messages_held(), 0u);
}

// ---- loss

TEST(Roce, GoBackNSendsAgainAllBehindAGapAndIsToldOnce) {
  RoceNet net;
  std::uint64_t kept = 0;
  net.placed = [&](std::uint32_t, auto&, const Placement& each) { kept += each.kind == Placement::Kind::place; };
  net.deliver = lose({10});
  net.post(0, {Op::send, 1, 40 * 1024, 7, 99});
  net.run();
  EXPECT_EQ(net.count(Completion::Kind::received), 1u);
  EXPECT_EQ(kept, 40u);
  EXPECT_EQ(net[0].counters().data_resent, 30u);  // 10 to 39: all had left before the NAK came
  EXPECT_EQ(net[1].counters().naks_sent, 1u);
  EXPECT_EQ(net[1].counters().out_of_order, 29u);
  EXPECT_EQ(net[0].counters().timeouts, 0u);
}

TEST(Roce, SelectiveRepeatSendsAgainOnlyWhatIsMissing) {
  RoceNet net(2, selective_config());
  std::uint64_t kept = 0;
  std::set<std::uint32_t> complete;
  net.placed = [&](std::uint32_t, auto&, const Placement& each) {
    kept += each.kind == Placement::Kind::place;
    if (!each.complete) return;
    EXPECT_TRUE(complete.insert(each.tag).second);
    if (each.tag != 3) return;
    EXPECT_EQ(net.count(Completion::Kind::received), 2u);  // it is all there and waits for message 2
  };
  net.deliver = lose({10, 11, 20});
  for (std::uint32_t i = 0; i < 8; ++i) net.post(0, {Op::send, 1, 5 * 1024, i, i});
  net.run();
  EXPECT_EQ(net.count(Completion::Kind::received), 8u);
  EXPECT_EQ(kept, 40u);
  EXPECT_EQ(net[0].counters().data_resent, 3u);
  EXPECT_EQ(net[0].counters().timeouts, 0u);
  EXPECT_EQ(net[1].counters().duplicates, 0u);
  EXPECT_EQ(complete.size(), 8u);
  // In order, though the ends of later ones came first.
  std::uint32_t next = 0;
  for (const Completion& each : net.done()) {
    if (each.kind != Completion::Kind::received) continue;
    EXPECT_EQ(each.tag, next++);
  }
}

TEST(Roce, WhatIsLostLastOrTwiceWaitsForTheTimeout) {
  for (const RoceConfig& config : {roce_config(), selective_config()}) {
    for (const auto& [psn, times] : {std::pair{39u, 1}, std::pair{10u, 2}}) {
      RoceNet net(2, config);
      const Instant timeout = net[0].config().ack_timeout.count();
      EXPECT_EQ(timeout, config.recovery == Recovery::selective ? 320 * kMicrosecond : 67'108'864'000);
      int left = times;
      net.deliver = [&left, psn = psn](Transmit& packet) {
        return packet.type != PacketType::roce_data || packet.header.sequence != psn || left-- <= 0;
      };
      net.post(0, {Op::send, 1, 40 * 1024, 7, 99});
      net.run();
      EXPECT_EQ(net.count(Completion::Kind::sent), 1u);
      EXPECT_EQ(net[0].counters().timeouts, 1u);
      EXPECT_GT(net.done_at(), timeout);
      EXPECT_LT(net.done_at(),
                timeout + 3 * net[0].config().base_rtt.count() + 80 * net[0].config().packet_time.count());
    }
  }
}

TEST(Roce, ATrimmedPacketCountsAsLost) {
  RoceNet net;
  bool trimmed = false;
  net.deliver = [&](Transmit& packet) {
    if (packet.type == PacketType::roce_data && packet.header.sequence == 10 && !trimmed) {
      trimmed = true;
      packet.flags |= kTrimmed;
    }
    return true;
  };
  net.post(0, {Op::send, 1, 40 * 1024, 7, 99});
  net.run();
  EXPECT_EQ(net.count(Completion::Kind::received), 1u);
  EXPECT_EQ(net[1].counters().trimmed_seen, 1u);
  EXPECT_EQ(net[1].counters().naks_sent, 1u);
  EXPECT_EQ(net[0].counters().timeouts, 0u);
}

TEST(Roce, NumbersWrapAt24Bits) {
  for (RoceConfig config : {roce_config(), selective_config()}) {
    config.first_psn = (1u << 24) - 15;
    RoceNet net(2, config);
    std::uint32_t highest = 0;
    net.deliver = [&](Transmit& packet) {
      highest = std::max(highest, packet.header.sequence);
      return lose({(1u << 24) - 2, 3})(packet);
    };
    net.post(0, {Op::send, 1, 100 * 1024, 7, 99});
    net.run();
    EXPECT_EQ(net.count(Completion::Kind::received), 1u);
    EXPECT_EQ(net[0].counters().timeouts, 0u);
    EXPECT_EQ(highest, (1u << 24) - 1);
  }
}

// ---- silence

TEST(Roce, APeerThatStaysSilentFailsItsMessagesOnAllQueuePairs) {
  RoceConfig config = roce_config();
  config.qps = 4;
  RoceNet net(2, config);
  net.deliver = [](Transmit&) { return false; };
  for (std::uint32_t i = 0; i < 6; ++i) net.post(0, {Op::send, 1, 100'000, i, i});
  net.run();
  EXPECT_EQ(net.count(Completion::Kind::failed), 6u);
  EXPECT_EQ(net.done_at(), 8 * 67'108'864'000);  // once, and 7 times again
  EXPECT_EQ(net[0].messages_held(), 0u);
  net.deliver = [](Transmit&) { return true; };
  net.post(0, {Op::send, 1, 100'000, 3, 33});
  net.run();
  EXPECT_EQ(net.count(Completion::Kind::sent), 1u);
}

TEST(Roce, ShortTimeoutsDoubleUntilTheUsualOne) {
  RoceNet net(2, selective_config());
  std::vector<Instant> tried;
  net.deliver = [&](Transmit&) {
    tried.push_back(net.now());
    return false;
  };
  net.post(0, {Op::send, 1, 1000, 1, 1});
  net.run();
  EXPECT_EQ(net.count(Completion::Kind::failed), 1u);
  EXPECT_GE(net.done_at(), 8 * 67'108'864'000);
  Instant wait = 320 * kMicrosecond;
  for (std::size_t i = 1; i < tried.size(); ++i) {
    EXPECT_EQ(tried[i] - tried[i - 1], wait);
    wait = 2 * wait <= 67'108'864'000 ? 2 * wait : 67'108'864'000;
  }
  EXPECT_EQ(tried.size(), 15u);  // waits: 8 that double take 82 ms, 7 more make it 551 ms
}

TEST(Roce, PacketsOfAFormerConnectionAreIgnored) {
  RoceConfig config = roce_config();
  config.give_up = microseconds(300);
  config.ack_timeout = microseconds(100);
  RoceNet net(2, config);
  std::vector<Transmit> kept;
  net.deliver = [&](Transmit& packet) {
    kept.push_back(packet);
    return packet.type == PacketType::roce_data;
  };
  net.post(0, {Op::send, 1, 3000, 1, 1});
  net.run();
  ASSERT_EQ(net.count(Completion::Kind::failed), 1u);
  ASSERT_EQ(net.count(Completion::Kind::received), 1u);
  net.deliver = [](Transmit&) { return true; };
  net.post(0, {Op::send, 1, 3000, 2, 2});
  net.run();
  ASSERT_EQ(net.count(Completion::Kind::received), 2u);
  for (const Transmit& packet : kept) net.book(net.now() + kRoceDelay, packet);
  net.run();
  EXPECT_EQ(net.count(Completion::Kind::received), 2u);
  EXPECT_EQ(net.count(Completion::Kind::sent), 1u);
  EXPECT_EQ(net[0].counters().ignored + net[1].counters().ignored, kept.size());
}

TEST(Roce, AnOldPacketWhoseNumberHasComeRoundAgainIsIgnored) {
  for (const RoceConfig& config : {roce_config(), selective_config()}) {
    Roce roce(config);
    Header header;
    header.source = 1;
    header.op = Op::send;
    header.stream = 1;
    for (header.sequence = 0; header.sequence < 5; ++header.sequence) {
      header.roce = {header.sequence, 7, 10 * 1024};
      EXPECT_EQ(roce.handle(0, 0, PacketType::roce_data, 0, header).kind, Placement::Kind::place);
    }
    header.sequence = 5;
    for (const std::uint32_t packet : {0u, 4u, 6u, 9u}) {
      header.roce.packet = packet;
      EXPECT_EQ(roce.handle(0, 0, PacketType::roce_data, 0, header).kind, Placement::Kind::dropped);
    }
    EXPECT_EQ(roce.counters().ignored, 4u);
    header.roce.packet = 5;
    EXPECT_EQ(roce.handle(0, 0, PacketType::roce_data, 0, header).kind, Placement::Kind::place);
  }
}

TEST(Roce, WhoMayBeAskedForAnythingIsBounded) {
  // A peer that finishes its part of ever more split messages on one queue pair only.
  RoceConfig config = roce_config();
  config.qps = 2;
  config.split = true;
  Roce roce(config);
  Header header;
  header.source = 1;
  header.op = Op::send;
  header.stream = 1;
  header.roce = {0, 7, 2048};
  Transmit out;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    header.sequence = i;
    header.echo = static_cast<std::uint16_t>(i);
    roce.handle(0, 0, PacketType::roce_data, 0, header);
    while (roce.poll_ack(0, out)) {
    }
  }
  EXPECT_EQ(roce.messages_held(), 4096u);
  // The other parts are welcome.
  header.path = 1;
  header.roce.packet = 1;
  for (std::uint32_t i = 0; i < 4096; ++i) {
    header.sequence = i;
    header.echo = static_cast<std::uint16_t>(i);
    EXPECT_TRUE(roce.handle(0, 0, PacketType::roce_data, 0, header).complete);
  }
  EXPECT_EQ(roce.messages_held(), 0u);
  EXPECT_EQ(roce.check_invariants(), "");
}

TEST(Roce, AQueuePairThatIsFarAheadOfAnotherWaitsAndLosesNothing) {
  RoceConfig config = roce_config();
  config.qps = 2;
  config.split = true;
  config.ack_timeout = microseconds(500);
  RoceNet net(2, config);
  net.checking = false;
  net.deliver = [&](Transmit& packet) { return packet.header.path == 0 || net.now() > 2000 * kMicrosecond; };
  for (std::uint32_t i = 0; i < 6000; ++i) net.post(0, {Op::send, 1, 2048, i, i});
  net.run(2000 * kMicrosecond);
  EXPECT_EQ(net[1].messages_held(), 4096u);
  net.run();
  EXPECT_EQ(net.count(Completion::Kind::received), 6000u);
  EXPECT_EQ(net.count(Completion::Kind::sent), 6000u);
}

}  // namespace
}  // namespace weft::transport
