#include "spec/schema.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "spec/codes.hpp"

namespace weft::spec {

enum class Ware { a, b_or_c };
constexpr auto names_of(Ware) { return std::to_array<EnumName<Ware>>({{Ware::a, "a"}, {Ware::b_or_c, "b|c"}}); }

struct Wheel {
  Length radius;
};
struct Cart {
  Ware kind = Ware::a;
  std::int64_t count = 0;
  std::vector<Wheel> wheels;
};

template <>
const Table& table_of<Wheel>() {
  static const Table table = TableOf<Wheel>("wheel", "A wheel.")
                                 .field("radius", &Wheel::radius, {.text = "Radius.", .required = true})
                                 .build();
  return table;
}

template <>
const Table& table_of<Cart>() {
  static const Table table =
      TableOf<Cart>("cart", "A cart.")
          .field("kind", &Cart::kind, {.text = "Kind."})
          .field("count", &Cart::count, {.text = "How many.", .fallback = "2", .min = 1, .max = 4})
          .field("wheels", &Cart::wheels, {.text = "Wheels."})
          .build();
  return table;
}

namespace {

TEST(JsonSchema, SaysWhatTheTableSays) {
  const auto schema = nlohmann::json::parse(json_schema(table_of<Cart>(), "carts"));
  EXPECT_EQ(schema["title"], "carts");
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["properties"]["count"]["minimum"], 1);
  EXPECT_EQ(schema["properties"]["count"]["default"], 2);
  EXPECT_EQ(schema["properties"]["count"]["description"], "How many.");
  EXPECT_EQ(schema["properties"]["kind"]["enum"], (nlohmann::json{"a", "b|c"}));
  EXPECT_EQ(schema["$defs"]["wheel"]["required"], nlohmann::json{"radius"});
}

TEST(ReferencePage, HasARowPerKeyAndEscapesBars) {
  const std::string page = reference_page(table_of<Cart>(), "# Carts\n");
  EXPECT_NE(page.find("| `count` | whole number, 1 to 4 | `2` | How many. |"), std::string::npos) << page;
  EXPECT_NE(page.find("b\\|c"), std::string::npos);
  EXPECT_NE(page.find("## wheel"), std::string::npos);
}

TEST(Errors, HaveUniqueCodesAndTexts) {
  std::set<std::string_view> codes;
  for (const ErrorInfo& error : all_errors()) {
    EXPECT_TRUE(codes.insert(error.code).second) << error.code;
    EXPECT_FALSE(error.title.empty());
    EXPECT_TRUE(error.explanation.ends_with('.')) << error.code;
    EXPECT_EQ(find_error(error.code), &error);
    EXPECT_NE(errors_page().find(error.title), std::string::npos);
  }
  EXPECT_EQ(find_error("e0101")->code, "E0101");
  EXPECT_EQ(find_error("E9999"), nullptr);
}

}  // namespace
}  // namespace weft::spec
