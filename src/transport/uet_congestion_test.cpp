// UET under load: windows, incast, unequal paths. uet_testing_net.hpp draws the network.

#include <gtest/gtest.h>

#include <numeric>

#include "transport/uet.hpp"
#include "transport/uet_testing_net.hpp"

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

// `senders` long writes to one endpoint, each begun 20 us after the one before; judged between 40 and 160 round trips
// after the last began.
Shares share(std::uint32_t senders, const UetConfig& config = {}) {
  TestNet net(senders + 1, 16, config);
  const UetConfig& c = net.uet.config();
  for (std::uint32_t e = 1; e <= senders; ++e) {
    net.post(e, 0, 1'000'000'000, Op::write);
    net.run(net.now + 20'000'000);
  }
  net.run(net.now + 40 * c.base_rtt);
  const std::vector<std::uint64_t> before = net.placed;
  const Instant from = net.now;
  net.run(from + 120 * c.base_rtt);
  std::vector<double> rates;
  for (std::uint32_t e = 1; e <= senders; ++e) rates.push_back(static_cast<double>(net.placed[e] - before[e]));
  const double capacity = static_cast<double>(net.now - from) / static_cast<double>(c.packet_time) * c.payload;
  printf("senders %u trim %d: jain %.3f util %.3f resent %lu of %lu timeouts %lu\n", senders, c.trimming, jain(rates),
         std::accumulate(rates.begin(), rates.end(), 0.0) / capacity, net.uet.counters().data_resent,
         net.uet.counters().data_sent, net.uet.counters().timeouts);
  return {jain(rates), std::accumulate(rates.begin(), rates.end(), 0.0) / capacity};
}

TEST(UetCongestion, FlowsOnOneLinkConvergeToEqualShares) {
  for (const std::uint32_t senders : {2u, 8u, 32u}) {
    const Shares shares = share(senders);
    EXPECT_GE(shares.fairness, 0.95) << senders;
    EXPECT_GE(shares.utilisation, 0.95) << senders;
  }
}

TEST(UetCongestion, FlowsConvergeWithoutTrimmingToo) {
  UetConfig config;
  config.trimming = false;
  const Shares shares = share(8, config);
  EXPECT_GE(shares.fairness, 0.95);
  EXPECT_GE(shares.utilisation, 0.95);
}

// All at once: what is too much is trimmed and comes again; the receiver's link is never idle for long.
TEST(UetCongestion, AnIncastTakesLittleLongerThanItsBytes) {
  for (const std::uint32_t senders : {8u, 32u, 64u}) {
    TestNet net(senders + 1, 16);
    const std::uint64_t packets = 100;
    for (std::uint32_t e = 1; e <= senders; ++e) net.post(e, 0, packets * 4086);
    net.run();
    const UetConfig& c = net.uet.config();
    const Instant ideal = static_cast<Instant>(senders * packets - 1) * c.packet_time + c.base_rtt;
    printf("incast %u: %.3f trimmed %lu resent %lu timeouts %lu probes %lu\n", senders, static_cast<double>(net.last_done) / static_cast<double>(ideal),
           net.uet.counters().trimmed_seen, net.uet.counters().data_resent, net.uet.counters().timeouts, net.uet.counters().probes);
    EXPECT_EQ(net.completed(Kind::received), senders);
    EXPECT_LT(net.last_done, ideal + ideal / 10) << senders;
    EXPECT_EQ(net.uet.counters().timeouts, 0u);
  }
}

struct Spread {
  double slow;  // share of packets on the slow link
  Instant took;
};

// Four pairs over four links, one of them at a quarter of its rate.
Spread spread(const UetConfig& config) {
  TestNet net(8, 4, config);
  net.spines[0].ps_per_byte *= 4;
  for (std::uint32_t e = 0; e < 4; ++e) net.post(e, e + 4, 2000 * 4086);
  net.run();
  EXPECT_EQ(net.completed(Kind::received), 4u);
  std::uint64_t all = 0;
  for (const auto& link : net.spines) all += link.packets;
  return {static_cast<double>(net.spines[0].packets) / static_cast<double>(all), net.last_done};
}

TEST(UetCongestion, RecyclingAvoidsASlowPath) {
  UetConfig oblivious;
  oblivious.recycle = oblivious.marked_penalty = oblivious.trimmed_penalty = oblivious.lost_penalty = 0;
  const Spread blind = spread(oblivious);
  const Spread seeing = spread(UetConfig{});
  const UetConfig c = TestNet::with_times(UetConfig{});
  // The slow link can carry 1/13 of what all four can.
  const Instant ideal = c.packet_time * 4 * 2000 * 4 / 13 + c.base_rtt;
  printf("slow: %.3f blind %.3f; took %.3f blind %.3f of ideal\n", seeing.slow, blind.slow,
         static_cast<double>(seeing.took) / static_cast<double>(ideal), static_cast<double>(blind.took) / static_cast<double>(ideal));
  EXPECT_LT(seeing.slow, 0.12);
  EXPECT_LT(seeing.took, ideal + ideal / 5);
  EXPECT_GT(blind.took, 2 * ideal);
}

}  // namespace
}  // namespace weft::transport
