#include "spec/fields.hpp"

#include <gtest/gtest.h>

namespace weft::spec {

enum class Letter { a, b, hidden };
constexpr auto names_of(Letter) {
  return std::to_array<EnumName<Letter>>({{Letter::a, "a"}, {Letter::b, "b"}, {Letter::hidden, "hidden"}});
}

struct Inner {
  std::int64_t n = 7;
};
struct Thing {
  Letter kind = Letter::a;
  std::int64_t count = -1;
  bool flag = false;
  Ratio ratio{0, 0};
  Indices indices;
  Sizes sizes;
  Bandwidth rate;
  std::vector<std::int64_t> list;
  std::vector<Letter> letters;
  std::optional<Inner> inner;
  std::optional<Inner> named;
  std::optional<std::int64_t> only_b;
};

template <>
const Table& table_of<Inner>() {
  static const Table table = TableOf<Inner>("inner", "Inner.").field("n", &Inner::n, {.text = "N.", .min = 1}).build();
  return table;
}

template <>
const Table& table_of<Thing>() {
  static const Table table =
      TableOf<Thing>("thing", "A thing.")
          .field("kind", &Thing::kind, {.text = "Kind.", .except = {"hidden"}})
          .field("count", &Thing::count, {.text = "Count.", .fallback = "3", .min = 1, .max = 10})
          .field("flag", &Thing::flag, {.text = "Flag."})
          .field("ratio", &Thing::ratio, {.text = "Ratio."})
          .field("indices", &Thing::indices, {.text = "Indices."})
          .field("sizes", &Thing::sizes, {.text = "Sizes."})
          .field("rate", &Thing::rate, {.text = "Rate.", .min = 1'000'000'000})
          .field("list", &Thing::list, {.text = "List.", .max = 9})
          .field("letters", &Thing::letters, {.text = "Letters."})
          .field("inner", &Thing::inner, {.text = "Inner."})
          .field("named", &Thing::named, {.text = "Inner, by name.", .section = "inners"})
          .field("only_b", &Thing::only_b, {.text = "B.", .required = true, .only_for = {"b"}})
          .build();
  return table;
}

namespace {

Thing read(const std::string& text, std::string& codes) {
  Diagnostics diagnostics;
  const Node root = parse_yaml(diagnostics.sources().add("t", text), diagnostics);
  Thing thing;
  Reader reader(diagnostics, [](const std::string&, const Node& node) { return std::optional(node); });
  reader.read(root, thing);
  codes.clear();
  for (const Diagnostic& d : diagnostics.sorted()) codes += std::string(info(d.error).code);
  return thing;
}

Thing good(const std::string& text) {
  std::string codes;
  const Thing thing = read(text, codes);
  EXPECT_EQ(codes, "") << text;
  return thing;
}

std::string bad(const std::string& text) {
  std::string codes;
  read(text, codes);
  return codes;
}

TEST(Fields, DefaultsComeFromTheTable) { EXPECT_EQ(good("{kind: a}").count, 3); }

TEST(Fields, WholeNumbersHaveRanges) {
  EXPECT_EQ(good("{count: 10}").count, 10);
  EXPECT_EQ(good("{count: 1_0}").count, 10);
  for (const char* text : {"{count: 0}", "{count: 11}", "{count: -1}", "{count: 99999999999999999999}"})
    EXPECT_EQ(bad(text), "E0107") << text;
  for (const char* text :
       {"{count: 1.0}", "{count: 0x8}", "{count: +1}", "{count: [1]}", "{count: 1e3}", "{count: ''}"})
    EXPECT_EQ(bad(text), "E0103") << text;
}

TEST(Fields, RatiosAreExact) {
  const auto ratio = [](const char* text) {
    const Ratio r = good(std::string("{ratio: ") + text + "}").ratio;
    return static_cast<double>(r.over) / static_cast<double>(r.under);
  };
  EXPECT_EQ(ratio("1"), 1.0);
  EXPECT_EQ(ratio("1.5"), 1.5);
  EXPECT_EQ(ratio("3:1"), 3.0);
  EXPECT_EQ(ratio("16:5"), 3.2);
  EXPECT_EQ(ratio("0.25"), 0.25);
  for (const char* text : {"0", "-1", "1:0", "0:1", "1000001", "1:1000001"})
    EXPECT_EQ(bad(std::string("{ratio: ") + text + "}"), "E0107") << text;
  for (const char* text : {"1.", "a", "1:b", "1.2.3", "''", "1:2:3", "0.0000001"})
    EXPECT_EQ(bad(std::string("{ratio: ") + text + "}"), "E0103") << text;
}

TEST(Fields, IndicesAreNumbersListsAndRanges) {
  const auto size = [](const char* text) { return good(std::string("{indices: ") + text + "}").indices.size(); };
  EXPECT_EQ(size("3"), 1);
  EXPECT_EQ(size("[0, 4]"), 2);
  EXPECT_EQ(size("0..7"), 8);
  EXPECT_EQ(size("'0..3,8..11'"), 8);
  EXPECT_EQ(size("[0..3, 8 .. 11]"), 8);
  EXPECT_EQ(good("{indices: '5,2..3'}").indices.max(), 5);
  for (const char* text : {"-1", "3..1", "a", "1..", "..1", "'1,,2'", "[]", "1...3", "99999999999"})
    EXPECT_EQ(bad(std::string("{indices: ") + text + "}"), "E0111") << text;
  EXPECT_EQ(bad("{indices: 0..900000000}"), "E0107");
  EXPECT_EQ(bad("{indices: {a: 1}}"), "E0103");
}

TEST(Fields, SizesDouble) {
  const auto sizes = [](const char* text) { return good(std::string("{sizes: ") + text + "}").sizes.values; };
  EXPECT_EQ(sizes("1MiB"), std::vector{Bytes(1 << 20)});
  EXPECT_EQ(sizes("8B..64B"), (std::vector{Bytes(8), Bytes(16), Bytes(32), Bytes(64)}));
  EXPECT_EQ(sizes("8B..63B"), (std::vector{Bytes(8), Bytes(16), Bytes(32)}));
  EXPECT_EQ(sizes("[1B, 2B..4B]"), (std::vector{Bytes(1), Bytes(2), Bytes(4)}));
  EXPECT_EQ(sizes("1B..8000PiB").size(), 63U);
  EXPECT_EQ(bad("{sizes: 2B..1B}"), "E0111");
  EXPECT_EQ(bad("{sizes: []}"), "E0111");
  EXPECT_EQ(bad("{sizes: 8}"), "E0104");
  EXPECT_EQ(bad("{sizes: 8B..}"), "E0103");
  EXPECT_EQ(bad("{sizes: 0B}"), "E0107");
}

TEST(Fields, QuantitiesNeedUnits) {
  EXPECT_EQ(good("{rate: 400Gbps}").rate, gigabits_per_second(400));
  EXPECT_EQ(good("{rate: 50 GB/s}").rate, gigabits_per_second(400));
  EXPECT_EQ(bad("{rate: 400}"), "E0104");
  EXPECT_EQ(bad("{rate: 400gbps}"), "E0105");
  EXPECT_EQ(bad("{rate: 1.5bps}"), "E0106");
  EXPECT_EQ(bad("{rate: 1Mbps}"), "E0107");
  EXPECT_EQ(bad("{rate: fast}"), "E0103");
}

TEST(Fields, OneValueIsAListOfOne) {
  EXPECT_EQ(good("{list: 4}").list, std::vector<std::int64_t>{4});
  EXPECT_EQ(good("{list: []}").list.size(), 0U);
  EXPECT_EQ(bad("{list: [1, null]}"), "E0114");
  EXPECT_EQ(bad("{list: [1, 10, x]}"), "E0107E0103");
  std::string many = "{list: [";
  for (int i = 0; i < 1025; ++i) many += "1,";
  EXPECT_EQ(bad(many + "]}"), "E0107");
}

TEST(Fields, AClosedSetIsAnEnum) {
  EXPECT_EQ(good("{kind: a}").kind, Letter::a);
  EXPECT_EQ(good("{kind: b, only_b: 1}").kind, Letter::b);
  EXPECT_EQ(good("{letters: [b, a]}").letters, (std::vector{Letter::b, Letter::a}));
  for (const char* text : {"{kind: c}", "{kind: B}", "{kind: hidden}", "{letters: [a, c]}"})
    EXPECT_EQ(bad(text), "E0109") << text;
  EXPECT_EQ(bad("{kind: [a]}"), "E0103");
}

TEST(Fields, WhatStandsInAMappingIsRead) {
  for (const char* key : {"inner", "named"}) {
    const auto in = [key](const std::string& text) { return "{" + std::string(key) + ": " + text + "}"; };
    const Thing thing = good(in("{n: 3}"));
    const std::optional<Inner>& read = std::string(key) == "inner" ? thing.inner : thing.named;
    ASSERT_TRUE(read) << key;
    EXPECT_EQ(read->n, 3) << key;
    EXPECT_EQ(bad(in("{n: 0}")), "E0107") << key;
    EXPECT_EQ(bad(in("{m: 1}")), "E0101") << key;
  }
  EXPECT_FALSE(good("{kind: a}").inner);
}

TEST(Fields, AMissingOrMisspeltKindIsSaidOnce) {
  EXPECT_EQ(bad("{kind: c, only_b: 1}"), "E0109");
  EXPECT_EQ(bad("{kind: a, only_b: 1}"), "E0110");
  EXPECT_EQ(bad("{kind: b}"), "E0108");
  EXPECT_EQ(bad("{only_b: 1}"), "");
}

TEST(Fields, AMisspeltKeyIsNotAlsoMissing) { EXPECT_EQ(bad("{kind: b, onlyb: 1}"), "E0101"); }

TEST(Fields, WhatIsWrittenBesideAnUnknownNameIsStillRead) {
  Diagnostics diagnostics;
  const Node root = parse_yaml(diagnostics.sources().add("t", "{named: {n: 0}}"), diagnostics);
  Thing thing;
  Reader(diagnostics, [](const std::string&, const Node&) { return std::optional<Node>(); }).read(root, thing);
  ASSERT_EQ(diagnostics.sorted().size(), 1u);
  EXPECT_NE(diagnostics.sorted()[0].message.find("'n'"), std::string::npos) << diagnostics.sorted()[0].message;
}

TEST(Fields, AErrorSaysWhatItIsAbout) {
  const auto said = [](const std::string& text) {
    Diagnostics diagnostics;
    const Node root = parse_yaml(diagnostics.sources().add("t", text), diagnostics);
    Thing thing;
    Reader(diagnostics, [](const std::string&, const Node& node) { return std::optional(node); }).read(root, thing);
    return render_text(diagnostics, false);
  };
  const auto expect = [&](const std::string& text, const std::string& part) {
    EXPECT_NE(said(text).find(part), std::string::npos) << said(text);
  };
  expect("[1]", "'thing' must be a mapping, not a list");
  expect("a", "write {kind: a}, with its other keys");
  expect("{kind: b}", "'thing' needs the key 'only_b'");
  expect("{kind: a, zzz: 1}", "'thing' has no key 'zzz'");
  expect("{kind: a, coumt: 1}", "did you mean 'count'?");
}

TEST(Fields, TextHasNoControlCharacters) {
  EXPECT_EQ(bad("{kind: \"a\\n\"}"), "E0107");
  EXPECT_EQ(bad("{kind: \"\\x1b[31m\"}"), "E0107");
}

}  // namespace
}  // namespace weft::spec
