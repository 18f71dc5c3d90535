#include "report/verdict.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/testing_variant.hpp"

namespace weft::report {
namespace {

TEST(Verdict, ALeadBeyondTheSpreadIsSaidToBe) {
  const Verdict verdict = judge({variant("a", {120, 130, 140}), variant("b", {100, 90, 110})});
  EXPECT_EQ(verdict.winner, 1u);
  EXPECT_DOUBLE_EQ(verdict.lead, 1.3);
  EXPECT_TRUE(verdict.outside_spread);
  EXPECT_EQ(verdict.sentence, "b wins: all done after 100us, 1.30x sooner than a; outside the spread over 3 seeds");
}

TEST(Verdict, ALeadWithinTheSpreadMayBeChance) {
  const Verdict verdict = judge({variant("a", {100, 140}), variant("b", {110, 90})});
  EXPECT_FALSE(verdict.outside_spread);
  EXPECT_NE(
      verdict.sentence.find(
          "b wins: all done after 100us, 1.20x sooner than a; within the spread over 2 seeds, so it may be chance"),
      std::string::npos)
      << verdict.sentence;
}

TEST(Verdict, OneSeedHasNoSpread) {
  const Verdict verdict = judge({variant("a", {100}), variant("b", {200})});
  EXPECT_FALSE(verdict.outside_spread);
  EXPECT_NE(verdict.sentence.find("--seeds 5"), std::string::npos);
}

TEST(Verdict, TheLastOfManyIsNamedToo) {
  const Verdict verdict =
      judge({variant("slow", {400, 401}), variant("fast", {100, 100}), variant("middle", {200, 200})});
  EXPECT_EQ(verdict.winner, 1u);
  EXPECT_EQ(verdict.next, 2u);
  EXPECT_NE(verdict.sentence.find("2.00x sooner than middle (and 4.00x sooner than slow)"), std::string::npos)
      << verdict.sentence;
}

TEST(Verdict, WhatPrintsAsNoLeadIsATie) {
  const Verdict verdict = judge({variant("a", {1000}), variant("b", {1004})});
  EXPECT_NE(verdict.sentence.find("a tie between a and b"), std::string::npos);
  EXPECT_FALSE(verdict.winner) << "the record says what the sentence says";
  EXPECT_EQ(verdict.tied, (std::vector<std::size_t>{0, 1}));
}

// A difference may be beyond the spread of seeds and yet too small to choose by.
TEST(Verdict, ATieIsOneWhateverTheSpread) {
  EXPECT_EQ(judge({variant("a", {1000, 1000}), variant("b", {1002, 1002})}).sentence,
            "a tie between a and b: less than 0.5% apart over 2 seeds");
}

TEST(Verdict, ATieNamesAllWhoShareIt) {
  const std::string three =
      judge({variant("c", {1002}), variant("a", {1000}), variant("d", {2000}), variant("b", {1001})}).sentence;
  EXPECT_NE(three.find("a tie between a, b and c: less than 0.5% apart; one seed"), std::string::npos) << three;
  std::vector<Variant> many;
  for (int i = 0; i < 12; ++i) many.push_back(variant("v" + std::to_string(i), {1000 + i % 2}));
  EXPECT_NE(judge(many).sentence.find("v1, v3 and 4 more:"), std::string::npos) << judge(many).sentence;
}

TEST(Verdict, WhoIsNotDoneCannotWinHoweverEarlyItEnded) {
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

TEST(Verdict, OfWhatWasInterruptedNobodyWins) {
  std::vector<Variant> variants = {variant("a", {100}), variant("b", {90}), variant("c", {10})};
  variants[2].runs[0].trouble = "interrupted, 3 of 64 flows done";
  const Verdict verdict = no_verdict(variants, {"d", "e"});
  EXPECT_FALSE(verdict.winner);
  EXPECT_FALSE(verdict.next);
  EXPECT_EQ(
      verdict.sentence,
      "none is best yet: 2 of 5 variants are done; not done: c (interrupted, 3 of 64 flows done); not run: d and e");
}

TEST(Verdict, EqualDigestsMeanThatNothingChanged) {
  const Verdict verdict = judge({variant("a", {100, 110}), variant("b", {100, 110})});
  EXPECT_TRUE(verdict.same);
  EXPECT_FALSE(verdict.winner);
  EXPECT_EQ(verdict.sentence, "no difference: the runs are the same to the last packet");
}

// Each run has p99 of `microseconds` and slows its flows by `slowdown` thousandths.
Variant open_loop(const std::string& label, const std::vector<std::int64_t>& microseconds, std::int64_t slowdown) {
  Variant v = variant(label, microseconds);
  v.info.open_loop = true;
  for (ComparedRun& run : v.runs) {
    run.end = Duration(200'000'000);  // whatever the network is like
    run.summary.slowdown = Quantiles{1000, slowdown, slowdown, slowdown};
  }
  return v;
}

// Long cables make every flow slow, and so slow alone that waiting hardly counts.
TEST(Verdict, WhereFlowsBeginAtTheirTimesTheirTimesDecideAndNotTheirSlowdowns) {
  const Verdict verdict = judge({open_loop("2km", {90, 94}, 1100), open_loop("5m", {11, 12}, 2020)});
  EXPECT_EQ(verdict.winner, 1u);
  EXPECT_EQ(verdict.measure, Measure::completion);
  EXPECT_TRUE(verdict.outside_spread);
  EXPECT_EQ(verdict.sentence, "5m wins: completion p99 11.5us, 8.00x lower than 2km; outside the spread over 2 seeds");
  EXPECT_EQ(judge({open_loop("a", {1000, 1000}, 1000), open_loop("b", {1002, 1000}, 2000)}).sentence,
            "a tie between a and b by completion p99: less than 0.5% apart over 2 seeds");
}

TEST(Verdict, LoadsOfDifferentLineRatesAreNotTheSameTraffic) {
  std::vector<Variant> variants = {open_loop("2", {10}, 1000), open_loop("4", {20}, 1000)};
  variants[0].info.offered = {7, 16, Bandwidth(100'000'000'000)};
  variants[1].info.offered = {7, 16, Bandwidth(200'000'000'000)};
  const Verdict verdict = judge(variants);
  EXPECT_FALSE(verdict.winner);
  EXPECT_TRUE(verdict.tied.empty());
  EXPECT_EQ(verdict.tail, "");
  EXPECT_EQ(verdict.sentence,
            "none is best, for they differ in their traffic: the load is a share of 100Gbps to 200Gbps per GPU, and "
            "weft compare gives all that of the first");
  variants.push_back(unfinished("8"));
  EXPECT_TRUE(judge(variants).sentence.ends_with("; not done: 8 (43 of 64 flows failed)")) << judge(variants).sentence;
  variants.erase(variants.begin());
  EXPECT_EQ(judge(variants).winner, 0u) << "with what is not done nobody compares: " << judge(variants).sentence;
}

TEST(Verdict, TrafficOfAnotherNumberOfNodesIsNotCompared) {
  std::vector<Variant> variants = {variant("a", {100}), variant("b", {200}), variant("c", {300})};
  variants[0].info.offered = {7, 32, {}};
  variants[1].info.offered = {8, 64, {}};
  variants[2].info.offered = {9, 128, {}};
  EXPECT_FALSE(judge(variants).winner);
  EXPECT_EQ(judge(variants).sentence,
            "none is best, for they differ in their traffic: it is of 32 to 128 GPUs, and --gpus 32 makes it the same");
  for (Variant& each : variants) each.info.offered.nodes = 32;
  EXPECT_FALSE(judge(variants).winner);
  EXPECT_TRUE(judge(variants).sentence.ends_with(": --pattern or --stream makes it the same"));
  for (Variant& each : variants) each.info.offered.hash = 7;
  EXPECT_EQ(judge(variants).winner, 0u);
}

TEST(Verdict, OneLoadForLinesOfDifferentRatesIsSaidToBe) {
  std::vector<Variant> variants = {open_loop("2", {20}, 1000), open_loop("4", {10}, 1000)};
  for (Variant& each : variants) {
    each.info.offered = {7, 16, Bandwidth(100'000'000'000)};
    each.info.line_rate = Bandwidth(100'000'000'000);
  }
  EXPECT_EQ(judge(variants).sentence.find("share"), std::string::npos) << judge(variants).sentence;
  variants[1].info.line_rate = Bandwidth(200'000'000'000);
  EXPECT_EQ(judge(variants).winner, 1u);
  EXPECT_TRUE(judge(variants).sentence.ends_with("; the load is a share of 100Gbps per GPU for all"))
      << judge(variants).sentence;
}

// What is sent once and lost has no time, and those that are left are the quick ones.
TEST(Verdict, WhoLosesFlowsCannotWin) {
  std::vector<Variant> variants = {open_loop("a", {10, 10}, 1000), open_loop("b", {20, 20}, 1000),
                                   open_loop("c", {40, 40}, 1000)};
  variants[0].runs[1].summary.flows = 900;
  variants[0].runs[1].summary.lost = 30;
  const Verdict verdict = judge(variants);
  EXPECT_EQ(verdict.winner, 1u);
  EXPECT_EQ(verdict.sentence,
            "b wins: completion p99 20us, 2.00x lower than c; outside the spread over 2 seeds; not done: a (30 of 900 "
            "flows lost)");
  EXPECT_EQ(verdict.tail, "b has the lowest p99.9, 20us: 50.00% below c");
  variants.pop_back();
  EXPECT_EQ(judge(variants).sentence, "only b is done, completion p99 20us; not done: a (30 of 900 flows lost)");
  variants.pop_back();
  variants.push_back(variants[0]);
  variants[1].runs[0].summary.completion.reset();
  EXPECT_FALSE(judge(variants).winner) << "least of all where nothing arrived";
  EXPECT_FALSE(judge(variants).same);
}

TEST(Verdict, AStreamWhoseFlowsBeginAtTheirTimesIsJudgedByThem) {
  std::vector<Variant> variants = {variant("a", {100}), variant("b", {100})};
  for (std::size_t i = 0; i < 2; ++i) {
    StreamSummary stream;
    stream.record.name = "storage";
    stream.record.open_loop = true;
    stream.end = Duration(100);
    stream.summary.completion = Quantiles{1'000'000, i == 0 ? 40'000'000 : 20'000'000, 50'000'000, 50'000'000};
    stream.summary.slowdown = Quantiles{1000, i == 0 ? 2000 : 4000, 5000, 5000};
    variants[i].runs[0].streams = {stream};
  }
  using Streams = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(judge(variants).streams, (Streams{{"storage", "completion p99 lowest with b, 20us: 2.00x lower than a"}}));
  variants[1].runs[0].summary.lost = 1;
  EXPECT_EQ(judge(variants).streams.size(), 1u) << "it was another stream that lost it";
  variants[1].runs[0].streams[0].summary.lost = 1;
  EXPECT_TRUE(judge(variants).streams.empty());
}

TEST(Verdict, TheTailIsComparedWithEveryoneElses) {
  EXPECT_EQ(judge({variant("slow", {1000}), variant("fast", {100}), variant("middle", {200})}).tail,
            "fast has the lowest p99.9, 100us: 50.00% below middle, 90.00% below slow");
  EXPECT_EQ(judge({variant("a", {1000}), variant("b", {1004})}).tail, "");
  const std::vector<Variant> many = {variant("a", {100}), variant("b", {200}), variant("c", {300}),
                                     variant("d", {400}), variant("e", {500}), variant("f", {600})};
  EXPECT_EQ(judge(many).tail.find("below e"), std::string::npos);
  EXPECT_NE(judge(many).tail.find("below d, 83.33% below f"), std::string::npos) << judge(many).tail;
}

TEST(Verdict, TheRecordSaysWhatTheSentenceSays) {
  const auto record_of = [](const std::vector<Variant>& variants) {
    nlohmann::ordered_json record;
    add_verdict(judge(variants), "winner", {"a", "b"}, record);
    return record;
  };
  const auto won = record_of({open_loop("a", {90, 94}, 1100), open_loop("b", {11, 12}, 2020)});
  EXPECT_EQ(won["winner"], "b");
  EXPECT_EQ(won["measure"], "fct_p99");
  EXPECT_EQ(won["lead"], 8.0);
  EXPECT_EQ(won["outside_spread"], true);
  EXPECT_EQ(won["tied"].size(), 0u);
  EXPECT_EQ(won["sentence"].get<std::string>().find("b wins"), 0u);
  const auto tie = record_of({variant("a", {1000}), variant("b", {999})});
  EXPECT_TRUE(tie["winner"].is_null());
  EXPECT_TRUE(tie["lead"].is_null());
  EXPECT_EQ(tie["measure"], "end");
  EXPECT_EQ(tie["tied"], nlohmann::json({"b", "a"}));
}

}  // namespace
}  // namespace weft::report
