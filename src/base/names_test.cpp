#include "base/names.hpp"

#include <gtest/gtest.h>

namespace weft {

enum class Colour { red, dark_blue };
constexpr auto names_of(Colour) {
  return std::to_array<EnumName<Colour>>({{Colour::red, "red"}, {Colour::dark_blue, "dark-blue"}});
}

namespace {

TEST(Names, AreReadAndPrintedAlike) {
  for (const Colour colour : {Colour::red, Colour::dark_blue}) EXPECT_EQ(parse_enum<Colour>(enum_name(colour)), colour);
  EXPECT_EQ(enum_name(Colour::dark_blue), "dark-blue");
}

TEST(Names, WhatIsNoNameIsNoValue) {
  for (const char* text : {"", "blue", "dark_blue", "Red", "red "}) EXPECT_EQ(parse_enum<Colour>(text), std::nullopt);
}

TEST(Names, AreListedInTheOrderOfTheEnum) {
  EXPECT_EQ(enum_names<Colour>(), (std::vector<std::string>{"red", "dark-blue"}));
  EXPECT_EQ(enum_names({Colour::dark_blue}), std::vector<std::string>{"dark-blue"});
}

}  // namespace
}  // namespace weft
