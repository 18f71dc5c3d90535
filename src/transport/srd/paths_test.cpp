// Which path a packet takes, and which way its acknowledgement.
//
//   sender ──┬── way 0 ──┬── receiver     an entropy's way is its remainder; each way is a link of its own with
//            ├── way 1 ──┤                a time per packet and a latency, in either direction
//            ├── way 2 ──┤
//            └── way 3 ──┘

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <vector>

#include "transport/srd/srd.hpp"

namespace weft::transport {
namespace {

constexpr Instant kPacket = 100'000;   // ps on the sender's wire
constexpr Instant kDelay = 2'000'000;  // one way
constexpr std::uint32_t kWays = 4;

SrdConfig config_of() {
  SrdConfig config;
  config.payload = 1000;
  config.packet_time = kPacket;
  config.base_rtt = 2 * kDelay + kPacket;
  config.give_up = 100'000'000'000;
  return config;
}

struct Ways {
  struct Sent {
    Instant when;
    std::uint32_t way;
    Transmit packet;
  };

  Ways() : srd{Srd(config_of()), Srd(config_of())} { per_packet.fill(kPacket); }

  Srd srd[2];
  std::array<Instant, kWays> per_packet;  // of data; acknowledgements take none
  std::array<Instant, kWays> extra{};     // latency beside kDelay, of data
  std::function<bool(const Transmit&)> dies = [](const Transmit&) { return false; };
  std::vector<Sent> data;
  std::vector<Sent> acks;
  std::map<Completion::Kind, int> count;
  Instant now = 0;

  void send(const Transmit& out) {
    const std::uint32_t way = out.header.path % kWays;
    const bool is_data = out.type == PacketType::data;
    (is_data ? data : acks).push_back({now, way, out});
    if (dies(out)) return;
    Instant arrives = now + kDelay;
    if (is_data) arrives = (busy[way] = std::max(busy[way], now) + per_packet[way]) + kDelay + extra[way];
    wire.emplace(arrives, out);
  }

  void flush(std::uint32_t side) {
    Transmit out;
    while (srd[side].poll_ack(side, out)) send(out);
    while (own_wire <= now && srd[side].poll(now, side, out)) {
      own_wire = std::max(own_wire, now) + kPacket;
      send(out);
    }
    for (const Completion& each : srd[side].completions()) ++count[each.kind];
    srd[side].completions().clear();
    EXPECT_EQ(srd[side].check_invariants(), "");
  }

  // Until a message of so many packets has been sent and acknowledged.
  void carry(std::uint32_t packets) {
    const int before = count[Completion::Kind::sent];
    ASSERT_TRUE(srd[0].post(now, 0, {Op::send, 1, packets * 1000u, 0, 0}));
    for (int events = 0; events < 100'000 && count[Completion::Kind::sent] == before; ++events) {
      flush(0);
      flush(1);
      Instant next = wire.empty() ? kNever : wire.begin()->first;
      for (const std::uint32_t side : {0u, 1u}) {
        const Instant wake = srd[side].next_wake(side);
        next = std::min(next, wake > now ? wake : std::max(own_wire, now + 1));  // due, but its wire is taken
      }
      now = next;
      while (!wire.empty() && wire.begin()->first <= now) {
        const Transmit packet = wire.begin()->second;
        wire.erase(wire.begin());
        const std::uint32_t to = packet.header.destination;
        srd[to].handle(now, to, packet.type, packet.flags, packet.header);
        flush(to);
      }
    }
    ASSERT_EQ(count[Completion::Kind::sent], before + 1) << "not done at " << now;
  }

  // Percent of the data packets from one place on that took a way.
  double share(std::uint32_t way, std::size_t from, std::size_t to) const {
    std::size_t taken = 0;
    for (std::size_t i = from; i < to; ++i) taken += data[i].way == way;
    return 100.0 * static_cast<double>(taken) / static_cast<double>(to - from);
  }

 private:
  std::array<Instant, kWays> busy{};
  Instant own_wire = 0;
  std::multimap<Instant, Transmit> wire;
};

TEST(SrdPaths, EqualWaysGetEqualShares) {
  Ways ways;
  ways.carry(4000);
  for (std::uint32_t way = 0; way < kWays; ++way) EXPECT_NEAR(ways.share(way, 0, 4000), 25, 2) << way;
}

// A way that is twice as long as the others holds its packets twice as long, which alone would leave it half a share;
// that they come behind the mean leaves it less.
TEST(SrdPaths, AWayThatLagsGetsLessThanWhatIsInFlightTells) {
  Ways ways;
  ways.extra[0] = 2 * kDelay;
  ways.carry(4000);
  EXPECT_LT(ways.share(0, 1000, 4000), 5);
}

TEST(SrdPaths, ASlowWayGetsWhatItCanCarryAndNoMore) {
  Ways ways;
  ways.per_packet[0] = 16 * kPacket;  // a sixteenth of the sender's rate
  ways.carry(8000);
  const double share = ways.share(0, 1000, 8000);
  EXPECT_GT(share, 1);
  EXPECT_LT(share, 6.5);
  EXPECT_LT(ways.now, 8000 * kPacket * 11 / 10);
}

TEST(SrdPaths, AWayThatHasBecomeQuickIsFoundAgain) {
  Ways ways;
  ways.extra[0] = 2 * kDelay;
  ways.carry(4000);
  ways.extra[0] = 0;
  const std::size_t healed = ways.data.size();
  ways.carry(8000);
  EXPECT_GT(ways.share(0, ways.data.size() - 2000, ways.data.size()), 2 * ways.share(0, 1000, healed));
}

TEST(SrdPaths, WhatIsSentLastTakesNoWayThatLags) {
  Ways ways;
  ways.extra[0] = 2 * kDelay;
  ways.carry(4000);
  EXPECT_EQ(ways.share(0, ways.data.size() - 20, ways.data.size()), 0);
}

// ---- acknowledgements

TEST(SrdPaths, AnAnswerComesBackByThePathOfWhatItAnswers) {
  Ways ways;
  ways.carry(1000);
  std::map<std::uint32_t, std::uint16_t> path_of;
  for (const Ways::Sent& each : ways.data) {
    EXPECT_EQ(each.packet.header.echo, 0);
    path_of[each.packet.header.sequence] = each.packet.header.path;
  }
  ASSERT_GT(ways.acks.size(), 50u);
  for (const Ways::Sent& ack : ways.acks) EXPECT_EQ(ack.packet.header.path, path_of[ack.packet.header.echoed()]);
}

// Way 0 is dead for data and way 1 for answers. Once that has been felt, answers are asked for on a way by which one
// came.
TEST(SrdPaths, OnceWaysHaveDiedAnswersTakeOneThatWorked) {
  Ways ways;
  ways.dies = [](const Transmit& packet) {
    return packet.header.path % kWays == (packet.type == PacketType::data ? 0 : 1);
  };
  ways.carry(2000);
  const auto dead = [&](std::size_t from) {
    std::size_t lost = 0;
    for (std::size_t i = from; i < ways.acks.size(); ++i) lost += ways.acks[i].way == 1;
    return lost;
  };
  EXPECT_GT(dead(0), 0u);
  const std::size_t before = ways.acks.size();
  ways.carry(4000);
  EXPECT_LE(100 * dead(before), 3 * (ways.acks.size() - before));
}

// The packet arrives and ten answers die: two questions, then four, eight, each by another way. One question at a time,
// each twice as late as the one before, would take five hundred round trips.
TEST(SrdPaths, OnePacketAsksByEverMoreWaysUntilAnAnswerComes) {
  Ways ways;
  ways.dies = [&](const Transmit& packet) { return packet.type == PacketType::ack && ways.acks.size() <= 10; };
  ways.carry(1);
  EXPECT_LT(ways.now, 60 * config_of().base_rtt);
  EXPECT_LE(ways.data.size(), 20u);
  std::map<std::uint16_t, int> times;
  for (const Ways::Sent& ack : ways.acks) EXPECT_EQ(++times[ack.packet.header.path], 1) << "the same way twice";
}

// What lags by more than two round trips goes out again when nothing else is left, and is not waited for.
TEST(SrdPaths, TheEndOfAMessageDoesNotWaitForOneThatLags) {
  Ways ways;
  bool held = false;
  ways.dies = [&](const Transmit& packet) {
    const bool lost = !held && packet.type == PacketType::data && packet.header.sequence == 900;
    held = held || lost;
    return lost;
  };
  ways.carry(1000);
  // It was sent 100 packet times before the last, which is more than two round trips and less than five.
  EXPECT_LT(ways.now, 1000 * kPacket + 4 * config_of().base_rtt);
  EXPECT_EQ(ways.data.size(), 1001u);
}

}  // namespace
}  // namespace weft::transport
