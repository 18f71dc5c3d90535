// Pictures for other programs: DOT and JSON.

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "draw/escaping.hpp"
#include "draw/picture.hpp"

namespace weft::draw {
namespace {

using nlohmann::ordered_json;

double rounded(double v) { return std::round(v * 10) / 10 + 0.0; }

ordered_json rect_json(const Rect& at) {
  return {{"x", rounded(at.x)}, {"y", rounded(at.y)}, {"w", rounded(at.w)}, {"h", rounded(at.h)}};
}

ordered_json point_json(Point p) { return ordered_json::array({rounded(p.x), rounded(p.y)}); }

ordered_json box_json(const Box& box) {
  ordered_json out = {{"id", clean_utf8(box.id)}, {"label", clean_utf8(box.label)}};
  out["notes"] = ordered_json::array();
  for (const std::string& note : box.notes) out["notes"].push_back(clean_utf8(note));
  out["style"] = box.style;
  out["title"] = clean_utf8(box.title);
  out["at"] = rect_json(box.at);
  return out;
}

ordered_json line_json(const Picture& picture, const Line& line) {
  ordered_json out;
  const auto end = [&](std::uint32_t box) -> ordered_json {
    return box == kNoBox ? ordered_json(nullptr) : ordered_json(clean_utf8(picture.boxes[box].id));
  };
  out["from"] = end(line.from);
  out["to"] = end(line.to);
  out["label"] = clean_utf8(line.label);
  out["style"] = line.style;
  out["width"] = rounded(line.width);
  out["title"] = clean_utf8(line.title);
  out["points"] = ordered_json::array();
  for (const Point p : line.points) out["points"].push_back(point_json(p));
  if (line.label_at) out["label_at"] = point_json(*line.label_at);
  return out;
}

std::string dot_label(const Box& box) {
  std::string label = dot_escaped(box.label);
  for (const std::string& note : box.notes) label += "\\n" + dot_escaped(note);
  return label;
}

}  // namespace

std::string to_json(const Picture& picture) {
  static constexpr const char* kAnchors[] = {"start", "middle", "end"};
  ordered_json out = {{"title", clean_utf8(picture.title)},
                      {"description", clean_utf8(picture.description)},
                      {"width", picture.width},
                      {"height", picture.height}};
  for (const char* list : {"caption", "frames", "boxes", "lines", "texts", "legend"}) out[list] = ordered_json::array();
  for (const std::string& line : picture.caption) out["caption"].push_back(clean_utf8(line));
  for (const Frame& frame : picture.frames)
    out["frames"].push_back({{"label", clean_utf8(frame.label)},
                             {"style", frame.style},
                             {"title", clean_utf8(frame.title)},
                             {"label_below", frame.label_below},
                             {"at", rect_json(frame.at)}});
  for (const Box& box : picture.boxes) out["boxes"].push_back(box_json(box));
  for (const Line& line : picture.lines) out["lines"].push_back(line_json(picture, line));
  for (const Text& text : picture.texts)
    out["texts"].push_back({{"text", clean_utf8(text.text)},
                            {"style", text.style},
                            {"anchor", kAnchors[static_cast<std::size_t>(text.anchor)]},
                            {"at", point_json(text.at)}});
  for (const LegendEntry& entry : picture.legend)
    out["legend"].push_back({{"kind", entry.line ? "line" : "box"},
                             {"style", entry.style},
                             {"width", rounded(entry.width)},
                             {"text", clean_utf8(entry.text)},
                             {"at", point_json(entry.at)}});
  return out.dump(2) + "\n";
}

std::string to_dot(const Picture& picture) {
  // DOT counts y upwards in points; a size is in inches.
  std::string out = fmt::format(
      "graph \"{}\" {{\n  node [shape=box, fixedsize=true, fontname=\"sans-serif\", fontsize=9];\n"
      "  edge [fontname=\"sans-serif\", fontsize=9];\n",
      dot_escaped(picture.title));
  for (std::size_t i = 0; i < picture.boxes.size(); ++i) {
    const Box& box = picture.boxes[i];
    const Point middle = box.at.centre();
    out += fmt::format(
        "  b{} [label=\"{}\", class=\"{}\", pos=\"{:.1f},{:.1f}\", width={:.3f}, height={:.3f}, "
        "tooltip=\"{}\"];\n",
        i, dot_label(box), dot_escaped(box.style), middle.x, picture.height - middle.y, box.at.w / 72, box.at.h / 72,
        dot_escaped(box.title));
  }
  for (const Line& line : picture.lines) {
    if (line.from == kNoBox || line.to == kNoBox) continue;
    out += fmt::format("  b{} -- b{} [label=\"{}\", class=\"{}\", penwidth={:.1f}, tooltip=\"{}\"];\n", line.from,
                       line.to, line.label_at ? dot_escaped(line.label) : "", dot_escaped(line.style), line.width,
                       dot_escaped(line.title));
  }
  return out + "}\n";
}

}  // namespace weft::draw
