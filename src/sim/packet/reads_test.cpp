#include "sim/packet/reads.hpp"

#include <gtest/gtest.h>

namespace weft::sim {
namespace {

constexpr NicPair kPair{1, 2};

TEST(Reads, AWholeIsReadInPartsAndTheLastMayBeShorter) {
  Read whole{kPair, 3, 4, 100, Read::kNoPart, 150};
  const Read first = whole.take_part();
  EXPECT_EQ(first.bytes, 100u);
  EXPECT_EQ(first.rest, 0u);
  EXPECT_EQ(whole.take_part().bytes, 100u);
  EXPECT_EQ(whole.rest, 0u);
  EXPECT_EQ(whole.take_part().bytes, 50u);
}

TEST(Reads, SoManyAtATimeBetweenTwoNics) {
  Reads reads(2);
  reads.begins(kPair);
  EXPECT_TRUE(reads.has_room(kPair));
  reads.begins(kPair);
  EXPECT_FALSE(reads.has_room(kPair));
  EXPECT_TRUE(reads.has_room({2, 1})) << "others have their own";
  reads.ended(kPair);
  EXPECT_TRUE(reads.has_room(kPair));
}

TEST(Reads, WhoWaitsLongestIsNextWithAllItsParts) {
  Reads reads(1);
  EXPECT_FALSE(reads.next(kPair).has_value());
  reads.wait({kPair, 3, 4, 100, Read::kNoPart, 20});
  reads.wait({kPair, 5, 6, 70});
  EXPECT_EQ(reads.next(kPair)->bytes, 100u);
  const auto rest = reads.next(kPair);
  EXPECT_EQ(rest->from, 3u);
  EXPECT_EQ(rest->bytes, 20u);
  EXPECT_EQ(reads.next(kPair)->from, 5u);
  EXPECT_FALSE(reads.next(kPair).has_value());
}

}  // namespace
}  // namespace weft::sim
