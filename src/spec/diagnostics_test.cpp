#include "spec/diagnostics.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace weft::spec {
namespace {

std::string second_line(const std::string& text, int line) {
  std::size_t at = 0;
  for (; line > 0; --line) at = text.find('\n', at) + 1;
  return text.substr(at, text.find('\n', at) - at);
}

TEST(Diagnostics, ComeInSourceOrderAndOnce) {
  Diagnostics d;
  const std::uint32_t source = d.sources().add("f", "a\nb\n");
  d.add(Error::unknown_key, {source, 2, 1, 1}, "two");
  d.add(Error::unknown_key, {source, 1, 1, 1}, "one");
  d.add(Error::unknown_key, {source, 2, 1, 1}, "two");
  ASSERT_EQ(d.sorted().size(), 2U);
  EXPECT_EQ(d.sorted()[0].message, "one");
}

TEST(Diagnostics, BeyondTwoHundredErrorsAreCounted) {
  Diagnostics d;
  const std::uint32_t source = d.sources().add("f", "a");
  for (int i = 0; i < 1000; ++i) d.add(Error::unknown_key, {source, 1, 1, 1}, std::to_string(i));
  EXPECT_EQ(d.sorted().size(), 200U);
  EXPECT_NE(render_text(d, false).find("200 errors and 800 more"), std::string::npos);
}

TEST(Diagnostics, WarningsAreNotErrors) {
  Diagnostics d;
  d.add(Error::far_nic, {}, "w");
  EXPECT_FALSE(d.has_errors());
  EXPECT_NE(render_text(d, false).find("1 warning;"), std::string::npos);
}

TEST(RenderText, PutsTheCaretUnderTheFault) {
  Diagnostics d;
  const std::uint32_t source = d.sources().add("f", "key: zürich bad\n");
  d.add(Error::unknown_key, {source, 1, 14, 3}, "m");  // bytes: ü takes two
  const std::string text = render_text(d, false);
  const std::string line = second_line(text, 1);
  const std::string caret = second_line(text, 2);
  EXPECT_EQ(caret, "    |             ^^^");
  EXPECT_EQ(line, "  1 | key: zürich bad");
}

TEST(RenderText, ShowsAWindowOfALongLine) {
  Diagnostics d;
  const std::uint32_t source = d.sources().add("f", std::string(500'000, 'x') + "BAD" + std::string(500'000, 'y'));
  d.add(Error::unknown_key, {source, 1, 500'001, 3}, "m");
  const std::string text = render_text(d, false);
  EXPECT_LT(text.size(), 400U);
  const std::string line = second_line(text, 1);
  const std::string caret = second_line(text, 2);
  EXPECT_EQ(line.find("BAD"), caret.find("^^^"));
}

TEST(RenderText, CutsLongLinesBetweenCharacters) {
  for (std::size_t at = 0; at < 300; ++at) {
    Diagnostics d;
    std::string text;
    for (int i = 0; i < 200; ++i) text += "é";
    const std::uint32_t source = d.sources().add("f", text);
    d.add(Error::unknown_key, {source, 1, static_cast<std::uint32_t>(at / 2 * 2 + 1), 2}, "m");
    EXPECT_EQ(render_text(d, false).find('?'), std::string::npos) << at;
  }
}

TEST(RenderText, ColoursOnlyWhenAsked) {
  Diagnostics d;
  d.add(Error::unknown_key, {}, "m\x1b[31m\x07");
  EXPECT_EQ(render_text(d, false).find('\x1b'), std::string::npos);
  EXPECT_NE(render_text(d, true).find("\x1b[1;31m"), std::string::npos);
  EXPECT_EQ(render_text(d, true).find('\x07'), std::string::npos);
}

TEST(RenderText, IsEmptyWithoutErrors) { EXPECT_EQ(render_text(Diagnostics{}, false), ""); }

TEST(RenderJson, HoldsTheSameRecords) {
  Diagnostics d;
  const std::uint32_t source = d.sources().add("f\"\n", "bad \xFF line\n");
  d.add(Error::unknown_key, {source, 1, 1, 3}, "m \"quoted\"", "h");
  d.add(Error::far_nic, {}, "w");
  std::vector<nlohmann::json> json;
  std::istringstream lines(render_json(d));
  for (std::string line; std::getline(lines, line);) json.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0], (nlohmann::json{{"record", "warning"}, {"version", 1}, {"code", "W0503"}, {"message", "w"}}));
  EXPECT_EQ(json[1]["file"], "f\"\n");
  EXPECT_EQ(json[1]["line"], 1);
  EXPECT_EQ(json[1]["column"], 1);
  EXPECT_EQ(json[1]["message"], "m \"quoted\"");
  EXPECT_EQ(json[1]["help"], "h");
  EXPECT_EQ(render_json(Diagnostics{}), "");
}

TEST(Sources, KnowTheirLines) {
  Sources sources;
  const std::uint32_t source = sources.add("f", "one\r\ntwo\n\nfour");
  EXPECT_EQ(sources.line({source, 1, 1, 1}), "one");
  EXPECT_EQ(sources.line({source, 3, 1, 1}), "");
  EXPECT_EQ(sources.line({source, 4, 1, 1}), "four");
  EXPECT_EQ(sources.line({source, 5, 1, 1}), "");
}

}  // namespace
}  // namespace weft::spec
