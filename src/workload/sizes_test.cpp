#include "workload/sizes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace weft::workload {
namespace {

constexpr int kDraws = 200'000;

TEST(Sizes, FixedIsAlwaysTheSame) {
  const auto sizes = SizeDistribution::fixed(4096);
  Random random(1, 0, 0);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(sizes.draw(random), 4096u);
  EXPECT_EQ(sizes.mean(), 4096u);
}

TEST(Sizes, UniformReachesBothEndsAndNoFurther) {
  const auto sizes = SizeDistribution::uniform(3, 7);
  Random random(1, 0, 0);
  std::vector<int> count(10);
  for (int i = 0; i < kDraws; ++i) ++count.at(sizes.draw(random));
  for (std::size_t size = 0; size < count.size(); ++size) {
    const double expected = size >= 3 && size <= 7 ? kDraws / 5.0 : 0;
    // Five standard deviations of a count.
    EXPECT_NEAR(count[size], expected, 5 * std::sqrt(expected)) << size;
  }
}

// At every point of the table the share of smaller draws is the table's, within five standard deviations
// of a binomial count; so is the mean, with the deviation measured from the draws.
TEST(Sizes, PublishedDistributionsAreDrawnAsPublished) {
  for (const std::string& name : SizeDistribution::published_names()) {
    const auto sizes = SizeDistribution::published(name);
    ASSERT_TRUE(sizes);
    Random random(7, 0, 0);
    std::vector<std::uint64_t> drawn(kDraws);
    for (auto& each : drawn) each = sizes->draw(random);
    std::sort(drawn.begin(), drawn.end());
    EXPECT_GE(drawn.front(), 1u);
    EXPECT_LE(drawn.back(), sizes->points().back().bytes);
    double sum = 0;
    double squares = 0;
    for (const std::uint64_t each : drawn) {
      sum += static_cast<double>(each);
      squares += static_cast<double>(each) * static_cast<double>(each);
    }
    for (const auto& point : sizes->points().subspan(1)) {
      const double share = point.per_mille / 1000.0;
      const auto smaller = std::upper_bound(drawn.begin(), drawn.end(), point.bytes) - drawn.begin();
      EXPECT_NEAR(static_cast<double>(smaller), share * kDraws, 5 * std::sqrt(kDraws * share * (1 - share)))
          << name << " " << point.bytes;
    }
    const double mean = sum / kDraws;
    const double deviation = std::sqrt((squares / kDraws - mean * mean) / kDraws);
    EXPECT_NEAR(mean, static_cast<double>(sizes->mean()), 5 * deviation) << name;
  }
  EXPECT_FALSE(SizeDistribution::published("postal"));
}

// Worked out from the published points with fractions.
TEST(Sizes, PublishedMeansAreThoseOfTheTables) {
  EXPECT_EQ(SizeDistribution::published("web-search")->mean(), 1'711'250u);
  EXPECT_EQ(SizeDistribution::published("data-mining")->mean(), 12'658'199u);
  EXPECT_EQ(SizeDistribution::published("hadoop")->mean(), 120'421u);
}

// The ninth tenth as the papers print it.
TEST(Sizes, NineFlowsOfTenAreAsSmallAsPublished) {
  const auto ninth = [](const char* name) {
    const auto sizes = *SizeDistribution::published(name);
    const auto points = sizes.points();
    return std::find_if(points.begin(), points.end(), [](const auto& each) { return each.per_mille == 900; })->bytes;
  };
  EXPECT_EQ(ninth("web-search"), 5'000'000u);
  EXPECT_EQ(ninth("data-mining"), 400'000u);
  EXPECT_EQ(ninth("hadoop"), 120'000u);
}

}  // namespace
}  // namespace weft::workload
