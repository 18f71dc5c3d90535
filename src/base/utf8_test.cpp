#include "base/utf8.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace weft {
namespace {

// As the Unicode standard defines it; written apart from the decoder, so that each checks the other.
std::string encoded(std::uint32_t point) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((point >> shift) & 0x3F)); };
  if (point < 0x80) return {static_cast<char>(point)};
  if (point < 0x800) return {static_cast<char>(0xC0 | (point >> 6)), tail(0)};
  if (point < 0x10000) return {static_cast<char>(0xE0 | (point >> 12)), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | (point >> 18)), tail(12), tail(6), tail(0)};
}

TEST(Utf8, EveryCharacterReadsBackAndSurrogatesDoNot) {
  for (std::uint32_t point = 0; point <= 0x10FFFF; ++point) {
    const std::string text = encoded(point);
    const Character read = first_character(text + "x");
    const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
    ASSERT_EQ(read.length, surrogate ? 0 : text.size()) << point;
    if (!surrogate) {
      ASSERT_EQ(read.point, point);
    }
  }
}

TEST(Utf8, WhatIsTooLongTooLargeOrCutOffIsRefused) {
  for (const char* text : {"\xC0\xAF", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
                           "\xF5\x80\x80\x80", "\x80", "\xBF", "\xFF", "\xE6\x9D", "\xE6", "\xC3(", "\xE6(\xB1"}) {
    EXPECT_EQ(first_character(text).length, 0u) << text;
    EXPECT_EQ(bytes_of_first(text), 1u) << text;
  }
  EXPECT_EQ(first_character("").length, 0u);
  EXPECT_EQ(bytes_of_first(""), 0u);
}

RC_GTEST_PROP(Utf8, ALengthIsNeverBeyondTheText, (const std::string& text)) {
  RC_ASSERT(first_character(text).length <= text.size());
}

}  // namespace
}  // namespace weft
