#pragma once
// What every picture must satisfy, for tests. A check returns what is wrong, or nothing.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "draw/picture.hpp"

namespace weft::draw::checks {

inline bool overlap(const Rect& a, const Rect& b) {
  constexpr double kTouch = 0.01;
  return a.x + kTouch < b.right() && b.x + kTouch < a.right() && a.y + kTouch < b.bottom() && b.y + kTouch < a.bottom();
}

inline std::string boxes_apart(const Picture& picture) {
  for (std::size_t i = 0; i < picture.boxes.size(); ++i)
    for (std::size_t j = i + 1; j < picture.boxes.size(); ++j)
      if (overlap(picture.boxes[i].at, picture.boxes[j].at))
        return picture.boxes[i].id + " lies on " + picture.boxes[j].id;
  return "";
}

inline std::string ids_differ(const Picture& picture) {
  std::set<std::string> ids;
  for (const Box& box : picture.boxes)
    if (!ids.insert(box.id).second) return "twice: " + box.id;
  return "";
}

inline std::string all_in_view(const Picture& picture) {
  const auto inside = [&](const Rect& r) {
    return r.x >= 0 && r.y >= 0 && r.right() <= picture.width && r.bottom() <= picture.height;
  };
  for (const Box& box : picture.boxes)
    if (!inside(box.at)) return "outside: box " + box.id;
  for (const Frame& frame : picture.frames)
    if (!inside(frame.at)) return "outside: frame " + frame.label;
  for (const Line& line : picture.lines)
    for (const Point p : line.points)
      if (!inside({p.x, p.y, 0, 0})) return "outside: line " + line.title;
  for (const Text& text : picture.texts) {
    const double size = text.style == "heading" ? kTitleSize : text.style == "caption" ? kCaptionSize : kTextSize;
    const double w = text_width(text.text, size);
    const double left = text.anchor == Anchor::start ? text.at.x
                        : text.anchor == Anchor::end ? text.at.x - w
                                                     : text.at.x - w / 2;
    if (!inside({left, text.at.y - size, w, size})) return "outside: text " + text.text;
  }
  for (const LegendEntry& entry : picture.legend)
    if (!inside({entry.at.x, entry.at.y - 6, 33 + text_width(entry.text, kTextSize), 12}))
      return "outside: legend " + entry.text;
  return "";
}

inline std::string texts_fit(const Picture& picture) {
  for (const Box& box : picture.boxes) {
    if (text_width(box.label, kLabelSize) > box.at.w) return "too wide: " + box.label;
    for (const std::string& note : box.notes)
      if (text_width(note, kNoteSize) > box.at.w) return "too wide: " + note;
    if (static_cast<double>(box.notes.size() + 1) * kLineHeight > box.at.h + 1) return "too many lines: " + box.id;
  }
  for (const Frame& frame : picture.frames)
    if (text_width(frame.label, kTextSize) + 9 > frame.at.w) return "too wide: " + frame.label;
  return "";
}

// Whether a segment meets the inside of a rectangle (Liang and Barsky).
inline bool crosses(Point a, Point b, const Rect& r) {
  double from = 0;
  double to = 1;
  const auto clip = [&](double p, double q) {
    if (p == 0) return q > 0;
    const double t = q / p;
    (p < 0 ? from : to) = p < 0 ? std::max(from, t) : std::min(to, t);
    return from < to;
  };
  constexpr double kEdge = 1;
  return clip(a.x - b.x, a.x - r.x - kEdge) && clip(b.x - a.x, r.right() - kEdge - a.x) &&
         clip(a.y - b.y, a.y - r.y - kEdge) && clip(b.y - a.y, r.bottom() - kEdge - a.y);
}

// Lines run beside boxes, except for the two they join.
inline std::string lines_clear(const Picture& picture) {
  for (const Line& line : picture.lines)
    for (std::size_t i = 1; i < line.points.size(); ++i)
      for (std::uint32_t box = 0; box < picture.boxes.size(); ++box)
        if (box != line.from && box != line.to && crosses(line.points[i - 1], line.points[i], picture.boxes[box].at))
          return "a line runs through " + picture.boxes[box].id + ": " + line.title;
  return "";
}

// A legend explains what is there, line by line or box by box, and its entries keep apart.
inline std::string legend_holds(const Picture& picture) {
  for (std::size_t i = 0; i < picture.legend.size(); ++i) {
    const LegendEntry& entry = picture.legend[i];
    const auto as_here = [&](const auto& part) { return part.style.find(entry.style) != std::string::npos; };
    if (entry.line ? std::none_of(picture.lines.begin(), picture.lines.end(), as_here)
                   : std::none_of(picture.boxes.begin(), picture.boxes.end(), as_here))
      return "the legend explains what is not there: " + entry.text;
    if (i == 0) continue;
    const LegendEntry& before = picture.legend[i - 1];
    if (entry.at.y == before.at.y && entry.at.x < before.at.x + 34 + text_width(before.text, kTextSize))
      return "in the legend, " + before.text + " lies on " + entry.text;
  }
  return "";
}

inline std::string wrong(const Picture& picture) {
  for (const auto check : {boxes_apart, ids_differ, all_in_view, texts_fit, lines_clear, legend_holds})
    if (const std::string fault = check(picture); !fault.empty()) return fault;
  return "";
}

// Nothing but what stands for many more is without a line.
inline std::string all_joined(const Picture& picture) {
  std::set<std::uint32_t> joined;
  for (const Line& line : picture.lines) joined.insert({line.from, line.to});
  for (std::uint32_t box = 0; box < picture.boxes.size(); ++box)
    if (!joined.contains(box) && picture.boxes[box].style != "more") return "not joined: " + picture.boxes[box].id;
  return "";
}

// Well-formed enough for any reader: tags nest, attributes are quoted, entities are the known ones.
inline std::string xml_fault(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < xml.size(); ++at) {
    if (xml[at] == '&') {
      const std::string entity = xml.substr(at, xml.find(';', at) - at + 1);
      if (!std::set<std::string>{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}.contains(entity))
        return "entity " + entity;
    }
    if (static_cast<unsigned char>(xml[at]) < 0x20 && xml[at] != '\n') return "control character";
    if (xml[at] != '<') continue;
    bool quoted = false;
    std::size_t end = at + 1;
    for (; end < xml.size() && (quoted || xml[end] != '>'); ++end) {
      if (xml[end] == '"') quoted = !quoted;
      if (xml[end] == '<') return "< inside a tag";
    }
    if (end == xml.size()) return "tag without end";
    const std::string tag = xml.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find(' '));
    if (tag.ends_with("/")) continue;
    if (!tag.starts_with("/")) {
      open.push_back(name);
    } else if (open.empty() || "/" + open.back() != name) {
      return "unexpected <" + name + ">";
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : "not closed: " + open.back();
}

}  // namespace weft::draw::checks
