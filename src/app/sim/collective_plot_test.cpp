#include "app/sim/collective_plot.hpp"

#include <gtest/gtest.h>

namespace weft::app {
namespace {

report::CollectiveRow row(std::string algorithm, std::string chosen_by, std::uint64_t bytes, std::int64_t time) {
  report::CollectiveRow out;
  out.operation = "all_reduce";
  out.ranks = 8;
  out.bytes = bytes;
  out.time = Duration(time);
  out.algorithm = std::move(algorithm);
  out.chosen_by = std::move(chosen_by);
  return out;
}

// Two sizes side by side: NCCL takes Ring for the first and Tree for the second.
TEST(CollectivePlot, AlgorithmsSideBySideAreWholeCurves) {
  const auto curves = collective_curves({row("Ring", "auto", 1024, 100), row("Tree", "user", 1024, 200),
                                         row("Tree", "auto", 2048, 300), row("Ring", "user", 2048, 400)});
  ASSERT_EQ(curves.size(), 3u);
  for (const draw::Curve& each : curves) {
    ASSERT_EQ(each.points.size(), 2u) << each.name;
    EXPECT_LT(each.points[0].x, each.points[1].x) << each.name;
  }
  EXPECT_EQ(curves[0].name, "all_reduce of 8 GPUs, as NCCL chooses");
  EXPECT_EQ(curves[1].name, "all_reduce of 8 GPUs, Tree");
  EXPECT_NEAR(curves[1].points[1].y, curves[0].points[1].y, 1e-9);
}

TEST(CollectivePlot, AloneWhatNcclChoosesIsOneCurve) {
  EXPECT_EQ(collective_curves({row("Ring", "auto", 1024, 100), row("Tree", "auto", 2048, 300)}).size(), 1u);
}

}  // namespace
}  // namespace weft::app
