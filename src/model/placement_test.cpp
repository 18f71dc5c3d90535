#include "model/placement.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace weft::model {
namespace {

using Gpus = std::vector<std::uint32_t>;

Gpus gpus(const std::string& text, std::uint32_t count = 256) { return parse_gpus(text, count).value_or(Gpus{}); }

TEST(Placement, GpusAreNumbersRangesAndStrides) {
  EXPECT_EQ(gpus("3"), Gpus{3});
  EXPECT_EQ(gpus("4..6,0"), (Gpus{0, 4, 5, 6}));
  EXPECT_EQ(gpus("0..31/8"), (Gpus{0, 8, 16, 24}));
  EXPECT_EQ(gpus("1..31/8x2"), (Gpus{1, 2, 9, 10, 17, 18, 25, 26}));
  EXPECT_EQ(gpus("0..255/128x3"), (Gpus{0, 1, 2, 128, 129, 130}));
  for (const char* wrong : {"", ",", "a", "1..", "..1", "3..1", "0..7/", "0..7/0", "0..7/2x3", "0..7/2x0", "0..7/2x",
                            "256", "0..256", "1,1", "0..3,2", "99999999999", "-1", "1 2"})
    EXPECT_TRUE(gpus(wrong).empty()) << wrong;
}

// Whatever is given: no GPU that is not there, none twice, or an error.
RC_GTEST_PROP(Placement, AnyTextNamesGpusOrIsRefused, (const std::string& drawn)) {
  const std::string alphabet = "0123456789../,x";
  std::string text;
  for (const char each : drawn) text += alphabet[static_cast<unsigned char>(each) % alphabet.size()];
  const auto result = parse_gpus(text, 64);
  if (!result) return;
  const Gpus& made = *result;
  RC_ASSERT(!made.empty());
  RC_ASSERT(std::is_sorted(made.begin(), made.end()));
  RC_ASSERT(std::adjacent_find(made.begin(), made.end()) == made.end());
  RC_ASSERT(made.back() < 64);
}

// A million GPUs named a hundred thousand times over: the second time is one too many.
TEST(Placement, NamingAllGpusAgainAndAgainEndsEarly) {
  std::string text = "0..999999";
  for (int i = 0; i < 100'000; ++i) text += ",0..999999";
  const auto made = parse_gpus(text, 1'000'000);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().what, "GPU 0 is named twice");
}

TEST(Placement, GroupsAreNeighboursOrEveryNth) {
  const Gpus eight = {0, 1, 2, 3, 8, 9, 10, 11};
  EXPECT_EQ(split_gpus("", eight).value(), std::vector<Gpus>{eight});
  EXPECT_EQ(split_gpus("/4", eight).value(), (std::vector<Gpus>{{0, 1, 2, 3}, {8, 9, 10, 11}}));
  EXPECT_EQ(split_gpus("%4", eight).value(), (std::vector<Gpus>{{0, 8}, {1, 9}, {2, 10}, {3, 11}}));
  for (const char* wrong : {"/", "%", "4", "/0", "/3", "/1", "%8", "%3", "/8x", "/-2", "/16"})
    EXPECT_FALSE(split_gpus(wrong, eight).has_value()) << wrong;
}

TEST(Placement, ASlowRankIsOneThatIsThereAndKeepsSomeOfItsSpeed) {
  const auto slow = parse_slow_rank("3=50%", 4);
  ASSERT_TRUE(slow.has_value());
  EXPECT_EQ(slow->rank, 3u);
  EXPECT_EQ(slow->speed_per_mille, 500);
  for (const char* wrong : {"", "3", "3=", "=50%", "4=50%", "3=0%", "3=101%", "-1=50%", "3=50%,2=50%"})
    EXPECT_FALSE(parse_slow_rank(wrong, 4).has_value()) << wrong;
}

TEST(Placement, ARefusalNamesWhatWouldBeRight) {
  EXPECT_EQ(parse_gpus("8", 8).error().help, "GPUs are numbered from 0 to 7");
  EXPECT_EQ(parse_slow_rank("8=50%", 8).error().help.substr(0, 18), "a rank from 0 to 7");
}

TEST(Placement, ServersAreTakenByName) {
  const std::vector<NamedServers> servers = {{"s", 4, 0, 8}, {"old", 2, 32, 4}};
  const auto made = [&](const std::string& text) { return parse_gpus(text, 40, servers).value_or(Gpus{}); };
  EXPECT_EQ(made("s1"), (Gpus{8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(made("s0..s3/2").size(), 16u);
  EXPECT_EQ(made("s0..s3/2")[8], 16u);
  EXPECT_EQ(made("old0..old1,0"), (Gpus{0, 32, 33, 34, 35, 36, 37, 38, 39}));
  for (const char* wrong : {"s4", "s0..s4", "s0..3", "s", "t0", "s1..s0", "s0,3"})
    EXPECT_TRUE(made(wrong).empty()) << wrong;
}

}  // namespace
}  // namespace weft::model
