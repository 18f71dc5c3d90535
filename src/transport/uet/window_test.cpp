#include "transport/uet/window.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.hpp"
#include "transport/testing_times.hpp"
#include "transport/uet/paths.hpp"

namespace weft::transport {
namespace {

// The reference network of the specification, 100 Gb/s times 12 us, in packets of 1000 bytes: 150 fill the round trip.
UetConfig reference() {
  UetConfig config;
  config.payload = 1000;
  config.header = 0;
  config.packet_time = nanoseconds(80);
  config.base_rtt = microseconds(12);
  config.target_delay = microseconds(9);
  return config;
}

struct UetWindowTest : ::testing::Test {
  UetWindowTest() {
    window.begin(rules);
    window.bytes = 100'000;
    window.last_adjust = now;  // so that the constant increase stays away
  }
  UetWindowRules rules{reference(), 255};
  UetWindow window;
  Instant now = 1000 * kMicrosecond;

  // A window's worth in nine steps, each enough for increases to take effect.
  void round_trip(bool marked, Instant delay) {
    const std::uint32_t step = window.bytes / 9;
    for (int i = 0; i < 9; ++i) window.on_ack(rules, now, marked, delay, step, window.bytes);
  }
};

TEST_F(UetWindowTest, RulesForTheReferenceNetworkAreThePublishedNumbers) {
  EXPECT_EQ(rules.fair, 5000u);          // five packets
  EXPECT_EQ(rules.proportional, 3000u);  // four, times 9/12
  EXPECT_EQ(rules.constant, 150u);       // 15 % of one
  EXPECT_EQ(rules.fast, 64u);            // a quarter
  EXPECT_EQ(rules.most_of(12 * kMicrosecond), 225'000u);
  EXPECT_EQ(rules.most_of(6 * kMicrosecond), 112'500u);
  UetConfig faster = reference();
  faster.packet_time = faster.packet_time / 4;
  EXPECT_EQ(UetWindowRules(faster, 255).fair, 20'000u);
}

TEST_F(UetWindowTest, UnmarkedWithLittleDelayItGrowsByTheRoomLeft) {
  round_trip(false, 2 * kMicrosecond);
  EXPECT_NEAR(window.bytes, 100'000 + 3000 * 7 / 9, 50);
  window.bytes = 100'000;
  round_trip(false, 8 * kMicrosecond);
  EXPECT_NEAR(window.bytes, 100'000 + 3000 / 9, 50);
}

TEST_F(UetWindowTest, UnmarkedWithMuchDelayItGrowsByAFairShare) {
  round_trip(false, 10 * kMicrosecond);
  EXPECT_NEAR(window.bytes, 105'000, 200);
}

TEST_F(UetWindowTest, MarkedWithLittleDelayItStays) {
  round_trip(true, 8 * kMicrosecond);
  EXPECT_EQ(window.bytes, 100'000u);
}

TEST_F(UetWindowTest, MarkedWithMuchDelayItShrinksByTheExcessOncePerRoundTrip) {
  window.mean_delay = 12 * kMicrosecond;
  round_trip(true, 12 * kMicrosecond);
  EXPECT_NEAR(window.bytes, 80'000, 400);  // by 80 % of a quarter
  now += 12 * kMicrosecond;
  round_trip(true, 12 * kMicrosecond);
  EXPECT_NEAR(window.bytes, 80'000, 400);
  now += 1;
  round_trip(true, 12 * kMicrosecond);
  EXPECT_NEAR(window.bytes, 64'000, 400);
}

TEST_F(UetWindowTest, NoDecreaseTakesMoreThanHalf) {
  window.mean_delay = 1000 * kMicrosecond;
  window.on_ack(rules, now, true, 12 * kMicrosecond, 1000, 0);
  EXPECT_EQ(window.bytes, 50'000u);
}

TEST_F(UetWindowTest, AfterARoundTripWithoutDelayItGrowsByAQuarter) {
  round_trip(false, 0);
  EXPECT_LT(window.bytes, 104'000u);
  window.bytes = 100'000;
  round_trip(false, 0);
  EXPECT_NEAR(window.bytes, 125'000, 4000);
  window.bytes = 100'000;
  window.on_ack(rules, now, false, kMicrosecond, 1000, 0);  // the least delay ends it
  round_trip(false, 0);
  EXPECT_LT(window.bytes, 104'000u);
}

TEST_F(UetWindowTest, ATrimmedPacketCostsItsSize) {
  window.on_trim(rules, now, 100'000);
  EXPECT_EQ(window.bytes, 99'000u);
}

TEST_F(UetWindowTest, WhereLittleArrivesQuickAdaptSetsTheWindowToIt) {
  window.on_trim(rules, now, 100'000);  // opens the round trip that is judged
  window.on_ack(rules, now, true, 0, 7000, 90'000);
  now += 21 * kMicrosecond + 1;
  window.on_trim(rules, now, 80'000);
  EXPECT_EQ(window.bytes, 7000u);
  // What was in flight then says nothing new.
  window.on_trim(rules, now, 70'000);
  window.on_ack(rules, now, true, 100 * kMicrosecond, 9000, 60'000);
  EXPECT_EQ(window.bytes, 7000u);
}

TEST_F(UetWindowTest, WhereEnoughArrivesQuickAdaptDoesNothing) {
  window.on_trim(rules, now, 100'000);
  window.on_ack(rules, now, true, 0, 225'000 / 8 + 1, 90'000);
  now += 21 * kMicrosecond + 1;
  window.on_trim(rules, now, 80'000);
  EXPECT_EQ(window.bytes, 98'000u);
}

TEST_F(UetWindowTest, APauseIsNotLittleArriving) {
  window.on_trim(rules, now, 100'000);
  now += 1000 * kMicrosecond;
  window.resume();
  window.on_ack(rules, now, true, 0, 1000, 0);
  EXPECT_EQ(window.bytes, 99'150u);  // the constant increase is due
}

TEST_F(UetWindowTest, AShorterRoundTripLowersTheGreatestWindow) {
  EXPECT_EQ(window.sample(rules, 6 * kMicrosecond, false), 0);
  EXPECT_EQ(window.most, 112'500u);
  EXPECT_EQ(window.sample(rules, 8 * kMicrosecond, false), 2 * kMicrosecond);
}

TEST_F(UetWindowTest, TheMeanDelayTakesALongWaitWithoutAMarkForAShortOne) {
  window.sample(rules, 32 * kMicrosecond, true);
  EXPECT_EQ(window.mean_delay, 20 * kMicrosecond / 80);
  window.mean_delay = 0;
  window.sample(rules, 32 * kMicrosecond, false);
  EXPECT_EQ(window.mean_delay, 3 * kMicrosecond / 80);
}

RC_GTEST_PROP(UetWindowProperty, ItStaysWithinItsBounds, ()) {
  UetConfig config = reference();
  config.base_rtt = Duration(*rc::gen::inRange<Instant>(1, Instant{1} << 32));
  config.packet_time = Duration(*rc::gen::inRange<Instant>(1, 100 * kMicrosecond));
  config.target_delay = Duration(*rc::gen::inRange<Instant>(1, 2 * config.base_rtt.count() + 1));
  const UetWindowRules rules(config, 255);
  UetWindow window;
  window.begin(rules);
  Random random(*rc::gen::arbitrary<std::uint64_t>(), 1, 1);
  Instant now = 0;
  for (int i = 0; i < 500; ++i) {
    now += random.below(1u << random.below(31));
    const std::uint32_t acked = random.below(255) * rules.packet;
    const std::uint32_t what = random.below(5);
    if (what == 0) window.on_trim(rules, now, acked);
    if (what == 1) window.on_loss(rules);
    Instant delay = window.mean_delay;
    if (what > 1) delay = window.sample(rules, random.below(1u << random.below(31)) + 1, random.below(2) == 0);
    if (what > 2) window.on_ack(rules, now, random.below(2) == 0, delay, acked, acked);
    RC_ASSERT(delay >= 0);
    RC_ASSERT(window.bytes >= rules.packet);
    RC_ASSERT(window.bytes <= rules.most_bytes);
  }
}

// ---- entropies

TEST(UetPaths, EachRoundTakesEveryEntropyOnce) {
  UetConfig config;
  UetPaths paths;
  paths.begin(17);
  std::uint64_t reused = 0;
  for (int round = 0; round < 3; ++round) {
    std::uint64_t seen = 0;
    for (int i = 0; i < 64; ++i) seen |= std::uint64_t{1} << paths.choose(config, UetPaths::kNone, reused);
    EXPECT_EQ(seen, ~std::uint64_t{0});
  }
  EXPECT_EQ(reused, 0u);
}

TEST(UetPaths, GoodOnesComeBackInOrderAndTheOldestGiveWay) {
  UetConfig config;
  UetPaths paths;
  paths.begin(17);
  for (std::uint32_t path = 20; path < 30; ++path) paths.good(config, path);
  std::uint64_t reused = 0;
  for (std::uint32_t path = 22; path < 30; ++path) EXPECT_EQ(paths.choose(config, UetPaths::kNone, reused), path);
  EXPECT_EQ(reused, 8u);
  paths.choose(config, UetPaths::kNone, reused);
  EXPECT_EQ(reused, 8u);
}

TEST(UetPaths, BadOnesArePassedOverForAsManyRoundsAsTheyArePenalised) {
  UetConfig config;
  UetPaths paths;
  paths.begin(17);
  paths.bad(config, 5, 4);
  std::uint64_t reused = 0;
  int others = 0;
  while (paths.choose(config, UetPaths::kNone, reused) != 5) ++others;
  EXPECT_GE(others, 4 * 63);
  EXPECT_LT(others, 5 * 64);
}

RC_GTEST_PROP(UetPathsProperty, WhatFailedIsNotTakenForTheNextTry, ()) {
  UetConfig config;
  config.paths = *rc::gen::inRange<std::uint32_t>(2, 65);
  UetPaths paths;
  paths.begin(*rc::gen::arbitrary<std::uint64_t>());
  Random random(*rc::gen::arbitrary<std::uint64_t>(), 1, 1);
  std::uint64_t reused = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t path = random.below(config.paths);
    if (random.below(2) == 0) paths.good(config, random.below(config.paths));
    if (random.below(2) == 0) paths.bad(config, path, random.below(16));
    const std::uint32_t chosen = paths.choose(config, path, reused);
    RC_ASSERT(chosen != path);
    RC_ASSERT(chosen < config.paths);
  }
}

}  // namespace
}  // namespace weft::transport
