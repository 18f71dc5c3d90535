// How long SRD waits, for whom, and who comes next: one Srd alone, whose peers are headers written by hand.

#include <gtest/gtest.h>

#include <vector>

#include "transport/srd/srd.hpp"
#include "transport/testing_times.hpp"

namespace weft::transport {
namespace {

constexpr Instant kRoundTrip = 4'096'000;  // 250 of the units that times are kept in

SrdConfig config_of() {
  SrdConfig config;
  config.payload = 1000;
  config.packet_time = nanoseconds(100);
  config.base_rtt = Duration(kRoundTrip);
  return config;
}

Header from_peer(std::uint32_t peer) {
  Header header;
  header.source = peer;
  header.stream = header.generation = header.peer_generation = 1;
  return header;
}

// All below a number have arrived, and the last of them causes this.
Header ack_of(std::uint32_t up_to, std::uint32_t peer = 1) {
  Header header = from_peer(peer);
  header.sequence = up_to;
  header.echo = static_cast<std::uint16_t>(up_to - 1);
  header.fan_in = 1;
  return header;
}

// What may be sent at a time.
std::vector<Transmit> sent(Srd& srd, Instant now) {
  std::vector<Transmit> packets;
  for (Transmit out; srd.poll(now, 0, out);) packets.push_back(out);
  EXPECT_EQ(srd.check_invariants(), "");
  return packets;
}

// ---- turns

TEST(SrdTurns, PeersAreServedOneAfterTheOther) {
  Srd srd(config_of());
  for (std::uint32_t peer = 1; peer <= 3; ++peer) ASSERT_TRUE(srd.post(0, 0, {Op::send, peer, 4000, 0, 0}));
  const std::vector<Transmit> packets = sent(srd, 0);
  ASSERT_EQ(packets.size(), 12u);
  for (std::size_t i = 3; i < packets.size(); ++i)
    EXPECT_EQ(packets[i].header.destination, packets[i - 3].header.destination) << i;
  EXPECT_NE(packets[0].header.destination, packets[1].header.destination);
  EXPECT_NE(packets[1].header.destination, packets[2].header.destination);
  EXPECT_NE(packets[2].header.destination, packets[0].header.destination);
}

// ---- a sender that hears nothing

struct Question {
  Instant time;
  std::size_t packets;
  bool operator==(const Question&) const = default;
};

std::vector<Question> questions(Srd& srd, std::size_t count) {
  std::vector<Question> all;
  while (all.size() < count) {
    const Instant now = srd.next_wake(0);
    all.push_back({now, sent(srd, now).size()});
  }
  return all;
}

TEST(SrdWaiting, SilenceIsAskedAboutAfterTwoRoundTripsThenEverMoreRarelyAndByMore) {
  Srd srd(config_of());
  ASSERT_TRUE(srd.post(0, 0, {Op::send, 1, 5000, 0, 0}));
  EXPECT_EQ(sent(srd, 0).size(), 5u);
  // Two ask; then five round trips of waiting, twice, and each wait doubled.
  EXPECT_EQ(
      questions(srd, 5),
      (std::vector<Question>{
          {2 * kRoundTrip, 2}, {7 * kRoundTrip, 4}, {12 * kRoundTrip, 8}, {22 * kRoundTrip, 8}, {42 * kRoundTrip, 8}}));
}

TEST(SrdWaiting, WhereNothingIsLostAPacketMayWaitInTheFabric) {
  SrdConfig config = config_of();
  config.longest_wait = microseconds(1000);
  Srd srd(config);
  ASSERT_TRUE(srd.post(0, 0, {Op::send, 1, 5000, 0, 0}));
  sent(srd, 0);
  EXPECT_EQ(srd.next_wake(0), 2 * kRoundTrip + config.longest_wait.count());
}

TEST(SrdWaiting, TheLastWordCountsUntilGivingUp) {
  SrdConfig config = config_of();
  config.give_up = microseconds(1000);
  Srd srd(config);
  const Instant posted = 300 * kMicrosecond;
  ASSERT_TRUE(srd.post(posted, 0, {Op::send, 1, 5000, 0, 0}));
  Instant now = posted;
  for (; srd.completions().empty(); now = srd.next_wake(0)) sent(srd, now);
  EXPECT_EQ(srd.completions()[0].kind, Completion::Kind::failed);
  EXPECT_EQ(now, kNever);  // nothing is left to wait for
  // The last look was at the very end: not before.
  Srd again(config);
  ASSERT_TRUE(again.post(posted, 0, {Op::send, 1, 5000, 0, 0}));
  Instant last = posted;
  for (now = posted; now != kNever; now = again.next_wake(0)) {
    sent(again, now);
    last = now;
  }
  EXPECT_EQ(last, posted + config.give_up.count());
}

// The wait after the fifth question would last longer than all of the patience: a peer that is back by then is asked
// once more, in time for its answer.
TEST(SrdWaiting, NobodyIsGivenUpWhoWouldHaveAnsweredALastQuestion) {
  SrdConfig config = config_of();
  config.give_up = Duration(60 * kRoundTrip);
  Srd srd(config);
  ASSERT_TRUE(srd.post(0, 0, {Op::send, 1, 5000, 7, 0}));
  sent(srd, 0);
  const std::vector<Question> all = questions(srd, 6);
  EXPECT_EQ(all[4], (Question{42 * kRoundTrip, 8}));
  EXPECT_GT(all[5].time, 56 * kRoundTrip);
  EXPECT_LT(all[5].time, 58 * kRoundTrip);
  EXPECT_EQ(all[5].packets, 8u);
  EXPECT_EQ(srd.next_wake(0), config.give_up.count());
  srd.handle(all[5].time + kRoundTrip, 0, PacketType::ack, 0, ack_of(5));
  ASSERT_EQ(srd.completions().size(), 1u);
  EXPECT_EQ(srd.completions()[0].kind, Completion::Kind::sent);
}

// Whoever is answered after long round trips waits half as long again, but is not silent for more than 1/8 of the
// patience that it has.
Instant wait_after(Instant round_trip, Instant give_up) {
  SrdConfig config = config_of();
  config.give_up = Duration(give_up);
  Srd srd(config);
  EXPECT_TRUE(srd.post(0, 0, {Op::send, 1, 100'000'000, 0, 0}));
  Instant now = 0;
  std::uint32_t next = 0;
  for (int round = 0; round < 200; ++round) {
    next += static_cast<std::uint32_t>(sent(srd, now).size());
    now += round_trip;
    srd.handle(now, 0, PacketType::ack, 0, ack_of(next));
  }
  sent(srd, now);
  return srd.next_wake(0) - now;
}

TEST(SrdWaiting, WhoIsAnsweredSlowlyWaitsAsMuchLonger) {
  constexpr Instant kSlow = 3 * kRoundTrip;
  const auto wait = static_cast<double>(wait_after(kSlow, 5'000'000 * kMicrosecond));
  EXPECT_NEAR(wait, 1.5 * kSlow, 0.02 * kSlow);
}

TEST(SrdWaiting, NoSilenceIsLongerThanAnEighthOfThePatience) {
  constexpr Instant kSlow = 3 * kRoundTrip;
  EXPECT_EQ(wait_after(kSlow, 8 * 5 * kSlow / 4), 5 * kSlow / 4);
}

// An answer that comes sooner after the second transmission than any answer can is the first one's: the usual round
// trip, at first 1.4 of those without a queue, is taken for longer, as by one of 64 that took eight times as long.
TEST(SrdWaiting, WhatWasLateAndNotLostMakesPatient) {
  SrdConfig config = config_of();
  config.packet_time = nanoseconds(1);
  for (const bool too_soon : {true, false}) {
    Srd srd(config);
    ASSERT_TRUE(srd.post(0, 0, {Op::send, 1, 5000, 0, 0}));
    sent(srd, 0);
    const Instant asked = srd.next_wake(0);
    EXPECT_EQ(sent(srd, asked).size(), 2u);
    const Instant now = asked + (too_soon ? kRoundTrip / 4 : kRoundTrip);
    srd.handle(now, 0, PacketType::ack, 0, ack_of(1));
    sent(srd, now);
    const double usual = 1.4 * kRoundTrip * (too_soon ? 1 + 7.0 / 64 : 1);
    EXPECT_NEAR(static_cast<double>(srd.next_wake(0) - now), 1.5 * usual, 0.02 * kRoundTrip) << too_soon;
  }
}

TEST(SrdWaiting, ARefusedPacketIsTriedAgainWhenTheReceiverSaid) {
  SrdConfig config = config_of();
  config.not_ready_wait = microseconds(5);  // less than silence is waited for
  Srd srd(config);
  ASSERT_TRUE(srd.post(0, 0, {Op::send, 1, 1000, 0, 0}));
  sent(srd, 0);
  Header refused = ack_of(0);
  refused.echo = 0;
  srd.handle(kRoundTrip, 0, PacketType::ack, kNotReady, refused);
  EXPECT_EQ(sent(srd, kRoundTrip + config.not_ready_wait.count() - 1).size(), 0u);
  EXPECT_EQ(sent(srd, kRoundTrip + config.not_ready_wait.count()).size(), 1u);
}

TEST(SrdWaiting, AReadIsGivenThePeersPatienceBesidesOurs) {
  SrdConfig config = config_of();
  config.give_up = microseconds(1000);
  Srd srd(config);
  ASSERT_TRUE(srd.post(0, 0, {Op::read, 1, 5000, 0, 7}));
  sent(srd, 0);
  srd.handle(kRoundTrip, 0, PacketType::ack, 0, ack_of(1));
  EXPECT_TRUE(sent(srd, kRoundTrip).empty());
  EXPECT_EQ(srd.next_wake(0), kRoundTrip + 2 * config.give_up.count());
  sent(srd, kRoundTrip + 2 * config.give_up.count() - 1);
  EXPECT_TRUE(srd.completions().empty());
  sent(srd, kRoundTrip + 2 * config.give_up.count());
  ASSERT_EQ(srd.completions().size(), 1u);
  EXPECT_EQ(srd.completions()[0].kind, Completion::Kind::failed);
  EXPECT_EQ(srd.completions()[0].context, 7u);
}

// From what came of the answer on, the same again.
TEST(SrdWaiting, APartOfTheAnswerIsASignOfLife) {
  SrdConfig config = config_of();
  config.give_up = microseconds(1000);
  Srd srd(config);
  ASSERT_TRUE(srd.post(0, 0, {Op::read, 1, 5000, 0, 7}));
  sent(srd, 0);
  srd.handle(kRoundTrip, 0, PacketType::ack, 0, ack_of(1));
  const Instant heard = kRoundTrip + config.give_up.count();
  Header part = from_peer(1);
  part.op = Op::response;
  part.data = {0, 1u << 16, 5000};  // in answer to the first number of the first stream
  EXPECT_EQ(srd.handle(heard, 0, PacketType::data, 0, part).kind, Placement::Kind::place);
  for (Instant now = srd.next_wake(0); now < heard + 2 * config.give_up.count(); now = srd.next_wake(0)) sent(srd, now);
  EXPECT_TRUE(srd.completions().empty());
  sent(srd, heard + 2 * config.give_up.count());
  ASSERT_EQ(srd.completions().size(), 1u);
  EXPECT_EQ(srd.completions()[0].kind, Completion::Kind::failed);
}

// ---- a sender that does not run

// Whether it is first asked for packets when it runs again, or first given what came meanwhile.
TEST(SrdWaiting, OnesOwnPauseIsNotThePeersSilence) {
  for (const bool asked_first : {true, false}) {
    SrdConfig config = config_of();
    config.give_up = microseconds(1000);
    Srd srd(config);
    ASSERT_TRUE(srd.post(0, 0, {Op::send, 1, 5000, 0, 0}));
    ASSERT_EQ(sent(srd, 0).size(), 5u);
    const Instant back = 2 * config.give_up.count();
    if (asked_first) sent(srd, back);
    EXPECT_TRUE(srd.completions().empty());
    srd.handle(back, 0, PacketType::ack, 0, ack_of(4));
    sent(srd, back);
    EXPECT_TRUE(srd.completions().empty());
    // From here on silence is the peer's.
    Instant last = 0;
    for (Instant now = srd.next_wake(0); now != kNever; now = srd.next_wake(0)) sent(srd, last = now);
    ASSERT_EQ(srd.completions().size(), 1u);
    EXPECT_EQ(srd.completions()[0].kind, Completion::Kind::failed);
    EXPECT_EQ(last, back + config.give_up.count());
  }
}

TEST(SrdWaiting, AClockThatJumpsFailsNothing) {
  SrdConfig config = config_of();
  config.drops = true;
  Srd srd(config);
  ASSERT_TRUE(srd.post(0, 0, {Op::send, 1, 100'000'000'000, 0, 0}));
  Instant now = 0;
  Instant jump = 1000 * kMicrosecond;
  std::uint32_t next = 0;
  for (int i = 0; i < 40; ++i) {
    for (int round = 0; round < 40; ++round) {
      for (Transmit out; srd.poll(now, 0, out);) ++next;
      now += kRoundTrip;
      srd.handle(now, 0, PacketType::ack, 0, ack_of(next));
    }
    EXPECT_LT(srd.next_wake(0) - now, 4 * kRoundTrip) << jump;
    EXPECT_TRUE(srd.completions().empty()) << jump;
    EXPECT_EQ(srd.check_invariants(), "");
    now += jump;
    jump += jump / 4;
  }
  EXPECT_GT(jump, 5'000'000 * kMicrosecond);
  EXPECT_EQ(srd.counters().restarts, 0u);
}

// ---- a receiver that waits for the rest of a message

constexpr Instant kTick = Instant{1} << 30;  // in which it remembers whom it heard when

// A peer that sends half a message and dies, and after a silence another: how many are being listened to then.
std::uint16_t listeners_after(Instant silence, Instant give_up) {
  SrdConfig config = config_of();
  config.give_up = Duration(give_up);
  Srd srd(config);
  Transmit out;
  std::uint16_t fan_in = 0;
  for (const std::uint32_t peer : {1u, 2u}) {
    Header half = from_peer(peer);
    half.op = Op::send;
    half.data = {0, 0, 2000};
    srd.handle(peer == 1 ? 0 : silence, 0, PacketType::data, kAckNow, half);
    EXPECT_TRUE(srd.poll_ack(0, out));
    fan_in = out.header.fan_in;
    EXPECT_EQ(srd.check_invariants(), "");
  }
  return fan_in;
}

TEST(SrdListening, ADeadSenderIsForgottenAfterTwiceItsPatience) {
  constexpr Instant kGiveUp = 100 * kTick;
  EXPECT_EQ(listeners_after(101 * kTick, kGiveUp), 2);
  EXPECT_EQ(listeners_after(2 * kGiveUp + kTick, kGiveUp), 2);
  EXPECT_EQ(listeners_after(2 * kGiveUp + 2 * kTick, kGiveUp), 1);
}

// Each new message looks at one of them, in turn: none is forgotten about, whoever comes before it.
TEST(SrdListening, OfManyDeadSendersEachIsLookedAt) {
  SrdConfig config = config_of();
  config.give_up = Duration(100 * kTick);
  Srd srd(config);
  Transmit out;
  const auto hear = [&](std::uint32_t peer, Instant now) {
    Header half = from_peer(peer);
    half.op = Op::send;
    half.data = {0, 0, 2000};
    srd.handle(now, 0, PacketType::data, kAckNow, half);
    EXPECT_TRUE(srd.poll_ack(0, out));
    return out.header.fan_in;
  };
  constexpr std::uint32_t kDead = 3;
  const Instant later = 300 * kTick;
  for (std::uint32_t peer = 1; peer <= 1 + kDead; ++peer) EXPECT_EQ(hear(peer, 0), peer);
  hear(1, later);  // the first of them lives
  constexpr std::uint32_t kNew = 8;
  for (std::uint32_t peer = 10; peer < 9 + kNew; ++peer) hear(peer, later);
  EXPECT_EQ(hear(9 + kNew, later), 1 + kNew);
}

}  // namespace
}  // namespace weft::transport
