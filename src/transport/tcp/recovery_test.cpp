// How TCP finds and repairs losses, and what it makes of marks, reordering and neighbours.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "transport/tcp/tcp.hpp"
#include "transport/testing_times.hpp"
#include "transport/testing_wire.hpp"

namespace weft::transport {
namespace {

using Kind = Completion::Kind;
using Net = TestingWire<Tcp>;

constexpr Instant kMillisecond = 1000 * kMicrosecond;

WireConfig wire_of() {
  WireConfig wire;
  wire.ps_per_byte = 320;  // 25 Gb/s
  wire.delay = 20 * kMicrosecond;
  return wire;
}

TcpConfig config_of(const WireConfig& wire) {
  TcpConfig config;
  config.mtu = 1052;  // segments of 1000 bytes
  config.base_rtt = Duration(2 * wire.delay + 2 * wire.ps_per_byte * 1180);
  return config;
}

// Loses the first `times` transmissions of the sequences named.
std::function<bool(Transmit&)> losing(std::set<std::uint32_t> which, int times = 1) {
  return [which = std::move(which), times, lost = std::map<std::uint32_t, int>()](Transmit& packet) mutable {
    if (packet.type != PacketType::tcp_data || !which.contains(packet.header.sequence)) return true;
    return ++lost[packet.header.sequence] > times;
  };
}

TEST(TcpRecovery, SeveralLossesOfOneWindowAreRepairedWithinARoundTrip) {
  const WireConfig wire = wire_of();
  const TcpConfig config = config_of(wire);
  const auto duration = [&](std::set<std::uint32_t> lost) {
    Net net(wire, config);
    net.deliver = losing(lost);
    EXPECT_TRUE(net.post(0, {Op::send, 1, 100'000, 0, 0}));
    net.run();
    EXPECT_EQ(net.count(Kind::received), 1u);
    EXPECT_EQ(net[0].counters().data_resent, lost.size());
    EXPECT_EQ(net[0].counters().timeouts, 0u);
    EXPECT_EQ(net[0].counters().recoveries, lost.empty() ? 0u : 1u);
    EXPECT_EQ(net[0].counters().needless, 0u);
    return net.now();
  };
  // All four in the third round. One more round trip for the repair, and one for the smaller window.
  EXPECT_LT(duration({32, 40, 41, 47}) - duration({}), 5 * config.base_rtt.count() / 2);
}

TEST(TcpRecovery, OneLossReducesTheWindowOnce) {
  const WireConfig wire = wire_of();
  Net net(wire, config_of(wire));
  net.deliver = losing({32, 33, 34, 35});
  ASSERT_TRUE(net.post(0, {Op::send, 1, 71'000, 0, 0}));
  std::uint32_t widest = 0;
  net.each = [&] {
    if (net[0].counters().recoveries == 0) widest = std::max(widest, net[0].window_to(0, 1)->cwnd);
  };
  net.run();
  EXPECT_EQ(net[0].window_to(0, 1)->ssthresh, static_cast<std::uint32_t>(std::uint64_t{widest} * 70 / 100));
  EXPECT_GE(net[0].window_to(0, 1)->cwnd, net[0].window_to(0, 1)->ssthresh);  // though little was left to send
}

TEST(TcpRecovery, ALostTailNeedsAProbeAndNoTimeout) {
  const WireConfig wire = wire_of();
  const TcpConfig config = config_of(wire);
  Net net(wire, config);
  net.deliver = losing({27, 28, 29});  // the last of the second round
  ASSERT_TRUE(net.post(0, {Op::send, 1, 30'000, 0, 0}));
  net.run();
  EXPECT_EQ(net.count(Kind::sent), 1u);
  EXPECT_EQ(net[0].counters().timeouts, 0u);
  EXPECT_EQ(net[0].counters().probes, 1u);
  // Two round trips of the message, two and Linux's 2 ms of patience, two of repair.
  EXPECT_LT(net.now(), config.timer_least.count() + 8 * config.base_rtt.count());
  EXPECT_GT(net.now(), config.timer_least.count());
}

// A gap that closes by itself leaves no timer behind: a tail that is lost later is probed for as ever.
TEST(TcpRecovery, AGapThatClosedIsWaitedForNoMore) {
  const WireConfig wire = wire_of();
  const TcpConfig config = config_of(wire);
  Net net(wire, config);
  Transmit held{};
  bool holding = false;
  net.deliver = [&, lose = losing({29})](Transmit& packet) mutable {
    if (packet.type == PacketType::tcp_data && packet.header.sequence == 15 && held.wire_bytes == 0) {
      held = packet;
      holding = true;
      return false;
    }
    return lose(packet);
  };
  std::uint64_t out_of_order = 0;
  net.each = [&] {
    if (!holding || net[0].counters().data_sent < 18) return;
    holding = false;
    net.inject(held);
    ++out_of_order;
  };
  ASSERT_TRUE(net.post(0, {Op::send, 1, 30'000, 0, 0}));
  net.run();
  EXPECT_EQ(out_of_order, 1u);
  EXPECT_EQ(net.count(Kind::sent), 1u);
  EXPECT_EQ(net[0].counters().timeouts, 0u);
  EXPECT_EQ(net[0].counters().probes, 1u);
  EXPECT_EQ(net[0].counters().data_resent, 1u) << "the tail, and not what came late";
  EXPECT_LT(net.now(), config.timer_least.count() + 8 * config.base_rtt.count());
}

TEST(TcpRecovery, AProbeThatRepairedALossReducesTheWindow) {
  const WireConfig wire = wire_of();
  Net net(wire, config_of(wire));
  net.deliver = losing({29});
  for (std::uint32_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(net.post(0, {Op::send, 1, 30'000, i, i}));
    net.run();
  }
  EXPECT_EQ(net[0].counters().probes, 1u);
  EXPECT_LT(net[0].window_to(0, 1)->ssthresh, TcpWindow::kInfinite);
}

TEST(TcpRecovery, AProbeThatWasNeedlessDoesNot) {
  const WireConfig wire = wire_of();
  Net net(wire, config_of(wire));
  // No acknowledgement gets through until the probe has gone.
  net.deliver = [&](Transmit& packet) {
    return packet.type == PacketType::tcp_data || packet.header.sequence < 25 || net[0].counters().probes > 0;
  };
  for (std::uint32_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(net.post(0, {Op::send, 1, 30'000, i, i}));
    net.run();
  }
  EXPECT_EQ(net[0].counters().probes, 1u);
  EXPECT_EQ(net[0].counters().needless, 1u);
  EXPECT_EQ(net[0].window_to(0, 1)->ssthresh, TcpWindow::kInfinite);
}

TEST(TcpRecovery, WithoutProbesALostTailWaitsForTheTimeoutsFloor) {
  const WireConfig wire = wire_of();
  for (const Instant floor : {200 * kMillisecond, kMillisecond}) {
    TcpConfig config = config_of(wire);
    config.tail_probe = false;
    config.rto_min = Duration(floor);
    Net net(wire, config);
    net.deliver = losing({28, 29});
    ASSERT_TRUE(net.post(0, {Op::send, 1, 30'000, 0, 0}));
    net.run();
    EXPECT_EQ(net.count(Kind::sent), 1u);
    EXPECT_EQ(net[0].counters().timeouts, 1u);
    EXPECT_GT(net.now(), floor);
    EXPECT_LT(net.now(),
              floor + 6 * config.base_rtt.count());  // two of the message, two of repair with a window of one
  }
}

TEST(TcpRecovery, TimeoutsDoubleUntilSomethingIsHeard) {
  const WireConfig wire = wire_of();
  TcpConfig config = config_of(wire);
  config.give_up = microseconds(100'000'000);
  config.tail_probe = false;
  Net net(wire, config);
  std::vector<Instant> sent;
  net.deliver = [&](Transmit& packet) {
    if (packet.type == PacketType::tcp_data) sent.push_back(net.now());
    return sent.size() > 5;
  };
  ASSERT_TRUE(net.post(0, {Op::send, 1, 500, 0, 0}));
  net.run();
  ASSERT_EQ(sent.size(), 6u);
  for (std::size_t i = 1; i < sent.size(); ++i) EXPECT_EQ(sent[i] - sent[i - 1], (200 * kMillisecond) << (i - 1)) << i;
  EXPECT_EQ(net.count(Kind::received), 1u);

  net.deliver = losing({1});
  const Instant begin = net.now();
  ASSERT_TRUE(net.post(0, {Op::send, 1, 500, 1, 1}));
  net.run();
  EXPECT_LT(net.now() - begin, 201 * kMillisecond);
}

// Of what was under way when it jumped, answers tell round trips as long as the jump.
TEST(TcpRecovery, AJumpOfTheClockLeavesTimeToAskAgain) {
  const WireConfig wire = wire_of();
  for (Instant jump = 400 * kMillisecond; jump < 4000 * kMillisecond; jump += 400 * kMillisecond) {
    Net net(wire, config_of(wire));
    ASSERT_TRUE(net.post(0, {Op::send, 1, 100'000, 0, 0}));
    net.run(100 * kMicrosecond);
    net.let_pass(jump);
    const Instant jumped = net.now();
    net.deliver = [&](Transmit& packet) {
      return packet.type != PacketType::tcp_data || net.now() > jumped + 10 * kMillisecond;
    };
    net.run();
    EXPECT_EQ(net.count(Kind::sent), 1u) << jump;
    EXPECT_EQ(net.count(Kind::failed), 0u) << jump;
  }
}

TEST(TcpRecovery, ATimeoutBeginsWithOneSegment) {
  const WireConfig wire = wire_of();
  Net net(wire, config_of(wire));
  ASSERT_TRUE(net.post(0, {Op::send, 1, 400'000, 0, 0}));
  net.run(150 * kMicrosecond);
  const std::uint32_t cwnd = net[0].window_to(0, 1)->cwnd;
  EXPECT_GE(cwnd, 40 * TcpWindow::kSegment);
  net.each = [&] {
    if (net[0].counters().timeouts != 1) return;
    EXPECT_EQ(net[0].window_to(0, 1)->cwnd, TcpWindow::kSegment);
    EXPECT_GE(net[0].window_to(0, 1)->ssthresh, cwnd / 10 * 7 - 1);
    EXPECT_LT(net[0].window_to(0, 1)->ssthresh, TcpWindow::kInfinite);
  };
  std::map<Instant, int> sent;  // by round trips since the second timeout
  Instant begin = 0;
  net.deliver = [&](Transmit& packet) {
    if (packet.type != PacketType::tcp_data) return true;
    if (net[0].counters().timeouts < 2) return false;
    if (begin == 0) begin = net.now();
    ++sent[(net.now() - begin) / config_of(wire).base_rtt.count()];
    return true;
  };
  net.run();
  EXPECT_EQ(net.count(Kind::sent), 1u);
  EXPECT_EQ(net[0].counters().timeouts, 2u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(sent[i], 1 << i) << i;
}

TEST(TcpRecovery, TheTimeoutCountsFromTheLastRepeat) {
  const WireConfig wire = wire_of();
  Net net(wire, config_of(wire));
  std::vector<Instant> sent;
  net.deliver = [&](Transmit& packet) {
    if (packet.type != PacketType::tcp_data || packet.header.sequence != 0) return true;
    sent.push_back(net.now());
    return sent.size() > 2;
  };
  ASSERT_TRUE(net.post(0, {Op::send, 1, 4000, 0, 0}));
  net.run();
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_LT(sent[1], kMillisecond);  // three segments beyond the gap said enough
  EXPECT_EQ(sent[2] - sent[1], 200 * kMillisecond);
}

// RACK knows of the repeat's own time; counting duplicates would have to wait for the timeout.
TEST(TcpRecovery, ALostRepeatIsRepeatedWithoutATimeout) {
  const WireConfig wire = wire_of();
  Net net(wire, config_of(wire));
  net.deliver = losing({40}, 3);
  ASSERT_TRUE(net.post(0, {Op::send, 1, 1'000'000, 0, 0}));
  net.run();
  EXPECT_EQ(net.count(Kind::sent), 1u);
  EXPECT_EQ(net[0].counters().timeouts, 0u);
  EXPECT_EQ(net[0].counters().data_resent, 3u);
  EXPECT_LT(net.now(), 2 * kMillisecond);
}

TEST(TcpRecovery, ReorderingIsTakenForLossOnlyAtFirst) {
  const WireConfig wire = wire_of();
  TcpConfig config = config_of(wire);
  Net net(wire, config);
  net.wire().hold_back = 100;
  net.wire().jitter = 15 * kMicrosecond;  // of a round trip of 40
  std::uint64_t before = 0;
  std::uint64_t resent = 0;
  for (std::uint32_t i = 0; i < 20; ++i) {
    before = net[0].counters().data_resent;
    ASSERT_TRUE(net.post(0, {Op::send, 1, 1'000'000, i, i}));
    net.run();
    if (i == 0) resent = net[0].counters().data_resent;
  }
  EXPECT_GT(resent, 0u);
  EXPECT_EQ(net[0].counters().needless, net[0].counters().data_resent);
  EXPECT_EQ(net[0].counters().data_resent, before);  // the last of them repeated nothing
  EXPECT_GT(net[0].counters().undone, 0u);
  EXPECT_EQ(net[0].counters().timeouts, 0u);
}

TEST(TcpRecovery, RepeatsThatProveNeedlessGiveTheWindowBack) {
  const WireConfig wire = wire_of();
  TcpConfig config = config_of(wire);
  config.hystart = false;  // nothing else ends slow start
  Net net(wire, config);
  Transmit held{};
  bool holding = false;
  net.deliver = [&](Transmit& packet) {
    if (packet.type != PacketType::tcp_data || packet.header.sequence != 40 || held.wire_bytes > 0) return true;
    held = packet;
    holding = true;
    return false;
  };
  ASSERT_TRUE(net.post(0, {Op::send, 1, 400'000, 0, 0}));
  std::uint32_t reduced = 0;
  net.each = [&] {
    if (!holding || net[0].counters().recoveries == 0) return;
    holding = false;
    reduced = net[0].window_to(0, 1)->ssthresh;
    net.inject(held);
  };
  net.run();
  EXPECT_EQ(net[0].counters().undone, 1u);
  EXPECT_GT(reduced, 0u);
  EXPECT_EQ(net[0].window_to(0, 1)->ssthresh, TcpWindow::kInfinite);
}

// The sender's link is four times as fast as the receiver's, so the last round of slow start loses hundreds.
TEST(TcpRecovery, TheOvershootOfSlowStartIsRepairedWithoutATimeout) {
  WireConfig wire = wire_of();
  wire.ps_per_byte_down = 4 * wire.ps_per_byte;
  wire.queue = 100 * 1090;
  TcpConfig config = config_of(wire);
  config.hystart = false;
  Net net(wire, config);
  const Instant segments = 5000;
  ASSERT_TRUE(net.post(0, {Op::send, 1, 1000 * segments, 0, 0}));
  net.run();
  EXPECT_EQ(net.count(Kind::sent), 1u);
  EXPECT_GT(net[0].counters().data_resent, 50u);
  EXPECT_EQ(net[0].counters().needless, 0u);
  EXPECT_EQ(net[0].counters().timeouts, 0u);
  EXPECT_LT(net.now(), segments * 1090 * wire.ps_per_byte_down * 11 / 10);
}

// Phanishayee et al. (FAST 2008), Vasudevan et al. (SIGCOMM 2009): where many answer at once, whole windows are lost
// and the floor of the timeout is what one waits for.
TEST(TcpRecovery, IncastWaitsForTheFloorOfTheTimeout) {
  WireConfig wire = wire_of();
  wire.endpoints = 65;
  wire.queue = 64 * 1090;
  const auto duration = [&](Instant floor, Instant least) {
    TcpConfig config = config_of(wire);
    config.rto_min = Duration(floor);
    config.timer_least = Duration(least);
    Net net(wire, config);
    for (std::uint32_t i = 0; i < 64; ++i) EXPECT_TRUE(net.post(i, {Op::send, 64, 32'000, i, i}));
    net.run();
    EXPECT_EQ(net.count(Kind::received), 64u);
    return net.now();
  };
  const Instant ideal = 64 * 32 * 1090 * wire.ps_per_byte;
  EXPECT_GT(duration(200 * kMillisecond, 2 * kMillisecond), 200 * kMillisecond);
  const Instant with_short = duration(kMillisecond, 0);
  EXPECT_GT(with_short, ideal);
  EXPECT_LT(with_short, 20 * ideal);
}

// A segment overtaken by a few is repeated; the answer to its original comes too early for the repeat, of which RACK
// must not conclude that all sent before the repeat is lost.
TEST(TcpRecovery, AnAnswerToTheOriginalSaysNothingOfTheRepeat) {
  const WireConfig wire = wire_of();
  Net net(wire, config_of(wire));
  Transmit held{};
  Instant release = kNever;
  net.deliver = [&](Transmit& packet) {
    if (packet.type != PacketType::tcp_data || packet.header.sequence != 40 || held.wire_bytes > 0) return true;
    held = packet;
    release = net.now() + 6 * kMicrosecond;
    return false;
  };
  net.each = [&] {
    if (net.now() < release) return;
    release = kNever;
    net.inject(held);
  };
  ASSERT_TRUE(net.post(0, {Op::send, 1, 400'000, 0, 0}));
  net.run();
  EXPECT_EQ(net[0].counters().data_resent, 1u);
  EXPECT_EQ(net[0].counters().needless, 1u);
}

TEST(TcpRecovery, WhatTheNetworkDuplicatesIsNotARepeat) {
  const WireConfig wire = wire_of();
  Net net(wire, config_of(wire));
  net.wire().duplicate = 500;
  ASSERT_TRUE(net.post(0, {Op::send, 1, 400'000, 0, 0}));
  net.run();
  EXPECT_GT(net[1].counters().duplicates, 100u);
  EXPECT_EQ(net[0].counters().data_resent, 0u);
  EXPECT_EQ(net[0].counters().needless, 0u);
}

// ---- sharing a link

struct Shares {
  std::vector<double> bytes;  // by sender, in the second half of the time
  double queue = 0;           // mean, bytes
  double alpha = 0;           // mean, of the first sender
  TcpCounters first;
};

// `senders` endless streams into one link, behind a queue.
Shares share(WireConfig wire, const TcpConfig& config, std::uint32_t senders, Instant time) {
  wire.endpoints = senders + 1;
  Net net(wire, config);
  Shares out;
  out.bytes.resize(senders);
  std::uint64_t samples = 0;
  net.placed = [&](std::uint32_t, const Header& header, const Placement& placement) {
    if (net.now() < time / 2 || placement.kind != Placement::Kind::place) return;
    out.bytes[header.source] += placement.length;
    out.queue += static_cast<double>(net.queued(senders));
    out.alpha += static_cast<double>(net[0].window_to(0, senders)->alpha) / TcpWindow::kOne;
    ++samples;
  };
  for (std::uint32_t i = 0; i < senders; ++i) {
    EXPECT_TRUE(net.post(i, {Op::write, senders, 1ull << 32, i, i}));
    net.run(net.now() + 50 * kMicrosecond);
  }
  net.run(time);
  out.queue /= static_cast<double>(samples);
  out.alpha /= static_cast<double>(samples);
  out.first = net[0].counters();
  return out;
}

double jain(const std::vector<double>& shares) {
  double sum = 0;
  double squares = 0;
  for (const double one : shares) {
    sum += one;
    squares += one * one;
  }
  return sum * sum / (static_cast<double>(shares.size()) * squares);
}

double filled(const Shares& shares, const WireConfig& wire, Instant time) {
  double sum = 0;
  for (const double one : shares.bytes) sum += one;
  return sum * 1.09 * static_cast<double>(wire.ps_per_byte) / (static_cast<double>(time) / 2);
}

// Alizadeh et al. (SIGCOMM 2010, 3.3): the queue swings below K + N by an amplitude of about sqrt(N C RTT / 2) / 2;
// the marked part of a lone sawtooth is sqrt(2 / W).
TEST(TcpRecovery, DctcpKeepsTheQueueNearTheThreshold) {
  WireConfig wire = wire_of();
  wire.queue = 1'000'000;
  wire.mark_above = 40 * 1090;
  TcpConfig config = config_of(wire);
  config.control = TcpConfig::Control::dctcp;
  for (const std::uint32_t senders : {2u, 8u}) {
    const Shares shares = share(wire, config, senders, 20 * kMillisecond);
    const double round_trip =
        static_cast<double>(config.base_rtt.count()) / static_cast<double>(wire.ps_per_byte * 1090);
    const double window = (round_trip + 40) / senders;
    const double swing = std::sqrt(2 * window) * senders / 2;
    EXPECT_LT(shares.queue / 1090, 40 + senders);
    EXPECT_GT(shares.queue / 1090, 40 - swing);
    EXPECT_NEAR(shares.alpha, std::sqrt(2 / window), 0.35 * std::sqrt(2 / window)) << senders;
    EXPECT_EQ(shares.first.data_resent, 0u);
    EXPECT_GT(filled(shares, wire, 20 * kMillisecond), 0.98);
    EXPECT_GT(jain(shares.bytes), 0.95) << senders;
  }
}

TEST(TcpRecovery, CubicFlowsShareALinkThatDrops) {
  WireConfig wire = wire_of();
  wire.queue = 100 * 1090;
  const TcpConfig config = config_of(wire);
  const Shares shares = share(wire, config, 2, 200 * kMillisecond);
  EXPECT_GT(jain(shares.bytes), 0.9);
  EXPECT_GT(filled(shares, wire, 200 * kMillisecond), 0.95);
  EXPECT_EQ(shares.first.timeouts, 0u);
  EXPECT_GT(shares.first.recoveries, 5u);
}

TEST(TcpRecovery, CubicHeedsMarksOnlyWhereAsked) {
  WireConfig wire = wire_of();
  wire.queue = 160 * 1090;
  wire.mark_above = 80 * 1090;  // above (1 - beta) / beta of the 120 on the way: the link never runs dry
  TcpConfig config = config_of(wire);
  EXPECT_GT(share(wire, config, 2, 40 * kMillisecond).first.recoveries, 2u);
  config.ecn = true;
  const Shares shares = share(wire, config, 2, 40 * kMillisecond);
  EXPECT_GT(filled(shares, wire, 40 * kMillisecond), 0.98);
  // Slow start overshoots by half its window before the first mark is back; then no more.
  EXPECT_LT(shares.first.recoveries, 2u);
}

TEST(TcpRecovery, PersistentMarksChooseAnotherPathWhereAsked) {
  WireConfig wire = wire_of();
  wire.mark_above = 0;
  TcpConfig config = config_of(wire);
  config.control = TcpConfig::Control::dctcp;
  for (const std::uint32_t rounds : {0u, 3u}) {
    config.plb_rounds = rounds;
    Net net(wire, config);
    std::set<std::uint16_t> paths;
    net.deliver = [&](Transmit& packet) {
      if (packet.type == PacketType::tcp_data) {
        paths.insert(packet.header.path);
        packet.flags |= kMarked;
      }
      return true;
    };
    ASSERT_TRUE(net.post(0, {Op::send, 1, 100'000, 0, 0}));
    net.run();
    EXPECT_EQ(net.count(Kind::received), 1u);
    EXPECT_EQ(paths.size() == 1, rounds == 0);
    EXPECT_EQ(net[0].counters().repaths, paths.size() - 1);
  }
}

}  // namespace
}  // namespace weft::transport
