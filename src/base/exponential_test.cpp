#include "base/exponential.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace weft {
namespace {

constexpr int kDraws = 200'000;

TEST(Exponential, TheLogarithmIsRightToTheLastBits) {
  const std::uint64_t samples[] = {
      1, 2, 3, 0x123456789abcdef, 0xdeadbeefdeadbeef, std::uint64_t{1} << 63, ~std::uint64_t{0}};
  for (const std::uint64_t x : samples) {
    const long double exact = 64 * std::log(2.0L) - std::log(static_cast<long double>(x));
    EXPECT_NEAR(static_cast<double>(minus_log(x)) / 4294967296.0, static_cast<double>(exact), 4.0 / 4294967296.0) << x;
  }
}

// Mean, variance and tail of n draws, within five standard deviations of each estimate.
TEST(Exponential, TimesAreExponential) {
  Random random(3, 0, 0);
  constexpr std::int64_t kMean = 1'000'000;
  double sum = 0;
  double squares = 0;
  int longer = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double each = static_cast<double>(draw_exponential(random, kMean)) / kMean;
    sum += each;
    squares += each * each;
    longer += each > 2;
  }
  EXPECT_NEAR(sum / kDraws, 1, 5 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 2, 5 * std::sqrt(20.0 / kDraws));  // the square of one has variance 24 - 4
  const double share = std::exp(-2.0);
  EXPECT_NEAR(longer, share * kDraws, 5 * std::sqrt(kDraws * share * (1 - share)));
}

TEST(Exponential, AnEndlessMeanDoesNotOverflow) {
  Random random(3, 0, 0);
  for (int i = 0; i < 1000; ++i) EXPECT_GE(draw_exponential(random, INT64_MAX), 0);
}

}  // namespace
}  // namespace weft
