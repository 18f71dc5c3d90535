// What stands for faults between switches, against what can be counted by hand.

#include "experiment/worst_place.hpp"

#include <gtest/gtest.h>

#include "experiment/testing_design.hpp"

namespace weft::experiment {
namespace {

// 8 servers of 8 GPUs; four pods of two leaves with 4 spines each, below 4 groups of 2 super-spines.
constexpr const char* kTree = "{kind: tor-clos, servers_per_leaf: 1, spines: 4, pod: 2, super_spines: 8}\n";

std::optional<WorstPlace> with(const std::vector<model::FaultSpec>& faults, const char* transport = "{kind: srd}") {
  const auto design = testing::design_from(std::string("version: 1\nservers: {kind: hgx-h100, count: 8}\nfabric: ") +
                                           kTree + "transport: " + transport + "\n");
  EXPECT_TRUE(design);
  Experiment experiment;
  experiment.faults = faults;
  return narrowest_place(*design, experiment);
}

model::FaultSpec down(const char* part) {
  model::FaultSpec made;
  made.part = part;
  return made;
}

TEST(WorstPlace, IsTheNarrowest) {
  EXPECT_FALSE(with({}));
  const auto spine = with({down("spine1")});
  ASSERT_TRUE(spine);
  EXPECT_EQ(spine->leaf, 750'000u) << "one of four spines";
  EXPECT_EQ(spine->pod, 750'000u);
  const auto super = with({down("super0")});
  ASSERT_TRUE(super);
  EXPECT_EQ(super->leaf, 1'000'000u);
  EXPECT_LT(super->pod, 1'000'000u);
  EXPECT_EQ(with({down("spine0"), down("spine1")})->leaf, 500'000u) << "both of the first pod";
  EXPECT_EQ(with({down("spine0"), down("spine5")})->leaf, 750'000u) << "of two pods, which nobody has both of";
}

// Packets that are spread evenly go as fast as the slowest way lets them; who leaves slow ways loses that way alone.
TEST(WorstPlace, SlowCablesHoldUpWhoDoesNotAvoidThem) {
  model::FaultSpec slow = down("leaf0:spine1");
  slow.kind = model::FaultKind::slow;
  slow.share = Share(500'000);
  EXPECT_EQ(with({slow}, "{kind: srd, balance: spray}")->leaf, 500'000u);
  EXPECT_EQ(with({slow}, "{kind: srd, balance: adaptive}")->leaf, 875'000u);
}

TEST(WorstPlace, IsNotKnownOfNicsAndOfWhatComesAndGoes) {
  EXPECT_FALSE(with({down("s0/nic0")}));
  EXPECT_FALSE(with({down("leaf0")})) << "its NICs";
  EXPECT_FALSE(with({down("spine1"), down("s0/nic0")}));
  model::FaultSpec late = down("spine1");
  late.at = microseconds(5);
  EXPECT_FALSE(with({late}));
}

}  // namespace
}  // namespace weft::experiment
