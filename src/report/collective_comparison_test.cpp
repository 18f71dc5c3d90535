#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/comparison.hpp"
#include "report/sweep.hpp"
#include "report/swept_run.hpp"

namespace weft::report {
namespace {

CollectiveRow row(std::uint64_t bytes, std::int64_t microseconds, const std::string& operation = "all_reduce") {
  CollectiveRow made;
  made.operation = operation;
  made.bytes = bytes;
  made.ranks = 64;
  made.time = Duration(microseconds * 1'000'000);
  made.bus_over = 126;
  made.bus_under = 64;
  made.algorithm = "Ring";
  made.protocol = "Simple";
  return made;
}

ComparedRun run(std::uint64_t seed, const std::vector<CollectiveRow>& rows) {
  ComparedRun made;
  made.seed = seed;
  made.collectives = rows;
  made.end = rows.back().time;
  made.digest = static_cast<std::uint64_t>(made.end.count());
  made.summary.flows = made.summary.done = rows.size();
  return made;
}

Variant of(const std::string& label, std::int64_t small, std::int64_t large) {
  Variant made;
  made.label = label;
  made.runs.push_back(run(1, {row(1 << 20, small), row(1 << 30, large)}));
  return made;
}

TEST(CollectiveComparison, TheLargestSizeDecidesAndEverySizeIsShown) {
  const std::vector<Variant> variants = {of("slow", 10, 2000), of("fast", 20, 1000)};
  const Verdict verdict = judge(variants);
  EXPECT_EQ(verdict.measure, Measure::collective);
  EXPECT_EQ(verdict.winner, 1u);
  EXPECT_EQ(verdict.sentence, "fast wins: all_reduce of 1GiB in 1ms, 2.00x faster than slow")
      << "no seed draws messages";
  EXPECT_EQ(verdict.tail, "");
  const std::string text = comparison_text(variants, 80, false);
  EXPECT_NE(text.find("all_reduce 1MiB   206.44 GB/s   103.22 GB/s\n"), std::string::npos) << text;
  EXPECT_NE(text.find("time                      2ms           1ms\n"), std::string::npos) << text;
  EXPECT_NE(text.find("level                 message       message\n"), std::string::npos) << text;
}

TEST(CollectiveComparison, EqualTimesAreATieAndEqualRowsNoDifference) {
  EXPECT_EQ(judge({of("a", 10, 1000), of("b", 20, 1001)}).tied, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(judge({of("a", 10, 1000), of("b", 10, 1000)}).sentence, "no difference at any size");
}

TEST(CollectiveComparison, WhatALevelDoesNotKnowIsSaid) {
  Variant other = of("b", 20, 2000);
  for (CollectiveRow& row : other.runs[0].collectives) row.not_known = "its detours";
  EXPECT_EQ(judge({of("a", 10, 1000), other}).sentence,
            "a wins: all_reduce of 1GiB in 1ms, 2.00x faster than b; message level does not know of b: its detours");
}

TEST(CollectiveComparison, SeedsOfPacketsHaveASpread) {
  Variant a = of("a", 10, 1000);
  Variant b = of("b", 10, 3000);
  for (Variant* each : {&a, &b}) {
    each->runs.push_back(run(2, {row(1 << 20, 11), row(1 << 30, each == &a ? 1100 : 3300)}));
    for (ComparedRun& one : each->runs)
      for (CollectiveRow& r : one.collectives) r.fidelity = schedule::Fidelity::packet;
  }
  EXPECT_NE(judge({a, b}).sentence.find("outside the spread over 2 seeds"), std::string::npos);
  EXPECT_NE(comparison_text({a, b}, 80, false).find("  at worst"), std::string::npos);
}

TEST(CollectiveComparison, WhoIsStoppedBeforeTheFirstRowIsNamed) {
  Variant stopped;
  stopped.label = "stopped";
  ComparedRun none;
  none.trouble = "limit wall=1s";
  none.summary.flows = 1;
  stopped.runs.push_back(none);
  const std::vector<Variant> variants = {stopped, of("done", 10, 1000)};
  EXPECT_EQ(judge(variants).sentence,
            "only done is done, all_reduce of 1GiB in 1ms; not done: stopped (limit wall=1s)");
  EXPECT_NE(comparison_text(variants, 80, false).find("time                   -"), std::string::npos)
      << comparison_text(variants, 80, false);
}

TEST(CollectiveComparison, RecordsAndSweepsHaveTheRows) {
  std::ostringstream out;
  const std::vector<Variant> variants = {of("a", 10, 2000), of("b", 20, 1000)};
  write_comparison(variants, judge(variants), out);
  const auto record = nlohmann::json::parse(out.str());
  EXPECT_EQ(record["measure"], "collective");
  EXPECT_EQ(record["variants"][1]["runs"][0]["collectives"][1]["time_ps"], 1'000'000'000);

  const SweptRun swept{"1", "c", 7, variants[0].runs[0]};
  const auto back = read_swept_run(swept_run_line(swept, "a"));
  ASSERT_TRUE(back);
  ASSERT_EQ(back->run.collectives.size(), 2u);
  EXPECT_EQ(back->run.collectives[1].time.count(), 2'000'000'000);
  EXPECT_DOUBLE_EQ(back->run.collectives[1].bus_bandwidth(), variants[0].runs[0].collectives[1].bus_bandwidth());

  Sweep sweep{{"servers.nics"}, {{{"2"}, variants[0], {}, {}}, {{"8"}, variants[1], {}, {}}}};
  EXPECT_NE(sweep_text(sweep, 80, false).find("all_reduce 1GiB"), std::string::npos) << sweep_text(sweep, 80, false);
  std::ostringstream csv;
  write_sweep_csv(sweep, csv);
  EXPECT_NE(csv.str().find("servers.nics,seed,operation,bytes,"), std::string::npos) << csv.str();
  EXPECT_NE(csv.str().find("\n8,1,all_reduce,1073741824,"), std::string::npos) << csv.str();
}

}  // namespace
}  // namespace weft::report
