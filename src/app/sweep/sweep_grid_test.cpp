#include "app/sweep/sweep_grid.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace weft::app {
namespace {

using Values = std::vector<std::string>;

std::string error_about(const std::vector<std::string>& over) {
  spec::Diagnostics diagnostics;
  const Grid grid(over, diagnostics);
  return spec::render_text(diagnostics, false);
}

TEST(SweepGrid, TheLastAxisChangesFastest) {
  spec::Diagnostics diagnostics;
  const Grid grid({"fabric.spines=2,4", "transport.balance=ecmp,spray,pinned"}, diagnostics);
  ASSERT_FALSE(diagnostics.has_errors());
  ASSERT_EQ(grid.points(), 6u);
  EXPECT_EQ(grid.axes()[1].key, "transport.balance");
  EXPECT_EQ(grid.values(0), (Values{"2", "ecmp"}));
  EXPECT_EQ(grid.values(2), (Values{"2", "pinned"}));
  EXPECT_EQ(grid.values(3), (Values{"4", "ecmp"}));
  EXPECT_EQ(grid.values(5), (Values{"4", "pinned"}));
}

RC_GTEST_PROP(SweepGrid, HasEveryCombinationOnce, ()) {
  const auto sizes = *rc::gen::container<std::vector<int>>(3, rc::gen::inRange(1, 9));
  std::vector<std::string> over;
  std::size_t product = 1;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    std::string text = "key" + std::to_string(axis) + "=0";
    for (int i = 1; i < sizes[axis]; ++i) text += "," + std::to_string(i);
    over.push_back(text);
    product *= static_cast<std::size_t>(sizes[axis]);
  }
  RC_PRE(product > 1);
  spec::Diagnostics diagnostics;
  const Grid grid(over, diagnostics);
  RC_ASSERT(grid.points() == product);
  std::set<Values> all;
  for (std::size_t point = 0; point < grid.points(); ++point) all.insert(grid.values(point));
  RC_ASSERT(all.size() == product);
}

TEST(SweepGrid, SaysWhatItCannotUse) {
  for (const std::string over : {"fabric.spines", "=2,4", "fabric.spines=", "fabric.spines=2,,4"})
    EXPECT_NE(error_about({over}).find("--over cannot be '" + over + "'"), std::string::npos) << over;
  EXPECT_NE(error_about({"a=1,1"}).find("--over a has 1 twice"), std::string::npos);
  EXPECT_NE(error_about({"a=1,2", "a=3"}).find("--over gives a twice"), std::string::npos);
  EXPECT_NE(error_about({"a=1"}).find("one point is no sweep"), std::string::npos);
  EXPECT_NE(error_about({}).find("one point is no sweep"), std::string::npos);
}

TEST(SweepGrid, AGridThatIsTooLargeIsRefusedBeforeItIsMade) {
  std::string values = "0";
  for (int i = 1; i < 1000; ++i) values += "," + std::to_string(i);
  std::vector<std::string> over;
  for (const std::string key : {"a", "b", "c", "d", "e", "f", "g", "h"}) over.push_back(key + "=" + values);
  EXPECT_NE(error_about(over).find("the grid has too many points"), std::string::npos);
}

}  // namespace
}  // namespace weft::app
