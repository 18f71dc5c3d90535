// Sums of power and money, against counting by hand and against the links that the graph has.
#include "fabric/costs.hpp"

#include <gtest/gtest.h>

#include <map>

#include "fabric/summary.hpp"
#include "fabric/testing_fabrics.hpp"

namespace weft::fabric {
namespace {

using namespace testing;

Costs costs_of_file(const std::string& yaml) {
  const Built built(cluster_of(yaml));
  return summarise(built.fabric).costs;
}

PartCosts part(const Costs& costs, std::string_view name) {
  for (const PartCosts& each : costs.parts)
    if (each.name == name) return each;
  return {};
}

//   4 servers of 8 NICs under 2 leaves with 4 spines: 32 cables below, 2 x 32 above (2 leaves, as many up as down)
std::string two_racks(const std::string& server, const std::string& nic, const std::string& box,
                      const std::string& medium) {
  return "version: 1\nservers: {kind: hgx-h100, count: 4" + server + ", nic: {kind: connectx-7" + nic +
         "}}\nfabric: {kind: tor-clos, servers_per_leaf: 2, spines: 4, switch: {kind: spectrum-4" + box +
         "}, link: {medium: {kind: fiber" + medium + "}}}\n";
}

class CostsOfEveryFabric : public ::testing::TestWithParam<Sample> {};
INSTANTIATE_TEST_SUITE_P(Samples, CostsOfEveryFabric, ::testing::ValuesIn(samples()),
                         [](const auto& sample) { return sample.param.name; });

TEST_P(CostsOfEveryFabric, HasTheCablesThatItsGraphHas) {
  const Built built(cluster_of(GetParam().yaml));
  std::map<LinkTier, std::uint64_t> ends;  // at switches
  for (std::uint32_t i = 0; i < built.fabric.count(NodeKind::network_switch); ++i)
    built.fabric.for_each_link(built.fabric.node(NodeKind::network_switch, i), [&](const Link& link) {
      if (link.tier != LinkTier::site) ends[link.tier] += link.tier == LinkTier::nic ? 2 : 1;
    });
  std::map<LinkTier, std::uint64_t> counted;
  for (const CableRun& run : cable_runs(built.fabric)) counted[run.tier] += 2 * run.cables;
  EXPECT_EQ(counted, ends);
}

TEST(Costs, NothingIsInASumThatNobodyPriced) {
  const Costs costs = costs_of_file(two_racks("", "", "", ""));
  EXPECT_FALSE(costs.price);
  EXPECT_FALSE(costs.purchase());
  ASSERT_EQ(costs.parts.size(), 4u);
  for (const PartCosts& each : costs.parts) EXPECT_EQ(each.unpriced, each.pieces) << each.name;
  EXPECT_EQ(part(costs, "servers").pieces, 4u);
  EXPECT_EQ(part(costs, "NICs").pieces, 32u);
  EXPECT_EQ(part(costs, "switches").pieces, 6u);
  EXPECT_EQ(part(costs, "cables").pieces, 64u);
}

TEST(Costs, WhatIsBoughtIsSummedByPart) {
  const Costs costs =
      costs_of_file(two_racks(", purchase: $200k", ", purchase: $1.5k", ", purchase: $30k", ", purchase: $1k"));
  EXPECT_EQ(part(costs, "servers").purchase, Money(800'000'000'000));
  EXPECT_EQ(part(costs, "NICs").purchase, Money(48'000'000'000));
  EXPECT_EQ(part(costs, "switches").purchase, Money(180'000'000'000));
  EXPECT_EQ(part(costs, "cables").purchase, Money(64'000'000'000));
  EXPECT_EQ(costs.purchase(), Money(1'092'000'000'000));
  EXPECT_FALSE(costs.price);
}

TEST(Costs, RentedAndBoughtAreNeverAdded) {
  const Costs costs = costs_of_file(two_racks(", price: $10/h", "", ", purchase: $30k", ""));
  EXPECT_EQ(costs.price, Price(40'000'000));
  EXPECT_EQ(costs.purchase(), Money(180'000'000'000));
  EXPECT_EQ(part(costs, "servers").unpriced, 0u);
  EXPECT_EQ(part(costs, "NICs").unpriced, 0u) << "they came with the server";
  EXPECT_EQ(part(costs, "cables").unpriced, 64u);
}

TEST(Costs, APartThatCostsNothingIsPriced) {
  const Costs costs = costs_of_file(two_racks("", "", ", purchase: $0", ""));
  EXPECT_EQ(costs.purchase(), Money(0));
  EXPECT_EQ(part(costs, "switches").unpriced, 0u);
}

TEST(Costs, EachTierHasItsOwnSwitchAndCable) {
  const Costs costs = costs_of_file(
      "version: 1\nservers: {kind: hgx-h100, count: 4}\n"
      "fabric: {kind: tor-clos, servers_per_leaf: 2, spines: 4, switch: {kind: spectrum-4, purchase: $10k},\n"
      "  spine_switch: {kind: spectrum-4, purchase: $20k}, link: {medium: {kind: dac, purchase: $100}, cable: 2m},\n"
      "  spine_link: {medium: {kind: fiber, purchase: $1k, power: 9W}}}\n");
  EXPECT_EQ(part(costs, "switches").purchase, Money(100'000'000'000));
  EXPECT_EQ(part(costs, "cables").purchase, Money(32 * 100'000'000LL + 32 * 1'000'000'000LL));
  EXPECT_EQ(costs.optics_power, Power(2 * 32 * 9'000)) << "both ends of the fibres, nothing for copper";
  EXPECT_TRUE(costs.not_in_power.empty());
  EXPECT_EQ(costs.switches_power, Power(6 * 940'000));
  EXPECT_EQ(costs.power(), costs.servers_power + costs.switches_power + costs.optics_power);
}

TEST(Costs, ARackIsMoreThanItsTrays) {
  const Costs costs = costs_of_file(
      "version: 1\nservers: {kind: gb200-nvl72, count: 72}\nfabric: {kind: tor-clos, switch: spectrum-4}\n");
  EXPECT_EQ(costs.servers_power, Power(72 * 5'400'000));
  EXPECT_EQ(costs.servers_power + costs.scale_up_power, Power(4 * 120'000'000)) << "as NVIDIA says of a rack";
  EXPECT_EQ(costs.power(), costs.servers_power + costs.scale_up_power + costs.switches_power + costs.optics_power);
}

using Names = std::vector<std::string>;

TEST(Costs, WhatNobodyMeasuredIsSaidToBeMissing) {
  EXPECT_EQ(costs_of_file(two_racks("", "", "", "")).not_in_power, Names{"optics"});
  EXPECT_EQ(costs_of_file(two_racks("", "", "", ", power: 8W")).not_in_power, Names{});
  const std::string fabric = "fabric: {kind: tor-clos, servers_per_leaf: 2, switch: jericho-3, spines: 4,\n";
  const Costs costs = costs_of_file("version: 1\nservers: {kind: p5.48xlarge, count: 2, nics: 2}\n" + fabric +
                                    "  spine_switch: tomahawk-5, link: {medium: {kind: fiber, power: 8W}}}\n");
  EXPECT_EQ(costs.not_in_power, (Names{"servers beside their GPUs", "some switches"}));
  EXPECT_TRUE(costs.power_is_partial);
  EXPECT_EQ(costs.servers_power, Power(2 * 8 * 700'000)) << "its GPUs are known";
}

TEST(Costs, StorageIsInThePriceAndSaidToBeInNoPower) {
  const auto with = [](const std::string& price) {
    return costs_of_file(
        "version: 1\nservers: {kind: p5.48xlarge, count: 2}\nfabric: {kind: tor-clos}\n"
        "storage:\n  - {name: lustre, kind: parallel-fs, size: 10TB" +
        price + "}\n");
  };
  EXPECT_EQ(with(", price: $33/h").price, Price(2 * 55'040'000 + 33'000'000));
  EXPECT_EQ(part(with(", price: $33/h"), "storage").unpriced, 0u);
  EXPECT_EQ(part(with(""), "storage").unpriced, 1u);
  EXPECT_EQ(with("").price, Price(2 * 55'040'000));
  EXPECT_EQ(with("").not_in_power.back(), "storage");
}

TEST(Costs, HotterOrFewerGpusChangeThePowerOfAServer) {
  const auto power = [](const std::string& more) {
    return costs_of_file("version: 1\nservers: {kind: hgx-h100, count: 1" + more + "}\nfabric: {kind: tor-clos}\n")
        .servers_power;
  };
  EXPECT_EQ(power(""), Power(10'200'000));
  EXPECT_EQ(power(", gpu: {kind: h100-sxm, power: 800W}"), Power(11'000'000));
  EXPECT_EQ(power(", gpu: b200"), Power(12'600'000));
  EXPECT_EQ(power(", gpus: 4"), Power(7'400'000));
  EXPECT_EQ(power(", gpus: 4, power: 9kW"), Power(9'000'000)) << "what is written counts";
}

TEST(Costs, OneGroupWithoutAPriceIsSeen) {
  const Costs costs = costs_of_file(
      "version: 1\nservers:\n  - {kind: hgx-h100, count: 2, price: $10/h}\n  - {kind: hgx-h100, count: 1}\n"
      "fabric: {kind: single-chassis, switch: spectrum-4}\n");
  EXPECT_EQ(costs.price, Price(20'000'000));
  EXPECT_EQ(part(costs, "servers").unpriced, 1u);
  EXPECT_EQ(part(costs, "NICs").unpriced, 8u);
}

}  // namespace
}  // namespace weft::fabric
