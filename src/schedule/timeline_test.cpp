#include "schedule/timeline.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weft::schedule {
namespace {

constexpr std::int64_t kWidth = 1 << 16;
constexpr std::int64_t kLong = kWidth * static_cast<std::int64_t>(Timeline::kIntervals);

TEST(Timeline, CountsWhatCameBetweenTwoTimes) {
  Timeline line;
  line.add(0, 100);
  line.add(kWidth - 1, 100);
  line.add(kWidth, 1000);
  EXPECT_EQ(line.width(), kWidth);
  EXPECT_EQ(line.between(0, kWidth), 200u);
  EXPECT_EQ(line.between(kWidth, 2 * kWidth), 1000u);
  EXPECT_EQ(line.between(2 * kWidth, kLong), 0u);
  EXPECT_EQ(line.between(0, kWidth / 2), 100u) << "half of an interval has half of it";
  EXPECT_EQ(line.between(kWidth / 2, kWidth + kWidth / 10), 199u) << "what is cut is rounded down";
  EXPECT_EQ(line.between(kWidth, kWidth), 0u);
}

TEST(Timeline, GrowsWithTime) {
  Timeline line;
  line.add(kWidth, 1);
  line.add(3 * kWidth, 10);
  line.add(kLong - 1, 100);
  EXPECT_EQ(line.width(), kWidth) << "the last moment that fits";
  line.add(kLong, 1000);
  EXPECT_EQ(line.width(), 2 * kWidth);
  EXPECT_EQ(line.between(0, 2 * kWidth), 1u);
  EXPECT_EQ(line.between(2 * kWidth, 4 * kWidth), 10u);
  EXPECT_EQ(line.between(kLong - 2 * kWidth, kLong), 100u);
  EXPECT_EQ(line.between(kLong, kLong + 2 * kWidth), 1000u);
  EXPECT_EQ(line.between(0, 2 * kLong), 1111u);
}

RC_GTEST_PROP(Timeline, DoesNotDependOnTheOrderOrOnWhoCounted, ()) {
  using Came = std::vector<std::pair<std::int64_t, std::uint64_t>>;
  const auto came =
      *rc::gen::container<Came>(rc::gen::pair(rc::gen::inRange<std::int64_t>(0, 8 * kLong), rc::gen::inRange(0u, 99u)));
  Timeline one;
  Timeline first;
  Timeline second;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < came.size(); ++i) {
    one.add(came[came.size() - 1 - i].first, came[came.size() - 1 - i].second);
    (i % 3 == 0 ? first : second).add(came[i].first, came[i].second);
    sum += came[i].second;
  }
  first.add(second);
  RC_ASSERT(first.width() == one.width());
  RC_ASSERT(one.between(0, 16 * kLong) == sum);
  for (std::int64_t at = 0; at < kLong; at += kLong / 16)
    RC_ASSERT(one.between(at, at + kLong / 16) == first.between(at, at + kLong / 16));
}

}  // namespace
}  // namespace weft::schedule
