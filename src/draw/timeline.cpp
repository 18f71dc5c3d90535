#include "draw/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "draw/plot.hpp"

namespace weft::draw {
namespace {

constexpr double kWidth = 900;
constexpr double kRow = 22;      // from one row to the next,
constexpr double kBar = 18;      // and how high what lies on it is
constexpr double kNarrow = 1.5;  // pixels, below which neighbours are drawn as one
constexpr double kBetween = 0.5;
constexpr int kTicks = 6;

void add_legend(const std::vector<Hue>& hues, Picture& picture) {
  for (const Hue& hue : hues) {
    LegendEntry entry;
    entry.style = hue.style;
    entry.text = hue.text;
    picture.legend.push_back(std::move(entry));
  }
}

void add_axis(double most, double height, const std::string& unit, Picture& picture) {
  for (int i = 0; i <= kTicks; ++i) {
    const double x = kWidth * i / kTicks;
    Line line;
    line.points = {{x, -4}, {x, height}};
    line.style = "grid";
    picture.lines.push_back(std::move(line));
    picture.texts.push_back({{x, height + 14},
                             fmt::format("{:.3g}{}", most * i / kTicks, i == kTicks ? " " + unit : ""),
                             "aside",
                             Anchor::middle});
  }
}

void add_bar(double row, double from, double to, const Hue& hue, const std::string& title, Picture& picture) {
  Box box;
  box.id = fmt::format("bar{}", picture.boxes.size());
  box.at = {from, row * kRow, std::max(0.2, to - from), kBar};
  box.style = hue.style;
  box.title = title;
  picture.boxes.push_back(std::move(box));
}

// Seconds in a unit that leaves few digits.
std::pair<double, std::string> unit_of(double seconds) {
  if (seconds >= 1) return {1, "s"};
  return seconds >= 1e-3 ? std::pair{1e3, std::string("ms")} : std::pair{1e6, std::string("us")};
}

}  // namespace

Picture timeline(const Timeline& timeline) {
  Picture picture;
  picture.title = timeline.title;
  picture.caption = timeline.caption;
  picture.description = timeline.title;
  double end = 0;
  for (const Span& span : timeline.spans) end = std::max(end, span.end);
  if (!(end > 0)) end = 1;
  const auto [factor, unit] = unit_of(end);
  add_axis(end * factor, kRow * static_cast<double>(timeline.rows.size()), unit, picture);
  for (std::size_t i = 0; i < timeline.rows.size(); ++i)
    picture.texts.push_back({{-8, static_cast<double>(i) * kRow + kBar - 5}, timeline.rows[i], "aside", Anchor::end});
  const double scale = kWidth / end;
  std::vector<Span> open(timeline.rows.size());  // by row: what is not drawn yet
  const auto draw = [&](const Span& span) {
    if (span.end > span.start)
      add_bar(static_cast<double>(span.row), span.start * scale, span.end * scale, timeline.hues[span.hue], span.title,
              picture);
  };
  for (const Span& span : timeline.spans) {
    Span& last = open[span.row];
    const bool narrow = std::max(last.end - last.start, span.end - span.start) * scale < kNarrow;
    if (last.end > last.start && last.hue == span.hue && narrow && (span.start - last.end) * scale < kBetween) {
      last.end = span.end;
      last.title.clear();
      continue;
    }
    draw(last);
    last = span;
  }
  for (const Span& span : open) draw(span);
  add_legend(timeline.hues, picture);
  finish(picture);
  return picture;
}

Picture bars(const Bars& bars) {
  Picture picture;
  picture.title = bars.title;
  picture.caption = bars.caption;
  picture.description = bars.title;
  double most = 0;
  for (const StackedBar& stack : bars.stacks) {
    double sum = 0;
    for (const double part : stack.parts) sum += std::max(0.0, part);
    most = std::max(most, sum);
  }
  most = round_up(most);
  add_axis(most, kRow * static_cast<double>(bars.stacks.size()), bars.unit, picture);
  for (std::size_t row = 0; row < bars.stacks.size(); ++row) {
    const StackedBar& stack = bars.stacks[row];
    const auto y = static_cast<double>(row);
    picture.texts.push_back({{-8, y * kRow + kBar - 5}, stack.name, "aside", Anchor::end});
    double from = 0;
    for (std::size_t i = 0; i < stack.parts.size() && i < bars.hues.size(); ++i) {
      const double part = std::max(0.0, stack.parts[i]);
      if (part <= 0) continue;
      add_bar(y, kWidth * from / most, kWidth * (from + part) / most, bars.hues[i],
              fmt::format("{}: {} {:.3g} {}", stack.name, bars.hues[i].text, part, bars.unit), picture);
      from += part;
    }
    picture.texts.push_back({{kWidth * from / most + 6, y * kRow + kBar - 5}, fmt::format("{:.3g}", from), "aside"});
  }
  add_legend(bars.hues, picture);
  finish(picture);
  return picture;
}

}  // namespace weft::draw
