#include "report/measured_runs.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/testing_variant.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

Json stream(double goodput) {
  return {{"record", "run"}, {"version", 2},   {"failure", nullptr},     {"transport", "srd"}, {"pattern", "stream"},
          {"size", 65536},   {"endpoints", 1}, {"goodput_bps", goodput}, {"bytes", 6553600},   {"p50_ps", 0},
          {"p99_ps", 0},     {"p999_ps", 0},   {"longest_ps", 0},        {"packets", 1000},    {"retransmitted", 20}};
}

Json requests(std::int64_t p50) {
  Json record = stream(0);
  record["pattern"] = "requests";
  record["size"] = 64;
  record["p50_ps"] = p50;
  record["p99_ps"] = 2 * p50;
  record["p999_ps"] = 4 * p50;
  record["longest_ps"] = 8 * p50;
  return record;
}

std::string lines(const std::vector<Json>& records) {
  std::string text;
  for (const Json& each : records) text += each.dump() + "\n";
  return text;
}

Variant simulated(const std::string& label, std::int64_t goodput, std::uint64_t sent, std::uint64_t resent) {
  Variant made = variant(label, {100});
  made.runs[0].summary.flows = made.runs[0].summary.done = 1;
  made.runs[0].summary.bytes = 6553600;
  made.runs[0].summary.goodput = goodput;
  made.runs[0].sent = sent;
  made.runs[0].resent = resent;
  return made;
}

std::string why_not(const std::string& text) {
  const auto read = read_measured_runs(text, "x");
  return read ? "" : read.error();
}

TEST(MeasuredRuns, SeveralRunsOfOneFileAreAMean) {
  const auto read = read_measured_runs(lines({stream(1.7e9), {{"record", "doctor"}}, stream(1.9e9)}), "run");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->traffic(), "messages of 64KiB by srd, 2 runs");
  const Json json =
      measured_json(*read, {simulated("lab", 1'890'000'000, 1000, 10), simulated("slow", 900'000'000, 0, 0)});
  EXPECT_DOUBLE_EQ(json["goodput_bps"], 1.8e9);
  EXPECT_DOUBLE_EQ(json["resent_share"], 0.02);
  EXPECT_NEAR(json["simulated"][0]["goodput_bps_more_percent"], 5.0, 1e-9);
  EXPECT_NEAR(json["simulated"][1]["goodput_bps_more_percent"], -50.0, 1e-9);
  EXPECT_DOUBLE_EQ(json["simulated"][0]["resent_share"], 0.01);
  EXPECT_TRUE(json["simulated"][1]["resent_share"].is_null()) << "no packets at that level";
}

TEST(MeasuredRuns, ATableSaysHowMuchMoreIsSimulated) {
  const auto read = read_measured_runs(lines({stream(1.8e9)}), "run");
  const std::string text = measured_text(*read, {simulated("lab", 1'890'000'000, 1000, 10)}, 0, false);
  EXPECT_NE(text.find("1.8Gbps"), std::string::npos) << text;
  EXPECT_NE(text.find("1.89Gbps (+5.0 %)"), std::string::npos) << text;
  EXPECT_NE(text.find("2.00 %"), std::string::npos) << text;
}

TEST(MeasuredRuns, RequestsAreHeldAgainstCompletionTimes) {
  const auto read = read_measured_runs(lines({requests(100'000'000)}), "run");
  ASSERT_TRUE(read) << read.error();
  Variant lab = simulated("lab", 0, 10, 0);
  lab.runs[0].summary.bytes = 64;
  lab.runs[0].summary.completion = Quantiles{50'000'000, 200'000'000, 400'000'000, 800'000'000};
  const Json json = measured_json(*read, {lab});
  EXPECT_NEAR(json["simulated"][0]["p50_ps_more_percent"], -50, 1e-9);
  EXPECT_NEAR(json["simulated"][0]["p999_ps_more_percent"], 0, 1e-9);
  EXPECT_EQ(traffic_differs(*read, lab), "");
  lab.runs[0].summary.bytes = 6400;
  EXPECT_EQ(traffic_differs(*read, lab), "lab has flows of 6400B, and requests of 64B were measured");
}

TEST(MeasuredRuns, SendersAreCounted) {
  Json record = stream(1e9);
  record["endpoints"] = 48;
  const auto read = read_measured_runs(lines({record}), "run");
  EXPECT_EQ(read->traffic(), "messages of 64KiB from 48 senders by srd, 1 run");
  EXPECT_EQ(traffic_differs(*read, simulated("lab", 1, 1, 1)), "lab has 1 flow, and 48 senders were measured");
}

TEST(MeasuredRuns, WhatDidNotFinishHasNoFigure) {
  const auto read = read_measured_runs(lines({stream(1e9)}), "run");
  Variant lab = simulated("lab", 1'000'000'000, 10, 0);
  lab.runs[0].trouble = "1 of 1 flows failed";
  EXPECT_TRUE(measured_json(*read, {lab})["simulated"][0]["goodput_bps"].is_null());
}

TEST(MeasuredRuns, WhatIsNoMeasurementIsRefusedWithTheLine) {
  EXPECT_NE(why_not("").find("no run record"), std::string::npos);
  EXPECT_NE(why_not("{\"record\":\"sim\"}\n").find("no run record"), std::string::npos);
  EXPECT_NE(why_not("size,time\n").find("line 1: not a record of JSON"), std::string::npos);
  Json early = stream(1e9);
  early["failure"] = "nobody answered";
  EXPECT_EQ(why_not(lines({stream(1e9), early})), "line 2: the run ended early: nobody answered");
  EXPECT_NE(why_not(lines({stream(1e9), requests(5)})).find("line 2: other traffic"), std::string::npos);
  for (const char* key : {"size", "goodput_bps", "packets", "transport", "endpoints"}) {
    Json record = stream(1e9);
    record.erase(key);
    EXPECT_NE(why_not(lines({record})).find("line 1: a run record that lacks"), std::string::npos) << key;
  }
  Json huge = stream(1e300);
  EXPECT_NE(why_not(lines({huge})), "");
  Json negative = stream(1e9);
  negative["bytes"] = -1;
  EXPECT_NE(why_not(lines({negative})), "");
}

}  // namespace
}  // namespace weft::report
