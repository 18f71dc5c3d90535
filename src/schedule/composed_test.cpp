#include "schedule/composed.hpp"

#include <gtest/gtest.h>

namespace weft::schedule {
namespace {

// What they do is tested where they run (sim); here: who has how many lanes.
TEST(Composed, EachTrackHasALaneOfItsRank) {
  auto steps = std::make_unique<WrittenSteps>(3);
  steps->add(0, {Step::compute(5)});
  steps->add(2, {Step::compute(6)});
  steps->add(2, {Step::compute(7)});
  Composed composed(3, {}, std::move(steps));
  ASSERT_EQ(composed.ranks(), 3u);
  EXPECT_EQ(composed.lanes(0), 1u);
  EXPECT_EQ(composed.lanes(1), 0u);
  EXPECT_EQ(composed.lanes(2), 2u);
  Instruction first;
  ASSERT_TRUE(composed.next(2, 1, first));
  EXPECT_EQ(first.time, 7);
}

}  // namespace
}  // namespace weft::schedule
