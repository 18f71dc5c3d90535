#include "report/comparison.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text.hpp"

namespace weft::report {
namespace {

Variant variant(const std::string& label, const std::vector<std::int64_t>& microseconds_to_end) {
  Variant v;
  v.label = label;
  for (const std::int64_t us : microseconds_to_end) {
    ComparedRun run;
    run.seed = v.runs.size() + 1;
    run.end = us * 1'000'000;
    run.digest = static_cast<std::uint64_t>(us);
    run.summary.completion = Quantiles{run.end / 2, run.end, run.end, run.end};
    run.summary.slowdown = Quantiles{1000, 1500, 1500, 2000};
    v.runs.push_back(run);
  }
  return v;
}

TEST(Comparison, ALeadBeyondTheSpreadIsSaidToBe) {
  const Verdict verdict = judge({variant("a", {120, 130, 140}), variant("b", {100, 90, 110})});
  EXPECT_EQ(verdict.winner, 1u);
  EXPECT_DOUBLE_EQ(verdict.lead, 1.3);
  EXPECT_TRUE(verdict.outside_spread);
  EXPECT_EQ(verdict.sentence, "b wins: all done after 100us, 1.30x sooner than a; outside the spread over 3 seeds");
}

TEST(Comparison, ALeadWithinTheSpreadMayBeChance) {
  const Verdict verdict = judge({variant("a", {100, 140}), variant("b", {110, 90})});
  EXPECT_FALSE(verdict.outside_spread);
  EXPECT_NE(
      verdict.sentence.find(
          "b wins: all done after 100us, 1.20x sooner than a; within the spread over 2 seeds, so it may be chance"),
      std::string::npos)
      << verdict.sentence;
}

TEST(Comparison, OneSeedHasNoSpread) {
  const Verdict verdict = judge({variant("a", {100}), variant("b", {200})});
  EXPECT_FALSE(verdict.outside_spread);
  EXPECT_NE(verdict.sentence.find("--seeds 5"), std::string::npos);
}

TEST(Comparison, TheLastOfManyIsNamedToo) {
  const Verdict verdict =
      judge({variant("slow", {400, 401}), variant("fast", {100, 100}), variant("middle", {200, 200})});
  EXPECT_EQ(verdict.winner, 1u);
  EXPECT_EQ(verdict.next, 2u);
  EXPECT_NE(verdict.sentence.find("2.00x sooner than middle (and 4.00x sooner than slow)"), std::string::npos)
      << verdict.sentence;
}

TEST(Comparison, WhatPrintsAsNoLeadIsATie) {
  EXPECT_NE(judge({variant("a", {1000}), variant("b", {1004})}).sentence.find("a tie between a and b"),
            std::string::npos);
}

TEST(Comparison, EqualDigestsMeanThatNothingChanged) {
  const Verdict verdict = judge({variant("a", {100, 110}), variant("b", {100, 110})});
  EXPECT_TRUE(verdict.same);
  EXPECT_EQ(verdict.sentence, "no difference: the runs are the same to the last packet");
}

TEST(Comparison, TheTailIsComparedWithEveryoneElses) {
  EXPECT_EQ(tail_sentence({variant("slow", {1000}), variant("fast", {100}), variant("middle", {200})}),
            "fast has the lowest p99.9, 100us: 50.00% below middle, 90.00% below slow");
  EXPECT_EQ(tail_sentence({variant("a", {1000}), variant("b", {1004})}), "");
  const std::vector<Variant> many = {variant("a", {100}), variant("b", {200}), variant("c", {300}), variant("d", {400}), variant("e", {500}), variant("f", {600})};
  EXPECT_EQ(tail_sentence(many).find("below e"), std::string::npos);
  EXPECT_NE(tail_sentence(many).find("below d, 83.33% below f"), std::string::npos) << tail_sentence(many);
}

TEST(Comparison, DropsAreShownWhereThereAreAny) {
  std::vector<Variant> variants = {variant("a", {100}), variant("b", {200})};
  EXPECT_EQ(comparison_text(variants, 80, false).find("dropped"), std::string::npos);
  variants[1].runs[0].dropped = 12;
  EXPECT_NE(comparison_text(variants, 80, false).find("dropped"), std::string::npos);
}

TEST(Comparison, ColumnsThatDoNotFitGoBelow) {
  std::vector<Variant> variants;
  for (int i = 0; i < 9; ++i) variants.push_back(variant("a-long-name-" + std::to_string(i), {100 + i}));
  std::istringstream lines(comparison_text(variants, 80, false));
  std::size_t heads = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(display_width(line), 80u) << line;
    heads += line.find("a-long-name") != std::string::npos;
  }
  EXPECT_EQ(heads, 3u);  // four, four and one
}

TEST(Comparison, PriceAndPowerAreShownWhereKnown) {
  std::vector<Variant> variants = {variant("a", {100}), variant("b", {200})};
  EXPECT_EQ(comparison_text(variants, 80, false).find("price"), std::string::npos);
  variants[1].price = Price(1'500'000);
  const std::string text = comparison_text(variants, 80, false);
  EXPECT_NE(text.find("price                 -  $1.50/h\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("power"), std::string::npos);
}

TEST(Comparison, TheRecordHasEveryRun) {
  const std::vector<Variant> variants = {variant("a", {100, 120}), variant("b", {200, 240})};
  std::ostringstream out;
  write_comparison(variants, judge(variants), out);
  const auto record = nlohmann::json::parse(out.str());
  EXPECT_EQ(record["record"], "compare");
  EXPECT_EQ(record["winner"], "a");
  EXPECT_EQ(record["lead"], 2.0);
  EXPECT_EQ(record["outside_spread"], true);
  EXPECT_EQ(record["variants"][1]["runs"][1]["end_ps"], 240'000'000);
  EXPECT_EQ(record["variants"][0]["end_mean_ps"], 110'000'000);
  EXPECT_TRUE(record["variants"][0]["price_usd_per_hour"].is_null());
}

}  // namespace
}  // namespace weft::report
