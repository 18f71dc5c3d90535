#include "app/collective_plot.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::app {

draw::Picture collective_plot(const std::string& cluster, const std::vector<report::CollectiveRow>& rows) {
  draw::Plot plot;
  plot.title = cluster;
  plot.quantity = "busbw in GB/s";
  for (const report::CollectiveRow& row : rows) {
    const std::string name = fmt::format("{} of {} GPUs, {}", row.operation, row.ranks,
                                         row.chosen_by == "auto" ? "as NCCL chooses" : row.algorithm);
    auto curve = std::find_if(plot.curves.begin(), plot.curves.end(),
                              [&](const draw::Curve& each) { return each.name == name; });
    if (curve == plot.curves.end()) curve = plot.curves.insert(plot.curves.end(), {name, {}, false});
    curve->points.push_back({static_cast<double>(row.bytes), row.bus_bandwidth()});
  }
  for (draw::Curve& curve : plot.curves)
    std::stable_sort(curve.points.begin(), curve.points.end(),
                     [](const draw::Point& a, const draw::Point& b) { return a.x < b.x; });
  return draw::plot(plot);
}

}  // namespace weft::app
