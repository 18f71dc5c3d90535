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

// Bandwidths that differ by more than this would leave a half of the picture flat: then they are drawn by their
// logarithms.
constexpr double kMostLinear = 100;

// Where bytes and GB/s are on the paper.
struct Scale {
  double first = 0;  // log2 of the sizes
  double last = 1;
  double most = 1;   // GB/s
  double least = 0;  // above 0: at the bottom, and what is drawn are logarithms

  bool logarithmic() const { return least > 0; }
  bool shows(const Point& point) const { return drawable(point) && (!logarithmic() || point.y >= least); }
  double height(double y) const { return logarithmic() ? std::log10(y / least) / std::log10(most / least) : y / most; }
  Point at(const Point& point) const {
    return {kWidth * (std::log2(point.x) - first) / (last - first), kHeight * (1 - height(point.y))};
  }
};

Scale scale_of(const Plot& plot) {
  Scale scale{1e9, -1e9, 0, 0};
  double least = INFINITY;
  bool zeros = false;
  for (const Curve& curve : plot.curves)
    for (const Point& point : curve.points) {
      if (!drawable(point)) continue;
      scale.first = std::min(scale.first, std::floor(std::log2(point.x)));
      scale.last = std::max(scale.last, std::ceil(std::log2(point.x)));
      scale.most = std::max(scale.most, point.y);
      zeros = zeros || point.y == 0;
      least = std::min(least, point.y);
    }
  if (scale.last < scale.first) scale = {0, 1, 1, 0};
  if (scale.last - scale.first < 1) scale.last = scale.first + 1;
  scale.most = round_up(scale.most);
  if (!zeros && std::isfinite(least) && scale.most > kMostLinear * least)
    scale.least = std::pow(10, std::floor(std::log10(least) + 1e-9));
  return scale;
}

std::vector<double> ticks_of(const Scale& scale) {
  std::vector<double> ticks;
  if (scale.logarithmic()) {
    const double decades = std::log10(scale.most / scale.least);
    const double step = std::max(1.0, std::ceil(decades / kMostTicks));
    for (double i = 0; i <= decades + 1e-9; i += step) ticks.push_back(scale.least * std::pow(10, i));
  } else {
    for (int i = 0; i <= kRows; ++i) ticks.push_back(scale.most * i / kRows);
  }
  return ticks;
}

void add_grid(const Scale& scale, const std::string& quantity, Picture& picture) {
  for (const double tick : ticks_of(scale)) {
    const double y = kHeight * (1 - scale.height(tick));
    picture.lines.push_back(line_of({{0, y}, {kWidth, y}}, y == kHeight ? "axis" : "grid"));
    const int decimals = tick > 0 && tick < 1e-4 ? static_cast<int>(std::ceil(-std::log10(tick) - 1e-9)) : -1;
    std::string text = decimals > 0 ? fmt::format("{:.{}f}", tick, decimals) : fmt::format("{:.6g}", tick);
    picture.texts.push_back({{-8, y + 4}, std::move(text), "aside", Anchor::end});
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

// One hides the other where they are drawn: nowhere more than a pixel apart.
bool coincide(const Curve& a, const Curve& b, const Scale& scale) {
  if (a.measured || b.measured || a.points.size() != b.points.size()) return false;
  for (std::size_t i = 0; i < a.points.size(); ++i) {
    if (scale.shows(a.points[i]) != scale.shows(b.points[i])) return false;
    if (!scale.shows(a.points[i])) continue;
    const Point here = scale.at(a.points[i]);
    const Point there = scale.at(b.points[i]);
    if (std::abs(here.x - there.x) > 1 || std::abs(here.y - there.y) > 1) return false;
  }
  return true;
}

// How many of the curves before it lie where it does: it is then dashed, so that all of them are seen.
std::size_t hidden_by(const Plot& plot, std::size_t curve, const Scale& scale) {
  std::size_t below = 0;
  for (std::size_t other = 0; other < curve; ++other) below += coincide(plot.curves[other], plot.curves[curve], scale);
  return std::min<std::size_t>(below, 3);
}

// Curves that go together for a while, and then do not: of the first nothing would be seen meanwhile, so it is broader.
bool goes_with_a_later_one(const Plot& plot, std::size_t curve, const Scale& scale) {
  const std::vector<Point>& own = plot.curves[curve].points;
  for (std::size_t other = curve + 1; other < plot.curves.size(); ++other) {
    std::size_t together = 0;  // in a row
    if (plot.curves[curve].measured || plot.curves[other].measured) continue;
    for (const Point& point : own) {
      const auto& points = plot.curves[other].points;
      const auto there = std::find_if(points.begin(), points.end(), [&](const Point& p) { return p.x == point.x; });
      const bool same = there != points.end() && scale.shows(point) && scale.shows(*there) &&
                        std::abs(scale.at(point).y - scale.at(*there).y) <= 1;
      together = same ? together + 1 : 0;
      if (together == 2) return true;
    }
  }
  return false;
}

void add_curve(const Curve& curve, const std::string& style, double width, const Scale& scale, Picture& picture) {
  Line line = line_of({}, style, width, curve.name);
  for (const Point& point : curve.points) {
    if (!scale.shows(point)) continue;
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
  for (std::size_t i = 0; i < plot.curves.size(); ++i) {
    std::string style(kColours[i % kColours.size()]);
    const std::size_t below = hidden_by(plot, i, scale);
    if (below > 0) style += fmt::format(" dash{}", below);
    add_curve(plot.curves[i], style, below == 0 && goes_with_a_later_one(plot, i, scale) ? 5 : 2, scale, picture);
  }
  finish(picture);
  return picture;
}

}  // namespace weft::draw
