#include "draw/picture.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "draw/escaping.hpp"
#include "draw/picture_checks.hpp"
#include "draw/words.hpp"

namespace weft::draw {
namespace {

Picture two_boxes(const std::string& name) {
  Picture picture;
  picture.title = name;
  picture.description = name;
  picture.caption = {name};
  const std::uint32_t a = add_box(picture, {name + "a", {0, 0, 90, 40}, name, {name}, "leaf", name});
  const std::uint32_t b = add_box(picture, {name + "b", {0, 100, 90, 40}, name, {}, "server", name});
  picture.lines.push_back({{{45, 40}, {45, 100}}, "r400", 2, name, Point{45, 70}, name, a, b});
  picture.frames.push_back({{-20, -20, 400, 180}, "all", "", name});
  picture.legend.push_back({true, "r400", 2, name, {}});
  finish(picture);
  return picture;
}

TEST(Picture, HostileNamesStayText) {
  const std::string evil = "<script>alert('1')</script> & \"quotes\" ]]> --> \\";
  const Picture picture = two_boxes(evil);
  const std::string svg = to_svg(picture);
  EXPECT_EQ(checks::xml_fault(svg), "");
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_NE(svg.find("&lt;script&gt;"), std::string::npos);
  EXPECT_NE(to_dot(picture).find("\\\"quotes\\\""), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(to_json(picture))["title"], evil);
}

RC_GTEST_PROP(Picture, AnyBytesMakeAWellFormedDocument, (const std::string& name)) {
  const Picture picture = two_boxes(name);
  RC_ASSERT(checks::xml_fault(to_svg(picture)) == "");
  RC_ASSERT(nlohmann::json::accept(to_json(picture)));
  RC_ASSERT(clean_utf8(clean_utf8(name)) == clean_utf8(name));
}

TEST(Picture, BrokenUtf8IsReplaced) {
  EXPECT_EQ(clean_utf8("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(clean_utf8("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");          // overlong
  EXPECT_EQ(clean_utf8("\xED\xA0\x80").find('\xED'), std::string::npos);  // surrogate
  EXPECT_EQ(clean_utf8("東京…"), "東京…");
  EXPECT_EQ(clean_utf8(std::string("a\0b", 3)),
            "a\xEF\xBF\xBD"
            "b");
}

RC_GTEST_PROP(Picture, FittedTextsFit, (const std::string& text)) {
  RC_ASSERT(text_width(fitted(text, 40, 12), 12) <= 40);
}

TEST(Picture, SvgTellsWhatItShows) {
  const std::string svg = to_svg(two_boxes("x"));
  for (const char* part : {"role=\"img\"", "viewBox=\"0 0 ", "<title>x</title>", "<desc>x</desc>",
                           "prefers-color-scheme:dark", "data-name=\"xa\""})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
}

TEST(Picture, SvgShowsEveryPartWhereItStands) {
  const Picture picture = two_boxes("x");
  const std::string svg = to_svg(picture);
  const auto shows = [&](const std::string& part) { EXPECT_NE(svg.find(part), std::string::npos) << part << svg; };
  const auto place = [](const Rect& at) {
    return fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", at.x, at.y, at.w, at.h);
  };
  shows("<rect class=\"frame \" " + place(picture.frames[0].at));
  shows(">all</text>");
  for (const Box& box : picture.boxes) shows(place(box.at));
  shows(fmt::format("points=\"{},{} {},{}\"", picture.lines[0].points[0].x, picture.lines[0].points[0].y,
                    picture.lines[0].points[1].x, picture.lines[0].points[1].y));
  shows(fmt::format("class=\"linelabel\" x=\"{}\" y=\"{}\">x</text>", picture.lines[0].label_at->x,
                    picture.lines[0].label_at->y + 4));
}

// Title, caption, drawing, legend: from top to bottom, none on another.
RC_GTEST_PROP(Picture, WordsStandAroundWhatIsDrawn, ()) {
  Picture picture;
  picture.title = std::string(*rc::gen::inRange<std::size_t>(1, 60), 'T');
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
    picture.caption.push_back(std::string(*rc::gen::inRange<std::size_t>(1, 60), 'c'));
  const std::vector<std::string> caption = picture.caption;
  const double left = *rc::gen::inRange(-500, 500);
  const double top = *rc::gen::inRange(-500, 500);
  const double width = *rc::gen::inRange(40, 800);
  const double height = *rc::gen::inRange(20, 300);
  add_box(picture, {"a", {left, top, 30, 20}, "", {}, "leaf", ""});
  add_box(picture, {"b", {left + width, top + height, 30, 20}, "", {}, "leaf", ""});
  for (int i = *rc::gen::inRange(0, 9); i > 0; --i)
    picture.legend.push_back({false, "leaf", 2, std::string(*rc::gen::inRange<std::size_t>(1, 30), 'l'), {}});
  finish(picture);

  RC_ASSERT(checks::all_in_view(picture) == "");
  RC_ASSERT(checks::legend_holds(picture) == "");
  RC_ASSERT(picture.texts.size() == 1 + caption.size());
  RC_ASSERT(picture.texts[0].text == picture.title);
  RC_ASSERT(picture.texts[0].style == "heading");
  for (std::size_t i = 0; i < caption.size(); ++i) {
    const Text& line = picture.texts[1 + i];
    RC_ASSERT(line.text == caption[i]);
    RC_ASSERT(line.style == "caption");
    RC_ASSERT(line.at.x == picture.texts[0].at.x);
    RC_ASSERT(line.at.y >= picture.texts[i].at.y + kCaptionSize);
  }
  const Rect& a = picture.boxes[0].at;
  const Rect& b = picture.boxes[1].at;
  RC_ASSERT(picture.texts.back().at.y < a.y);
  RC_ASSERT(std::abs(b.x - a.x - width) < 1e-6 && std::abs(b.y - a.y - height) < 1e-6);
  RC_ASSERT(std::abs(a.x - (picture.width - b.right())) <= 1);  // in the middle
  for (std::size_t i = 0; i < picture.legend.size(); ++i) {
    RC_ASSERT(picture.legend[i].at.y - 6 > b.bottom());
    if (i > 0) RC_ASSERT(picture.legend[i].at.y >= picture.legend[i - 1].at.y);
  }
}

TEST(Picture, AKeyOfTheLegendStandsBeforeItsText) {
  Picture picture = two_boxes("x");
  picture.legend.push_back({false, "leaf", 2, "box", {200, 300}});
  picture.legend.push_back({true, "r400", 3, "line", {400, 300}});
  const std::string svg = to_svg(picture);
  for (const char* part :
       {"<rect class=\"box leaf\" x=\"200\" y=\"294\" width=\"26\" height=\"12\"", "x=\"233\" y=\"304\">box</text>",
        "stroke-width=\"3\" points=\"400,300 426,300\"", "x=\"433\" y=\"304\">line</text>"})
    EXPECT_NE(svg.find(part), std::string::npos) << part << svg;
}

TEST(Picture, TextsHaveTheInkOfTheirGround) {
  const std::string svg = to_svg(two_boxes("x"));
  for (const char* part : {".weft text{fill:#1c2127}", ".weft text{fill:#e6e9ee}"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
}

TEST(Picture, AnEmptyPictureIsStillADocument) {
  Picture picture;
  finish(picture);
  EXPECT_EQ(checks::xml_fault(to_svg(picture)), "");
  EXPECT_TRUE(nlohmann::json::accept(to_json(picture)));
}

TEST(Words, RatesAreShort) {
  EXPECT_EQ(short_rate(gigabits_per_second(400)), "400G");
  EXPECT_EQ(short_rate(gigabits_per_second(1600)), "1.6T");
  EXPECT_EQ(short_rate(Bandwidth(25'000'000)), "25M");
  EXPECT_EQ(short_rate(Bandwidth(999'000'000)), "999M");
  EXPECT_EQ(short_rate(gigabits_per_second(1)), "1G");
  EXPECT_EQ(short_rate(gigabits_per_second(999)), "999G");
  EXPECT_EQ(short_rate(gigabits_per_second(1000)), "1T");
  EXPECT_EQ(byte_rate(gigabits_per_second(8000)), "1TB/s");
  EXPECT_EQ(byte_rate(Bandwidth(504'120'000'000)), "63GB/s");
  EXPECT_EQ(byte_rate(gigabits_per_second(900)), "112.5GB/s");
  EXPECT_EQ(bundle_text(1, gigabits_per_second(400)), "400G");
  EXPECT_EQ(bundle_text(4, gigabits_per_second(400)), "4 x 400G");
}

TEST(Words, NumbersInARowBecomeRanges) {
  EXPECT_EQ(ranges_text({}), "");
  EXPECT_EQ(ranges_text({3}), "3");
  EXPECT_EQ(ranges_text({0, 1}), "0, 1");
  EXPECT_EQ(ranges_text({0, 1, 2, 5, 7, 8, 9}), "0-2, 5, 7-9");
}

TEST(Words, RatiosAreInLowestTerms) {
  EXPECT_EQ(ratio_text(6.4e12, 6.4e12), "1:1");
  EXPECT_EQ(ratio_text(3, 1), "3:1");
  EXPECT_EQ(ratio_text(1, 8), "1:8");
  EXPECT_EQ(ratio_text(64, 9), "64:9");
  EXPECT_EQ(ratio_text(1, 0), "no way up");
}

RC_GTEST_PROP(Words, FoldsCoverEverythingInOrder, ()) {
  const auto total = *rc::gen::inRange(0u, 5000u);
  const auto places = *rc::gen::inRange(1u, 12u);
  std::uint32_t next = 0;
  const auto parts = fold(total, places);
  for (const Stretch& part : parts) {
    RC_ASSERT(part.first == next);
    RC_ASSERT(part.folded || part.count == 1);
    next += part.count;
  }
  RC_ASSERT(next == total);
  RC_ASSERT(parts.size() <= std::max<std::size_t>(places, 2));
}

}  // namespace
}  // namespace weft::draw
