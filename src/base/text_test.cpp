#include "base/text.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(DidYouMean, FindsTheNearestSpelling) {
  const std::vector<std::string> keys = {"count", "name", "spine_switch", "spines", "oversubscription"};
  EXPECT_EQ(did_you_mean("cuont", keys), "count");  // swapped letters are one mistake
  EXPECT_EQ(did_you_mean("nmae", keys), "name");
  EXPECT_EQ(did_you_mean("over_subscription", keys), "oversubscription");
  EXPECT_EQ(did_you_mean("COUNT", keys), "count");
}

TEST(DidYouMean, PrefersATypoToAPartOfAName) {
  EXPECT_EQ(did_you_mean("servres", {"servers", "server"}), "servers");
  EXPECT_EQ(did_you_mean("spine", {"spine_switch", "spines"}), "spines");
  EXPECT_EQ(did_you_mean("h100", {"dgx-a100", "hgx-h100"}), "hgx-h100");
}

TEST(DidYouMean, TakesDashesForUnderscores) {
  EXPECT_EQ(did_you_mean("parallel-links", {"parallel_links"}), "parallel_links");
  EXPECT_EQ(did_you_mean("tomahawk_5", {"tomahawk-4", "tomahawk-5"}), "tomahawk-5");
}

TEST(DidYouMean, SaysNothingWhenNothingIsNear) {
  EXPECT_FALSE(did_you_mean("quantum", {"count", "name"}));
  EXPECT_FALSE(did_you_mean("", {"a"}));
  EXPECT_FALSE(did_you_mean("x", {}));
  EXPECT_FALSE(did_you_mean(std::string(1'000'000, 'a'), {std::string(1'000'000, 'a')}));
}

TEST(Grouped, SeparatesThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1048576), "1,048,576");
  EXPECT_EQ(grouped(-1000), "-1,000");
  EXPECT_EQ(grouped(-100), "-100");
  EXPECT_EQ(grouped(INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(Counted, AgreesWithTheNumber) {
  EXPECT_EQ(counted(1, "server"), "1 server");
  EXPECT_EQ(counted(0, "server"), "0 servers");
  EXPECT_EQ(counted(1024, "switch"), "1,024 switches");
}

TEST(Either, ReadsLikeASentence) {
  EXPECT_EQ(either({}), "");
  EXPECT_EQ(either({"a"}), "a");
  EXPECT_EQ(either({"a", "b"}), "a or b");
  EXPECT_EQ(either({"a", "b", "c"}), "a, b or c");
}

TEST(DisplayWidth, CountsCharactersNotBytes) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("zürich"), 6U);
  EXPECT_EQ(display_width("日本語 GPU"), 10U) << "two columns each on a terminal";
  EXPECT_EQ(display_width("한국"), 4U);
  EXPECT_EQ(display_width("π ≤ 4"), 5U);
}

}  // namespace
}  // namespace weft
