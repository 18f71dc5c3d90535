#include "spec/node.hpp"

#include <gtest/gtest.h>

namespace weft::spec {
namespace {

Node parse(const std::string& text, Diagnostics& diagnostics) {
  return parse_yaml(diagnostics.sources().add("t", text), diagnostics);
}

std::string flat(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "~";
    case Node::Kind::scalar:
      return node.text;
    case Node::Kind::sequence: {
      std::string out = "[";
      for (const Node& item : node.items) out += (out.size() > 1 ? "," : "") + flat(item);
      return out + "]";
    }
    case Node::Kind::map:
      break;
  }
  std::string out = "{";
  for (const Entry& entry : node.entries) out += (out.size() > 1 ? "," : "") + entry.key + ":" + flat(entry.value);
  return out + "}";
}

std::string laid_over(const std::string& base, const std::string& over) {
  Diagnostics diagnostics;
  return flat(overlay(parse(base, diagnostics), parse(over, diagnostics)));
}

TEST(Overlay, MergesMappingsKeyByKey) {
  EXPECT_EQ(laid_over("{a: 1, b: {c: 2, d: 3}}", "{b: {c: 9}, e: 5}"), "{b:{c:9,d:3},e:5,a:1}");
}

TEST(Overlay, ReplacesEverythingElse) {
  EXPECT_EQ(laid_over("{a: [1, 2]}", "{a: [3]}"), "{a:[3]}");
  EXPECT_EQ(laid_over("{a: {b: 1}}", "{a: 7}"), "{a:7}");
  EXPECT_EQ(laid_over("{a: [1]}", "{a: {b: 1}}"), "{a:{b:1}}");
}

TEST(Overlay, AMappingOverANameChangesThatKind) {
  EXPECT_EQ(laid_over("{gpu: h100-sxm}", "{gpu: {power: 600W}}"), "{gpu:{kind:h100-sxm,power:600W}}");
  EXPECT_EQ(laid_over("{gpu: h100-sxm}", "{gpu: {kind: b200, power: 1W}}"), "{gpu:{kind:b200,power:1W}}");
}

TEST(Overlay, AnotherKindStartsAfresh) {
  EXPECT_EQ(laid_over("{kind: a, x: 1}", "{kind: b}"), "{kind:b}");
  EXPECT_EQ(laid_over("{kind: a, x: 1}", "{kind: a, y: 2}"), "{kind:a,y:2,x:1}");
}

std::string after_set(const std::string& text, const std::vector<std::string>& sets, std::string* codes = nullptr) {
  Diagnostics diagnostics;
  Node root = parse(text, diagnostics);
  for (const std::string& set : sets) apply_set(root, set, diagnostics);
  for (const Diagnostic& d : diagnostics.sorted())
    if (codes != nullptr) *codes += info(d.error).code;
  EXPECT_EQ(diagnostics.has_errors(), codes != nullptr && !codes->empty());
  return flat(root);
}

TEST(Set, WalksKeysAndListPositions) {
  EXPECT_EQ(after_set("{a: {b: 1}}", {"a.b=2"}), "{a:{b:2}}");
  EXPECT_EQ(after_set("{s: [{c: 1}, {c: 2}]}", {"s.1.c=9"}), "{s:[{c:1},{c:9}]}");
  EXPECT_EQ(after_set("{s: [1, 2]}", {"s.0=5"}), "{s:[5,2]}");
}

TEST(Set, MakesWhatIsNotThere) { EXPECT_EQ(after_set("{a: 1}", {"b.c.d=x"}), "{a:1,b:{c:{d:x}}}"); }

TEST(Set, GoesIntoAKindThatIsANameInTheFile) {
  EXPECT_EQ(after_set("{servers: {gpu: h100-sxm}}", {"servers.gpu.power=600W"}),
            "{servers:{gpu:{kind:h100-sxm,power:600W}}}");
}

TEST(Set, TakesYamlValuesAndEqualSigns) {
  EXPECT_EQ(after_set("{a: 1}", {"a=[1, {b: 2}]"}), "{a:[1,{b:2}]}");
  EXPECT_EQ(after_set("{a: 1}", {"a=x=y"}), "{a:x=y}");
  EXPECT_EQ(after_set("{a: {b: 1, c: 2}}", {"a={b: 3}"}), "{a:{b:3,c:2}}");
}

TEST(Set, LaterOnesWin) { EXPECT_EQ(after_set("{a: 1}", {"a=2", "a=3"}), "{a:3}"); }

TEST(Set, WrongOnesAreNamed) {
  for (const char* bad :
       {"a", "=1", "", "a..b=1", ".a=1", "a.=1", "l.9=1", "l.x=1", "l.-1=1", "l.99999999999999999999999=1"}) {
    std::string codes;
    after_set("{a: {b: 1}, l: [1, 2]}", {bad}, &codes);
    EXPECT_EQ(codes, "E0112") << bad;
  }
}

TEST(Set, PointsIntoTheCommandLine) {
  Diagnostics diagnostics;
  Node root = parse("{a: 1}", diagnostics);
  apply_set(root, "fabric.link={rate: 8}", diagnostics);
  const Place at = root.find("fabric")->value.find("link")->value.find("rate")->value.place;
  EXPECT_EQ(diagnostics.sources().name(at.source), "--set");
  EXPECT_EQ(diagnostics.sources().line(at).substr(at.column - 1, at.length), "8");
}

TEST(Shown, NeverCutsACharacter) {
  EXPECT_EQ(shown("short"), "short");
  EXPECT_EQ(shown(std::string(39, 'a') + "üü"), std::string(39, 'a') + "...");
}

}  // namespace
}  // namespace weft::spec
