#include "report/phases.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weft::report {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000'000;

RC_GTEST_PROP(Timeline, NothingIsLostWhateverTheTimesAndInWhateverOrderTheyAreAdded, ()) {
  const auto times =
      *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 50));
  schedule::Timeline whole;
  schedule::Timeline halves[2];
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    whole.add(Duration(times[i]), i + 1);
    halves[i % 2].add(Duration(times[i]), i + 1);
    sum += i + 1;
  }
  halves[0].add(halves[1]);
  RC_ASSERT(whole.between(Duration(0), Duration(INT64_MAX / 2)) == sum);
  for (const std::int64_t time : times)
    RC_ASSERT(halves[0].between(Duration(0), Duration(time)) == whole.between(Duration(0), Duration(time)));
}

// 100 Gb/s, at 1 ms half of it goes, at 2 ms the first have noticed, at 4 ms it is back; of the last 2 ms all.
schedule::RunResult plane_lost() {
  schedule::RunResult result;
  result.end = Duration(6 * kMillisecond);
  schedule::Failures& failures =
      result.failures.emplace(std::vector<schedule::Outage>{{Duration(1 * kMillisecond), Duration(4 * kMillisecond)}});
  failures.moved = 7;
  failures.first_moved = Duration(2 * kMillisecond);
  failures.last_moved = Duration(3 * kMillisecond);
  constexpr std::int64_t kStep = 10'000'000;
  for (std::int64_t time = 0; time < result.end.count(); time += kStep) {
    const std::int64_t gbps = time < kMillisecond       ? 100
                              : time < 2 * kMillisecond ? 25
                              : time < 4 * kMillisecond ? 50
                                                        : 100;
    failures.delivered.add(Duration(time), static_cast<std::uint64_t>(gbps * kStep / 8000));
  }
  return result;
}

TEST(Phases, AreBeforeDownMovedAndAfter) {
  const std::vector<Phase> all = phases(plane_lost());
  ASSERT_EQ(all.size(), 4u);
  const Phase::What order[] = {Phase::What::before, Phase::What::down, Phase::What::moved, Phase::What::after};
  const std::int64_t gbps[] = {100, 25, 50, 100};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(all[i].what, order[i]);
    EXPECT_NEAR(static_cast<double>(all[i].goodput) / 1e9, static_cast<double>(gbps[i]), 2) << i;
  }
  const std::string text = phases_text(plane_lost(), 80, false);
  EXPECT_NE(text.find("7 parts of messages moved to other NICs"), std::string::npos) << text;
  EXPECT_NE(text.find("noticed after 1ms to 2ms"), std::string::npos) << text;
  EXPECT_NE(text.find("50% of the goodput before is kept"), std::string::npos) << text;
}

TEST(Phases, AreNoneWhereNothingWentDownInTime) {
  schedule::RunResult result = plane_lost();
  result.failures->outages = {{Duration(7 * kMillisecond), Duration(8 * kMillisecond)}};
  EXPECT_TRUE(phases(result).empty());
  result.failures.reset();
  EXPECT_TRUE(phases(result).empty());
}

}  // namespace
}  // namespace weft::report
