#include "dst/dst.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <sstream>

namespace weft::dst {
namespace {

TEST(Dst, FiveHundredSeedsAndThoseThatOnceFailed) {
  const Options options;
  const Summary summary = run(options, std::cout);
  EXPECT_EQ(summary.failed, 0u);
  EXPECT_GE(options.seeds, 500u);
  EXPECT_GT(summary.seeds, options.seeds);
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
  EXPECT_NE(out.str().find("--first-seed " + std::to_string(summary.first_failed) + " --seeds 1 --verbose --canary"),
            std::string::npos)
      << out.str();
}

}  // namespace
}  // namespace weft::dst
