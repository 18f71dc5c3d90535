#include "report/sweep.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text.hpp"
#include "report/swept_run.hpp"

namespace weft::report {
namespace {

ComparedRun run_of(std::uint64_t seed, std::int64_t microseconds) {
  ComparedRun run;
  run.seed = seed;
  run.end = Duration(microseconds * 1'000'000);
  run.digest = static_cast<std::uint64_t>(microseconds);
  run.summary.flows = run.summary.done = 8;
  run.summary.completion = Quantiles{(run.end / 2).count(), run.end.count(), run.end.count(), run.end.count()};
  run.summary.slowdown = Quantiles{1000, 1500, 1500, 2345};
  run.summary.goodput = 400'000'000'000;
  return run;
}

SweptPoint point(std::vector<std::string> values, const std::vector<std::int64_t>& ends) {
  SweptPoint out{std::move(values), {}, {}, {}};
  out.variant.label = point_label({"fabric.spines", "transport.balance"}, out.values);
  for (const std::int64_t end : ends) out.variant.runs.push_back(run_of(out.variant.runs.size() + 1, end));
  return out;
}

Sweep sample() {
  Sweep sweep{{"fabric.spines", "transport.balance"}, {}};
  sweep.points = {point({"2", "ecmp"}, {200, 210}), point({"2", "spray"}, {110, 120}), point({"4", "ecmp"}, {150, 160}),
                  point({"4", "spray"}, {100, 104})};
  return sweep;
}

TEST(Sweep, TheBestPointIsNamedWithItsLead) {
  const Verdict verdict = judge_sweep(sample());
  EXPECT_EQ(verdict.winner, 3u);
  EXPECT_TRUE(verdict.outside_spread);
  EXPECT_EQ(
      verdict.sentence,
      "spines=4 balance=spray wins: all done after 102us, 1.13x sooner than spines=2 balance=spray (and 2.01x sooner "
      "than spines=2 balance=ecmp); outside the spread over 2 seeds");
}

TEST(Sweep, APointInTroubleIsShownAndNotRanked) {
  Sweep sweep = sample();
  sweep.points[3].trouble = "limit time=1ms";
  sweep.points[3].variant.runs.clear();
  EXPECT_EQ(judge_sweep(sweep).winner, 1u);
  EXPECT_NE(sweep_text(sweep, 80, false).find("limit time=1ms"), std::string::npos);
}

TEST(Sweep, WhatIsMissingIsToldPointByPointAndOfManyOfSome) {
  Sweep sweep = sample();
  EXPECT_TRUE(trouble_lines(sweep).empty());
  sweep.points[1].trouble = "not done";
  sweep.points[1].detail = "59 of 64 flows failed";
  sweep.points[2].trouble = "cannot run";
  sweep.points[2].detail = "nothing closes";
  sweep.points[3].trouble = "not run";  // nothing more to say
  using Lines = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(trouble_lines(sweep), (Lines{{"not done", "spines=2 balance=spray: 59 of 64 flows failed"},
                                         {"cannot run", "spines=4 balance=ecmp: nothing closes"}}));
  sweep.points.resize(30, sweep.points[1]);
  EXPECT_EQ(trouble_lines(sweep).size(), 9u);
  EXPECT_EQ(trouble_lines(sweep).back().second, "and 20 points; --json has all");
}

TEST(Sweep, WhoAloneIsDoneIsNamed) {
  Sweep sweep = sample();
  for (const std::size_t i : {0u, 1u, 3u}) sweep.points[i].trouble = "limit time=1ms";
  EXPECT_EQ(judge_sweep(sweep).winner, 2u);
  EXPECT_EQ(judge_sweep(sweep).sentence, "only spines=4 balance=ecmp is done, after 155us");
  sweep.points[2].trouble = "not done";
  EXPECT_EQ(judge_sweep(sweep).winner, std::nullopt);
  EXPECT_EQ(judge_sweep(sweep).sentence, "none of 4 points is done");
}

TEST(Sweep, WhileAPointIsNotRunNoneIsBest) {
  Sweep sweep = sample();
  sweep.points[3].trouble = kNotRun;
  sweep.points[3].variant.runs.clear();
  const Verdict verdict = judge_sweep(sweep);
  EXPECT_FALSE(verdict.winner);
  EXPECT_EQ(verdict.sentence, "none is best yet: 1 of 4 points were not run");
}

TEST(Sweep, DifferentTrafficIsNotCompared) {
  Sweep sweep = sample();
  sweep.points[1].variant.info.offered.hash = 7;
  EXPECT_EQ(judge_sweep(sweep).winner, std::nullopt);
  EXPECT_NE(judge_sweep(sweep).sentence.find("differ in their traffic"), std::string::npos);
  sweep.keys[0] = "run.0.traffic.size";
  EXPECT_EQ(judge_sweep(sweep).sentence, "none is best, for run.0.traffic.size changes what there is to do");
  sweep.points[1].trouble = "cannot run";
  EXPECT_EQ(judge_sweep(sweep).winner, 3u) << "what is not ranked need not be like the others";
}

// The same judge as for weft compare; what it counts are points.
TEST(Sweep, WhereFlowsBeginAtTheirTimesTheColumnThatDecidesIsP99) {
  Sweep sweep = sample();
  for (SweptPoint& each : sweep.points) {
    each.variant.info.open_loop = true;
    for (ComparedRun& run : each.variant.runs) run.summary.completion->p99 = 50'000'000;
  }
  sweep.points[0].trouble = "not done";
  for (ComparedRun& run : sweep.points[1].variant.runs) run.summary.completion->p99 = 60'000'000;
  Verdict verdict = judge_sweep(sweep);
  EXPECT_EQ(verdict.tied, (std::vector<std::size_t>{2, 3}));
  for (ComparedRun& run : sweep.points[2].variant.runs) run.summary.completion->p99 = 10'000'000;
  verdict = judge_sweep(sweep);
  EXPECT_EQ(verdict.winner, 2u) << "though 3 ends first";
  EXPECT_EQ(verdict.next, 3u);
  EXPECT_NE(verdict.sentence.find("wins: completion p99 10us, 5.00x lower"), std::string::npos) << verdict.sentence;
  std::ostringstream out;
  write_sweep(sweep, verdict, out);
  const auto record = nlohmann::json::parse(out.str());
  EXPECT_EQ(record["best"], "spines=4 balance=ecmp");
  EXPECT_EQ(record["measure"], "fct_p99");
  EXPECT_EQ(record["sentence"], verdict.sentence);
  EXPECT_NE(sweep_text(sweep, 80, false).find("p50, p99: completion;"), std::string::npos);
}

TEST(Sweep, TheTableFitsATerminalAndHasMeans) {
  Sweep sweep = sample();
  for (SweptPoint& each : sweep.points) {
    each.variant.costs.price = Price(3'523'000'000);
    each.variant.costs.power = Power(358'000'000);
  }
  std::istringstream lines(sweep_text(sweep, 80, false));
  std::string head;
  std::string first;
  std::getline(lines, head);
  std::getline(lines, first);
  EXPECT_EQ(head, "spines  balance  all done     p50    p99  goodput  max slow       price  power");
  EXPECT_EQ(first, "     2     ecmp     205us   102us  205us  400Gbps      2.35  $3523.00/h  358kW");
}

// A lossless fabric that drops must not look like one that does not.
TEST(Sweep, WhatWasDroppedOrSentAgainIsShown) {
  Sweep sweep = sample();
  EXPECT_EQ(sweep_text(sweep, 80, false).find("dropped"), std::string::npos);
  sweep.points[0].variant.runs[1].dropped = 1;
  for (ComparedRun& run : sweep.points[0].variant.runs) run.resent = 1380;
  std::istringstream lines(sweep_text(sweep, 80, false));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "spines  balance  all done     p50    p99  goodput  max slow  again  dropped");
  std::getline(lines, line);
  EXPECT_EQ(line, "     2     ecmp     205us   102us  205us  400Gbps      2.35  1,380        1");
  std::getline(lines, line);
  EXPECT_TRUE(line.ends_with("  2.35      0        0")) << line;
}

TEST(Sweep, ColumnsThatDoNotFitFollowBelow) {
  Sweep sweep = sample();
  sweep.keys = {"fabric.spines", "transport.balance", "switching.headroom_for", "fabric.link.cable"};
  for (SweptPoint& each : sweep.points) {
    each.values = {"2", "ecmp", "300m", "300m"};
    each.variant.costs.power = Power(358'000'000);
    each.variant.runs[0].dropped = 1380;
  }
  const std::string text = sweep_text(sweep, 80, false);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << text;
  for (const std::string title : {"all done", "p50", "p99", "goodput", "max slow", "dropped", "power"})
    EXPECT_NE(text.find("  " + title), std::string::npos) << title << "\n" << text;
  EXPECT_NE(text.find("\n\nspines  balance  headroom_for  cable  "), std::string::npos) << text;
  const std::string wide = sweep_text(sweep, 0, false);
  EXPECT_EQ(std::count(wide.begin(), wide.end(), '\n'), 6) << wide;
}

TEST(Sweep, WhereFlowsAreLostNotAllIsDone) {
  Sweep sweep = sample();
  sweep.points[3].variant.runs[1].summary.lost = 3;
  EXPECT_NE(sweep_text(sweep, 80, false).find("     4    spray    1 lost "), std::string::npos)
      << sweep_text(sweep, 80, false);
  EXPECT_EQ(judge_sweep(sweep).winner, 1u);
}

TEST(Sweep, KeysOfOneNameAreWrittenInFull) {
  EXPECT_EQ(point_label({"fabric.spines", "transport.balance"}, {"2", "ecmp"}), "spines=2 balance=ecmp");
  EXPECT_EQ(point_label({"servers.kind", "fabric.kind"}, {"a", "b"}), "servers.kind=a fabric.kind=b");
}

TEST(Sweep, CsvHasALinePerRun) {
  Sweep sweep = sample();
  sweep.points[0].values[1] = "a,b";
  std::ostringstream out;
  write_sweep_csv(sweep, out);
  std::istringstream lines(out.str());
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("fabric.spines,transport.balance,seed,flows,flows_done,flows_lost,end_ps,fct_p50_ps,"))
      << line;
  const auto commas = std::count(line.begin(), line.end(), ',');
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("2,\"a,b\",1,8,8,0,200000000,100000000,")) << line;
  std::size_t rows = 1;
  for (; std::getline(lines, line); ++rows) {
    const auto in_values = rows == 1 ? 1 : 0;
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), commas + in_values) << line;
  }
  EXPECT_EQ(rows, 8u);
}

TEST(Sweep, TheRecordHasEveryPointAndRun) {
  const Sweep sweep = sample();
  std::ostringstream out;
  write_sweep(sweep, judge_sweep(sweep), out);
  const auto record = nlohmann::json::parse(out.str());
  EXPECT_EQ(record["record"], "sweep");
  EXPECT_EQ(record["points"].size(), 4u);
  EXPECT_EQ(record["points"][2]["values"], nlohmann::json({"4", "ecmp"}));
  EXPECT_EQ(record["points"][2]["runs"][1]["end_ps"], 160'000'000);
  EXPECT_TRUE(record["points"][2]["trouble"].is_null());
  EXPECT_EQ(record["best"], "spines=4 balance=spray");
}

CollectiveRow row_of(std::uint64_t bytes) {
  CollectiveRow row;
  row.operation = "all_gather";
  row.bytes = bytes;
  row.ranks = 8;
  row.parts = true;
  row.time = Duration(123'456'789);
  row.bus_over = 7;
  row.bus_under = 8;
  row.algorithm = "ring";
  row.protocol = "LL128";
  row.fidelity = schedule::Fidelity::flow;
  return row;
}

schedule::TrainingRow step_of(std::optional<double> dollars) {
  return {.model = "llama",
          .gpus = 64,
          .fidelity = schedule::Fidelity::message,
          .tokens_per_second = 1.5,
          .teraflops = 2.5,
          .mfu_percent = 3.5,
          .network_percent = 4.5,
          .joules_per_token = 5.5,
          .dollars_per_million = dollars,
          .computing = 6.5,
          .recomputing = 7.5,
          .communication = 8.5,
          .bubble = 9.5,
          .rest = 10.5};
}

RC_GTEST_PROP(SweptRun, ComesBackAsItWas, ()) {
  SweptRun swept{"0.1.0", "abc", *rc::gen::arbitrary<std::uint64_t>(), {}};
  ComparedRun& run = swept.run;
  run.seed = *rc::gen::arbitrary<std::uint64_t>();
  run.digest = *rc::gen::arbitrary<std::uint64_t>();
  run.end = Duration(*rc::gen::inRange<std::int64_t>(0, INT64_MAX));
  run.trimmed = *rc::gen::arbitrary<std::uint64_t>();
  run.resent = *rc::gen::arbitrary<std::uint64_t>();
  run.dropped = *rc::gen::arbitrary<std::uint64_t>();
  run.summary.flows = *rc::gen::arbitrary<std::uint32_t>();
  run.summary.done = *rc::gen::arbitrary<std::uint32_t>();
  run.summary.lost = *rc::gen::arbitrary<std::uint32_t>();
  run.summary.goodput = *rc::gen::inRange<std::int64_t>(0, INT64_MAX);
  const auto any = [](std::int64_t most) {
    const auto q = *rc::gen::container<std::vector<std::int64_t>>(4, rc::gen::inRange<std::int64_t>(0, most));
    return Quantiles{q[0], q[1], q[2], q[3]};
  };
  if (*rc::gen::arbitrary<bool>()) run.summary.completion = any(INT64_MAX);
  if (*rc::gen::arbitrary<bool>()) run.summary.slowdown = any(1'000'000'000'000);
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i)
    run.collectives.push_back(row_of(*rc::gen::arbitrary<std::uint32_t>()));
  if (*rc::gen::arbitrary<bool>())
    run.training = step_of(*rc::gen::arbitrary<bool>() ? std::optional(0.25) : std::nullopt);
  const std::string line = swept_run_line(swept, "spines=2");
  const auto again = read_swept_run(line);
  RC_ASSERT(again.has_value());
  RC_ASSERT(swept_run_line(*again, "spines=2") == line);
}

// Every value of a record, each once as something of another type.
void expect_bent_is_not_read(const nlohmann::ordered_json& record, const nlohmann::ordered_json::json_pointer& at) {
  for (const auto& [key, value] : record[at].items()) {
    const auto place = at / key;
    if (key == "point" || key == "parts" || key == "busbw_GBps") continue;  // for people; else false; not read back
    if (value.is_structured()) expect_bent_is_not_read(record, record[at].is_array() ? at / std::stoul(key) : place);
    for (const nlohmann::ordered_json& wrong :
         {nlohmann::ordered_json("x"), nlohmann::ordered_json(1.5), nlohmann::ordered_json::array({1})}) {
      if (wrong.is_string() && value.is_string() && key != "record" && key != "inputs" && key != "digest") continue;
      if (wrong.is_number() && value.is_number_float()) continue;
      auto bent = record;
      bent[place] = wrong;
      EXPECT_FALSE(read_swept_run(bent.dump())) << bent.dump();
    }
  }
}

TEST(SweptRun, ALineThatWasCutOffOrBentIsNotRead) {
  ComparedRun run = run_of(1, 100);
  run.collectives = {row_of(1024), row_of(2048)};
  run.training = step_of(0.25);
  const std::string line = swept_run_line({"0.1.0", "abc", 7, run}, "spines=2");
  ASSERT_TRUE(read_swept_run(line));
  for (std::size_t length = 0; length + 2 < line.size(); ++length)
    EXPECT_FALSE(read_swept_run(line.substr(0, length))) << length;
  expect_bent_is_not_read(nlohmann::ordered_json::parse(line), nlohmann::ordered_json::json_pointer());
}

// What is wrong before is not forgotten for what is right behind it.
TEST(SweptRun, AWrongValueIsNotMadeGoodByALaterOne) {
  ComparedRun run = run_of(1, 100);
  run.training = step_of({});
  auto record = nlohmann::ordered_json::parse(swept_run_line({"0.1.0", "abc", 7, run}, "spines=2"));
  record["goodput_bps"] = "much";
  EXPECT_FALSE(read_swept_run(record.dump()));
}

}  // namespace
}  // namespace weft::report
