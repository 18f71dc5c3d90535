#include "measured/text_lines.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weft::measured {
namespace {

TEST(ScaledDecimal, IsExact) {
  EXPECT_EQ(scaled_decimal("12.34", 6), 12'340'000);
  EXPECT_EQ(scaled_decimal("0.00", 9), 0);
  EXPECT_EQ(scaled_decimal("166733", 6), 166'733'000'000);
  EXPECT_EQ(scaled_decimal("1.2e+06", 6), 1'200'000'000'000);
  EXPECT_EQ(scaled_decimal("5e-7", 6), 1) << "rounded to nearest";
  EXPECT_EQ(scaled_decimal("4e-7", 6), 0);
  EXPECT_EQ(scaled_decimal("0.00000000000000000000000000001", 6), 0);
  EXPECT_EQ(scaled_decimal("123456789012345678901234567890", 0), std::nullopt);
}

TEST(ScaledDecimal, RefusesWhatIsNoNumber) {
  for (const char* text : {"", ".", "N/A", "-1", "1.2.3", "1e", "1e99", "12us", "1e+", "0x10", "nan", "inf"})
    EXPECT_EQ(scaled_decimal(text, 6), std::nullopt) << text;
}

RC_GTEST_PROP(ScaledDecimal, ReadsWhatWasPrinted, ()) {
  const auto value = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000);
  const std::string text = fmt::format("{}.{:03}", value / 1000, value % 1000);
  RC_ASSERT(scaled_decimal(text, 3) == value);
}

TEST(Lines, KeepColumnsWhereColoursWere) {
  spec::Diagnostics diagnostics;
  const auto source = diagnostics.sources().add("t", "\x1b[4mGPU0\x1b[0m\tx\r\nsecond");
  Lines lines(source, spec::Error::bad_log, diagnostics);
  Line line;
  ASSERT_TRUE(lines.next(line));
  const auto all = words(line.text);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].text, "GPU0");
  EXPECT_EQ(all[0].column, 5U);
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line.text, "second");
  EXPECT_EQ(line.number, 2U);
  EXPECT_FALSE(lines.next(line));
}

TEST(Lines, OfABinaryFileDoNotExist) {
  spec::Diagnostics diagnostics;
  Lines lines(diagnostics.sources().add("t", std::string("ab\0cd", 5)), spec::Error::bad_log, diagnostics);
  Line line;
  EXPECT_FALSE(lines.readable());
  EXPECT_FALSE(lines.next(line));
  EXPECT_TRUE(diagnostics.has_errors());
}

TEST(TextLines, WhatIsNoTagStays) {
  EXPECT_EQ(after_tags("[1,0]<stdout>:# size"), "# size");
  EXPECT_EQ(after_tags("0: [0] 8 2"), " 8 2");
  EXPECT_EQ(after_tags("   8   2 float"), "   8   2 float");
  EXPECT_EQ(after_tags("Legend: X = Self"), "Legend: X = Self") << "a word without a digit is no host";
  EXPECT_EQ(after_tags("1048576 262144 float"), "1048576 262144 float");
  EXPECT_EQ(after_tags(""), "");
  EXPECT_EQ(after_tags("[not closed"), "[not closed");
}

}  // namespace
}  // namespace weft::measured
