#include "dst/dst.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <sstream>

namespace weft::dst {
namespace {

TEST(Dst, FiveHundredSeedsAndThoseThatOnceFailed) {
  Options options;
  if (const char* first = std::getenv("DST_FIRST")) options.first_seed = std::strtoull(first, nullptr, 10);
  if (const char* seeds = std::getenv("DST_SEEDS")) options.seeds = std::strtoull(seeds, nullptr, 10);
  options.verbose = std::getenv("DST_VERBOSE") != nullptr;
  const Summary summary = run(options, std::cout);
  EXPECT_EQ(summary.failed, 0u);
  EXPECT_GE(summary.seeds, options.seeds);
}

TEST(Dst, EqualSeedsGiveEqualDigestsAndOthersDoNot) {
  for (const std::uint64_t seed : {3u, 14u, 159u}) {
    EXPECT_EQ(run_seed(seed, false).digest, run_seed(seed, false).digest);
    EXPECT_NE(run_seed(seed, false).digest, run_seed(seed + 1, false).digest);
  }
}

// A harness that finds nothing proves nothing: acknowledgements that claim too much must be noticed soon.
TEST(Dst, TheCanaryIsFound) {
  Options options;
  options.seeds = 20;
  options.canary = true;
  std::ostringstream out;
  const Summary summary = run(options, out);
  EXPECT_GT(summary.failed, 5u);
  EXPECT_NE(out.str().find(" FAILED: "), std::string::npos);
  EXPECT_NE(out.str().find("--first-seed " + std::to_string(summary.first_failed) + " --seeds 1 --verbose --canary"), std::string::npos) << out.str();
}

}  // namespace
}  // namespace weft::dst
