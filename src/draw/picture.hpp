#pragma once
// A picture as plain data: boxes, lines, frames and texts with positions already worked out, so
// that the writers only print. Coordinates are pixels at 100 %, y downwards.
//
// A layout places boxes and frames where it likes, says what the title, caption and legend are, and
// calls `finish`, which moves everything into view and puts those three around it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::draw {

struct Point {
  double x = 0;
  double y = 0;
};

struct Rect {
  double x = 0;
  double y = 0;
  double w = 0;
  double h = 0;
  double right() const { return x + w; }
  double bottom() const { return y + h; }
  Point centre() const { return {x + w / 2, y + h / 2}; }
};

inline constexpr std::uint32_t kNoBox = 0xFFFFFFFFu;

// `style` is one or more names of the style sheet in svg.cpp, separated by spaces.
struct Box {
  std::string id;  // unique within the picture: "leaf0", "s0/gpu3"
  Rect at;
  std::string label;
  std::vector<std::string> notes;  // smaller lines under the label
  std::string style;
  std::string title;  // the full facts, shown on hovering
};

struct Line {
  std::vector<Point> points;
  std::string style;
  double width = 1;
  std::string label;
  std::optional<Point> label_at;  // its middle; drawn there, else only told on hovering
  std::string title;
  std::uint32_t from = kNoBox;  // index of a box
  std::uint32_t to = kNoBox;
};

struct Frame {
  Rect at;
  std::string label;
  std::string style;
  std::string title;
  bool label_below = false;  // in the lower corner, where lines come in from above
};

enum class Anchor { start, middle, end };

struct Text {
  Point at;  // on the base line
  std::string text;
  std::string style;
  Anchor anchor = Anchor::start;
};

struct LegendEntry {
  bool line = false;  // else a box
  std::string style;
  double width = 2;
  std::string text;
  Point at;  // set by finish
};

struct Picture {
  std::string title;
  std::string description;           // for those who do not see it
  std::vector<std::string> caption;  // lines under the title
  std::vector<Frame> frames;
  std::vector<Line> lines;
  std::vector<Box> boxes;
  std::vector<Text> texts;
  std::vector<LegendEntry> legend;
  double width = 0;
  double height = 0;
};

// Cuts label and notes to the box's width; returns the box's index.
std::uint32_t add_box(Picture& picture, Box box);

// Moves everything into view and lays out title, caption and legend. Call once, last.
void finish(Picture& picture);

// Every text as `say` says it; before or after `finish`.
void reword(Picture& picture, const std::function<std::string(std::string_view)>& say);

// An upper estimate of the width of a text: fonts differ, so it is that of a wide one.
double text_width(std::string_view utf8, double size);
// Of a label, which is bold.
double label_width(std::string_view utf8);
// The text, cut with an ellipsis where it would be wider than `width`.
std::string fitted(std::string_view utf8, double width, double size);

inline constexpr double kLabelSize = 12;
inline constexpr double kNoteSize = 10;
inline constexpr double kLineHeight = 13;  // of label and notes
inline constexpr double kBoxPadding = 6;   // both sides together
inline constexpr double kTextSize = 11;    // legend, and texts beside the drawing
inline constexpr double kCaptionSize = 12;
inline constexpr double kTitleSize = 17;

// Self-contained; readable on light and on dark ground.
std::string to_svg(const Picture& picture);
// For Graphviz: positions are given (neato -n2); dot may ignore them.
std::string to_dot(const Picture& picture);
std::string to_json(const Picture& picture);

}  // namespace weft::draw
