#include "sim/conditions.hpp"

#include <gtest/gtest.h>

namespace weft::sim {
namespace {

using Kind = Condition::Kind;

constexpr std::uint32_t kAlways = 1'000'000;

Fate fate_under(std::vector<Condition> conditions, std::int64_t begin = 10, std::int64_t end = 20) {
  Random random(1, 0, 0);
  return fate(conditions, begin, end, random);
}

TEST(Fate, IsWhatTheConditionDoesToAPacket) {
  EXPECT_EQ(fate_under({}), Fate::arrives);
  EXPECT_EQ(fate_under({{.kind = Kind::down}}), Fate::lost);
  EXPECT_EQ(fate_under({{.kind = Kind::blackhole}}), Fate::lost);
  EXPECT_EQ(fate_under({{.kind = Kind::loss, .amount = kAlways}}), Fate::lost);
  EXPECT_EQ(fate_under({{.kind = Kind::corrupt, .amount = kAlways}}), Fate::corrupted);
  EXPECT_EQ(fate_under({{.kind = Kind::loss, .amount = 0}}), Fate::arrives);
  EXPECT_EQ(fate_under({{.kind = Kind::degraded, .amount = 1}}), Fate::arrives);
}

TEST(Fate, WhatIsLostIsNotAlsoDamaged) {
  EXPECT_EQ(fate_under({{.kind = Kind::corrupt, .amount = kAlways}, {.kind = Kind::loss, .amount = kAlways}}),
            Fate::lost);
}

TEST(Fate, OnlyTheTimeOnTheWireCounts) {
  EXPECT_EQ(fate_under({{.kind = Kind::down, .from = 20}}), Fate::arrives);
  EXPECT_EQ(fate_under({{.kind = Kind::down, .from = 19}}), Fate::lost);
  EXPECT_EQ(fate_under({{.kind = Kind::down, .from = 0, .to = 10}}), Fate::arrives);
  EXPECT_EQ(fate_under({{.kind = Kind::down, .from = 0, .to = 11}}), Fate::lost);
}

TEST(KnownDown, ABlackholeIsNot) {
  EXPECT_TRUE(known_down({{.kind = Kind::down, .from = 5, .to = 7}}, 6));
  EXPECT_FALSE(known_down({{.kind = Kind::down, .from = 5, .to = 7}}, 7));
  EXPECT_FALSE(known_down({{.kind = Kind::blackhole, .from = 5, .to = 7}}, 6));
}

}  // namespace
}  // namespace weft::sim
