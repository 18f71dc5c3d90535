#include "app/collective_jobs.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace weft::app {
namespace {

using Gpus = std::vector<std::uint32_t>;

Gpus gpus(const std::string& text, std::uint32_t count = 256) {
  spec::Diagnostics diagnostics;
  Gpus made = parse_gpus(text, count, diagnostics);
  EXPECT_EQ(made.empty(), diagnostics.has_errors()) << text;
  return made;
}

TEST(CollectiveJobs, GpusAreNumbersRangesAndStrides) {
  EXPECT_EQ(gpus("3"), Gpus{3});
  EXPECT_EQ(gpus("4..6,0"), (Gpus{0, 4, 5, 6}));
  EXPECT_EQ(gpus("0..31/8"), (Gpus{0, 8, 16, 24}));
  EXPECT_EQ(gpus("1..31/8x2"), (Gpus{1, 2, 9, 10, 17, 18, 25, 26}));
  EXPECT_EQ(gpus("0..255/128x3"), (Gpus{0, 1, 2, 128, 129, 130}));
  for (const char* wrong : {"", ",", "a", "1..", "..1", "3..1", "0..7/", "0..7/0", "0..7/2x3", "0..7/2x0", "0..7/2x", "256",
                            "0..256", "1,1", "0..3,2", "99999999999", "-1", "1 2"})
    EXPECT_TRUE(gpus(wrong).empty()) << wrong;
}

TEST(CollectiveJobs, SizesWithoutAUnitAreBytes) {
  EXPECT_EQ(bare_as_bytes("8..4GiB"), "8B..4GiB");
  EXPECT_EQ(bare_as_bytes("8..1024"), "8B..1024B");
  EXPECT_EQ(bare_as_bytes("[1024, 1.5MiB, 2kB]"), "[1024B, 1.5MiB, 2kB]");
  EXPECT_EQ(bare_as_bytes("8B..8GiB,16"), "8B..8GiB,16B");
  EXPECT_EQ(bare_as_bytes("web-search"), "web-search");
  EXPECT_EQ(bare_as_bytes(""), "");
}

// Whatever is given: no GPU that is not there, none twice, or a complaint.
RC_GTEST_PROP(CollectiveJobs, AnyTextNamesGpusOrIsRefused, (const std::string& drawn)) {
  const std::string alphabet = "0123456789../,x";
  std::string text;
  for (const char each : drawn) text += alphabet[static_cast<unsigned char>(each) % alphabet.size()];
  spec::Diagnostics diagnostics;
  const Gpus made = parse_gpus(text, 64, diagnostics);
  RC_ASSERT(made.empty() == diagnostics.has_errors());
  RC_ASSERT(std::is_sorted(made.begin(), made.end()));
  RC_ASSERT(std::adjacent_find(made.begin(), made.end()) == made.end());
  RC_ASSERT((made.empty() || made.back() < 64));
}

TEST(CollectiveJobs, SkewIsBetweenTheFirstAndTheLast) {
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
}  // namespace weft::app
