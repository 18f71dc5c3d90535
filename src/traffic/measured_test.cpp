#include "traffic/measured.hpp"

#include <gtest/gtest.h>

#include "net/node.hpp"

namespace weft::traffic {
namespace {

using net::kMillisecond;

// Messages of 1000 bytes at 5, 6, 30 and 44 ms: the longest gap is the second, a millisecond after the first came.
Measured four() {
  Measured out;
  for (const Instant at : {5, 6, 30, 44}) out.add(at * kMillisecond, 1000);
  return out;
}

TEST(Measured, KeepsTheLongestGapAndWhenItBegan) {
  const Measured measured = four();
  EXPECT_EQ(measured.messages, 4u);
  EXPECT_EQ(measured.bytes, 4000u);
  EXPECT_EQ(measured.first, 5 * kMillisecond);
  EXPECT_EQ(measured.last, 44 * kMillisecond);
  EXPECT_EQ(measured.longest_gap, microseconds(24'000));
  EXPECT_EQ(measured.gap_at, microseconds(1'000));
}

// 10 ms each from the first message on: at 0 and 1, 25, 39.
TEST(Measured, CountsBytesByInterval) {
  EXPECT_EQ(four().intervals, (std::vector<std::uint64_t>{2000, 0, 1000, 1000}));
  Measured edge;
  edge.add(kMillisecond, 1);
  edge.add(11 * kMillisecond, 2);  // just behind the first interval
  EXPECT_EQ(edge.intervals, (std::vector<std::uint64_t>{1, 2}));
}

// Nobody knows when the first began: three messages in 39 ms.
TEST(Measured, TheFirstMessageIsNoPartOfTheRate) {
  EXPECT_DOUBLE_EQ(four().rate(1000), 3000 * 8 / 39e-3);
  Measured one;
  one.add(kMillisecond, 1000);
  EXPECT_EQ(one.rate(1000), 0);
  EXPECT_EQ(Measured{}.rate(1000), 0);
}

TEST(Measured, SeveralSendersAreOneRun) {
  Measured other;
  for (const Instant at : {2, 41}) other.add(at * kMillisecond, 500);
  other.wrong = 3;
  other.repeated = 4;
  Measured all;
  all.merge(four(), false);
  all.merge(other, false);
  EXPECT_EQ(all.messages, 6u);
  EXPECT_EQ(all.bytes, 5000u);
  EXPECT_EQ(all.wrong, 3u);
  EXPECT_EQ(all.repeated, 4u);
  EXPECT_EQ(all.first, 2 * kMillisecond);
  EXPECT_EQ(all.last, 44 * kMillisecond);
  EXPECT_EQ(all.longest_gap, microseconds(39'000));
  EXPECT_EQ(all.gap_at, Duration(0));
  EXPECT_TRUE(all.intervals.empty());
  all.merge(four(), false);  // whose gap is shorter
  EXPECT_EQ(all.longest_gap, microseconds(39'000));
  EXPECT_EQ(all.gap_at, Duration(0));
  Measured alone;
  alone.merge(four(), true);
  EXPECT_EQ(alone.intervals, four().intervals);
}

TEST(Measured, ComesBackFromItsText) {
  Measured given = four();
  given.wrong = 7;
  given.repeated = 8;
  Measured read;
  ASSERT_TRUE(from_json(to_json(given), read));
  EXPECT_EQ(read.messages, given.messages);
  EXPECT_EQ(read.bytes, given.bytes);
  EXPECT_EQ(read.wrong, 7u);
  EXPECT_EQ(read.repeated, 8u);
  EXPECT_EQ(read.first, given.first);
  EXPECT_EQ(read.last, given.last);
  EXPECT_EQ(read.longest_gap, given.longest_gap);
  EXPECT_EQ(read.gap_at, given.gap_at);
  EXPECT_EQ(read.intervals, given.intervals);
}

TEST(Measured, WhatLacksAFigureIsNone) {
  const std::string whole = to_json(four());
  Measured read;
  for (const std::string name :
       {"messages", "bytes", "wrong", "repeated", "first", "last", "longest_gap", "gap_at", "intervals"}) {
    std::string without = whole;
    const auto at = without.find('"' + name + '"');
    ASSERT_NE(at, std::string::npos) << name;
    without.replace(at + 1, 1, "_");
    EXPECT_FALSE(from_json(without, read)) << without;
  }
  for (const char* text : {"", "[]", "7", "{}", "{\"messages\":"}) EXPECT_FALSE(from_json(text, read)) << text;
  std::string negative = whole;
  const auto at = negative.find("2000,0");
  ASSERT_NE(at, std::string::npos);
  negative.insert(at, 1, '-');
  EXPECT_FALSE(from_json(negative, read)) << negative;
}

TEST(Measured, APercentileIsOneOfTheValues) {
  std::vector<Duration> none;
  EXPECT_EQ(percentile(none, 0.5), Duration(0));
  std::vector<Duration> ten;
  for (const int i : {7, 1, 10, 4, 2, 9, 3, 8, 6, 5}) ten.emplace_back(i);
  EXPECT_EQ(percentile(ten, 0), Duration(1));
  EXPECT_EQ(percentile(ten, 0.5), Duration(6));
  EXPECT_EQ(percentile(ten, 0.99), Duration(10));
  EXPECT_EQ(percentile(ten, 1), Duration(10));
}

}  // namespace
}  // namespace weft::traffic
