#include <gtest/gtest.h>

#include "spec/node.hpp"

namespace weft::spec {
namespace {

struct Parsed {
  Diagnostics diagnostics;
  Node root;
  explicit Parsed(const std::string& text) { root = parse_yaml(diagnostics.sources().add("t", text), diagnostics); }
  std::string codes() const {
    std::string out;
    for (const Diagnostic& d : diagnostics.sorted()) out += std::string(info(d.error).code) + " ";
    return out;
  }
};

void expect_place(const Place& place, std::uint32_t line, std::uint32_t column, std::uint32_t length) {
  EXPECT_EQ(std::tuple(place.line, place.column, place.length), std::tuple(line, column, length));
}

TEST(Yaml, EveryPartKnowsWhereItStands) {
  const Parsed p("a: 12\nbig:\n  - x\n  - {c: \"q\"}\n");
  ASSERT_FALSE(p.diagnostics.has_errors());
  expect_place(p.root.find("a")->key_place, 1, 1, 1);
  expect_place(p.root.find("a")->value.place, 1, 4, 2);
  expect_place(p.root.find("big")->value.items[0].place, 3, 5, 1);
  const Node& inner = p.root.find("big")->value.items[1];
  expect_place(inner.place, 4, 5, 1);
  expect_place(inner.find("c")->value.place, 4, 9, 3);
  EXPECT_TRUE(inner.find("c")->value.quoted);
}

TEST(Yaml, AnEmptyValueStandsBehindItsKey) {
  const Parsed p("a:\n\n# comment\n\nbcd:   \ne: 1\n");
  expect_place(p.root.find("a")->value.place, 1, 2, 1);
  expect_place(p.root.find("bcd")->value.place, 5, 4, 1);
}

TEST(Yaml, AnEmptyItemStandsOnItsDash) {
  const Parsed p("l:\n  - 1\n  -\n  - 3\n");
  expect_place(p.root.find("l")->value.items[1].place, 3, 3, 1);
}

TEST(Yaml, AWrittenNullStandsWhereItIsWritten) {
  const Parsed p("a: null\nb: ~\n");
  expect_place(p.root.find("a")->value.place, 1, 4, 4);
  expect_place(p.root.find("b")->value.place, 2, 4, 1);
}

TEST(Yaml, EqualKeysAreRefusedAndTheFirstIsKept) {
  const Parsed p("a: 1\nb: {x: 1, x: 2}\na: 2\n");
  EXPECT_EQ(p.codes(), "E0102 E0102 ");
  EXPECT_EQ(p.root.find("a")->value.text, "1");
}

TEST(Yaml, AliasesRepeatValuesAtTheirOwnPlace) {
  const Parsed p("a: &x {k: 1}\nb: *x\n");
  EXPECT_EQ(p.root.find("b")->value.find("k")->value.text, "1");
  expect_place(p.root.find("b")->value.place, 2, 4, 1);
}

TEST(Yaml, AliasesCannotMultiplyLongTexts) {
  std::string text = "a: &a \"" + std::string(500'000, 'x') + "\"\nb: [";
  for (int i = 0; i < 100; ++i) text += "*a,";
  EXPECT_EQ(Parsed(text + "]\n").codes(), "E0006 ");
}

TEST(Yaml, LimitsAreInclusive) {
  EXPECT_EQ(Parsed(std::string(32, '[') + std::string(32, ']')).codes(), "");
  EXPECT_EQ(Parsed(std::string(33, '[') + std::string(33, ']')).codes(), "E0005 ");
  EXPECT_EQ(Parsed("#" + std::string((1 << 20) - 1, ' ')).codes(), "");
  EXPECT_EQ(Parsed("#" + std::string(1 << 20, ' ')).codes(), "E0002 ");
}

TEST(Yaml, ByteFourIsNotTheEndOfTheFile) { EXPECT_EQ(Parsed("a: 1\n\x04\nb: 2\n").codes(), "E0003 "); }

TEST(Yaml, OnlyShortestFormsOfUtf8AreText) {
  for (const char* fine : {"a: é", "a: 日本", "a: \xF0\x9F\x98\x80", "a: \xF4\x8F\xBF\xBF"})
    EXPECT_EQ(Parsed(fine).codes(), "") << fine;
  for (const char* bad : {"a: \x80", "a: \xC0\xAF", "a: \xC3", "a: \xE0\x80\xAF", "a: \xED\xA0\x80",
                          "a: \xF4\x90\x80\x80", "a: \xF5\x80\x80\x80", "a: \xFF"})
    EXPECT_EQ(Parsed(bad).codes(), "E0003 ");
}

TEST(Yaml, AByteOrderMarkMovesNothing) {
  const Parsed p(
      "\xEF\xBB\xBF"
      "a: 1\n");
  expect_place(p.root.find("a")->key_place, 1, 1, 1);
}

}  // namespace
}  // namespace weft::spec
