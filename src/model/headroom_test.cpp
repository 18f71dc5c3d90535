#include "model/headroom.hpp"

#include <gtest/gtest.h>

namespace weft::model {
namespace {

constexpr Bandwidth k400G{400'000'000'000};
constexpr Bytes kFrame{4160};

// By hand: 300 m are 1.5 us each way, 3 us at 50 B/ns are 150,000 B; 300 ns are 15,000 B; 3840 bits are 480 B.
TEST(Headroom, IsWhatIsOnItsWayWhileAPauseTakesEffect) {
  EXPECT_EQ(pfc_headroom(k400G, Duration(1'500'000), kFrame, Duration(300'000)).count(),
            150'000 + 15'000 + 480 + 2 * 4160);
  EXPECT_EQ(pfc_headroom(k400G, Duration(0), kFrame, Duration(0)).count(), 480 + 2 * 4160);
}

TEST(Headroom, RoundsUpAndHoldsTheLargestValues) {
  EXPECT_EQ(pfc_headroom(Bandwidth(1), Duration(1), Bytes(0), Duration(0)).count(), 481);
  EXPECT_GT(pfc_headroom(Bandwidth(1'000'000'000'000'000), Duration(3'600'000'000'000), kFrame, Duration(0)).count(),
            0);
}

}  // namespace
}  // namespace weft::model
