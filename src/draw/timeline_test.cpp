#include "draw/timeline.hpp"

#include <gtest/gtest.h>

namespace weft::draw {
namespace {

// Time is linear along x, and each row has its own height.
TEST(Timeline, PutsSpansWhereTheyBelong) {
  const Picture picture = timeline({"step",
                                    {},
                                    {"stage 0", "stage 1"},
                                    {{"nic", "forward"}, {"far", "backward"}},
                                    {{0, 0, 1, 0, "first"}, {0, 1, 3, 1, "second"}, {1, 1, 2, 0, "third"}}});
  ASSERT_EQ(picture.boxes.size(), 3u);
  const auto named = [&](const std::string& title) {
    for (const Box& box : picture.boxes)
      if (box.title == title) return box;
    return Box{};
  };
  EXPECT_NEAR(named("second").at.w, 2 * named("first").at.w, 0.01);
  EXPECT_NEAR(named("third").at.x, named("second").at.x, 0.01);
  EXPECT_GT(named("third").at.y, named("second").at.y);
  EXPECT_NE(named("first").style, named("second").style);
  EXPECT_EQ(picture.legend.size(), 2u);
}

// A step of many micro-batches is no larger a picture than an eye can see.
TEST(Timeline, WhatIsTooNarrowIsDrawnAsOne) {
  Timeline many{"step", {}, {"stage"}, {{"nic", "forward"}, {"far", "backward"}}, {}};
  for (int i = 0; i < 100'000; ++i) many.spans.push_back({0, i * 1.0, i + 1.0, 0, ""});
  many.spans.push_back({0, 100'000, 200'000, 1, "end"});
  EXPECT_LT(timeline(many).boxes.size(), 400u);
}

TEST(Bars, AreAsLongAsTheirParts) {
  const Picture picture =
      bars({"sweep", {}, "s", {{"nic", "computing"}, {"far", "waiting"}}, {{"a", {1, 1}}, {"b", {3, 0}}}});
  ASSERT_EQ(picture.boxes.size(), 3u);
  EXPECT_NEAR(picture.boxes[1].at.x, picture.boxes[0].at.right(), 0.01);
  EXPECT_NEAR(picture.boxes[2].at.w, 3 * picture.boxes[0].at.w, 0.01);
}

}  // namespace
}  // namespace weft::draw
