#include "experiment/limits.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weft::experiment {
namespace {

TEST(Limits, ReadsEveryKind) {
  spec::Diagnostics diagnostics;
  const Limits limits = parse_limits("time=10ms,events=2e9,memory=4GiB,wall=60s", diagnostics);
  EXPECT_FALSE(diagnostics.has_errors());
  ASSERT_EQ(limits.size(), 4u);
  EXPECT_EQ(limits[0].kind, Limit::Kind::time);
  EXPECT_EQ(limits[0].most, 10'000'000'000);
  EXPECT_EQ(limits[0].text, "time=10ms");
  EXPECT_EQ(limits[1].most, 2'000'000'000);
  EXPECT_EQ(limits[2].most, std::int64_t{4} << 30);
  EXPECT_EQ(limits[3].most, 60'000'000'000'000);
  EXPECT_TRUE(parse_limits("", diagnostics).empty());
}

std::string error(const std::string& text) {
  spec::Diagnostics diagnostics;
  parse_limits(text, diagnostics);
  return spec::render_text(diagnostics, false);
}

TEST(Limits, SaysWhatWouldBeRight) {
  EXPECT_NE(error("tine=10ms").find("did you mean time?"), std::string::npos);
  EXPECT_NE(error("speed=3").find("limits are time, events, memory or wall"), std::string::npos);
  EXPECT_NE(error("time=10").find("for example --limit time=10ms"), std::string::npos);
  EXPECT_NE(error("time").find("for example --limit time=10ms"), std::string::npos);
  EXPECT_NE(error("events=1.5").find("for example --limit events=1e9"), std::string::npos);
  EXPECT_NE(error("events=0").find("--limit cannot be 'events=0'"), std::string::npos);
  EXPECT_NE(error("events=1e19").find("--limit cannot be"), std::string::npos);
  EXPECT_NE(error("events=0e999999999999").find("--limit cannot be"), std::string::npos) << "and takes no time";
  EXPECT_NE(error("wall=1s,wall=2s").find("gives wall twice"), std::string::npos);
  EXPECT_NE(error("time=1ms,").find("--limit has no ''"), std::string::npos);
}

TEST(Limits, AllFaultsAreNamedAtOnce) {
  const std::string text = error("tine=1ms,memory=big");
  EXPECT_NE(text.find("tine"), std::string::npos);
  EXPECT_NE(text.find("big"), std::string::npos);
}

RC_GTEST_PROP(Limits, AnyTextIsALimitOrAError, (const std::string& text)) {
  spec::Diagnostics diagnostics;
  const Limits limits = parse_limits(text, diagnostics);
  RC_ASSERT(text.empty() || diagnostics.has_errors() || !limits.empty());
  for (const Limit& limit : limits) RC_ASSERT(limit.most > 0);
}

}  // namespace
}  // namespace weft::experiment
