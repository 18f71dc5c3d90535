#include "dst/dst.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "dst/regressions.hpp"
#include "dst/scenario.hpp"

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
  for (const Subject& each : subjects())
    for (const std::uint64_t seed : {3u, 14u, 159u}) {
      const std::uint64_t digest = run_seed(each, seed, false).digest;
      EXPECT_EQ(digest, run_seed(each, seed, false).digest) << each.name();
      EXPECT_NE(digest, run_seed(each, seed + 1, false).digest) << each.name();
    }
}

TEST(Dst, SeedsAreSharedOutOverTheTransports) {
  Options options;
  options.first_seed = 100;
  options.seeds = 2 * subjects().size();
  options.verbose = true;
  std::ostringstream out;
  run(options, out);
  for (const Protocol each : tested()) {
    std::size_t worlds = 0;
    for (std::size_t at = 0; (at = out.str().find(fmt::format("; {}: ", name_of(each)), at)) != std::string::npos; ++at)
      ++worlds;
    const auto once_failed = std::count_if(kRegressions.begin(), kRegressions.end(),
                                           [&](const Regression& regression) { return regression.transport == each; });
    EXPECT_EQ(worlds, 2u + static_cast<std::size_t>(once_failed)) << name_of(each);
  }
}

// A harness that finds nothing proves nothing: acknowledgements that claim too much must be noticed soon.
TEST(Dst, TheCanaryOfEachTransportAndOfMessagesIsFound) {
  for (const Subject& each : subjects()) {
    Options options;
    options.subject = each;
    options.seeds = 20;
    options.canary = true;
    std::ostringstream out;
    const Summary summary = run(options, out);
    EXPECT_GT(summary.failed, 5u) << each.name();
    EXPECT_NE(out.str().find(" FAILED: "), std::string::npos);
    EXPECT_NE(out.str().find(fmt::format("--transport {} --first-seed {} --seeds 1 --verbose --canary", each.name(),
                                         summary.first_failed)),
              std::string::npos)
        << out.str();
  }
}

}  // namespace
}  // namespace weft::dst
