// The fluid of DCQCN senders on one link, by itself; sim/packet/dcqcn_on_fabric_test.cpp compares it with packets.

#include "transport/roce/crowd.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::transport {
namespace {

constexpr std::uint64_t kLine = 400'000'000'000;  // bits/s
constexpr std::uint64_t kMegabyte = 1'000'000;    // 20 us of it

Roce senders(RoceConfig::Control control = RoceConfig::Control::dcqcn) {
  RoceConfig config;
  config.control = control;
  config.packet_time = Duration(8 * 4158 * 1'000 / 400);
  config.base_rtt = microseconds(4);
  return Roce(config);
}

Crowd crowd(std::uint32_t flows, std::uint64_t bytes, std::uint64_t most = kLine, std::uint64_t chunk = 0) {
  Crowd made;
  made.flows.assign(flows, {bytes, most, chunk, chunk});
  made.rate = kLine;
  made.mark_from = nanoseconds(800);
  made.mark_to = nanoseconds(3200);
  return made;
}

// Of all draws, us.
double mean_end(const std::vector<std::vector<Duration>>& draws) {
  double sum = 0;
  for (const auto& draw : draws) sum += static_cast<double>(std::max_element(draw.begin(), draw.end())->count()) / 1e6;
  return sum / static_cast<double>(draws.size());
}

TEST(Crowd, WhatNobodyMeetsTakesItsTime) {
  const auto draws = ends_of(senders(), crowd(1, 10 * kMegabyte));
  EXPECT_EQ(draws.size(), kCrowdDraws);
  EXPECT_NEAR(mean_end(draws), 200, 1);
}

TEST(Crowd, SendersWithoutControlShareTheLinkAndLoseNothing) {
  const auto draws = ends_of(senders(RoceConfig::Control::none), crowd(4, 10 * kMegabyte));
  EXPECT_EQ(draws.size(), 1u);
  EXPECT_NEAR(mean_end(draws), 800, 2);
}

// Before a CNP has come back nothing is lost; then four lose more than half of the link, and two a tenth; in the long
// run rates come back.
TEST(Crowd, TheMoreMeetTheMoreIsLostAndNotAtOnce) {
  EXPECT_NEAR(mean_end(ends_of(senders(), crowd(4, kMegabyte / 4))), 20, 2);
  const double two = mean_end(ends_of(senders(), crowd(2, 16 * kMegabyte))) / 640;
  const double four = mean_end(ends_of(senders(), crowd(4, 16 * kMegabyte))) / 1280;
  EXPECT_GT(two, 1.05);
  EXPECT_LT(two, 1.25);
  EXPECT_GT(four, 2);
  EXPECT_LT(mean_end(ends_of(senders(), crowd(4, 64 * kMegabyte))) / 5120, four - 0.5);
}

// Three that want a quarter of the link each, a little at a time, have it.
TEST(Crowd, ThoseThatWantLessThanTheirSharesGetIt) {
  const auto draws = ends_of(senders(), crowd(3, 5 * kMegabyte, kLine / 4, 8'000));
  EXPECT_NEAR(mean_end(draws), 400, 4);
}

// Beyond 20 ms all goes on as in their second half.
TEST(Crowd, LongTransfersGoOnAtTheirPace) {
  const double half = mean_end(ends_of(senders(), crowd(2, 1000 * kMegabyte)));
  const double whole = mean_end(ends_of(senders(), crowd(2, 2000 * kMegabyte)));
  EXPECT_NEAR(whole, 2 * half, 0.02 * whole);
  EXPECT_GT(half, 40'000);
  EXPECT_LT(half, 50'000);
}

}  // namespace
}  // namespace weft::transport
