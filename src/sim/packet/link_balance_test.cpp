#include "sim/packet/link_balance.hpp"

#include <gtest/gtest.h>

#include "sim/packet/testing_sim.hpp"

namespace weft::sim {
namespace {

using namespace testing;

std::int64_t fullest(Balance balance, const std::vector<Flow>& flows) {
  SimConfig config;
  config.balance = balance;
  config.stack.srd.paths = 1;
  PacketSim sim(leaves_and_spines(), config);
  run_on(sim, flows);
  return fullest_link(sim);
}

// 128 links, of which one flow on one path has two, and its acknowledgements a little of two others.
TEST(LinkBalance, AFlowOnOnePathFillsTwoOfAllLinks) {
  const std::int64_t one = fullest(Balance::ecmp, {{0, 63, 4'000'000, 0}});
  EXPECT_LE(one, 64'000);
  EXPECT_GE(one, 63'000);
}

// Every host to the one below the next leaf: eight links up for eight hosts.
TEST(LinkBalance, SprayIsEvenAndHashingIsNot) {
  std::vector<Flow> flows;
  for (std::uint32_t i = 0; i < 64; ++i) flows.push_back({i, (i + 8) % 64, 4'000'000, 0});
  EXPECT_LE(fullest(Balance::spray, flows), 1150);
  EXPECT_GE(fullest(Balance::ecmp, flows), 2900) << "of 64 hashes into eights, three meet somewhere";
}

TEST(LinkBalance, BelowOneLeafThereIsNothingToBalance) {
  EXPECT_EQ(fullest(Balance::spray, {{0, 1, 4'000'000, 0}}), 0);
}

}  // namespace
}  // namespace weft::sim
