#include "draw/picture.hpp"

#include <algorithm>
#include <cmath>

#include "base/utf8.hpp"

namespace weft::draw {
namespace {

constexpr double kMargin = 24;
constexpr double kWidestWords = 1200;

// Advance widths of DejaVu Sans, the widest font a plain Linux machine falls back to, in em.
double char_width(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (static_cast<unsigned char>(c) >= 0x80) return 1.0;
  if (std::string_view("il.,:;'|!j ").find(c) != std::string_view::npos) return 0.33;
  if (std::string_view("ftr()[]-/\"").find(c) != std::string_view::npos) return 0.42;
  if (std::string_view("mwMW@%").find(c) != std::string_view::npos) return 0.98;
  if (c >= 'A' && c <= 'Z') return 0.71;
  return 0.635;
}

struct Bounds {
  double left = 1e30;
  double top = 1e30;
  double right = -1e30;
  double bottom = -1e30;

  void add(Point p) {
    left = std::min(left, p.x);
    right = std::max(right, p.x);
    top = std::min(top, p.y);
    bottom = std::max(bottom, p.y);
  }
  void add(const Rect& r) {
    add(Point{r.x, r.y});
    add(Point{r.right(), r.bottom()});
  }
  void add(const Text& text) {
    const double w = text_width(text.text, kTextSize);
    const double before = text.anchor == Anchor::start ? 0 : text.anchor == Anchor::end ? w : w / 2;
    add(Rect{text.at.x - before, text.at.y - kTextSize, w, kTextSize + 4});
  }
};

Bounds bounds_of(const Picture& picture) {
  Bounds bounds;
  for (const Frame& frame : picture.frames) bounds.add(frame.at);
  for (const Box& box : picture.boxes) bounds.add(box.at);
  for (const Text& text : picture.texts) bounds.add(text);
  for (const Line& line : picture.lines) {
    for (const Point p : line.points) bounds.add(p);
    if (line.label_at) bounds.add(Text{{line.label_at->x, line.label_at->y + 4}, line.label, "", Anchor::middle});
  }
  if (bounds.left > bounds.right) bounds = {0, 0, 0, 0};
  return bounds;
}

void move_by(Picture& picture, double dx, double dy) {
  const auto move = [&](Point& p) { p = {p.x + dx, p.y + dy}; };
  const auto move_rect = [&](Rect& r) { r = {r.x + dx, r.y + dy, r.w, r.h}; };
  for (Frame& frame : picture.frames) move_rect(frame.at);
  for (Box& box : picture.boxes) move_rect(box.at);
  for (Text& text : picture.texts) move(text.at);
  for (Line& line : picture.lines) {
    for (Point& p : line.points) move(p);
    if (line.label_at) move(*line.label_at);
  }
}

// Entries left to right, a new row where the next would not fit. Returns the y below the last row.
double place_legend(Picture& picture, double top) {
  constexpr double kRow = 20;
  constexpr double kKey = 34;
  double x = kMargin;
  double y = top + kRow / 2;
  for (LegendEntry& entry : picture.legend) {
    const double w = kKey + text_width(entry.text, kTextSize) + 18;
    if (x > kMargin && x + w > picture.width - kMargin) {
      x = kMargin;
      y += kRow;
    }
    entry.at = {x, y};
    x += w;
  }
  return picture.legend.empty() ? top : y + kRow / 2;
}

}  // namespace

double text_width(std::string_view utf8, double size) {
  double em = 0;
  for (std::size_t at = 0; at < utf8.size(); at += bytes_of_first(utf8.substr(at))) em += char_width(utf8, at);
  return em * size;
}

double label_width(std::string_view utf8) {
  constexpr double kBold = 1.12;  // times the width of a regular face
  return kBold * text_width(utf8, kLabelSize);
}

std::string fitted(std::string_view utf8, double width, double size) {
  if (text_width(utf8, size) <= width) return std::string(utf8);
  double left = width / size - 1.0;  // the ellipsis
  std::size_t end = 0;
  while (end < utf8.size() && left >= char_width(utf8, end)) {
    left -= char_width(utf8, end);
    end += bytes_of_first(utf8.substr(end));
  }
  return std::string(utf8.substr(0, end)) + "…";
}

std::uint32_t add_box(Picture& picture, Box box) {
  box.label = fitted(box.label, box.at.w - kBoxPadding, kLabelSize);
  for (std::string& note : box.notes) note = fitted(note, box.at.w - kBoxPadding, kNoteSize);
  picture.boxes.push_back(std::move(box));
  return static_cast<std::uint32_t>(picture.boxes.size() - 1);
}

void reword(Picture& picture, const std::function<std::string(std::string_view)>& say) {
  const auto each = [&](std::string& text) { text = say(text); };
  each(picture.title);
  each(picture.description);
  for (std::string& line : picture.caption) each(line);
  for (Frame& frame : picture.frames) {
    each(frame.label);
    each(frame.title);
  }
  for (Line& line : picture.lines) {
    each(line.label);
    each(line.title);
  }
  for (Box& box : picture.boxes) {
    each(box.label);
    each(box.title);
    for (std::string& note : box.notes) each(note);
  }
  for (Text& text : picture.texts) each(text.text);
  for (LegendEntry& entry : picture.legend) each(entry.text);
}

void finish(Picture& picture) {
  constexpr double kTitleLine = 26;
  constexpr double kCaptionLine = 17;
  const Bounds bounds = bounds_of(picture);
  double width = bounds.right - bounds.left;
  // Words may widen a picture, but a name without end may not.
  const double most = std::max(width, kWidestWords);
  picture.title = fitted(picture.title, most, kTitleSize);
  for (std::string& line : picture.caption) line = fitted(line, most, kCaptionSize);
  for (LegendEntry& entry : picture.legend) entry.text = fitted(entry.text, most / 2, kTextSize);
  width = std::max(width, text_width(picture.title, kTitleSize) + 8);
  for (const std::string& line : picture.caption) width = std::max(width, text_width(line, kCaptionSize));
  for (const LegendEntry& entry : picture.legend) width = std::max(width, text_width(entry.text, kTextSize) + 60);
  picture.width = std::ceil(width + 2 * kMargin);

  const double caption = static_cast<double>(picture.caption.size()) * kCaptionLine;
  const double top = kMargin + kTitleLine + caption + 20;
  const double indent = (width - (bounds.right - bounds.left)) / 2;
  move_by(picture, kMargin + indent - bounds.left, top - bounds.top);

  picture.texts.push_back({{kMargin, kMargin + 14}, picture.title, "heading", Anchor::start});
  double y = kMargin + kTitleLine + 10;
  for (const std::string& line : picture.caption) {
    picture.texts.push_back({{kMargin, y}, line, "caption", Anchor::start});
    y += kCaptionLine;
  }
  const double below = top + bounds.bottom - bounds.top + 22;
  picture.height = std::ceil(place_legend(picture, below) + kMargin - 8);
}

}  // namespace weft::draw
