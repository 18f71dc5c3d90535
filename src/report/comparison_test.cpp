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

// A difference may be beyond the spread of seeds and yet too small to choose by.
TEST(Comparison, ATieIsOneWhateverTheSpread) {
  EXPECT_EQ(judge({variant("a", {1000, 1000}), variant("b", {1002, 1002})}).sentence,
            "a tie between a and b: less than 0.5% apart over 2 seeds");
}

TEST(Comparison, ATieNamesAllWhoShareIt) {
  const std::string three =
      judge({variant("c", {1002}), variant("a", {1000}), variant("d", {2000}), variant("b", {1001})}).sentence;
  EXPECT_NE(three.find("a tie between a, b and c: less than 0.5% apart; one seed"), std::string::npos) << three;
  std::vector<Variant> many;
  for (int i = 0; i < 12; ++i) many.push_back(variant("v" + std::to_string(i), {1000 + i % 2}));
  EXPECT_NE(judge(many).sentence.find("v1, v3 and 4 more:"), std::string::npos) << judge(many).sentence;
}

Variant unfinished(const std::string& label) {
  Variant v = variant(label, {50});
  v.runs[0].summary.flows = 64;
  v.runs[0].summary.done = 21;
  v.runs[0].trouble = "43 of 64 flows failed";
  return v;
}

TEST(Comparison, WhoIsNotDoneCannotWinHoweverEarlyItEnded) {
  const Verdict one = judge({unfinished("a"), variant("b", {100})});
  EXPECT_EQ(one.winner, 1u);
  EXPECT_FALSE(one.next);
  EXPECT_EQ(one.sentence, "only b is done, after 100us; not done: a (43 of 64 flows failed)");
  const Verdict two = judge({variant("c", {300}), unfinished("a"), variant("b", {100})});
  EXPECT_EQ(two.winner, 2u);
  EXPECT_EQ(two.next, 0u);
  EXPECT_TRUE(two.sentence.ends_with("; not done: a (43 of 64 flows failed)")) << two.sentence;
  EXPECT_TRUE(two.sentence.starts_with("b wins: all done after 100us, 3.00x sooner than c")) << two.sentence;
  const Verdict none = judge({unfinished("a"), unfinished("b")});
  EXPECT_FALSE(none.winner);
  EXPECT_FALSE(none.same) << "though their digests are";
  EXPECT_EQ(none.sentence, "none is done: a (43 of 64 flows failed) and b (43 of 64 flows failed)");
}

TEST(Comparison, OfWhatWasInterruptedNobodyWins) {
  std::vector<Variant> variants = {variant("a", {100}), variant("b", {90}), variant("c", {10})};
  variants[2].runs[0].trouble = "interrupted, 3 of 64 flows done";
  const Verdict verdict = no_verdict(variants, {"d", "e"});
  EXPECT_FALSE(verdict.winner);
  EXPECT_FALSE(verdict.next);
  EXPECT_EQ(
      verdict.sentence,
      "none is best yet: 2 of 5 variants are done; not done: c (interrupted, 3 of 64 flows done); not run: d and e");
}

TEST(Comparison, AnUnfinishedColumnHasNoTimes) {
  const std::vector<Variant> variants = {unfinished("a"), variant("b", {100})};
  const std::string text = comparison_text(variants, 80, false);
  EXPECT_NE(text.find("all done          not done   100us\n"), std::string::npos) << text;
  EXPECT_NE(text.find("flows done        21 of 64 "), std::string::npos) << text;
  EXPECT_NE(text.find("completion p99.9         -   100us\n"), std::string::npos) << text;
  EXPECT_NE(text.find("slowdown p99             -    1.50\n"), std::string::npos) << text;
  EXPECT_EQ(tail_sentence(variants), "");
  EXPECT_EQ(comparison_text({variant("b", {100})}, 80, false).find("flows done"), std::string::npos);
  std::ostringstream out;
  write_comparison(variants, judge(variants), out);
  const auto record = nlohmann::json::parse(out.str());
  EXPECT_EQ(record["winner"], "b");
  EXPECT_TRUE(record["lead"].is_null());
  EXPECT_EQ(record["variants"][0]["trouble"], "43 of 64 flows failed");
  EXPECT_TRUE(record["variants"][0]["end_mean_ps"].is_null());
  EXPECT_EQ(record["variants"][0]["runs"][0]["flows_done"], 21);
  EXPECT_TRUE(record["variants"][0]["runs"][0]["fct_p999_ps"].is_null());
  EXPECT_TRUE(record["variants"][1]["trouble"].is_null());
}

TEST(Comparison, EqualDigestsMeanThatNothingChanged) {
  const Verdict verdict = judge({variant("a", {100, 110}), variant("b", {100, 110})});
  EXPECT_TRUE(verdict.same);
  EXPECT_EQ(verdict.sentence, "no difference: the runs are the same to the last packet");
}

TEST(Comparison, WhereFlowsArriveByThemselvesTheirSlowdownDecides) {
  std::vector<Variant> variants = {variant("a", {100, 110}), variant("b", {101, 111})};
  for (Variant& each : variants) each.info.open_loop = true;
  for (ComparedRun& run : variants[0].runs) run.summary.slowdown->p99 = 3000;
  const Verdict verdict = judge(variants);
  EXPECT_EQ(verdict.winner, 1u) << "though it ends later";
  EXPECT_EQ(verdict.measure, Measure::slowdown);
  EXPECT_TRUE(verdict.outside_spread);
  EXPECT_EQ(verdict.sentence, "b wins: slowdown p99 1.50, 2.00x lower than a; outside the spread over 2 seeds");
  const std::string text = comparison_text(variants, 0, false);
  EXPECT_LT(text.find("slowdown p99"), text.find("  at best")) << text;
  std::ostringstream out;
  write_comparison(variants, verdict, out);
  EXPECT_EQ(nlohmann::json::parse(out.str())["measure"], "slowdown_p99");

  for (Variant& each : variants)
    for (ComparedRun& run : each.runs) run.summary.slowdown.reset();
  EXPECT_NE(judge(variants).sentence.find("a wins: completion p99 105us"), std::string::npos)
      << judge(variants).sentence;
}

TEST(Comparison, WhatIsLostIsSaidBesideWhatIsFast) {
  std::vector<Variant> variants = {variant("a", {100}), variant("b", {200})};
  EXPECT_EQ(judge(variants).sentence.find("lost"), std::string::npos);
  variants[0].runs[0].summary.lost = 30;
  EXPECT_NE(judge(variants).sentence.find("; lost: a 30, b 0"), std::string::npos) << judge(variants).sentence;
}

TEST(Comparison, AStreamThatArrivesByItselfIsJudgedByItsSlowdown) {
  std::vector<Variant> variants = {variant("a", {100}), variant("b", {100})};
  for (std::size_t i = 0; i < 2; ++i) {
    StreamSummary stream;
    stream.record.name = "storage";
    stream.record.open_loop = true;
    stream.end = 100;
    stream.summary.slowdown = Quantiles{1000, i == 0 ? 4000 : 2000, 5000, 5000};
    variants[i].runs[0].streams = {stream};
  }
  const auto sentences = stream_sentences(variants);
  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_EQ(sentences[0].second, "slowdown p99 lowest with b, 2.00: 2.00x lower than a");
}

TEST(Comparison, TheTailIsComparedWithEveryoneElses) {
  EXPECT_EQ(tail_sentence({variant("slow", {1000}), variant("fast", {100}), variant("middle", {200})}),
            "fast has the lowest p99.9, 100us: 50.00% below middle, 90.00% below slow");
  EXPECT_EQ(tail_sentence({variant("a", {1000}), variant("b", {1004})}), "");
  const std::vector<Variant> many = {variant("a", {100}), variant("b", {200}), variant("c", {300}),
                                     variant("d", {400}), variant("e", {500}), variant("f", {600})};
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
  variants[1].costs.price = Price(1'500'000);
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
  EXPECT_TRUE(record["variants"][0]["purchase_usd"].is_null());
}

}  // namespace
}  // namespace weft::report
