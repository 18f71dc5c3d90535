// Pictures as SVG. Colours are written out twice, for light and for dark ground, rather than with
// custom properties: librsvg and most office programs do not know those.

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string>

#include "draw/escaping.hpp"
#include "draw/picture.hpp"

namespace weft::draw {
namespace {

struct Colours {
  std::string_view fill;
  std::string_view stroke;
};

struct BoxStyle {
  std::string_view name;
  Colours light;
  Colours dark;
};

// Hues are kept for meaning: green, orange and red say how far a GPU's NIC is; blue and violet are
// switches; everything else is grey.
constexpr BoxStyle kBoxStyles[] = {
    {"near", {"#d9f2e0", "#1a7f4b"}, {"#133d28", "#4cc38a"}},
    {"far", {"#ffe3c2", "#c2620c"}, {"#4a2c0c", "#f5a04c"}},
    {"cross", {"#ffd6d2", "#c0322b"}, {"#4f1b18", "#ff8078"}},
    {"plain", {"#eef0f3", "#77808c"}, {"#2a3038", "#8d97a5"}},
    {"nic", {"#dbeafe", "#2563b0"}, {"#172f52", "#6ea8fe"}},
    {"cpu", {"#eef0f3", "#59626e"}, {"#2a3038", "#a2acba"}},
    {"memory", {"#f7f8fa", "#8a93a0"}, {"#20252c", "#7d8794"}},
    {"bounce", {"#fff1df", "#c2620c"}, {"#3a250e", "#f5a04c"}},
    {"root", {"#f7f8fa", "#8a93a0"}, {"#20252c", "#7d8794"}},
    {"pcie", {"#e6e9ee", "#59626e"}, {"#333a44", "#a2acba"}},
    {"nvswitch", {"#eadcfb", "#7340b5"}, {"#33204f", "#b68cf0"}},
    {"server", {"#eef0f3", "#59626e"}, {"#2a3038", "#a2acba"}},
    {"rack", {"#eef0f3", "#7340b5"}, {"#2a3038", "#b68cf0"}},
    {"leaf", {"#dbeafe", "#2563b0"}, {"#172f52", "#6ea8fe"}},
    {"spine", {"#d5f0f2", "#0f7680"}, {"#103a3f", "#56c5d0"}},
    {"super", {"#eadcfb", "#7340b5"}, {"#33204f", "#b68cf0"}},
    {"gateway", {"#fbe3ef", "#a8326f"}, {"#471a31", "#f08abb"}},
    {"more", {"#ffffff", "#8a93a0"}, {"#171b20", "#7d8794"}},
};

struct LineStyle {
  std::string_view name;
  std::string_view light;
  std::string_view dark;
};

// Rates go from grey over blue to violet, so that a slow tier is seen without reading.
constexpr LineStyle kLineStyles[] = {
    {"r100", "#9aa3af", "#6d7784"},   {"r200", "#5e9fb8", "#4d8ea8"},    {"r400", "#3f7fd0", "#5b97e8"},
    {"r800", "#6a55c9", "#9a87f0"},   {"r1600", "#a23aa8", "#dd7ae3"},   {"link", "#6b7480", "#929cab"},
    {"nvlink", "#8a5fd0", "#a883ea"}, {"faraway", "#d9730d", "#f5a04c"}, {"site", "#a8326f", "#f08abb"},
    {"global", "#3f7fd0", "#5b97e8"}, {"grid", "#e1e5ea", "#333a44"},    {"axis", "#59626e", "#a2acba"},
    {"curve0", "#1c2127", "#e6e9ee"}, {"curve1", "#2563b0", "#6ea8fe"},  {"curve2", "#c2620c", "#f5a04c"},
    {"curve3", "#1a7f4b", "#4cc38a"}, {"curve4", "#7340b5", "#b68cf0"},  {"curve5", "#c0322b", "#ff8078"},
};

constexpr std::string_view kFont = "Inter,'Helvetica Neue',Arial,'Liberation Sans','DejaVu Sans',sans-serif";

using Out = std::back_insert_iterator<std::string>;

void write_colours(Out out, bool dark) {
  const auto pick = [&](auto light, auto other) { return dark ? other : light; };
  fmt::format_to(out, ".weft .ground{{fill:{}}}\n", pick("#ffffff", "#171b20"));
  fmt::format_to(out, ".weft text{{fill:{}}}\n", pick("#1c2127", "#e6e9ee"));
  fmt::format_to(out, ".weft .note,.weft .caption,.weft .aside{{fill:{}}}\n", pick("#4a525c", "#b4bcc8"));
  fmt::format_to(out, ".weft .linelabel{{stroke:{}}}\n", pick("#ffffff", "#171b20"));
  fmt::format_to(out, ".weft .frame{{fill:{};stroke:{}}}\n", pick("#7f8a99", "#a2acba"), pick("#aab2bd", "#525b67"));
  for (const BoxStyle& style : kBoxStyles) {
    const Colours& colours = dark ? style.dark : style.light;
    fmt::format_to(out, ".weft .{}{{fill:{};stroke:{}}}\n", style.name, colours.fill, colours.stroke);
  }
  for (const LineStyle& style : kLineStyles)
    fmt::format_to(out, ".weft .{}{{stroke:{}}}\n", style.name, dark ? style.dark : style.light);
}

void write_style(Out out) {
  fmt::format_to(out,
                 "<style>\n"
                 ".weft text{{font-family:{};font-size:{}px}}\n"
                 ".weft .heading{{font-size:{}px;font-weight:600}}\n"
                 ".weft .caption{{font-size:{}px}}\n"
                 ".weft .label{{font-size:{}px;font-weight:600;text-anchor:middle}}\n"
                 ".weft .note{{font-size:{}px;text-anchor:middle}}\n"
                 ".weft .strong{{font-weight:600}}\n"
                 ".weft .framelabel{{font-weight:600}}\n"
                 ".weft .linelabel{{font-weight:600;text-anchor:middle;stroke-width:4px;"
                 "stroke-linejoin:round;paint-order:stroke}}\n"
                 ".weft .box{{stroke-width:1.2px}}\n"
                 ".weft .rack{{stroke-width:2.4px}}\n"
                 ".weft .more{{stroke-dasharray:4 3}}\n"
                 ".weft .frame{{fill-opacity:.07;stroke-width:1px;stroke-dasharray:6 4}}\n"
                 ".weft .solid{{stroke-dasharray:none}}\n"
                 ".weft .line{{fill:none;stroke-linejoin:round}}\n"
                 ".weft .thin{{opacity:.75}}\n"
                 ".weft .folded{{opacity:.4;stroke-dasharray:5 4}}\n"
                 ".weft .faraway{{stroke-dasharray:5 3}}\n"
                 ".weft .dash1{{stroke-dasharray:9 9}}\n"
                 ".weft .dash2{{stroke-dasharray:5 13}}\n"
                 ".weft .dash3{{stroke-dasharray:2 16}}\n",
                 kFont, kTextSize, kTitleSize, kCaptionSize, kLabelSize, kNoteSize);
  write_colours(out, false);
  fmt::format_to(out, "@media (prefers-color-scheme:dark){{\n");
  write_colours(out, true);
  fmt::format_to(out, "}}\n</style>\n");
}

// Tenths of a pixel: enough for the eye, and the same text on every machine.
std::string number(double v) {
  const double rounded = std::round(v * 10) / 10 + 0.0;  // no "-0"
  return fmt::format("{}", rounded == 0 ? 0.0 : rounded);
}

std::string rectangle(const Rect& at, double radius) {
  return fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\"", number(at.x), number(at.y), number(at.w),
                     number(at.h), number(radius));
}

void write_title(Out out, const std::string& title) {
  if (!title.empty()) fmt::format_to(out, "<title>{}</title>", xml_escaped(title));
}

void write_frame(Out out, const Frame& frame) {
  fmt::format_to(out, "<g>");
  write_title(out, frame.title);
  fmt::format_to(out, "<rect class=\"frame {}\" {}/>", xml_escaped(frame.style), rectangle(frame.at, 6));
  fmt::format_to(out, "<text class=\"framelabel\" x=\"{}\" y=\"{}\">{}</text></g>\n", number(frame.at.x + 9),
                 number(frame.label_below ? frame.at.bottom() - 8 : frame.at.y + 15), xml_escaped(frame.label));
}

void write_line(Out out, const Line& line) {
  std::string points;
  for (const Point p : line.points)
    points += fmt::format("{}{},{}", points.empty() ? "" : " ", number(p.x), number(p.y));
  fmt::format_to(out, "<polyline class=\"line {}\" stroke-width=\"{}\" points=\"{}\">", xml_escaped(line.style),
                 number(line.width), points);
  write_title(out, line.title);
  fmt::format_to(out, "</polyline>\n");
}

void write_line_label(Out out, const Line& line) {
  if (!line.label_at || line.label.empty()) return;
  fmt::format_to(out, "<text class=\"linelabel\" x=\"{}\" y=\"{}\">{}</text>\n", number(line.label_at->x),
                 number(line.label_at->y + 4), xml_escaped(line.label));
}

void write_box(Out out, const Box& box) {
  fmt::format_to(out, "<g data-name=\"{}\">", xml_escaped(box.id));
  write_title(out, box.title);
  fmt::format_to(out, "<rect class=\"box {}\" {}/>", xml_escaped(box.style), rectangle(box.at, 4));
  const Point middle = box.at.centre();
  const double lines = static_cast<double>(box.notes.size()) + (box.label.empty() ? 0 : 1);
  double y = middle.y - (lines - 1) * kLineHeight / 2 + 4;
  const auto line = [&](std::string_view style, const std::string& text) {
    fmt::format_to(out, "<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>", style, number(middle.x), number(y),
                   xml_escaped(text));
    y += kLineHeight;
  };
  if (!box.label.empty()) line("label", box.label);
  for (const std::string& note : box.notes) line("note", note);
  fmt::format_to(out, "</g>\n");
}

void write_text(Out out, const Text& text) {
  static constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
  fmt::format_to(out, "<text class=\"{}\" text-anchor=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", xml_escaped(text.style),
                 kAnchors[static_cast<std::size_t>(text.anchor)], number(text.at.x), number(text.at.y),
                 xml_escaped(text.text));
}

void write_legend(Out out, const LegendEntry& entry) {
  if (entry.line) {
    fmt::format_to(out, "<polyline class=\"line {}\" stroke-width=\"{}\" points=\"{},{} {},{}\"/>",
                   xml_escaped(entry.style), number(entry.width), number(entry.at.x), number(entry.at.y),
                   number(entry.at.x + 26), number(entry.at.y));
  } else {
    fmt::format_to(out, "<rect class=\"box {}\" {}/>", xml_escaped(entry.style),
                   rectangle({entry.at.x, entry.at.y - 6, 26, 12}, 3));
  }
  fmt::format_to(out, "<text class=\"aside\" x=\"{}\" y=\"{}\">{}</text>\n", number(entry.at.x + 33),
                 number(entry.at.y + 4), xml_escaped(entry.text));
}

}  // namespace

std::string to_svg(const Picture& picture) {
  std::string svg;
  const Out out = std::back_inserter(svg);
  fmt::format_to(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"weft\" role=\"img\" "
                 "width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n",
                 number(picture.width), number(picture.height));
  fmt::format_to(out, "<title>{}</title>\n<desc>{}</desc>\n", xml_escaped(picture.title),
                 xml_escaped(picture.description));
  write_style(out);
  fmt::format_to(out, "<rect class=\"ground\" width=\"{}\" height=\"{}\"/>\n", number(picture.width),
                 number(picture.height));
  for (const Frame& frame : picture.frames) write_frame(out, frame);
  for (const Line& line : picture.lines) write_line(out, line);
  for (const Box& box : picture.boxes) write_box(out, box);
  for (const Line& line : picture.lines) write_line_label(out, line);
  for (const Text& text : picture.texts) write_text(out, text);
  for (const LegendEntry& entry : picture.legend) write_legend(out, entry);
  svg += "</svg>\n";
  return svg;
}

}  // namespace weft::draw
