#include "traffic/sweep.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace weft::traffic {
namespace {

constexpr std::uint32_t kPaths = 64;

// Ways there and back lie on four spines; `loss` of each, in percent, and `delay` there.
std::vector<Probe> probes_over(const std::vector<std::uint32_t>& loss_there,
                               const std::vector<std::uint32_t>& loss_back, const std::vector<Instant>& delay,
                               std::uint64_t seed) {
  Random random(seed, 0, 0);
  std::vector<Probe> probes;
  for (std::uint32_t i = 0; i < 256 * kPaths; ++i) {
    Probe probe{i % kPaths, (i % kPaths + i / kPaths) % kPaths, {}};
    const bool lost = random.below(100) < loss_there[probe.there % 4] || random.below(100) < loss_back[probe.back / 16];
    if (!lost) probe.trip = Duration(100'000'000 + delay[probe.there % 4] + random.below(20'000'000));
    probes.push_back(probe);
  }
  return probes;
}

void expect(const std::vector<SweptPath>& paths, const std::function<Verdict(std::uint32_t)>& wanted) {
  for (std::uint32_t i = 0; i < kPaths; ++i)
    EXPECT_EQ(name_of(paths[i].verdict), std::string(name_of(wanted(i)))) << "path " << i << ", " << paths[i].lost;
}

TEST(Sweep, HealthyPathsAreFine) {
  const auto result = judge_probes(kPaths, probes_over({0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, 1));
  expect(result.there, [](std::uint32_t) { return Verdict::fine; });
  expect(result.back, [](std::uint32_t) { return Verdict::fine; });
}

// A spine that is dead there takes a quarter of the answers to those by the others, where it is dead back, too.
TEST(Sweep, WaysThereAndBackAreToldApart) {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const auto result = judge_probes(kPaths, probes_over({0, 100, 0, 0}, {0, 0, 100, 0}, {0, 0, 0, 0}, seed));
    expect(result.there, [](std::uint32_t i) { return i % 4 == 1 ? Verdict::dead : Verdict::fine; });
    expect(result.back, [](std::uint32_t i) { return i / 16 == 2 ? Verdict::dead : Verdict::fine; });
  }
}

TEST(Sweep, OneThatLosesAFewInAHundredIsNamed) {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const auto result = judge_probes(kPaths, probes_over({0, 0, 0, 10}, {0, 0, 0, 0}, {0, 0, 0, 0}, seed));
    expect(result.there, [](std::uint32_t i) { return i % 4 == 3 ? Verdict::loses : Verdict::fine; });
    expect(result.back, [](std::uint32_t) { return Verdict::fine; });
  }
}

TEST(Sweep, OneThatLagsIsNamed) {
  const auto result = judge_probes(kPaths, probes_over({0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 400'000'000, 0}, 3));
  expect(result.there, [](std::uint32_t i) { return i % 4 == 2 ? Verdict::lags : Verdict::fine; });
}

// Where everything loses, no path is worse than another.
TEST(Sweep, LossEverywhereIsNoPaths) {
  const auto result = judge_probes(kPaths, probes_over({3, 3, 3, 3}, {0, 0, 0, 0}, {0, 0, 0, 0}, 4));
  expect(result.there, [](std::uint32_t) { return Verdict::fine; });
}

}  // namespace
}  // namespace weft::traffic
