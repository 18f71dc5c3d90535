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
constexpr std::uint32_t kPaths = 4;

SrdConfig config_of() {
  SrdConfig config;
  config.payload = 1000;
  config.packet_time = Duration(kPacket);
  config.base_rtt = Duration(2 * kDelay + kPacket);
  config.give_up = microseconds(100'000);
  return config;
}

struct Paths {
  struct Sent {
    Instant when;
    std::uint32_t path;
    Transmit packet;
  };

  Paths() : srd{Srd(config_of()), Srd(config_of())} { per_packet.fill(kPacket); }

  Srd srd[2];
  std::array<Instant, kPaths> per_packet;  // of data; acknowledgements take none
  std::array<Instant, kPaths> extra{};     // latency beside kDelay, of data
  std::function<bool(const Transmit&)> dies = [](const Transmit&) { return false; };
  std::vector<Sent> data;
  std::vector<Sent> acks;
  std::map<Completion::Kind, int> count;
  Instant now = 0;

  void send(const Transmit& out) {
    const std::uint32_t path = out.header.path % kPaths;
    const bool is_data = out.type == PacketType::data;
    (is_data ? data : acks).push_back({now, path, out});
    if (dies(out)) return;
    Instant arrives = now + kDelay;
    if (is_data) arrives = (busy[path] = std::max(busy[path], now) + per_packet[path]) + kDelay + extra[path];
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
  double share(std::uint32_t path, std::size_t from, std::size_t to) const {
    std::size_t taken = 0;
    for (std::size_t i = from; i < to; ++i) taken += data[i].path == path;
    return 100.0 * static_cast<double>(taken) / static_cast<double>(to - from);
  }

 private:
  std::array<Instant, kPaths> busy{};
  Instant own_wire = 0;
  std::multimap<Instant, Transmit> wire;
};

TEST(SrdPaths, EqualWaysGetEqualShares) {
  Paths paths;
  paths.carry(4000);
  for (std::uint32_t path = 0; path < kPaths; ++path) EXPECT_NEAR(paths.share(path, 0, 4000), 25, 2) << path;
}

// A way that is twice as long as the others holds its packets twice as long, which alone would leave it half a share;
// that they come behind the mean leaves it less.
TEST(SrdPaths, AWayThatLagsGetsLessThanWhatIsInFlightTells) {
  Paths paths;
  paths.extra[0] = 2 * kDelay;
  paths.carry(4000);
  EXPECT_LT(paths.share(0, 1000, 4000), 5);
}

TEST(SrdPaths, ASlowWayGetsWhatItCanCarryAndNoMore) {
  Paths paths;
  paths.per_packet[0] = 16 * kPacket;  // a sixteenth of the sender's rate
  paths.carry(8000);
  const double share = paths.share(0, 1000, 8000);
  EXPECT_GT(share, 1);
  EXPECT_LT(share, 6.5);
  EXPECT_LT(paths.now, 8000 * kPacket * 11 / 10);
}

TEST(SrdPaths, AWayThatHasBecomeQuickIsFoundAgain) {
  Paths paths;
  paths.extra[0] = 2 * kDelay;
  paths.carry(4000);
  paths.extra[0] = 0;
  const std::size_t healed = paths.data.size();
  paths.carry(8000);
  EXPECT_GT(paths.share(0, paths.data.size() - 2000, paths.data.size()), 2 * paths.share(0, 1000, healed));
}

TEST(SrdPaths, WhatIsSentLastTakesNoWayThatLags) {
  Paths paths;
  paths.extra[0] = 2 * kDelay;
  paths.carry(4000);
  EXPECT_EQ(paths.share(0, paths.data.size() - 20, paths.data.size()), 0);
}

// ---- acknowledgements

TEST(SrdPaths, AnAnswerComesBackByThePathOfWhatItAnswers) {
  Paths paths;
  paths.carry(1000);
  std::map<std::uint32_t, std::uint16_t> path_of;
  for (const Paths::Sent& each : paths.data) {
    EXPECT_EQ(each.packet.header.echo, 0);
    path_of[each.packet.header.sequence] = each.packet.header.path;
  }
  ASSERT_GT(paths.acks.size(), 50u);
  for (const Paths::Sent& ack : paths.acks) EXPECT_EQ(ack.packet.header.path, path_of[ack.packet.header.echoed()]);
}

// Way 0 is dead for data and way 1 for answers. Once that has been felt, answers are asked for on a way by which one
// came.
TEST(SrdPaths, OnceWaysHaveDiedAnswersTakeOneThatWorked) {
  Paths paths;
  paths.dies = [](const Transmit& packet) {
    return packet.header.path % kPaths == (packet.type == PacketType::data ? 0 : 1);
  };
  paths.carry(2000);
  const auto dead = [&](std::size_t from) {
    std::size_t lost = 0;
    for (std::size_t i = from; i < paths.acks.size(); ++i) lost += paths.acks[i].path == 1;
    return lost;
  };
  EXPECT_GT(dead(0), 0u);
  const std::size_t before = paths.acks.size();
  paths.carry(4000);
  EXPECT_LE(100 * dead(before), 3 * (paths.acks.size() - before));
}

// The packet arrives and ten answers die: two questions, then four, eight, each by another way. One question at a time,
// each twice as late as the one before, would take five hundred round trips.
TEST(SrdPaths, OnePacketAsksByEverMoreWaysUntilAnAnswerComes) {
  Paths paths;
  paths.dies = [&](const Transmit& packet) { return packet.type == PacketType::ack && paths.acks.size() <= 10; };
  paths.carry(1);
  EXPECT_LT(paths.now, 60 * config_of().base_rtt.count());
  EXPECT_LE(paths.data.size(), 20u);
  std::map<std::uint16_t, int> times;
  for (const Paths::Sent& ack : paths.acks) EXPECT_EQ(++times[ack.packet.header.path], 1) << "the same way twice";
}

// What lags by more than two round trips goes out again when nothing else is left, and is not waited for.
TEST(SrdPaths, TheEndOfAMessageDoesNotWaitForOneThatLags) {
  Paths paths;
  bool held = false;
  paths.dies = [&](const Transmit& packet) {
    const bool lost = !held && packet.type == PacketType::data && packet.header.sequence == 900;
    held = held || lost;
    return lost;
  };
  paths.carry(1000);
  // It was sent 100 packet times before the last, which is more than two round trips and less than five.
  EXPECT_LT(paths.now, 1000 * kPacket + 4 * config_of().base_rtt.count());
  EXPECT_EQ(paths.data.size(), 1001u);
}

}  // namespace
}  // namespace weft::transport
