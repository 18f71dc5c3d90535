#include "draw/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/units.hpp"

namespace weft::draw {
namespace {

constexpr double kWidth = 620;
constexpr double kHeight = 320;
constexpr int kRows = 5;        // of the grid
constexpr int kMostTicks = 9;   // along x
constexpr double kCross = 3.5;  // half of it
constexpr std::array<std::string_view, 6> kColours = {"curve0", "curve1", "curve2", "curve3", "curve4", "curve5"};

Line line_of(std::vector<Point> points, const std::string& style, double width = 1, const std::string& title = "") {
  Line line;
  line.points = std::move(points);
  line.style = style;
  line.width = width;
  line.title = title;
  return line;
}

bool drawable(const Point& point) {
  return std::isfinite(point.x) && std::isfinite(point.y) && point.x >= 1 && point.y >= 0;
}

// Where bytes and GB/s are on the paper.
struct Scale {
  double first = 0;  // log2 of the sizes
  double last = 1;
  double most = 1;  // GB/s

  Point at(const Point& point) const {
    return {kWidth * (std::log2(point.x) - first) / (last - first), kHeight * (1 - point.y / most)};
  }
};

Scale scale_of(const Plot& plot) {
  Scale scale{1e9, -1e9, 0};
  for (const Curve& curve : plot.curves)
    for (const Point& point : curve.points) {
      if (!drawable(point)) continue;
      scale.first = std::min(scale.first, std::floor(std::log2(point.x)));
      scale.last = std::max(scale.last, std::ceil(std::log2(point.x)));
      scale.most = std::max(scale.most, point.y);
    }
  if (scale.last < scale.first) scale = {0, 1, 1};
  if (scale.last - scale.first < 1) scale.last = scale.first + 1;
  scale.most = round_up(scale.most);
  return scale;
}

void add_grid(const Scale& scale, const std::string& quantity, Picture& picture) {
  for (int i = 0; i <= kRows; ++i) {
    const double y = kHeight * i / kRows;
    picture.lines.push_back(line_of({{0, y}, {kWidth, y}}, i == kRows ? "axis" : "grid"));
    picture.texts.push_back({{-8, y + 4}, fmt::format("{:g}", scale.most * (kRows - i) / kRows), "aside", Anchor::end});
  }
  picture.texts.push_back({{-8, -14}, quantity, "aside", Anchor::start});
  const int doublings = static_cast<int>(scale.last - scale.first);
  const int step = (doublings + kMostTicks - 1) / kMostTicks;
  for (int i = 0; i <= doublings; i += step) {
    const double x = kWidth * i / doublings;
    picture.lines.push_back(line_of({{x, 0}, {x, kHeight}}, "grid"));
    const auto bytes = static_cast<std::int64_t>(std::exp2(scale.first + i));
    picture.texts.push_back({{x, kHeight + 18}, exact(Bytes(bytes)), "aside", Anchor::middle});
  }
}

void add_cross(const Point& at, const std::string& style, const std::string& title, Picture& picture) {
  const double left = at.x - kCross;
  const double right = at.x + kCross;
  picture.lines.push_back(line_of({{left, at.y - kCross}, {right, at.y + kCross}}, style, 1.6, title));
  picture.lines.push_back(line_of({{left, at.y + kCross}, {right, at.y - kCross}}, style, 1.6, title));
}

void add_curve(const Curve& curve, const std::string& style, const Scale& scale, Picture& picture) {
  Line line = line_of({}, style, 2, curve.name);
  for (const Point& point : curve.points) {
    if (!drawable(point)) continue;
    const Point at = scale.at(point);
    if (curve.measured)
      add_cross(
          at, style,
          fmt::format("{}: {} {:.4g} GB/s", curve.name, exact(Bytes(static_cast<std::int64_t>(point.x))), point.y),
          picture);
    else
      line.points.push_back(at);
  }
  if (line.points.size() == 1) add_cross(line.points[0], style, curve.name, picture);
  if (line.points.size() > 1) picture.lines.push_back(std::move(line));
  LegendEntry entry;
  entry.line = true;
  entry.style = style;
  entry.text = curve.name + (curve.measured ? " (crosses)" : "");
  picture.legend.push_back(std::move(entry));
}

}  // namespace

double round_up(double value) {
  if (!(value > 0) || !std::isfinite(value)) return 1;
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0})
    if (value <= factor * power * (1 + 1e-9)) return factor * power;
  return 10 * power;
}

Picture plot(const Plot& plot) {
  Picture picture;
  picture.title = plot.title;
  picture.caption = plot.caption;
  picture.description = plot.title + ": " + plot.quantity + " against size";
  const Scale scale = scale_of(plot);
  add_grid(scale, plot.quantity, picture);
  for (std::size_t i = 0; i < plot.curves.size(); ++i)
    add_curve(plot.curves[i], std::string(kColours[i % kColours.size()]), scale, picture);
  finish(picture);
  return picture;
}

}  // namespace weft::draw
