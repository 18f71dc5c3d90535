#include "experiment/collectives.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::experiment {
namespace {

TEST(Collectives, SkewIsBetweenTheFirstAndTheLast) {
  spec::Diagnostics diagnostics;
  CollectiveJob job;
  job.skew = nanoseconds(700);
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const collective::Conditions made = conditions_of(job, 16, seed, diagnostics);
    ASSERT_EQ(made.starts.size(), 16u);
    const auto [first, last] = std::minmax_element(made.starts.begin(), made.starts.end());
    EXPECT_EQ(*first, Duration(0));
    EXPECT_EQ(*last, nanoseconds(700));
    EXPECT_GT(std::count_if(made.starts.begin(), made.starts.end(),
                            [](Duration each) { return each.count() > 0 && each < nanoseconds(700); }),
              10);
  }
  EXPECT_FALSE(diagnostics.has_errors());
}

}  // namespace
}  // namespace weft::experiment
