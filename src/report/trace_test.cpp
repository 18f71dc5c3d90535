#include "report/trace.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/testing_result.hpp"

namespace weft::report {
namespace {

using schedule::RunResult;

nlohmann::json trace_of(const RunResult& result) {
  std::ostringstream out;
  RunInfo info;
  info.sample_interval = Duration(1'000'000);
  write_trace(
      info, result, [](std::uint32_t rank) { return fmt::format("s0/gpu\"{}", rank); }, out);
  return nlohmann::json::parse(out.str());
}

// Slices of one track follow each other without overlap, counters of one track never go back in time.
void expect_readable(const nlohmann::json& trace) {
  std::map<std::pair<int, int>, double> track_end;
  std::map<std::string, double> counter_time;
  for (const auto& event : trace["traceEvents"]) {
    const std::string phase = event["ph"];
    if (phase == "X") {
      double& end = track_end[{event["pid"], event["tid"]}];
      EXPECT_GE(event["ts"].get<double>() + 1e-7, end);
      EXPECT_GE(event["dur"].get<double>(), 0);
      end = event["ts"].get<double>() + event["dur"].get<double>();
    } else if (phase == "C") {
      const auto [known, fresh] = counter_time.emplace(event["name"], -1.0);
      EXPECT_GT(event["ts"].get<double>(), known->second);
      known->second = event["ts"];
    }
  }
}

std::vector<nlohmann::json> events(const nlohmann::json& trace, const std::string& phase) {
  std::vector<nlohmann::json> found;
  for (const auto& event : trace["traceEvents"])
    if (event["ph"] == phase) found.push_back(event);
  return found;
}

TEST(Trace, HasASlicePerFlowOnTheTrackOfItsSender) {
  const nlohmann::json trace = trace_of(sample_result());
  expect_readable(trace);
  const auto slices = events(trace, "X");
  ASSERT_EQ(slices.size(), 4u);
  EXPECT_EQ(slices[0]["ts"], 0.0);
  EXPECT_EQ(slices[0]["dur"], 40.0);
  EXPECT_EQ(slices[0]["args"]["bytes"], 1'000'000);
  EXPECT_EQ(slices[0]["args"]["peer"], "s0/gpu\"5");
  EXPECT_EQ(slices[0]["args"]["slowdown"], 2.0);
  EXPECT_NE(slices[0]["tid"], slices[1]["tid"]) << "they overlap";
  EXPECT_EQ(slices[2]["tid"], slices[3]["tid"]) << "one after the other";
  EXPECT_EQ(slices[3]["args"]["done"], false);
  EXPECT_EQ(slices[3]["dur"], 30.0) << "until the end of the run";
  std::vector<std::string> names;
  for (const auto& event : events(trace, "M"))
    if (event["name"] == "thread_name" && event["pid"] == 1) names.push_back(event["args"]["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"s0/gpu\"0", "s0/gpu\"0 (2)", "s0/gpu\"3"}));
}

TEST(Trace, CountersFallToZeroWhereNothingWasSampled) {
  const nlohmann::json trace = trace_of(sample_result());
  std::vector<std::pair<double, double>> queue;
  for (const auto& event : events(trace, "C"))
    if (event["name"] == "leaf0 to spine1 queue") queue.emplace_back(event["ts"], event["args"]["bytes"]);
  const std::vector<std::pair<double, double>> expected = {{0, 30'000}, {1, 90'000}, {2, 0}, {5, 10}, {6, 0}};
  EXPECT_EQ(queue, expected);
  const auto drops = events(trace, "i");
  ASSERT_EQ(drops.size(), 3u);
  EXPECT_EQ(drops[0]["name"], "2 dropped");
  EXPECT_EQ(drops[0]["ts"], 1.0);
  EXPECT_EQ(drops[1]["name"], "4 lost");
  EXPECT_EQ(drops[2]["name"], "1 lost");
  EXPECT_EQ(drops[2]["ts"], 5.0);
  std::vector<std::pair<int, std::string>> names;
  for (const auto& event : events(trace, "M"))
    if (event["name"] == "thread_name" && event["pid"] == drops[0]["pid"])
      names.emplace_back(event["tid"], event["args"]["name"]);
  EXPECT_EQ(names, (std::vector<std::pair<int, std::string>>{{drops[0]["tid"], "leaf0 to spine1"},
                                                             {drops[2]["tid"], "spine1 to leaf2"}}));
}

RC_GTEST_PROP(Trace, SlicesNeverOverlapOnATrack, ()) {
  RunResult result;
  const auto count = *rc::gen::inRange(0, 60);
  for (int i = 0; i < count; ++i) {
    const auto start = *rc::gen::inRange<std::int64_t>(0, 1000) * 1'000'000;
    const auto length = *rc::gen::inRange<std::int64_t>(0, 300) * 1'000'000;
    const bool done = *rc::gen::arbitrary<bool>();
    result.flows.push_back({*rc::gen::inRange<std::uint32_t>(0, 4), 9, 1, Duration(start),
                            Duration(done ? start + length : schedule::kNotYet.count()), Duration(-1), Duration(1)});
  }
  const nlohmann::json trace = trace_of(result);
  expect_readable(trace);
  RC_ASSERT(events(trace, "X").size() == result.flows.size());
}

TEST(Trace, AnEmptyRunIsStillATrace) { EXPECT_TRUE(events(trace_of(RunResult{}), "X").empty()); }

}  // namespace
}  // namespace weft::report
