#include "transport/tcp/window.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "transport/testing_times.hpp"

namespace weft::transport {
namespace {

constexpr Instant kMillisecond = 1000 * kMicrosecond;
constexpr Instant kSecond = 1000 * kMillisecond;
constexpr std::uint32_t kSegment = TcpWindow::kSegment;

RC_GTEST_PROP(TcpWindow, CubeRootsAreExact, ()) {
  const auto x = *rc::gen::inRange<std::uint64_t>(0, 1ull << *rc::gen::inRange(1, 63));
  const std::uint64_t root = cube_root(x);
  RC_ASSERT(root * root * root <= x);
  RC_ASSERT((root + 1) * (root + 1) * (root + 1) > x);
}

// RFC 9438, 4.2: W(t) = C (t - K)^3 + W_max with K = cbrt((W_max - cwnd) / C). On a long path, where Reno is slower.
TEST(TcpWindow, CubicFollowsTheCurveOfItsFormula) {
  const TcpConfig config;
  const Instant rtt = 100 * kMillisecond;
  TcpWindow window;
  window.begin(config);
  window.cwnd = 1000 * kSegment;
  window.lose(config);
  window.cwnd = window.ssthresh;
  EXPECT_EQ(window.segments(), 700u);
  const double k = std::cbrt(300 / 0.4);
  const Instant begin = 5 * kSecond;
  for (Instant t = 0; t < 20 * kSecond; t += rtt) {
    // A round trip acknowledges a window, in pieces.
    for (std::uint32_t left = window.segments(); left > 0; left -= std::min(left, 50u))
      window.grow(config, begin + t, std::min(left, 50u), rtt);
    const double now = static_cast<double>(t + rtt) / kSecond;
    const double curve = 0.4 * std::pow(now - k, 3) + 1000;
    EXPECT_NEAR(window.segments(), std::min(curve, 4032.0), curve * 0.02) << now;
  }
  EXPECT_GT(window.segments(), 1400u);  // it goes on beyond where the loss was
}

// On a short path the curve is slower than what Reno would do: 4.3 gives 3 (1 - beta) / (1 + beta) per round trip.
TEST(TcpWindow, CubicIsNoSlowerThanRenoOnAShortPath) {
  const TcpConfig config;
  const Instant rtt = kMillisecond / 50;
  TcpWindow window;
  window.begin(config);
  window.cwnd = 100 * kSegment;
  window.lose(config);
  window.cwnd = window.ssthresh;
  const int rounds = 40;
  for (int i = 0; i < rounds; ++i)
    for (std::uint32_t left = window.segments(); left > 0; --left) window.grow(config, kSecond + i * rtt, 1, rtt);
  EXPECT_NEAR(static_cast<double>(window.cwnd) / kSegment, 70 + rounds * 0.9 / 1.7, 0.6);
}

TEST(TcpWindow, TheOneThatLosesAgainBeforeItIsBackLeavesRoom) {
  TcpConfig config;
  TcpWindow window;
  window.begin(config);
  window.cwnd = 100 * kSegment;
  window.lose(config);
  window.cwnd = 80 * kSegment;
  window.lose(config);
  EXPECT_EQ(window.w_max, 68 * kSegment);  // 80 (1 + 0.7) / 2
  config.fast_convergence = false;
  window.cwnd = 60 * kSegment;
  window.lose(config);
  EXPECT_EQ(window.w_max, 60 * kSegment);
}

TEST(TcpWindow, AfterATimeoutTheCurveBeginsFlatWhereSlowStartEnds) {
  const TcpConfig config;
  TcpWindow window;
  window.begin(config);
  window.cwnd = 100 * kSegment;
  window.time_out(config);
  window.cwnd = window.ssthresh;
  window.grow(config, kSecond, 1, kMillisecond);
  EXPECT_EQ(window.k, 0u);
  EXPECT_EQ(window.w_max, window.ssthresh);
}

// RFC 8257, 3.3: alpha <- (1 - g) alpha + g F, and the window loses alpha / 2.
TEST(TcpWindow, AlphaFollowsTheMarkedFraction) {
  TcpConfig config;
  config.control = TcpConfig::Control::dctcp;
  TcpWindow window;
  window.begin(config);
  double alpha = 1;
  for (int round = 0; round < 200; ++round) {
    window.round_acked = 100;
    window.round_marked = 25;
    window.end_round(config);
    alpha += (0.25 - alpha) / 16;
    ASSERT_NEAR(static_cast<double>(window.alpha) / TcpWindow::kOne, alpha, 0.001) << round;
  }
  window.cwnd = 80 * kSegment;
  window.mark(config);
  EXPECT_NEAR(static_cast<double>(window.ssthresh) / kSegment, 70, 0.1);
  window.lose(config);
  EXPECT_EQ(window.ssthresh, 40 * kSegment);
}

// RFC 9406: an eighth more delay than the round before, within 4 and 16 ms, makes slow start careful for five
// rounds; then it ends.
TEST(TcpWindow, GrowingDelayEndsSlowStart) {
  const TcpConfig config;
  TcpWindow window;
  window.begin(config);
  const auto round = [&](Instant rtt, int acks) {
    for (int i = 0; i < acks; ++i) {
      window.sample(config, rtt);
      window.grow(config, 0, 1, rtt);
    }
    window.end_round(config);
  };
  round(80 * kMillisecond, 10);
  round(89 * kMillisecond, 20);  // less than an eighth
  EXPECT_EQ(window.css_round, 0);
  round(101 * kMillisecond, 40);
  EXPECT_GT(window.css_round, 0);
  const std::uint32_t careful = window.segments();
  round(101 * kMillisecond, 40);
  EXPECT_EQ(window.segments(), careful + 10);
  EXPECT_TRUE(window.slow_start());
  for (int i = 0; i < 3; ++i) round(101 * kMillisecond, 40);
  EXPECT_FALSE(window.slow_start());
}

TEST(TcpWindow, APassingDelayDoesNotEndSlowStart) {
  const TcpConfig config;
  TcpWindow window;
  window.begin(config);
  for (const Instant rtt : {80, 100, 82, 82, 82, 82, 82, 82, 82}) {
    for (int i = 0; i < 10; ++i) window.sample(config, rtt * kMillisecond);
    window.end_round(config);
  }
  EXPECT_EQ(window.ssthresh, TcpWindow::kInfinite);
  EXPECT_EQ(window.css_round, 0);
}

// Acknowledgements in a row for so long, a microsecond apart: whether slow start ends.
bool ends_slow_start(Instant train, std::uint32_t segments, const TcpConfig& config) {
  TcpWindow window;
  window.begin(config);
  window.cwnd = segments * kSegment;
  window.begin_train(kMillisecond);
  for (Instant now = 0; now <= train; now += kMicrosecond)
    window.see_train(config, kMillisecond + now, 100 * kMicrosecond, 20 * kMicrosecond);
  EXPECT_EQ(window.ssthresh, window.slow_start() ? TcpWindow::kInfinite : window.cwnd);
  return !window.slow_start();
}

TEST(TcpWindow, ATrainOfHalfTheRoundTripEndsSlowStart) {
  TcpConfig config;
  EXPECT_FALSE(ends_slow_start(60 * kMicrosecond, 40, config));
  EXPECT_TRUE(ends_slow_start(61 * kMicrosecond, 40, config));
  EXPECT_FALSE(ends_slow_start(61 * kMicrosecond, 15, config));  // too few to tell
  config.train_gap = Duration(kMicrosecond / 2);
  EXPECT_FALSE(ends_slow_start(61 * kMicrosecond, 40, config));  // they come one by one
  config = TcpConfig();
  config.pacing = true;
  EXPECT_FALSE(ends_slow_start(120 * kMicrosecond, 40, config));
  EXPECT_TRUE(ends_slow_start(121 * kMicrosecond, 40, config));
  config = TcpConfig();
  config.control = TcpConfig::Control::dctcp;
  EXPECT_FALSE(ends_slow_start(1000 * kMicrosecond, 40, config));
}

TEST(TcpWindow, APauseHalvesTheWindowOnlyWhereAsked) {
  TcpConfig config;
  TcpWindow window;
  window.begin(config);
  window.cwnd = 100 * kSegment;
  window.pause(config, 10 * kSecond, kSecond);
  EXPECT_EQ(window.segments(), 100u);
  config.idle_restart = true;
  window.pause(config, kSecond * 5 / 2, kSecond);
  EXPECT_EQ(window.segments(), 25u);
  window.pause(config, 100 * kSecond, kSecond);
  EXPECT_EQ(window.segments(), 10u);
}

TEST(TcpWindow, TheCurveStandsStillDuringAPause) {
  const TcpConfig config;
  TcpWindow window;
  window.begin(config);
  window.cwnd = 100 * kSegment;
  window.lose(config);
  window.cwnd = window.ssthresh;
  window.grow(config, kSecond, 1, kMillisecond);
  TcpWindow paused = window;
  window.grow(config, 2 * kSecond, 70, kMillisecond);
  paused.pause(config, 3600 * kSecond, kSecond);
  paused.grow(config, 3602 * kSecond, 70, kMillisecond);
  EXPECT_EQ(paused.cwnd, window.cwnd);
  EXPECT_GT(window.cwnd, window.ssthresh);
}

}  // namespace
}  // namespace weft::transport
