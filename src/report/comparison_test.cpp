#include "report/comparison.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text.hpp"
#include "report/testing_variant.hpp"

namespace weft::report {
namespace {

TEST(Comparison, AnUnfinishedColumnHasNoTimes) {
  const std::vector<Variant> variants = {unfinished("a"), variant("b", {100})};
  const std::string text = comparison_text(variants, 80, false);
  EXPECT_NE(text.find("all done          not done   100us\n"), std::string::npos) << text;
  EXPECT_NE(text.find("flows done        21 of 64 "), std::string::npos) << text;
  EXPECT_NE(text.find("completion p99.9         -   100us\n"), std::string::npos) << text;
  EXPECT_NE(text.find("slowdown p99             -    1.50\n"), std::string::npos) << text;
  EXPECT_EQ(judge(variants).tail, "");
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

TEST(Comparison, TheSpreadStandsBelowWhatDecides) {
  std::vector<Variant> variants = {variant("a", {100, 110}), variant("b", {101, 111})};
  const auto line_before_spread = [&] {
    const std::string text = comparison_text(variants, 0, false);
    const std::size_t end = text.find("\n  at best");
    const std::size_t begin = text.rfind('\n', end - 1) + 1;
    return text.substr(begin, text.find("  ", begin) - begin);
  };
  EXPECT_EQ(line_before_spread(), "all done");
  for (Variant& each : variants) each.info.open_loop = true;
  EXPECT_EQ(line_before_spread(), "completion p99");
}

TEST(Comparison, WhatIsLostIsCountedAndHasNoTime) {
  std::vector<Variant> variants = {variant("a", {100}), variant("b", {100})};
  for (Variant& each : variants) each.runs[0].summary.flows = each.runs[0].summary.done = 900;
  EXPECT_EQ(comparison_text(variants, 80, false).find("flows done"), std::string::npos);
  variants[1].runs[0].summary.done = 0;
  variants[1].runs[0].summary.lost = 900;
  variants[1].runs[0].summary.completion.reset();
  const std::string text = comparison_text(variants, 80, false);
  EXPECT_NE(text.find("all done               100us  not done\n"), std::string::npos) << text;
  EXPECT_NE(text.find("flows done        900 of 900  0 of 900\n"), std::string::npos) << text;
  EXPECT_NE(text.find("completion p99         100us         -\n"), std::string::npos) << text;
}

TEST(Comparison, DropsAreShownWhereThereAreAny) {
  std::vector<Variant> variants = {variant("a", {100}), variant("b", {200})};
  EXPECT_EQ(comparison_text(variants, 80, false).find("dropped"), std::string::npos);
  variants[1].runs[0].dropped = 12;
  EXPECT_NE(comparison_text(variants, 80, false).find("dropped"), std::string::npos);
  EXPECT_EQ(comparison_text(variants, 80, false).find("fullest link"), std::string::npos);
  variants[1].runs[0].fullest_link = 2996;
  EXPECT_NE(comparison_text(variants, 80, false).find("fullest link"), std::string::npos);
  EXPECT_NE(comparison_text(variants, 80, false).find("3.00x"), std::string::npos);
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
  EXPECT_EQ(record["tail"], "a has the lowest p99.9, 110us: 50.00% below b");
  EXPECT_EQ(record["streams"].size(), 0u);
  EXPECT_EQ(record["variants"][0]["runs"][0]["flows_lost"], 0);
  EXPECT_EQ(record["outside_spread"], true);
  EXPECT_EQ(record["variants"][1]["runs"][1]["end_ps"], 240'000'000);
  EXPECT_EQ(record["variants"][0]["end_mean_ps"], 110'000'000);
  EXPECT_TRUE(record["variants"][0]["price_usd_per_hour"].is_null());
  EXPECT_TRUE(record["variants"][0]["purchase_usd"].is_null());
}

}  // namespace
}  // namespace weft::report
