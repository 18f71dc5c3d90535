// UET under load: windows, incast, unequal paths. testing_net.hpp draws the network.

#include <gtest/gtest.h>

#include <numeric>

#include "transport/uet/testing_net.hpp"
#include "transport/uet/uet.hpp"

namespace weft::transport {
namespace {

using testing::TestNet;
using Kind = Completion::Kind;

double jain(const std::vector<double>& rates) {
  double sum = 0;
  double squares = 0;
  for (const double rate : rates) {
    sum += rate;
    squares += rate * rate;
  }
  return sum * sum / (static_cast<double>(rates.size()) * squares);
}

struct Shares {
  double fairness;
  double utilisation;  // of payload the port could carry
};

// `senders` long writes to one endpoint, each begun 20 us after the one before; judged over 400 round trips, after
// `settling` of them.
Shares share(std::uint32_t senders, int settling, const UetConfig& config = {}) {
  TestNet net(senders + 1, 16, config);
  const UetConfig& c = net.uet.config();
  for (std::uint32_t e = 1; e <= senders; ++e) {
    net.post(e, 0, 1'000'000'000, Op::write);
    net.run(net.now() + 20 * kMicrosecond);
  }
  net.run(net.now() + settling * c.base_rtt.count());
  const std::vector<std::uint64_t> before = net.placed_from;
  const Instant from = net.now();
  net.run(from + 400 * c.base_rtt.count());
  std::vector<double> rates;
  for (std::uint32_t e = 1; e <= senders; ++e) rates.push_back(static_cast<double>(net.placed_from[e] - before[e]));
  const double capacity =
      static_cast<double>(net.now() - from) / static_cast<double>(c.packet_time.count()) * c.payload;
  return {jain(rates), std::accumulate(rates.begin(), rates.end(), 0.0) / capacity};
}

TEST(UetCongestion, FlowsOnOneLinkConvergeToEqualShares) {
  for (const std::uint32_t senders : {2u, 8u, 32u}) {
    const Shares shares = share(senders, 300);
    EXPECT_GE(shares.fairness, 0.95) << senders;
    EXPECT_GE(shares.utilisation, 0.99) << senders;
  }
}

// More slowly: the target is above where every packet is marked, so that only the constant increase makes windows
// equal.
TEST(UetCongestion, FlowsConvergeWithoutTrimmingToo) {
  UetConfig config;
  config.trimming = false;
  const Shares shares = share(8, 800, config);
  EXPECT_GE(shares.fairness, 0.95);
  EXPECT_GE(shares.utilisation, 0.99);
}

// Once windows have converged, the queue stays about the target and nothing is trimmed.
TEST(UetCongestion, AConvergedQueueStandsAtTheTargetDelay) {
  TestNet net(9, 16);
  const UetConfig& c = net.uet.config();
  for (std::uint32_t e = 1; e <= 8; ++e) net.post(e, 0, 1'000'000'000, Op::write);
  net.run(300 * c.base_rtt.count());
  const std::uint64_t trimmed = net.uet.counters().trimmed_seen;
  EXPECT_GT(trimmed, 0u);  // of the first windows
  for (int i = 0; i < 100; ++i) {
    net.run(net.now() + c.base_rtt.count());
    const Instant queue = net.ports[0].busy - net.now();
    EXPECT_GT(queue, c.target_delay.count() / 2);
    EXPECT_LT(queue, c.target_delay.count() * 3 / 2);
  }
  EXPECT_EQ(net.uet.counters().trimmed_seen, trimmed);
}

// Six packets leave, none of which asks for news; then the window shrinks to one, and of the last two, too few for the
// receiver to speak of by itself, nobody would hear. A probe asks, in time or ahead of them.
TEST(UetCongestion, AWindowThatShrinksBeforeItIsFullAsksForNews) {
  for (const bool overtakes : {false, true}) {
    UetConfig config = TestNet::with_times(UetConfig{});
    config.target_delay = Duration(1);
    config.delay_weight = 1;
    config.decrease = config.most_cut = 100;
    Uet sender(config);
    Uet receiver(config);
    ASSERT_TRUE(sender.post(0, 0, {Op::send, 1, 100 * 4086, 0, 0}));
    std::vector<Transmit> sent(6);
    for (Transmit& packet : sent) {
      ASSERT_TRUE(sender.poll(0, 0, packet));
      EXPECT_EQ(packet.flags & kUetAckNow, 0);
    }
    const auto arrive = [&](const Transmit& packet) {
      receiver.handle(0, 1, packet.type, packet.flags, packet.header);
    };
    Transmit ack;
    for (int i = 0; i < 4; ++i) arrive(sent[static_cast<std::size_t>(i)]);
    ASSERT_TRUE(receiver.poll_ack(1, ack));
    const Instant late = 2 * config.base_rtt.count();  // before any timer
    sender.handle(late, 0, ack.type, ack.flags | kUetMarked, ack.header);
    Transmit probe;
    ASSERT_TRUE(sender.poll(late, 0, probe)) << "both would wait";
    EXPECT_EQ(probe.header.op, Op::read);
    Transmit more;
    EXPECT_FALSE(sender.poll(late, 0, more));
    if (overtakes) arrive(probe);
    while (receiver.poll_ack(1, ack)) sender.handle(late, 0, ack.type, ack.flags, ack.header);
    EXPECT_FALSE(sender.poll(late, 0, more)) << "one probe is enough";
    arrive(sent[4]);
    arrive(sent[5]);
    if (!overtakes) arrive(probe);
    ASSERT_TRUE(receiver.poll_ack(1, ack));
    sender.handle(late, 0, ack.type, ack.flags, ack.header);
    EXPECT_TRUE(sender.poll(late, 0, more));
    EXPECT_EQ(more.header.sequence, 6u);
    EXPECT_EQ(sender.check_invariants(), "");
    EXPECT_EQ(sender.counters().probes, 1u);
  }
}

// Where much is trimmed, those that were sent again tell how long queues are now; the mean still tells of the trims.
TEST(UetCongestion, APacketSentAgainTellsOfItsOwnDelay) {
  UetConfig config = TestNet::with_times(UetConfig{});
  config.target_delay = Duration(config.base_rtt.count() / 2);
  config.delay_weight = 1;
  config.decrease = config.most_cut = 100;
  Uet sender(config);
  Uet receiver(config);
  ASSERT_TRUE(sender.post(0, 0, {Op::send, 1, 100 * 4086, 0, 0}));
  Transmit packet;
  ASSERT_TRUE(sender.poll(0, 0, packet));
  const auto answer = [&](std::uint8_t flags, Instant when) {
    receiver.handle(0, 1, packet.type, packet.flags | flags, packet.header);
    Transmit ack;
    ASSERT_TRUE(receiver.poll_ack(1, ack));
    sender.handle(when, 0, ack.type, ack.flags, ack.header);
  };
  answer(kTrimmed, config.base_rtt.count());
  ASSERT_TRUE(sender.poll(config.base_rtt.count(), 0, packet));
  ASSERT_EQ(packet.header.sequence, 0u);
  answer(kMarked, 2 * config.base_rtt.count());  // at once: nothing waits any more
  std::uint32_t flying = 0;
  while (sender.poll(2 * config.base_rtt.count(), 0, packet)) ++flying;
  const auto filling = static_cast<std::uint32_t>(config.base_rtt.count() / config.packet_time.count());
  EXPECT_GT(flying, filling * 5 / 4) << "the window was cut for a queue that is gone";
}

// All at once: what is too much is trimmed and comes again; the receiver's link is never idle for long.
TEST(UetCongestion, AnIncastTakesLittleLongerThanItsBytes) {
  for (const std::uint32_t senders : {8u, 32u, 64u}) {
    TestNet net(senders + 1, 16);
    const std::uint64_t packets = 100;
    for (std::uint32_t e = 1; e <= senders; ++e) net.post(e, 0, packets * 4086);
    net.run();
    const UetConfig& c = net.uet.config();
    const Instant ideal = static_cast<Instant>(senders * packets - 1) * c.packet_time.count() + c.base_rtt.count();
    EXPECT_EQ(net.count(Kind::received), senders);
    EXPECT_GT(net.uet.counters().trimmed_seen, packets);
    EXPECT_EQ(net.uet.counters().trimmed_seen, net.uet.counters().data_resent);
    EXPECT_LT(net.done_at(), ideal + ideal / 10) << senders;
    EXPECT_EQ(net.uet.counters().timeouts, 0u);
  }
}

struct Spread {
  double slow;  // share of packets on the slow link
  Instant took;
};

// Twelve pairs over 16 links, one of them at a quarter of its rate.
Spread spread(const UetConfig& config) {
  TestNet net(24, 16, config);
  net.spines[0].ps_per_byte *= 4;
  for (std::uint32_t e = 0; e < 12; ++e) net.post(e, e + 12, 2000 * 4086);
  net.run();
  EXPECT_EQ(net.count(Kind::received), 12u);
  std::uint64_t all = 0;
  for (const auto& link : net.spines) all += link.packets;
  return {static_cast<double>(net.spines[0].packets) / static_cast<double>(all), net.done_at()};
}

TEST(UetCongestion, RecyclingAvoidsASlowPath) {
  UetConfig oblivious;
  oblivious.recycle = oblivious.marked_penalty = oblivious.trimmed_penalty = oblivious.lost_penalty = 0;
  const Spread blind = spread(oblivious);
  const Spread seeing = spread(UetConfig{});
  const UetConfig c = TestNet::with_times(UetConfig{});
  const Instant ideal = c.packet_time.count() * 1999 + c.base_rtt.count();
  EXPECT_LT(seeing.slow, 0.03);  // its share of the rate is 0.016, of the links 0.0625
  EXPECT_LT(seeing.took, ideal * 115 / 100);
  EXPECT_GT(blind.slow, 0.05);
  EXPECT_GT(blind.took, ideal * 135 / 100);
}

// Sixteen pairs over 16 links: as much as fits. What uet-htsim loses to collisions of paths is 15 to 19 %.
TEST(UetCongestion, APermutationAtFullLoadLosesNoMoreThanInTheSpecificationsSimulator) {
  TestNet net(32, 16);
  for (std::uint32_t e = 0; e < 16; ++e) net.post(e, e + 16, 490 * 4086);
  net.run();
  const UetConfig& c = net.uet.config();
  EXPECT_LT(net.done_at(), (c.packet_time.count() * 489 + c.base_rtt.count()) * 119 / 100);
  EXPECT_EQ(net.uet.counters().timeouts, 0u);
}

}  // namespace
}  // namespace weft::transport
