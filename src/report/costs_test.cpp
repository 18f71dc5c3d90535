#include "report/costs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft::report {
namespace {

Costs network(std::uint64_t switches, std::int64_t watts, std::int64_t dollars) {
  Costs costs;
  costs.switches = switches;
  costs.cables = 64 * switches;
  costs.ports = 64 * switches;
  costs.ports_used = 32 * switches;
  costs.power = Power((100'000 + watts) * 1000);
  costs.network = Power(watts * 1000);
  costs.purchase = Money(dollars * 1'000'000);
  return costs;
}

std::vector<std::string> titles(const std::vector<CostRow>& rows) {
  std::vector<std::string> out;
  for (const auto& [title, text] : rows) out.push_back(title);
  return out;
}

std::string sentence(const std::vector<LabelledCosts>& variants, const std::string& about) {
  for (const auto& [sum, text] : cost_sentences(variants))
    if (sum == about) return text;
  return "";
}

using Titles = std::vector<std::string>;

TEST(CostRows, WhatTheyAreBuiltOfIsShownWhereItDiffers) {
  const Costs one = network(8, 7'520, 240'000);
  EXPECT_EQ(titles(cost_rows({{"a", one}, {"b", one}})), (Titles{"purchase", "power"}));
  const auto rows = cost_rows({{"a", one}, {"b", network(1'024, 22'560, 720'000)}});
  EXPECT_EQ(titles(rows), (Titles{"switches", "  ports used", "cables", "purchase", "power", "  network"}));
  EXPECT_EQ(rows[1].second(one), "256 of 512");
  EXPECT_EQ(rows[3].second(one), "$240k");
  EXPECT_EQ(rows[5].second(one), "7.52kW");
}

TEST(CostRows, WhatNobodyKnowsHasNoRow) {
  EXPECT_EQ(titles(cost_rows({{"a", {}}, {"b", {}}})), Titles{});
  Costs rented;
  rented.price = Price(1'500'000);
  const auto rows = cost_rows({{"a", {}}, {"b", rented}});
  ASSERT_EQ(titles(rows), Titles{"price"});
  EXPECT_EQ(rows[0].second({}), "-");
  EXPECT_EQ(rows[0].second(rented), "$1.50/h");
}

TEST(CostRows, ColumnsAreFewer) {
  const Costs one = network(8, 7'520, 240'000);
  const auto columns = cost_columns({{"a", one}, {"b", network(24, 22'560, 720'000)}});
  EXPECT_EQ(titles(columns), (Titles{"ports", "purchase", "power"}));
  EXPECT_EQ(columns[0].second(one), "256/512");
}

TEST(CostSentences, NameTheLeastAndHowManyTimesItTheOthersAre) {
  const std::vector<LabelledCosts> variants = {{"rails", network(24, 22'560, 720'000)},
                                               {"rail-only", network(8, 7'520, 240'000)},
                                               {"tor", network(24, 22'560, 480'000)}};
  EXPECT_EQ(sentence(variants, "purchase"), "least with rail-only, $240k; 2.00x that with tor, 3.00x with rails");
  EXPECT_EQ(sentence(variants, "network power"), "least with rail-only, 7.52kW; 3.00x that with rails, 3.00x with tor");
  EXPECT_EQ(sentence(variants, "power"), "") << "the servers are the same";
}

TEST(CostSentences, AreNotMadeOfATie) {
  EXPECT_TRUE(cost_sentences({{"a", network(8, 7'520, 240'000)}, {"b", network(8, 7'520, 240'500)}}).empty());
  const std::vector<LabelledCosts> two_of_three = {
      {"a", network(8, 7'520, 240'000)}, {"b", network(8, 7'520, 240'500)}, {"c", network(8, 7'520, 360'000)}};
  EXPECT_EQ(sentence(two_of_three, "purchase"), "least with a or b, $240k; 1.50x that with c");
}

TEST(CostSentences, OfNothingAtAllHaveNoRatio) {
  EXPECT_EQ(sentence({{"a", network(8, 7'520, 0)}, {"b", network(8, 7'520, 30'000)}}, "purchase"),
            "least with a, $0; $30k with b");
}

TEST(CostSentences, SumsOfDifferentPartsAreNotCompared) {
  std::vector<LabelledCosts> variants = {{"a", network(8, 7'520, 240'000)}, {"b", network(24, 22'560, 720'000)}};
  variants[0].costs.not_priced = {"cables"};
  variants[1].costs.not_in_power = {"optics"};
  EXPECT_EQ(sentence(variants, "purchase"), "not to be compared: different parts are left out");
  EXPECT_EQ(sentence(variants, "network power"), "not to be compared: different parts are left out");
  const auto all = cost_sentences(variants);
  const auto has = [&](const std::string& text) {
    return std::any_of(all.begin(), all.end(), [&](const auto& each) { return each.second == text; });
  };
  EXPECT_TRUE(has("a: cables in purchase"));
  EXPECT_TRUE(has("b: optics in power"));
}

TEST(CostSentences, SayWhatIsLeftOutOfAll) {
  std::vector<LabelledCosts> variants = {{"a", network(8, 7'520, 240'000)}, {"b", network(24, 22'560, 720'000)}};
  for (LabelledCosts& each : variants) {
    each.costs.not_priced = {"servers", "NICs"};
    each.costs.not_in_power = {"optics"};
  }
  EXPECT_EQ(sentence(variants, "without"), "servers, NICs in purchase; optics in power");
  for (LabelledCosts& each : variants) each.costs.purchase.reset();
  EXPECT_EQ(sentence(variants, "without"), "optics in power") << "where no sum is shown, nothing is left out of it";
}

TEST(CostRows, APartialSumDoesNotLookWhole) {
  Costs partial = network(8, 7'520, 240'000);
  partial.not_priced = {"servers"};
  partial.not_in_power = {"switches"};
  partial.power_is_partial = true;
  const std::vector<LabelledCosts> variants = {{"a", partial}, {"b", partial}};
  const auto rows = cost_rows(variants);
  ASSERT_EQ(titles(rows), (Titles{"purchase", "power"}));
  EXPECT_EQ(rows[0].second(partial), "$240k+");
  EXPECT_EQ(rows[1].second(partial), "108kW+");
  EXPECT_EQ(sentence(variants, "without"), "servers in purchase; switches in power");
}

TEST(CostRecord, HasEveryKeyAndNullForWhatIsNotKnown) {
  const auto empty = costs_json({});
  for (const char* key : {"price_usd_per_hour", "purchase_usd", "power_milliwatts", "network_power_milliwatts"})
    EXPECT_TRUE(empty.at(key).is_null()) << key;
  const auto known = costs_json(network(8, 7'520, 240'000));
  EXPECT_EQ(known["purchase_usd"], 240'000.0);
  EXPECT_EQ(known["network_power_milliwatts"], 7'520'000);
  EXPECT_EQ(known["ports_used"], 256);
}

}  // namespace
}  // namespace weft::report
