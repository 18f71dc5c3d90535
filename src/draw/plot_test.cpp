#include "draw/plot.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace weft::draw {
namespace {

const Line* curve_named(const Picture& picture, const std::string& name) {
  for (const Line& line : picture.lines)
    if (line.title == name) return &line;
  return nullptr;
}

// Sizes double along x and bandwidth is linear: twice the bandwidth is half of the height.
TEST(Plot, PutsPointsWhereTheyBelong) {
  const Picture picture = plot({"title", {}, "busbw", {{"one", {{1, 0}, {16, 50}, {256, 100}}}}});
  const Line* line = curve_named(picture, "one");
  ASSERT_NE(line, nullptr);
  ASSERT_EQ(line->points.size(), 3u);
  EXPECT_DOUBLE_EQ(line->points[1].x - line->points[0].x, line->points[2].x - line->points[1].x);
  EXPECT_DOUBLE_EQ(line->points[0].y - line->points[1].y, line->points[1].y - line->points[2].y);
  EXPECT_GT(line->points[0].y, line->points[2].y);
}

const Text* text_saying(const Picture& picture, const std::string& words) {
  for (const Text& text : picture.texts)
    if (text.text == words) return &text;
  return nullptr;
}

TEST(Plot, TheGridSaysWhereItsValuesAre) {
  const Picture picture = plot({"title", {"first", "second"}, "busbw", {{"one", {{1, 0}, {16, 50}, {256, 100}}}}});
  for (const char* words : {"title", "first", "second", "busbw"})
    EXPECT_NE(text_saying(picture, words), nullptr) << words;
  const Line* curve = curve_named(picture, "one");
  ASSERT_NE(curve, nullptr);
  ASSERT_EQ(curve->points.size(), 3u);
  const double bottom = curve->points[0].y;
  const double top = curve->points[2].y;
  for (int value = 0; value <= 100; value += 20) {
    const Text* tick = text_saying(picture, std::to_string(value));
    ASSERT_NE(tick, nullptr) << value;
    const double y = bottom + (top - bottom) * value / 100;
    EXPECT_NEAR(tick->at.y, y + 4, 1e-6) << value;
    EXPECT_LT(tick->at.x, curve->points[0].x) << "beside the curves";
    bool drawn = false;
    for (const Line& line : picture.lines)
      drawn |= line.style == (value == 0 ? "axis" : "grid") && line.points[0].y == line.points[1].y &&
               std::abs(line.points[0].y - y) < 1e-6;
    EXPECT_TRUE(drawn) << value;
  }
  for (int i = 0; i <= 8; ++i) {
    const Text* tick = text_saying(picture, std::to_string(1 << i) + "B");
    ASSERT_NE(tick, nullptr) << i;
    EXPECT_NEAR(tick->at.x, curve->points[0].x + (curve->points[2].x - curve->points[0].x) * i / 8, 1e-6);
    EXPECT_GT(tick->at.y, bottom);
  }
}

// From microseconds' worth of bytes to gigabytes bandwidth spans decades: drawn as it is, the left half would be a
// line.
TEST(Plot, DecadesOfBandwidthAreDrawnByTheirLogarithms) {
  const Picture picture = plot({"title", {}, "busbw", {{"one", {{1, 0.01}, {16, 1}, {256, 100}}}}});
  const Line* line = curve_named(picture, "one");
  ASSERT_NE(line, nullptr);
  ASSERT_EQ(line->points.size(), 3u);
  EXPECT_NEAR(line->points[0].y - line->points[1].y, line->points[1].y - line->points[2].y, 1e-6);
  EXPECT_GT(line->points[0].y - line->points[1].y, 100);
}

TEST(Plot, CurvesThatLieOnEachOtherAreDashed) {
  const Picture picture = plot({"title",
                                {},
                                "busbw",
                                {{"one", {{8, 1}, {16, 2}}},
                                 {"other", {{8, 2}, {16, 1}}},
                                 {"again", {{8, 1}, {16, 2}}},
                                 {"third", {{8, 1}, {16, 2}}}}});
  EXPECT_EQ(curve_named(picture, "one")->style.find("dash"), std::string::npos);
  EXPECT_EQ(curve_named(picture, "other")->style.find("dash"), std::string::npos);
  EXPECT_NE(curve_named(picture, "again")->style.find("dash1"), std::string::npos);
  EXPECT_NE(curve_named(picture, "third")->style.find("dash2"), std::string::npos);
}

TEST(Plot, OfCurvesThatGoTogetherForAWhileTheFirstIsBroader) {
  const Picture picture = plot({"title",
                                {},
                                "busbw",
                                {{"chosen", {{8, 1}, {16, 2}, {32, 4}}, false},
                                 {"tree", {{8, 1}, {16, 2}, {32, 3}}, false},
                                 {"ring", {{8, 0.5}, {16, 1}, {32, 4}}, false}}});
  EXPECT_GT(curve_named(picture, "chosen")->width, curve_named(picture, "tree")->width);
  EXPECT_EQ(curve_named(picture, "tree")->width, curve_named(picture, "ring")->width) << "one point is no stretch";
}

TEST(Plot, EveryCurveIsInTheLegendAndMeasurementsAreCrosses) {
  const Picture picture =
      plot({"title", {}, "busbw", {{"measured", {{8, 1}, {16, 2}}, true}, {"simulated", {{8, 1}, {16, 3}}}}});
  ASSERT_EQ(picture.legend.size(), 2u);
  EXPECT_NE(picture.legend[0].style, picture.legend[1].style);
  ASSERT_NE(curve_named(picture, "simulated"), nullptr);
  EXPECT_EQ(curve_named(picture, "simulated")->style, picture.legend[1].style);
  EXPECT_EQ(curve_named(picture, "measured"), nullptr);
  const Line* cross = curve_named(picture, "measured: 8B 1 GB/s");
  ASSERT_NE(cross, nullptr);
  EXPECT_DOUBLE_EQ(cross->points[1].x - cross->points[0].x, 7) << "smaller than the way to the next";
  const std::string svg = to_svg(picture);
  EXPECT_NE(svg.find("curve0"), std::string::npos);
  EXPECT_NE(svg.find("simulated"), std::string::npos);
}

TEST(Plot, RoundNumbersAreNotBelow) {
  EXPECT_DOUBLE_EQ(round_up(366), 400);
  EXPECT_DOUBLE_EQ(round_up(200), 200);
  EXPECT_DOUBLE_EQ(round_up(201), 250);
  EXPECT_DOUBLE_EQ(round_up(523), 600);
  EXPECT_DOUBLE_EQ(round_up(0.07), 0.08);
  EXPECT_DOUBLE_EQ(round_up(0), 1);
}

// Whatever is asked for, nothing lies outside the picture.
RC_GTEST_PROP(Plot, StaysWithinItsPicture, ()) {
  Plot asked{"title", {"caption"}, "busbw", {}};
  const auto curves = *rc::gen::inRange(0, 8);
  for (int i = 0; i < curves; ++i) {
    Curve curve{"curve", {}, *rc::gen::arbitrary<bool>()};
    const auto points = *rc::gen::inRange(0, 6);
    for (int k = 0; k < points; ++k)
      curve.points.push_back({static_cast<double>(*rc::gen::inRange<std::int64_t>(-3, std::int64_t{1} << 40)),
                              *rc::gen::element(0.0, 1e-6, 3.0, 700.0, 1e9, -1.0, std::nan(""), INFINITY)});
    asked.curves.push_back(std::move(curve));
  }
  const Picture picture = plot(asked);
  for (const Line& line : picture.lines)
    for (const Point& point : line.points) {
      RC_ASSERT(point.x >= 0 && point.x <= picture.width);
      RC_ASSERT(point.y >= 0 && point.y <= picture.height);
    }
}

TEST(Plot, CurvesStandOutFromTheGrid) {
  const Picture picture =
      plot({"title", {}, "busbw", {{"measured", {{8, 1}, {16, 2}}, true}, {"simulated", {{8, 1}, {16, 3}}}}});
  double ground = 0;
  double curves = INFINITY;
  for (const Line& line : picture.lines)
    if (line.style == "grid" || line.style == "axis")
      ground = std::max(ground, line.width);
    else
      curves = std::min(curves, line.width);
  EXPECT_GT(ground, 0);
  EXPECT_LT(ground, curves);
}

}  // namespace
}  // namespace weft::draw
