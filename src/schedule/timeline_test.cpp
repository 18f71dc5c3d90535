#include "schedule/timeline.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weft::schedule {
namespace {

constexpr std::int64_t kWidth = 1 << 16;
constexpr std::int64_t kLong = kWidth * static_cast<std::int64_t>(Timeline::kIntervals);

TEST(Timeline, CountsWhatCameBetweenTwoTimes) {
  Timeline line;
  line.add(Duration(0), 100);
  line.add(Duration(kWidth - 1), 100);
  line.add(Duration(kWidth), 1000);
  EXPECT_EQ(line.between(Duration(0), Duration(kWidth)), 200u);
  EXPECT_EQ(line.between(Duration(kWidth), Duration(2 * kWidth)), 1000u);
  EXPECT_EQ(line.between(Duration(2 * kWidth), Duration(kLong)), 0u);
  EXPECT_EQ(line.between(Duration(0), Duration(kWidth / 2)), 100u) << "half of an interval has half of it";
  EXPECT_EQ(line.between(Duration(kWidth / 2), Duration(kWidth + kWidth / 10)), 199u) << "what is cut is rounded down";
  EXPECT_EQ(line.between(Duration(kWidth), Duration(kWidth)), 0u);
}

TEST(Timeline, WhereNothingComesNothingIsKept) {
  Timeline line;
  line.add(Duration(kWidth), 1);
  line.add(Duration(1000 * kLong), 10);
  EXPECT_EQ(line.between(Duration(kWidth), Duration(2 * kWidth)), 1u) << "no wider, however long nothing came";
  EXPECT_EQ(line.between(Duration(1000 * kLong), Duration(1000 * kLong + kWidth)), 10u);
}

TEST(Timeline, IntervalsWidenWhenThereAreMany) {
  Timeline line;
  const auto many = static_cast<std::int64_t>(Timeline::kIntervals);
  for (std::int64_t i = 0; i < many; ++i) line.add(Duration(i * kWidth), 1);
  EXPECT_EQ(line.between(Duration(kWidth), Duration(2 * kWidth)), 1u) << "the last that fits";
  line.add(Duration(many * kWidth), 100);
  EXPECT_EQ(line.between(Duration(0), Duration(2 * kWidth)), 2u);
  EXPECT_EQ(line.between(Duration(kWidth), Duration(kWidth + kWidth / 2)), 0u) << "a quarter of two, rounded down";
  EXPECT_EQ(line.between(Duration(many * kWidth), Duration((many + 2) * kWidth)), 100u);
  EXPECT_EQ(line.between(Duration(0), Duration(2 * kLong)), Timeline::kIntervals + 100);
}

// However much comes later, and however long it takes.
TEST(Timeline, WhatCameBeforeACutIsToldExactly) {
  constexpr std::int64_t kCut = 10 * kWidth + 7;
  Timeline line({Duration(kCut)});
  line.add(Duration(3), 1000);
  line.add(Duration(kCut - 1), 7);
  for (std::int64_t time = kCut; time < 100 * kLong; time += kWidth * 5) line.add(Duration(time), 1);
  EXPECT_EQ(line.between(Duration(0), Duration(kCut)), 1007u);
}

RC_GTEST_PROP(Timeline, DoesNotDependOnTheOrderOrOnWhoCounted, ()) {
  using Came = std::vector<std::pair<std::int64_t, std::uint64_t>>;
  const auto came =
      *rc::gen::container<Came>(rc::gen::pair(rc::gen::inRange<std::int64_t>(0, 8 * kLong), rc::gen::inRange(0u, 99u)));
  const auto drawn = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 8 * kLong));
  std::vector<Duration> cuts;
  for (const std::int64_t cut : drawn) cuts.push_back(Duration(cut));
  Timeline one(cuts);
  Timeline first(cuts);
  Timeline second(cuts);
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < 2100; ++i) {  // enough to widen
    one.add(Duration((2099 - i) * kWidth), 1);
    (i % 7 < 3 ? first : second).add(Duration(i * kWidth), 1);
    ++sum;
  }
  for (std::size_t i = 0; i < came.size(); ++i) {
    one.add(Duration(came[came.size() - 1 - i].first), came[came.size() - 1 - i].second);
    (i % 3 == 0 ? first : second).add(Duration(came[i].first), came[i].second);
    sum += came[i].second;
  }
  first.add(second);
  RC_ASSERT(one.between(Duration(0), Duration(16 * kLong)) == sum);
  for (std::int64_t at = 0; at < kLong; at += kLong / 16)
    RC_ASSERT(one.between(Duration(at), Duration(at + kLong / 16)) ==
              first.between(Duration(at), Duration(at + kLong / 16)));
}

}  // namespace
}  // namespace weft::schedule
