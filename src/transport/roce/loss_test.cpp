// Go-back-N against selective repeat under random loss: what the arithmetic says.

#include <gtest/gtest.h>

#include <cstdio>

#include "transport/roce/testing_net.hpp"

namespace weft::transport {
namespace {

constexpr Instant kTimeout = 100 * kMicrosecond;

struct Lossy {
  double goodput;  // of line rate
  double lost;
  double naks;
  double timeouts;
  double resent;
  double window;
};

// One long message; each data packet is lost with probability p.
Lossy transfer(const RoceConfig& config, std::uint32_t packets, double p) {
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
  EXPECT_EQ(net.count(Completion::Kind::sent), 1u);
  const RoceCounters& sent = net[0].counters();
  return {static_cast<double>(packets) * static_cast<double>(config.packet_time.count()) /
              static_cast<double>(net.done_at()),
          static_cast<double>(lost),
          static_cast<double>(net[1].counters().naks_sent),
          static_cast<double>(sent.timeouts),
          static_cast<double>(sent.data_resent),
          static_cast<double>(net[0].config().window)};
}

RoceConfig lossy_config(RoceConfig::Recovery recovery) {
  RoceConfig config = roce_config();
  config.recovery = recovery;
  config.ack_timeout = Duration(kTimeout);
  return config;
}

double in_packets(Instant time, const RoceConfig& config) {
  return static_cast<double>(time) / static_cast<double>(config.packet_time.count());
}

// What leaves from the lost packet on until its NAK is there goes again: that packet, the one that shows the gap, the
// one that the wire has taken ahead, and a round trip's worth. So much time is lost, too. With probability p the
// first of them is lost again, and all waits for the timeout, after which a whole window goes again.
TEST(RoceLoss, GoBackNSendsARoundTripAgainForEachLoss) {
  const RoceConfig config = lossy_config(RoceConfig::Recovery::go_back_n);
  const double again = in_packets(config.base_rtt.count(), config) + 3;
  for (const double p : {0.0001, 0.001, 0.01}) {
    const Lossy got = transfer(config, 400'000, p);
    const double expected = 1 / (1 + p / (1 - p) * (again + p * in_packets(kTimeout, config)));
    const double resent = got.naks * again + got.timeouts * got.window;
    std::printf("go-back-n, loss %.4f: goodput %.4f (arithmetic %.4f), sent again %.0f (arithmetic %.0f)\n", p,
                got.goodput, expected, got.resent, resent);
    EXPECT_NEAR(got.goodput, expected, 0.03 * expected);
    EXPECT_NEAR(got.resent, resent, 0.05 * resent);
  }
}

TEST(RoceLoss, GoBackNSendsAWindowAgainWhereThatIsSmaller) {
  RoceConfig config = lossy_config(RoceConfig::Recovery::go_back_n);
  config.window = 16;
  config.ack_every = 1;
  const Lossy got = transfer(config, 50'000, 0.001);
  const double resent = (got.naks + got.timeouts) * 16;
  std::printf("go-back-n, window 16: sent again %.0f (arithmetic %.0f)\n", got.resent, resent);
  EXPECT_NEAR(got.resent, resent, 0.05 * resent);
}

// One for one. What is lost twice waits for the timeout; until then the window is filled, then a round trip is idle.
TEST(RoceLoss, SelectiveRepeatSendsOnePacketAgainForEachLoss) {
  const RoceConfig config = lossy_config(RoceConfig::Recovery::selective);
  for (const double p : {0.0001, 0.001, 0.01}) {
    const Lossy got = transfer(config, 400'000, p);
    const double idle = in_packets(kTimeout + config.base_rtt.count(), config) - got.window;
    const double expected = 1 / (1 + p / (1 - p) + p * p * idle);
    std::printf("selective, loss %.4f: goodput %.4f (arithmetic %.4f), sent again %.0f (lost %.0f)\n", p, got.goodput,
                expected, got.resent, got.lost);
    EXPECT_NEAR(got.goodput, expected, 0.03 * expected);
    EXPECT_NEAR(got.resent, got.lost, 0.02 * got.lost);
  }
}

}  // namespace
}  // namespace weft::transport
