#include "sim/max_min_rates.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <iterator>

#include "base/random.hpp"
#include "sim/testing_filling.hpp"

namespace weft::sim {
namespace {

using testing::Shares;
using testing::WatchedRates;

constexpr std::uint64_t kWhole = MaxMinRates::kWhole;
constexpr std::int64_t kParts = 1 << 18;  // of a bit per second, as the flow executor has them

// Two links, and flows over the first, the second and both.
TEST(MaxMinRates, AFlowGetsTheLeastFairShareOfItsLinks) {
  MaxMinRates rates;
  rates.add_link(100);
  rates.add_link(300);
  const std::uint32_t first = rates.add_flow(Shares{{0, kWhole}});
  const std::uint32_t both = rates.add_flow(Shares{{0, kWhole}, {1, kWhole}});
  const std::uint32_t second = rates.add_flow(Shares{{1, kWhole}});
  EXPECT_EQ(rates.settle().size(), 3u);
  EXPECT_EQ(rates.rate(first), 50);
  EXPECT_EQ(rates.rate(both), 50);
  EXPECT_EQ(rates.rate(second), 250);
  EXPECT_EQ(rates.level(0), 50);
  EXPECT_EQ(rates.level(1), 250);
  rates.remove_flow(first);
  EXPECT_EQ(rates.settle().size(), 2u);
  EXPECT_EQ(rates.rate(both), 100);
  EXPECT_EQ(rates.rate(second), 200);
  rates.remove_flow(both);
  rates.settle();
  EXPECT_EQ(rates.rate(second), 300);
  EXPECT_EQ(rates.level(0), MaxMinRates::kUnbound);
}

TEST(MaxMinRates, ASplitFlowFillsALinkWithItsPartOnly) {
  MaxMinRates rates;
  rates.add_link(100);
  rates.add_link(60);
  const std::uint32_t split = rates.add_flow(Shares{{0, kWhole / 2}, {1, kWhole / 2}});
  rates.settle();
  EXPECT_EQ(rates.rate(split), 120);
  const std::uint32_t other = rates.add_flow(Shares{{1, kWhole}});
  rates.settle();
  EXPECT_EQ(rates.rate(split), 40);  // both grow to 40, of which 20 and 40 lie on the second link
  EXPECT_EQ(rates.rate(other), 40);
}

TEST(MaxMinRates, AFlowThatStandsForManyHasTheRateOfEachOfThem) {
  MaxMinRates rates;
  rates.add_link(100);
  rates.add_link(300);
  const std::uint32_t many = rates.add_flow(Shares{{0, kWhole}, {1, kWhole}}, 4);
  const std::uint32_t one = rates.add_flow(Shares{{1, kWhole}});
  rates.settle();
  EXPECT_EQ(rates.rate(many), 25);
  EXPECT_EQ(rates.rate(one), 200);
  rates.set_count(many, 1);
  EXPECT_EQ(rates.settle().size(), 1u);
  EXPECT_EQ(rates.rate(many), 100);
  EXPECT_EQ(rates.rate(one), 200);
}

TEST(MaxMinRates, WhatAChangeDoesNotReachIsLeftAlone) {
  MaxMinRates rates;
  for (const std::int64_t capacity : {100, 101, 102, 200}) rates.add_link(capacity);
  for (std::uint32_t i = 0; i + 1 < 4; ++i) rates.add_flow(Shares{{i, kWhole}, {i + 1, kWhole}});
  rates.settle();
  rates.add_flow(Shares{{3, kWhole}});
  EXPECT_EQ(rates.settle().size(), 1u);  // takes what was left there
  EXPECT_TRUE(rates.settle().empty());
}

// A chain of random adds and removes, several between two settlements, on links of whatever capacity.
template <class Check>
void come_and_go(std::int64_t least, std::int64_t most, bool split, Check check) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto links = *rc::gen::inRange(1u, 30u);
  const auto steps = *rc::gen::inRange(1u, 60u);
  const auto flows = *rc::gen::inRange(1u, 60u);
  Random random(seed, 0, 0);
  MaxMinRates rates;
  WatchedRates watched(rates);
  for (std::uint32_t i = 0; i < links; ++i) {
    const std::int64_t capacity =
        least + static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(most - least));
    rates.add_link(capacity);
    watched.know_link(capacity);
  }
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (std::uint32_t events = 1 + random.below(3); events > 0; --events) {
      if (!watched.flows().empty() && random.below(flows) < watched.flows().size()) {
        watched.remove_flow(
            std::next(watched.flows().begin(), random.below(static_cast<std::uint32_t>(watched.flows().size())))
                ->first);
        continue;
      }
      Shares shares;
      for (std::uint32_t link = random.below(4); link < links; link += 1 + random.below(links / 2 + 1))
        shares.push_back({link, split && !shares.empty() ? 1 + random.next() % (2 * kWhole) : kWhole});
      if (!shares.empty()) watched.add_flow(shares);
    }
    RC_ASSERT(watched.settle_tells_all());
    check(watched);
  }
}

// One solver has a flow for several that come and go together, the other each of them. What is left of a division stays
// with whom it was last, so the two may differ in the last parts, by a few for each link that passes them on.
RC_GTEST_PROP(MaxMinRates, StandingForManyIsTheSameAsBeingMany, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>(), 0, 0);
  const auto links = *rc::gen::inRange(1u, 8u);
  MaxMinRates together;
  MaxMinRates apart;
  for (std::uint32_t i = 0; i < links; ++i) {
    const std::int64_t capacity = (1 + random.below(1000)) * std::int64_t{1'000'000'000};
    together.add_link(capacity);
    apart.add_link(capacity);
  }
  struct Alike {
    Shares shares;
    std::uint32_t flow;
    std::vector<std::uint32_t> flows;
  };
  std::vector<Alike> all(1 + random.below(6));
  for (Alike& each : all)
    for (std::uint32_t link = random.below(links); link < links; link += 1 + random.below(3))
      each.shares.push_back({link, kWhole});
  for (std::uint32_t step = 0; step < 30; ++step) {
    Alike& each = all[random.below(static_cast<std::uint32_t>(all.size()))];
    const std::uint32_t count = random.below(5);
    if (each.flows.empty() && count > 0) {
      each.flow = together.add_flow(each.shares, count);
    } else if (!each.flows.empty()) {
      count > 0 ? together.set_count(each.flow, count) : together.remove_flow(each.flow);
    }
    for (; each.flows.size() > count; each.flows.pop_back()) apart.remove_flow(each.flows.back());
    while (each.flows.size() < count) each.flows.push_back(apart.add_flow(each.shares));
    together.settle();
    apart.settle();
    for (const Alike& some : all)
      for (const std::uint32_t flow : some.flows) RC_ASSERT(std::abs(apart.rate(flow) - together.rate(some.flow)) <= 100);
  }
}

// Few parts of a bit, so that what is rounded shows.
RC_GTEST_PROP(MaxMinRates, EveryAllocationIsFairToTheLastPart, ()) {
  const bool split = *rc::gen::arbitrary<bool>();
  come_and_go(0, 40, split, [](const WatchedRates& watched) { RC_ASSERT(watched.is_fair()); });
}

RC_GTEST_PROP(MaxMinRates, EveryAllocationIsThatOfProgressiveFilling, ()) {
  const bool split = *rc::gen::arbitrary<bool>();
  come_and_go(1'000'000'000 * kParts, 8'000'000'000'000 * kParts, split, [](const WatchedRates& watched) {
    RC_ASSERT(watched.is_fair());
    RC_ASSERT(watched.distance() <= 1e-9L);
  });
}

}  // namespace
}  // namespace weft::sim
