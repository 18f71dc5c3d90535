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

std::vector<const Text*> asides(const Picture& picture, Anchor anchor) {
  std::vector<const Text*> found;
  for (const Text& text : picture.texts)
    if (text.style == "aside" && text.anchor == anchor) found.push_back(&text);
  return found;
}

// Ticks are evenly spread over the whole time, each with its line and its number, the last with the unit.
TEST(Timeline, TheAxisSaysWhichTimeIsWhere) {
  struct Case {
    double end;
    std::vector<std::string> ticks;
  };
  for (const Case& each :
       {Case{0.6, {"0", "100", "200", "300", "400", "500", "600 ms"}},
        Case{12, {"0", "2", "4", "6", "8", "10", "12 s"}}, Case{6e-6, {"0", "1", "2", "3", "4", "5", "6 us"}},
        Case{1e-3, {"0", "0.167", "0.333", "0.5", "0.667", "0.833", "1 ms"}}}) {
    const Picture picture = timeline({"step",
                                      {"caption"},
                                      {"stage 0", "stage 1"},
                                      {{"nic", "forward"}},
                                      {{0, 0, each.end / 2, 0, ""}, {1, each.end / 2, each.end, 0, ""}}});
    ASSERT_EQ(picture.boxes.size(), 2u);
    const double from = picture.boxes[0].at.x;
    const double to = picture.boxes[1].at.right();
    const double bottom = picture.boxes[1].at.bottom();
    const auto ticks = asides(picture, Anchor::middle);
    ASSERT_EQ(ticks.size(), each.ticks.size());
    ASSERT_EQ(picture.lines.size(), ticks.size());
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      EXPECT_EQ(ticks[i]->text, each.ticks[i]);
      EXPECT_NEAR(ticks[i]->at.x, from + (to - from) * static_cast<double>(i) / 6, 1e-6);
      EXPECT_GT(ticks[i]->at.y, bottom);
      const Line& line = picture.lines[i];
      EXPECT_EQ(line.points[0].x, ticks[i]->at.x);
      EXPECT_EQ(line.points[1].x, ticks[i]->at.x);
      EXPECT_LT(line.points[0].y, picture.boxes[0].at.y);
      EXPECT_GE(line.points[1].y, bottom);
    }
    const auto rows = asides(picture, Anchor::end);
    ASSERT_EQ(rows.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(rows[i]->text, "stage " + std::to_string(i));
      EXPECT_LT(rows[i]->at.x, from);
      EXPECT_GT(rows[i]->at.y, picture.boxes[i].at.y);
      EXPECT_LT(rows[i]->at.y, picture.boxes[i].at.bottom());
    }
    EXPECT_EQ(picture.texts.back().text, "caption");
  }
}

TEST(Timeline, OfNothingIsAnAxis) {
  const Picture picture = timeline({"step", {}, {"stage"}, {{"nic", "forward"}}, {{0, 1, 1, 0, "no time"}}});
  EXPECT_TRUE(picture.boxes.empty());
  EXPECT_EQ(asides(picture, Anchor::middle).back()->text, "1 s");
}

// A step of many micro-batches is no larger a picture than an eye can see.
TEST(Timeline, WhatIsTooNarrowIsDrawnAsOne) {
  Timeline many{"step", {}, {"stage"}, {{"nic", "forward"}, {"far", "backward"}}, {}};
  for (int i = 0; i < 100'000; ++i) many.spans.push_back({0, i * 1.0, i + 1.0, 0, ""});
  many.spans.push_back({0, 100'000, 200'000, 1, "end"});
  EXPECT_LT(timeline(many).boxes.size(), 400u);
}

TEST(Timeline, OnlyNarrowNeighboursOfOneHueAreDrawnAsOne) {
  const auto boxes = [](const Span& first, const Span& second) {
    return timeline({"step",
                     {},
                     {"a", "b"},
                     {{"nic", "forward"}, {"far", "backward"}},
                     {first, second, {0, 900, 1000, 1, ""}}})
               .boxes.size() -
           1;
  };
  EXPECT_EQ(boxes({0, 0, 1, 0, ""}, {0, 1, 2, 0, ""}), 1u);
  EXPECT_EQ(boxes({0, 0, 1, 0, ""}, {0, 1, 2, 1, ""}), 2u) << "another hue";
  EXPECT_EQ(boxes({0, 0, 1, 0, ""}, {1, 1, 2, 0, ""}), 2u) << "another row";
  EXPECT_EQ(boxes({0, 0, 1, 0, ""}, {0, 1, 5, 0, ""}), 2u) << "a wide one";
  EXPECT_EQ(boxes({0, 0, 5, 0, ""}, {0, 5, 6, 0, ""}), 2u) << "a wide one";
  EXPECT_EQ(boxes({0, 0, 1, 0, ""}, {0, 3, 4, 0, ""}), 2u) << "a gap";
}

TEST(Bars, AreAsLongAsTheirParts) {
  const Picture picture =
      bars({"sweep", {}, "s", {{"nic", "computing"}, {"far", "waiting"}}, {{"a", {1, 1}}, {"b", {3, 0}}}});
  ASSERT_EQ(picture.boxes.size(), 3u);
  EXPECT_NEAR(picture.boxes[1].at.x, picture.boxes[0].at.right(), 0.01);
  EXPECT_NEAR(picture.boxes[2].at.w, 3 * picture.boxes[0].at.w, 0.01);
  EXPECT_NEAR(picture.boxes[2].at.x, picture.boxes[0].at.x, 0.01);
  EXPECT_GT(picture.boxes[2].at.y, picture.boxes[1].at.y);
  EXPECT_EQ(picture.boxes[1].title, "a: waiting 1 s");
  // Behind each what it comes to, before it its name; the longest ends at the end of the axis.
  std::vector<std::string> sums;
  for (const Text* text : asides(picture, Anchor::start)) sums.push_back(text->text);
  EXPECT_EQ(sums, (std::vector<std::string>{"2", "3"}));
  EXPECT_GT(asides(picture, Anchor::start)[0]->at.x, picture.boxes[1].at.right());
  ASSERT_EQ(asides(picture, Anchor::end).size(), 2u);
  EXPECT_EQ(asides(picture, Anchor::end)[1]->text, "b");
  EXPECT_EQ(asides(picture, Anchor::middle).back()->text, "3 s");
  EXPECT_NEAR(asides(picture, Anchor::middle).back()->at.x, picture.boxes[2].at.right(), 0.01);
  EXPECT_EQ(picture.legend.size(), 2u);
}

TEST(Bars, PartsBelowNothingAreNotDrawn) {
  const Picture picture = bars({"sweep", {}, "s", {{"nic", "computing"}, {"far", "waiting"}}, {{"a", {-1, 2}}}});
  ASSERT_EQ(picture.boxes.size(), 1u);
  EXPECT_EQ(picture.boxes[0].style, "far");
  EXPECT_NEAR(picture.boxes[0].at.right(), asides(picture, Anchor::middle).back()->at.x, 0.01);
}

}  // namespace
}  // namespace weft::draw
