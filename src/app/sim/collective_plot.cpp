#include "app/sim/collective_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft::app {

std::vector<draw::Curve> collective_curves(const std::vector<report::CollectiveRow>& rows) {
  std::vector<draw::Curve> curves;
  const auto named = [&](const report::CollectiveRow& row, const std::string& how) {
    const std::string name = fmt::format("{} of {} GPUs, {}", row.operation, row.ranks, how);
    return std::pair(
        std::find_if(curves.begin(), curves.end(), [&](const draw::Curve& each) { return each.name == name; }), name);
  };
  const auto point_of = [](const report::CollectiveRow& row) {
    return draw::Point{static_cast<double>(row.bytes), row.bus_bandwidth()};
  };
  for (const report::CollectiveRow& row : rows) {
    auto [curve, name] = named(row, row.chosen_by == "auto" ? "as NCCL chooses" : row.algorithm);
    if (curve == curves.end()) curve = curves.insert(curves.end(), {name, {}, false});
    curve->points.push_back(point_of(row));
  }
  for (const report::CollectiveRow& row : rows)
    if (const auto own = named(row, row.algorithm).first; row.chosen_by == "auto" && own != curves.end())
      own->points.push_back(point_of(row));
  for (draw::Curve& curve : curves)
    std::stable_sort(curve.points.begin(), curve.points.end(),
                     [](const draw::Point& a, const draw::Point& b) { return a.x < b.x; });
  return curves;
}

draw::Picture collective_plot(const std::string& cluster, const std::vector<report::CollectiveRow>& rows) {
  draw::Plot plot;
  plot.title = cluster;
  plot.quantity = "busbw in GB/s";
  plot.curves = collective_curves(rows);
  return draw::plot(plot);
}

}  // namespace weft::app
