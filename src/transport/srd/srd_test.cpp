#include "transport/srd/srd.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "transport/testing_times.hpp"

namespace weft::transport {
namespace {

constexpr Instant kDelay = 2 * kMicrosecond;  // one way

SrdConfig config_of(std::uint16_t generation = 1) {
  SrdConfig config;
  config.payload = 1000;
  config.packet_time = nanoseconds(100);
  config.base_rtt = Duration(2 * kDelay + config.packet_time.count());
  config.generation = generation;
  config.give_up = microseconds(10'000);
  return config;
}

// Two endpoints, 0 and 1, each with a transport of its own, and a wire of 2 us between them that a test may
// cut or change packet by packet. The clock goes from event to event.
struct Pair {
  explicit Pair(const SrdConfig& config = config_of()) : Pair(config, config) {}
  Pair(const SrdConfig& a, const SrdConfig& b) : srd{Srd(a), Srd(b)} {}

  Srd srd[2];
  std::function<bool(Transmit&)> deliver = [](Transmit&) { return true; };
  std::vector<Completion> done;
  std::map<Completion::Kind, int> count;
  std::vector<Placement> placed;
  std::multimap<Instant, Transmit> wire;
  Instant now = 0;
  std::uint64_t packets = 0;
  std::uint64_t data = 0;

  void flush(std::uint32_t side) {
    Transmit out;
    const auto send = [&] {
      ++packets;
      data += out.type == PacketType::data;
      if (deliver(out)) wire.emplace(now + kDelay, out);
    };
    while (srd[side].poll_ack(side, out)) send();
    while (srd[side].poll(now, side, out)) send();
    for (const Completion& each : srd[side].completions()) {
      done.push_back(each);
      ++count[each.kind];
    }
    srd[side].completions().clear();
    EXPECT_EQ(srd[side].check_invariants(), "");
  }

  // Runs until nothing is left to happen before `limit`.
  void run(Instant limit = kNever - 1) {
    flush(0);
    flush(1);
    for (int events = 0; events < 200'000; ++events) {
      const Instant arrival = wire.empty() ? kNever : wire.begin()->first;
      const Instant next = std::min({arrival, srd[0].next_wake(0), srd[1].next_wake(1)});
      if (next > limit) return;
      now = std::max(now + (next <= now && next != arrival ? 1 : 0), next);
      if (arrival <= now) {
        const Transmit packet = wire.begin()->second;
        wire.erase(wire.begin());
        const std::uint32_t to = packet.header.destination;
        const Placement placement = srd[to].handle(now, to, packet.type, packet.flags, packet.header);
        if (placement.kind == Placement::Kind::place) placed.push_back(placement);
      }
      flush(0);
      flush(1);
    }
    ADD_FAILURE() << "it goes on and on";
  }
};

TEST(Srd, ASendIsSentAndReceivedOnce) {
  Pair pair;
  ASSERT_TRUE(pair.srd[0].post(0, 0, {Op::send, 1, 2500, 7, 99}));
  pair.run();
  ASSERT_EQ(pair.done.size(), 2u);
  EXPECT_EQ(pair.done[0].kind, Completion::Kind::received);
  EXPECT_EQ(pair.done[0].tag, 7u);
  EXPECT_EQ(pair.done[0].endpoint, 1u);
  EXPECT_EQ(pair.done[1].kind, Completion::Kind::sent);
  EXPECT_EQ(pair.done[1].context, 99u);
  EXPECT_EQ(pair.done[1].bytes, 2500u);
  ASSERT_EQ(pair.placed.size(), 3u);
  EXPECT_EQ(pair.placed[2].length, 500u);
}

TEST(Srd, AWriteIsPlacedAndOnlyItsPosterIsTold) {
  Pair pair;
  ASSERT_TRUE(pair.srd[0].post(0, 0, {Op::write, 1, 2500, 7, 99}));
  pair.run();
  ASSERT_EQ(pair.done.size(), 1u);
  EXPECT_EQ(pair.done[0].kind, Completion::Kind::sent);
  EXPECT_EQ(pair.placed.size(), 3u);
}

TEST(Srd, AReadBringsTheBytesBack) {
  Pair pair;
  ASSERT_TRUE(pair.srd[0].post(0, 0, {Op::read, 1, 2500, 7, 99}));
  pair.run();
  ASSERT_EQ(pair.done.size(), 1u);
  EXPECT_EQ(pair.done[0].kind, Completion::Kind::read_done);
  EXPECT_EQ(pair.done[0].endpoint, 0u);
  EXPECT_EQ(pair.done[0].context, 99u);
  EXPECT_EQ(pair.done[0].bytes, 2500u);
  ASSERT_EQ(pair.placed.size(), 3u);
  EXPECT_EQ(pair.placed[0].op, Op::response);
  EXPECT_EQ(pair.placed[0].context, 99u);
  EXPECT_EQ(pair.srd[0].messages_held() + pair.srd[1].messages_held(), 0u);
}

TEST(Srd, ReadsBeyondTheLimitAreToldToTryAgain) {
  SrdConfig config = config_of();
  config.reads = 2;
  Pair pair(config);
  EXPECT_TRUE(pair.srd[0].post(0, 0, {Op::read, 1, 10, 1, 1}));
  EXPECT_TRUE(pair.srd[0].post(0, 0, {Op::read, 1, 10, 2, 2}));
  EXPECT_FALSE(pair.srd[0].post(0, 0, {Op::read, 1, 10, 3, 3}));
  pair.run();
  EXPECT_TRUE(pair.srd[0].post(pair.now, 0, {Op::read, 1, 10, 3, 3}));
  pair.run();
  EXPECT_EQ(pair.count[Completion::Kind::read_done], 3);
}

TEST(Srd, MessagesTooLongForTheNumbersAreRefused) {
  Pair pair;
  EXPECT_FALSE(pair.srd[0].post(0, 0, {Op::send, 1, UINT64_MAX, 1, 1}));
  EXPECT_FALSE(pair.srd[0].post(0, 0, {Op::read, 1, UINT64_MAX, 1, 1}));
  EXPECT_TRUE(pair.srd[0].post(0, 0, {Op::send, 1, 1000ull << 30, 1, 1}));
  EXPECT_FALSE(pair.srd[0].post(0, 0, {Op::send, 1, 1000ull << 30, 1, 1}));
}

RC_GTEST_PROP(Srd, NumbersMayWrapAnywhereInATransfer, ()) {
  SrdConfig config = config_of();
  config.first_sequence = 0u - *rc::gen::inRange<std::uint32_t>(0, 700);
  Pair pair(config);
  std::uint32_t dropped = 0;
  pair.deliver = [&](Transmit& packet) {
    return packet.type == PacketType::ack || packet.header.sequence % 7 != 3 || ++dropped % 2 == 0;
  };
  for (std::uint32_t i = 0; i < 3; ++i) RC_ASSERT(pair.srd[0].post(0, 0, {Op::send, 1, 200'000, i, i}));
  pair.run();
  RC_ASSERT(pair.count[Completion::Kind::sent] == 3);
  RC_ASSERT(pair.count[Completion::Kind::received] == 3);
  RC_ASSERT(pair.placed.size() == 600u);
}

TEST(Srd, WhatIsLostIsSentAgainWellWithinAMillisecond) {
  Pair pair;
  bool dropped = false;
  pair.deliver = [&](Transmit& packet) {
    if (packet.type != PacketType::data || packet.header.sequence != 9 || dropped) return true;
    dropped = true;
    return false;
  };
  pair.srd[0].post(0, 0, {Op::send, 1, 10'000, 1, 1});
  pair.run();
  EXPECT_TRUE(dropped);
  EXPECT_EQ(pair.count[Completion::Kind::sent], 1);
  EXPECT_LT(pair.now, 40 * kMicrosecond);
}

TEST(Srd, ReorderingAcrossPathsIsNotLoss) {
  Pair pair;
  // Every other path is longer by a round trip.
  pair.srd[0].post(0, 0, {Op::send, 1, 400'000, 1, 1});
  pair.deliver = [&](Transmit& packet) {
    if (packet.type == PacketType::data && packet.header.path % 2 == 0) {
      pair.wire.emplace(pair.now + 3 * kDelay, packet);
      return false;
    }
    return true;
  };
  pair.run();
  EXPECT_EQ(pair.count[Completion::Kind::received], 1);
  EXPECT_EQ(pair.srd[0].counters().data_resent, 0u);
}

TEST(Srd, APauseOfAnyLengthIsNotLoss) {
  // Send times are kept in few bits, which wrap every 137 ms.
  for (Instant pause = 0; pause < 300'000 * kMicrosecond; pause += 20'000 * kMicrosecond) {
    Pair pair;
    pair.srd[0].post(0, 0, {Op::send, 1, 100'000, 1, 1});
    pair.run();
    pair.now += pause;
    pair.srd[0].post(pair.now, 0, {Op::send, 1, 100'000, 1, 1});
    pair.run();
    EXPECT_EQ(pair.count[Completion::Kind::sent], 2);
    EXPECT_EQ(pair.srd[0].counters().data_resent, 0u) << pause;
  }
}

TEST(Srd, AJumpOfTheClockInTheMiddleOfAMessageSendsLittleTwice) {
  for (Instant jump = 20'000 * kMicrosecond; jump < 300'000 * kMicrosecond; jump += 20'000 * kMicrosecond) {
    Pair pair;
    pair.srd[0].post(0, 0, {Op::send, 1, 1'000'000, 1, 1});
    pair.run(20 * kMicrosecond);
    pair.now += jump;
    pair.run();
    EXPECT_EQ(pair.count[Completion::Kind::sent], 1);
    EXPECT_LT(pair.srd[0].counters().data_resent, 100u) << jump;
  }
}

// A quarter of the paths takes four round trips instead of one, as behind a link that lost three quarters of its rate.
TEST(Srd, ASlowPathGetsFewPacketsAndIsNotTakenForDead) {
  Pair pair;
  const Instant longer = 3 * config_of().base_rtt.count();
  std::uint64_t slow = 0;
  pair.deliver = [&](Transmit& packet) {
    if (packet.type != PacketType::data || packet.header.path % 4 != 0) return true;
    ++slow;
    pair.wire.emplace(pair.now + kDelay + longer, packet);
    return false;
  };
  ASSERT_TRUE(pair.srd[0].post(0, 0, {Op::send, 1, 1'000'000, 0, 0}));
  pair.run();
  EXPECT_EQ(pair.count[Completion::Kind::sent], 1);
  EXPECT_LE(pair.srd[0].counters().data_resent, 2u);  // those asked about when only slow ones are left at the end
  EXPECT_EQ(pair.srd[0].counters().timeouts, 0u);
  EXPECT_LT(slow * 10, pair.data);  // in turn it would be a quarter
}

TEST(Srd, TwoPathsAreAskedAfterSilence) {
  Pair pair;
  std::set<std::uint16_t> asked;
  pair.deliver = [&](Transmit& packet) {
    if (packet.flags & kResent) asked.insert(packet.header.path);
    return false;
  };
  ASSERT_TRUE(pair.srd[0].post(0, 0, {Op::send, 1, 20'000, 0, 0}));
  pair.run(2 * config_of().base_rtt.count() + kMicrosecond);
  EXPECT_EQ(pair.srd[0].counters().data_resent, 2u);
  EXPECT_EQ(asked.size(), 2u);
}

TEST(Srd, ADeadPathIsLeftAndNeverGivenMuch) {
  SrdConfig config = config_of();
  config.paths = 8;
  Pair pair(config);
  std::uint64_t swallowed = 0;
  const Instant death = 40 * kMicrosecond;
  pair.deliver = [&](Transmit& packet) {
    const bool dead = packet.type == PacketType::data && pair.now > death && packet.header.path % 4 == 1;
    swallowed += dead;
    return !dead;
  };
  pair.srd[0].post(0, 0, {Op::send, 1, 4'000'000, 1, 1});
  pair.run();
  EXPECT_EQ(pair.count[Completion::Kind::sent], 1);
  // A quarter of what is under way until it shows, and a few trials of other entropies.
  EXPECT_LT(swallowed, 120u);
  EXPECT_GT(pair.srd[0].counters().paths_left, 1u);
  EXPECT_LE(pair.srd[0].counters().paths_left, swallowed) << "each for a packet that vanished";
}

TEST(Srd, AllPathsDeadIsAskedAboutEverMoreRarelyAndRecovers) {
  Pair pair;
  bool dead = true;
  pair.deliver = [&](Transmit&) { return !dead; };
  pair.srd[0].post(0, 0, {Op::send, 1, 100'000, 1, 1});
  pair.run(5'000 * kMicrosecond);
  EXPECT_LT(pair.data, 200u);
  dead = false;
  pair.run();
  EXPECT_EQ(pair.count[Completion::Kind::sent], 1);
  EXPECT_LT(pair.now, 8'000 * kMicrosecond);
}

TEST(Srd, APeerThatStaysSilentFailsItsMessages) {
  Pair pair;
  pair.deliver = [](Transmit&) { return false; };
  pair.srd[0].post(0, 0, {Op::send, 1, 100'000, 1, 11});
  pair.srd[0].post(0, 0, {Op::read, 1, 100'000, 2, 22});
  pair.run();
  EXPECT_EQ(pair.count[Completion::Kind::failed], 2);
  EXPECT_GE(pair.now, 10'000 * kMicrosecond);
  EXPECT_LT(pair.now, 13'000 * kMicrosecond);
  EXPECT_EQ(pair.srd[0].messages_held(), 0u);
  pair.deliver = [](Transmit&) { return true; };
  pair.srd[0].post(pair.now, 0, {Op::send, 1, 100'000, 3, 33});
  pair.run();
  EXPECT_EQ(pair.count[Completion::Kind::sent], 1);
}

TEST(Srd, ARestartedPeerFailsWhatWasOutstandingAndTakesWhatIsNew) {
  Pair pair;
  pair.srd[0].post(0, 0, {Op::send, 1, 1'000'000, 1, 11});
  pair.run(20 * kMicrosecond);
  EXPECT_TRUE(pair.done.empty());
  pair.srd[1] = Srd(config_of(2));
  pair.run();
  EXPECT_EQ(pair.count[Completion::Kind::failed], 1);
  EXPECT_EQ(pair.count[Completion::Kind::received], 0);
  pair.srd[0].post(pair.now, 0, {Op::send, 1, 1'000'000, 2, 22});
  pair.srd[1].post(pair.now, 1, {Op::send, 0, 1'000'000, 3, 33});
  pair.run();
  EXPECT_EQ(pair.count[Completion::Kind::sent], 2);
  EXPECT_EQ(pair.count[Completion::Kind::failed], 1);
}

TEST(Srd, PacketsOfAFormerLifeAreIgnored) {
  Pair pair;
  std::vector<Transmit> kept;
  pair.deliver = [&](Transmit& packet) {
    kept.push_back(packet);
    return true;
  };
  pair.srd[0].post(0, 0, {Op::send, 1, 3000, 1, 1});
  pair.run();
  pair.srd[0] = Srd(config_of(2));
  pair.srd[0].post(pair.now, 0, {Op::send, 1, 3000, 2, 2});
  pair.run();
  ASSERT_EQ(pair.count[Completion::Kind::received], 2);
  pair.deliver = [](Transmit&) { return true; };
  for (const Transmit& packet : kept) pair.wire.emplace(pair.now + kDelay, packet);
  pair.run();
  EXPECT_EQ(pair.count[Completion::Kind::received], 2);
  EXPECT_EQ(pair.count[Completion::Kind::failed], 0);
  EXPECT_EQ(pair.placed.size(), 6u);
}

TEST(Srd, AReceiverWithoutRoomIsTriedAgain) {
  SrdConfig config = config_of();
  config.receive_messages = 1;
  Pair pair(config);
  for (std::uint32_t i = 0; i < 8; ++i) pair.srd[0].post(0, 0, {Op::send, 1, 30'000, i, i});
  pair.deliver = [&](Transmit& packet) {
    if (packet.type == PacketType::data && packet.header.data.tag % 2 == 0 && !(packet.flags & kResent)) {
      pair.wire.emplace(pair.now + 3 * kDelay, packet);
      return false;
    }
    return true;
  };
  pair.run();
  EXPECT_EQ(pair.count[Completion::Kind::received], 8);
  EXPECT_EQ(pair.count[Completion::Kind::sent], 8);
  EXPECT_GT(pair.srd[1].counters().not_ready, 0u);
}

TEST(Srd, TheOldestMessageHasRoomEvenWhereALongerOneOvertookIt) {
  SrdConfig config = config_of();
  config.receive_messages = 1;
  Pair pair(config);
  pair.srd[0].post(0, 0, {Op::send, 1, 10'000, 0, 0});
  pair.srd[0].post(0, 0, {Op::send, 1, 400'000, 1, 1});  // more than a window: it cannot end before the first
  pair.deliver = [&](Transmit& packet) {
    if (packet.type != PacketType::data || packet.header.data.tag != 0 || pair.now > kDelay) return true;
    pair.wire.emplace(pair.now + 2 * kDelay, packet);
    return false;
  };
  pair.run(5'000 * kMicrosecond);
  EXPECT_EQ(pair.count[Completion::Kind::sent], 2);
}

// Packets that come as soon as they have been sent again make a sender patient, however short round trips are.
TEST(Srd, ASilenceIsAskedAboutBeforeItIsTakenForTheEnd) {
  Pair pair;
  pair.srd[0].post(0, 0, {Op::send, 1, 10'000, 0, 0});
  pair.run();
  std::vector<Transmit> held;
  std::set<std::uint32_t> seen;
  pair.deliver = [&](Transmit& packet) {
    if (packet.type != PacketType::data) return true;
    if (seen.insert(packet.header.sequence).second) {
      held.push_back(packet);
    } else {
      for (const Transmit& late : held) pair.wire.emplace(pair.now + 1, late);
      held.clear();
    }
    return false;
  };
  for (std::uint32_t i = 1; i <= 200; ++i) {
    pair.srd[0].post(pair.now, 0, {Op::send, 1, 1'000, i, i});
    pair.run();
  }
  ASSERT_EQ(pair.count[Completion::Kind::sent], 201);
  pair.deliver = [](Transmit&) { return false; };
  pair.srd[0].post(pair.now, 0, {Op::send, 1, 10'000, 201, 201});
  pair.run(pair.now + config_of().give_up.count() / 2);
  pair.deliver = [](Transmit&) { return true; };
  pair.run();
  EXPECT_EQ(pair.count[Completion::Kind::sent], 202);
  EXPECT_EQ(pair.count[Completion::Kind::failed], 0);
}

// The last of the numbers that a near ring has share their bits with those just passed: a far one tells them apart.
TEST(Srd, WhatCameBeyondAGapCountsOnceWhenEvenMoreComesFromFarther) {
  SrdConfig config = config_of();
  config.drops = true;
  Srd srd(config);
  const auto placed = [&](std::uint32_t sequence) {
    Header header{};
    header.source = 0;
    header.destination = 1;
    header.op = Op::send;
    header.sequence = sequence;
    header.data = {0, 7, 20'000 * std::uint64_t{config.payload}};
    header.stream = 1;
    header.generation = 1;
    header.peer_generation = 1;
    return srd.handle(0, 1, PacketType::data, 0, header).kind == Placement::Kind::place;
  };
  EXPECT_TRUE(placed(1000));
  EXPECT_TRUE(placed(2000));
  EXPECT_EQ(srd.check_invariants(), "");
  EXPECT_TRUE(placed(16'384 - 1024 + 1000));  // which has never come
  EXPECT_FALSE(placed(1000));
  EXPECT_EQ(srd.check_invariants(), "");
}

TEST(Srd, AReceiverThatGaveUpAStreamSaysSo) {
  SrdConfig patient = config_of();
  patient.give_up = microseconds(1'000'000);
  Pair pair(patient, config_of());
  pair.srd[0].post(0, 0, {Op::send, 1, 300'000, 1, 1});
  pair.run(8 * kMicrosecond);
  EXPECT_EQ(pair.srd[1].messages_held(), 1u);
  pair.deliver = [](Transmit&) { return false; };
  pair.run(50'000 * kMicrosecond);
  // Another peer's message makes the receiver look round for room that nobody uses.
  Header other;
  other.source = 2;
  other.destination = 1;
  other.op = Op::send;
  other.data = {0, 9, 5000};
  other.stream = other.generation = 1;
  pair.srd[1].handle(pair.now, 1, PacketType::data, 0, other);
  EXPECT_EQ(pair.srd[1].messages_held(), 1u);
  pair.deliver = [](Transmit& packet) { return packet.header.destination != 2; };
  pair.run(200'000 * kMicrosecond);
  EXPECT_EQ(pair.count[Completion::Kind::failed], 1);
  pair.srd[0].post(pair.now, 0, {Op::send, 1, 300'000, 2, 2});
  pair.run(300'000 * kMicrosecond);
  EXPECT_EQ(pair.count[Completion::Kind::sent], 1);
}

// A peer that says anything may hurt itself, but not us: no crash, no growth, and others are served.
RC_GTEST_PROP(Srd, NonsenseIsHarmless, ()) {
  Srd srd(config_of());
  for (std::uint32_t i = 0; i < 20; ++i)
    srd.post(0, 0, {*rc::gen::element(Op::send, Op::write, Op::read), 1, 5000, i, i});
  Transmit out;
  const auto near = [](std::uint32_t range) { return *rc::gen::inRange<std::uint32_t>(0, range) - range / 4; };
  for (Instant now = 0; now < 300 * kMicrosecond; now += kMicrosecond) {
    while (srd.poll(now, 0, out)) {
    }
    Header header;
    header.source = 1;
    header.destination = 0;
    header.sequence = near(400);
    header.stream = *rc::gen::element<std::uint16_t>(0, 1, 1, 1, 2);
    header.generation = *rc::gen::element<std::uint16_t>(0, 1, 1, 1, 1, 1, 2);
    header.peer_generation = *rc::gen::element<std::uint16_t>(0, 1, 1, 1, 2);
    const auto flags = *rc::gen::inRange<std::uint8_t>(0, 16);
    if (*rc::gen::inRange(0, 2) == 0) {
      header.fan_in = *rc::gen::arbitrary<std::uint16_t>();
      header.echo = static_cast<std::uint16_t>(near(400));
      header.ack = {*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::arbitrary<std::uint64_t>()};
      srd.handle(now, 0, PacketType::ack, flags, header);
    } else {
      header.echo = *rc::gen::arbitrary<std::uint16_t>();
      header.op = *rc::gen::element(Op::send, Op::write, Op::read, Op::response);
      header.data = {near(400), *rc::gen::inRange<std::uint32_t>(0, 20),
                     *rc::gen::element<std::uint64_t>(0, 5000, 50'000, UINT64_MAX)};
      srd.handle(now, 0, PacketType::data, flags, header);
    }
    while (srd.poll_ack(0, out)) {
    }
    RC_ASSERT(srd.check_invariants() == "");
    RC_ASSERT(srd.messages_held() <= 40u + 256 + 2 * 64);
  }
}

}  // namespace
}  // namespace weft::transport
