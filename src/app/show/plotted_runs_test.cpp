#include "app/show/plotted_runs.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weft::app {
namespace {

std::vector<draw::Curve> read(const std::string& text, std::string* error = nullptr) {
  spec::Diagnostics diagnostics;
  auto curves = plotted_runs("run", diagnostics.sources().add("run", text), diagnostics);
  if (error != nullptr) *error = spec::render_text(diagnostics, false);
  EXPECT_EQ(curves.empty(), diagnostics.has_errors()) << text;
  return curves;
}

std::string record(const char* algorithm, const char* chosen_by, int bytes, double busbw) {
  return R"({"record":"collective","operation":"all_reduce","ranks":16,"bytes":)" + std::to_string(bytes) +
         R"(,"busbw_GBps":)" + std::to_string(busbw) + R"(,"algorithm":")" + algorithm + R"(","chosen_by":")" +
         chosen_by + R"("})" + "\n";
}

TEST(PlottedRuns, WhatNcclChoosesIsOneCurveAndForcedAlgorithmsAreTheirOwn) {
  const auto one = read(record("Ring", "auto", 2048, 4) + record("Tree", "auto", 1024, 2));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].name, "run");
  EXPECT_FALSE(one[0].measured);
  ASSERT_EQ(one[0].points.size(), 2u);
  EXPECT_EQ(one[0].points[0].x, 1024) << "by size";
  EXPECT_EQ(one[0].points[1].y, 4);
  const auto two = read(record("Ring", "user", 1024, 4) + record("Tree", "user", 1024, 2));
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[1].name, "run: all_reduce of 16 GPUs, Tree");
}

TEST(PlottedRuns, SideBySideTheChosenOneHasItsOwnCurveToo) {
  const auto curves = read(record("Ring", "auto", 1024, 4) + record("Tree", "user", 1024, 2) +
                           record("Tree", "auto", 2048, 8) + record("Ring", "user", 2048, 7));
  ASSERT_EQ(curves.size(), 3u);
  EXPECT_EQ(curves[1].name, "run: all_reduce of 16 GPUs, Tree");
  ASSERT_EQ(curves[1].points.size(), 2u);
  EXPECT_EQ(curves[1].points[1].y, 8);
}

constexpr const char* kTable =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "     1048576        262144     float     sum      -1    26.93   38.94   68.14      0    27.93   37.54   65.70     "
    " 0\n";

TEST(PlottedRuns, TablesOfNcclTestsAreMeasuredUnlessWeftWroteThem) {
  const auto theirs = read(kTable);
  ASSERT_EQ(theirs.size(), 1u);
  EXPECT_TRUE(theirs[0].measured);
  ASSERT_EQ(theirs[0].points.size(), 1u);
  EXPECT_NEAR(theirs[0].points[0].y, 68.14, 0.001);
  EXPECT_FALSE(read(std::string("# weft 0.1.0 all_reduce: simulated, acp\n") + kTable).at(0).measured);
}

TEST(PlottedRuns, WhatIsNoRunIsRefusedWithItsPlace) {
  std::string error;
  read(record("Ring", "auto", 1024, 4) + "{\"record\":\n", &error);
  EXPECT_NE(error.find("run:2:1"), std::string::npos) << error;
  read("{\"record\":\"collective\",\"bytes\":\"8\"}", &error);
  EXPECT_NE(error.find("not whole"), std::string::npos) << error;
  read("{\"record\":\"flow\"}", &error);
  EXPECT_NE(error.find("no collective in it"), std::string::npos) << error;
  read("", &error);
}

RC_GTEST_PROP(PlottedRuns, AnyTextIsCurvesOrAError, (const std::string& drawn, bool json)) {
  read(json ? "{" + drawn : drawn);
}

}  // namespace
}  // namespace weft::app
