#include "report/sim_summary.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

#include "base/text.hpp"
#include "report/testing_result.hpp"

namespace weft::report {
namespace {

using schedule::RunResult;

TEST(SimSummary, CountsWhatIsDoneAndNothingElse) {
  RunResult result = sample_result();
  const SimSummary summary = summarise(result);
  EXPECT_EQ(summary.flows, 4u);
  EXPECT_EQ(summary.done, 3u);
  EXPECT_EQ(summary.bytes, 3'000'000u);
  EXPECT_EQ(summary.completion->p50, 40'000'000);
  EXPECT_EQ(summary.completion->max, 50'000'000);
  EXPECT_EQ(summary.slowdown->max, 2500);
  EXPECT_EQ(summary.goodput, 400'000'000'000);           // 3 MB in 60 us
  EXPECT_EQ(summary.flow_goodput_min, 160'000'000'000);  // 1 MB in 50 us
  EXPECT_EQ(*summary.fullest, 1u);
}

TEST(SimSummary, ARunInWhichNothingEndedHasNoQuantiles) {
  RunResult result = sample_result();
  for (auto& flow : result.flows) flow.sent = schedule::kNotYet;
  const SimSummary summary = summarise(result);
  EXPECT_FALSE(summary.completion);
  EXPECT_FALSE(summary.slowdown);
  EXPECT_EQ(summary.goodput, 0);
  EXPECT_EQ(summary_text(result, summary, 10, 80, false).find("completion"), std::string::npos);
}

TEST(SimSummary, MessagesThatNobodyAnswersAreDoneWhenTheyArrive) {
  RunResult result = sample_result();
  for (auto& flow : result.flows) flow.unanswered = true;
  result.flows[1].received = schedule::kNotYet;  // it left, and was lost
  const SimSummary summary = summarise(result);
  EXPECT_EQ(summary.unanswered, 4u);
  EXPECT_EQ(summary.done, 2u);
  EXPECT_EQ(summary.completion->max, 39'000'000);
  EXPECT_EQ(summary.waiting->max, 19'000'000);
  EXPECT_EQ(summary.waiting_mean.count(), (19'000'000 + 4'000'000) / 2);
  const std::string text = summary_text(result, summary, 1, 80, false);
  EXPECT_NE(text.find("2 of 4 messages arrived"), std::string::npos) << text;
  EXPECT_NE(text.find("; 2 lost"), std::string::npos) << text;
  EXPECT_NE(text.find("waiting        mean 11.5us, p50 19us"), std::string::npos) << text;
  EXPECT_EQ(text.find("acknowledgements"), std::string::npos) << text;
  EXPECT_NE(text.find("%"), std::string::npos) << "what is lost does not hide how long the run was:\n" << text;
}

TEST(SimSummary, ALinkThatIsBusyBehindTheEndIsUsedUntilThen) {
  RunResult result = sample_result();
  result.links[0].until = result.end;
  EXPECT_DOUBLE_EQ(utilisation(result.links[0], result.end), 0.8);
  result.links[0].until = Duration(2 * result.end.count());
  EXPECT_DOUBLE_EQ(utilisation(result.links[0], result.end), 0.4);
}

TEST(SimSummary, WhatWasNotKeptIsSaid) {
  RunResult result = sample_result();
  result.sample_asked = Duration(1'000'000);
  result.sample_interval = Duration(4'000'000);
  result.capture_end = Duration(30'000'000);
  const std::string text = summary_text(result, summarise(result), 1, 80, false);
  EXPECT_NE(text.find("samples        every 4us instead of 1us"), std::string::npos) << text;
  EXPECT_NE(text.find("capture        ends at 30us"), std::string::npos) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

RC_GTEST_PROP(SimSummary, QuantilesLeaveTheRightShareBehindThem, ()) {
  const auto values =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 1000)));
  const Quantiles q = *quantiles(values);
  const auto above = [&](std::int64_t limit) {
    return std::count_if(values.begin(), values.end(), [&](auto v) { return v > limit; });
  };
  const auto share = [&](std::size_t per_mille) {
    return static_cast<std::ptrdiff_t>(values.size() * (1000 - per_mille) / 1000);
  };
  RC_ASSERT(above(q.p50) <= share(500));
  RC_ASSERT(above(q.p99) <= share(990));
  RC_ASSERT(above(q.p999) <= share(999));
  RC_ASSERT(above(q.max) == 0);
  RC_ASSERT(q.p50 <= q.p99 && q.p99 <= q.p999 && q.p999 <= q.max);
}

TEST(SimSummary, TheTextNamesTheBusiestLinksAndFitsEightyColumns) {
  RunResult result = sample_result();
  result.links[0].from = "a-rather-long-group-name-17/nic3";
  const std::string text = summary_text(result, summarise(result), 1, 80, false);
  EXPECT_NE(text.find("1 link more"), std::string::npos) << text;
  EXPECT_NE(text.find("longest queue"), std::string::npos) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80u) << line;
}

TEST(SimSummary, WhatFlowsDoNotCountIsNotShownAsNone) {
  RunResult result = sample_result();
  result.fidelity = schedule::Fidelity::flow;
  const std::string text = summary_text(result, summarise(result), 2, 80, false);
  for (const char* unknown : {"packet", "congestion", "queue", "marks", "mean wait", "drops"})
    EXPECT_EQ(text.find(unknown), std::string::npos) << unknown << "\n" << text;
  EXPECT_NE(text.find("busiest links     used  carried\n"), std::string::npos) << text;
  EXPECT_NE(text.find("000000000000feed (seed 7)"), std::string::npos) << text;
}

TEST(SimSummary, WhoWasPausedIsToldLongestFirst) {
  RunResult result = sample_result();
  result.flows.pop_back();  // the one that is not done
  EXPECT_EQ(summary_text(result, summarise(result), 10, 80, false).find("pause"), std::string::npos);
  result.counters.pauses = 5;
  result.counters.headroom_drops = 7;
  result.links[0].pauses = 2;
  result.links[0].paused = Duration(6'000'000);
  result.links[1].pauses = 3;
  result.links[1].paused = Duration(30'000'000);
  const std::string text = summary_text(result, summarise(result), 10, 80, false);
  EXPECT_NE(text.find("5 pauses; dropped 7 beyond the headroom, 0 by the watchdog"), std::string::npos) << text;
  EXPECT_LT(text.find("spine1 to leaf2       3    30us       50.0%"),
            text.find("leaf0 to spine1       2     6us       10.0%"))
      << text;
}

TEST(SimSummary, FailuresComeFirstAndTailsSayWhose) {
  RunResult result = sample_result();
  result.end = Duration(600'000'000);  // when the last one gave up
  const SimSummary summary = summarise(result);
  EXPECT_EQ(summary.failed, 1u);
  EXPECT_EQ(summary.goodput, 40'000'000'000) << "3 MB in all of the 600 us";
  const std::string text = summary_text(result, summary, 10, 0, false);
  EXPECT_TRUE(
      text.starts_with("traffic        1 of 4 flows failed; 3 done, 2.86MiB, in 600us\n"
                       "completion     of the 3 that ended: p50 40us"))
      << text;
  EXPECT_NE(text.find("slowdown       of the 3 that ended: p50"), std::string::npos) << text;
  EXPECT_NE(text.find("40Gbps in all; per flow of the 3 that ended: "), std::string::npos) << text;
  EXPECT_EQ(trouble_of(result, summary), "1 of 4 flows failed");
  result.all_flows = 9;
  EXPECT_EQ(trouble_of(result, summarise(result)), "1 of 9 flows failed, 5 never began");
  result.flows.pop_back();
  EXPECT_EQ(trouble_of(result, summarise(result)), "6 of 9 flows never began");
  result.all_flows = 3;
  EXPECT_EQ(trouble_of(result, summarise(result)), "");
  EXPECT_EQ(summary_text(result, summarise(result), 10, 0, false).find("that ended"), std::string::npos);
}

TEST(SimSummary, APartialResultCountsTheFlowsThatHaveNotBegun) {
  RunResult result = sample_result();
  result.stopped_by = "time=60us";
  EXPECT_NE(summary_text(result, summarise(result), 0, 0, false).find("3 of 4 flows that began, "), std::string::npos)
      << "nobody knows how many were to come";
  result.all_flows = 32'640;
  const SimSummary summary = summarise(result);
  EXPECT_EQ(summary.flows, 32'640u);
  EXPECT_EQ(summary.failed, 0u) << "they may still get through";
  const std::string text = summary_text(result, summary, 0, 0, false);
  EXPECT_NE(text.find("\ntraffic        3 of 32,640 flows, 2.86MiB in 60us\n"), std::string::npos) << text;
  EXPECT_NE(text.find("of the 3 that ended: p50"), std::string::npos) << text;
  EXPECT_EQ(trouble_of(result, summary), "limit time=60us, 3 of 32,640 flows done");
}

TEST(SimSummary, AStreamCountsItsOwnFlowsToo) {
  RunResult result = sample_result();
  result.stopped_by = "time=60us";
  result.streams.resize(2);
  result.streams[0].flows = 6;
  result.streams[1].flows = 2;
  const auto streams = summarise_streams(result);
  EXPECT_EQ(streams[0].summary.flows, 6u);
  EXPECT_EQ(streams[1].summary.flows, 2u);
  EXPECT_EQ(streams[1].summary.done, 0u);
  EXPECT_EQ(streams[0].end.count(), result.end.count());
}

TEST(SimSummary, WhatFaultsTookIsNotCalledDropped) {
  RunResult result = sample_result();
  EXPECT_EQ(summary_text(result, summarise(result), 0, 0, false).find("drops  lost"), std::string::npos);
  result.links[0].lost = 77;
  const std::string text = summary_text(result, summarise(result), 0, 0, false);
  EXPECT_NE(text.find("  drops  lost\nleaf0 to spine1"), std::string::npos) << text;
  EXPECT_NE(text.find("      2    77\n"), std::string::npos) << text;
  EXPECT_NE(text.find("      0     0\n"), std::string::npos) << text;
}

TEST(SimSummary, ADeadlockNamesItsPorts) {
  RunResult result = sample_result();
  result.stopped_by = "deadlock";
  result.deadlock = "leaf0 -> spine1 -> leaf0";
  EXPECT_TRUE(summary_text(result, summarise(result), 10, 0, false)
                  .starts_with("partial        a deadlock, these wait for each other: leaf0 -> spine1 -> leaf0"));
}

TEST(SimSummary, TheSlowestFlowsAreNamedAndTheUnfinishedComeFirst) {
  const std::string text = slowest_text(
      sample_result(), 2, [](std::uint32_t rank) { return "gpu" + std::to_string(rank); }, 0, false);
  EXPECT_EQ(text,
            "\n"
            "slowest flows  size  began      took  slowdown\n"
            "gpu3 to gpu1    1MB   30us  not done         -\n"
            "gpu0 to gpu6    1MB   10us      50us      2.50\n");
}

TEST(SimSummary, APartialResultSaysSoFirst) {
  RunResult result = sample_result();
  EXPECT_EQ(summary_text(result, summarise(result), 10, 80, false).find("partial"), std::string::npos);
  result.stopped_by = "time=10ms";
  EXPECT_TRUE(summary_text(result, summarise(result), 10, 80, false)
                  .starts_with("partial        stopped at the limit time=10ms"));
  result.stopped_by = "ctrl-c";
  EXPECT_TRUE(summary_text(result, summarise(result), 10, 80, false).starts_with("partial        interrupted"));
}

// Of what never ended nobody knows when it would have: the run's end is the least that it took.
TEST(SimSummary, AStreamEndsWithItsLastFlowOrWithTheRun) {
  RunResult result = sample_result();
  result.end = Duration(100'000'000);
  result.flows[2].stream = result.flows[3].stream = 1;
  result.streams.resize(2);
  result.streams[0].flows = result.streams[1].flows = 2;
  std::vector<StreamSummary> streams = summarise_streams(result);
  ASSERT_EQ(streams.size(), 2u);
  EXPECT_EQ(streams[0].summary.done, 2u);
  EXPECT_EQ(streams[0].end.count(), 60'000'000);
  EXPECT_EQ(streams[0].summary.goodput, 2 * 8 * INT64_C(1'000'000'000'000) / 60);  // 2 MB in 60 us
  EXPECT_EQ(streams[1].summary.done, 1u);
  EXPECT_EQ(streams[1].end.count(), 100'000'000);
  EXPECT_EQ(streams[1].summary.goodput, INT64_C(80'000'000'000));  // 1 MB in 100 us
  result.flows[3].sent = result.flows[3].received = Duration(90'000'000);
  streams = summarise_streams(result);
  EXPECT_EQ(streams[1].end.count(), 90'000'000);
}

}  // namespace
}  // namespace weft::report
