// Go-back-N against selective repeat under random loss: what the arithmetic says.

#include <gtest/gtest.h>

#include <cstdio>

#include "transport/roce_testing.hpp"

namespace weft::transport {
namespace {

struct Lossy {
  double goodput;   // of line rate
  double per_loss;  // packets sent again for each gap
};

// One long message; each data packet is lost with probability p.
Lossy transfer(RoceConfig config, std::uint32_t packets, double p) {
  RoceNet net(2, config);
  net.checking = false;
  Random random(7, 7, 7);
  std::uint64_t lost = 0;
  net.deliver = [&](Transmit& packet) {
    const bool gone = packet.type == PacketType::roce_data && random.below(1'000'000) < p * 1e6;
    lost += gone;
    return !gone;
  };
  net.post(0, {Op::write, 1, std::uint64_t{packets} * config.mtu, 0, 0});
  net.run();
  EXPECT_EQ(net.count[Completion::Kind::sent], 1);
  const RoceCounters& sent = net.roce[0].counters();
  const double gaps = config.recovery == RoceConfig::Recovery::selective
                          ? static_cast<double>(lost)
                          : static_cast<double>(net.roce[1].counters().naks_sent + sent.timeouts);
  return {static_cast<double>(packets) * static_cast<double>(config.packet_time) / static_cast<double>(net.done_at),
          static_cast<double>(sent.data_resent) / gaps};
}

// A gap is known a round trip after the lost packet has left. What left since then, it included, goes again: D packets,
// and as much time. With probability p the first of those is lost again, and the timeout T has to pass; what it
// sends again are the D that were under way. So a packet costs 1 + p D + p^2 T of packet times.
TEST(RoceLoss, GoBackNSendsARoundTripAgainForEachLoss) {
  RoceConfig config = roce_config();
  config.ack_timeout = 200 * kMicrosecond;
  const auto flight = static_cast<double>(config.base_rtt) / static_cast<double>(config.packet_time);
  const double timeout = 200e6 / static_cast<double>(config.packet_time);
  for (const double p : {0.0001, 0.001, 0.01}) {
    const Lossy got = transfer(config, 200'000, p);
    const double expected = 1 / (1 + p * flight + p * p * timeout);
    std::printf("go-back-n, loss %.4f: goodput %.4f (arithmetic %.4f), %.1f packets again per loss (round trip %.1f)\n",
                p, got.goodput, expected, got.per_loss, flight);
    EXPECT_NEAR(got.goodput, expected, 0.05 * expected);
    EXPECT_NEAR(got.per_loss, flight, 0.1 * flight);
  }
}

// With a window below the round trip's worth, that is all there is to send again.
TEST(RoceLoss, GoBackNSendsAWindowAgainWhereThatIsSmaller) {
  RoceConfig config = roce_config();
  config.ack_timeout = 200 * kMicrosecond;
  config.window = 16;
  config.ack_every = 1;
  const Lossy got = transfer(config, 50'000, 0.001);
  std::printf("go-back-n, window 16: %.1f packets again per loss\n", got.per_loss);
  EXPECT_NEAR(got.per_loss, 16, 1.6);
}

TEST(RoceLoss, SelectiveRepeatSendsOnePacketAgainForEachLoss) {
  RoceConfig config = roce_config();
  config.recovery = RoceConfig::Recovery::selective;
  config.ack_timeout = 200 * kMicrosecond;
  const double timeout = 200e6 / static_cast<double>(config.packet_time);
  for (const double p : {0.0001, 0.001, 0.01}) {
    const Lossy got = transfer(config, 200'000, p);
    const double expected = 1 / (1 + p + p * p * timeout);
    std::printf("selective, loss %.4f: goodput %.4f (arithmetic %.4f), %.2f packets again per loss\n", p, got.goodput,
                expected, got.per_loss);
    EXPECT_NEAR(got.goodput, expected, 0.05 * expected);
    EXPECT_NEAR(got.per_loss, 1, 0.1);
  }
}

}  // namespace
}  // namespace weft::transport
