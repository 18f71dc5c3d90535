#include <gtest/gtest.h>

#include "transport/rdm/testing_shuffle.hpp"

namespace weft::transport::rdm {
namespace {

struct ShuffleRun {
  bool ordered = true;
  bool losses = false;
  bool demand_order = false;
  Shuffle::Breaks breaks = Shuffle::Breaks::nothing;
};

// The first thing that went wrong, or nothing.
std::string shuffled(std::uint64_t seed, const ShuffleRun& run) {
  Random random(seed, 0x9f0, 2);
  const std::uint32_t nodes = 1 + random.below(4);
  RdmConfig config;
  config.ordered = run.ordered;
  config.bundle = 128 + random.below(1400);
  config.eager = random.below(3) == 0 ? random.below(200) : 500 + random.below(8000);
  config.window = 4u << random.below(6);
  config.unexpected = 4096 + random.below(40000);
  config.reads = 1 + random.below(6);
  config.requests = 1 + random.below(8);
  const std::uint64_t longest = 200 + random.below(20000);
  Exercise exercise(seed, nodes, config, longest);
  if (run.demand_order) exercise.demand_order();
  Shuffle shuffle(exercise, seed, nodes, 1 + random.below(4000), run.breaks);

  for (std::uint32_t i = 0; i < 3000 && exercise.problem().empty(); ++i) {
    if (i < 1500 && random.below(8) == 0) {
      const std::uint32_t node = random.below(nodes);
      exercise.act(node);
      exercise.collect(node);
    }
    if (run.losses && i < 1500 && random.below(200) == 0) {
      const std::uint32_t one = random.below(nodes);
      shuffle.lose(one, random.below(nodes));
    }
    shuffle.step();
    if (i % 64 == 0)
      for (std::uint32_t node = 0; node < nodes; ++node)
        if (const auto wrong = exercise.rdm(node).check_invariants(); !wrong.empty())
          exercise.complain(std::string(wrong));
  }
  for (std::uint32_t i = 0; i < 400000 && exercise.problem().empty(); ++i) {
    if (i % 256 == 0) exercise.drain();
    if (i % 256 == 0 && exercise.open() == 0 && shuffle.idle()) break;
    shuffle.step();
  }
  if (exercise.open() > 0) exercise.complain("something never ended");
  exercise.finish();
  for (std::uint32_t node = 0; node < nodes; ++node) {
    exercise.collect(node);
    if (exercise.rdm(node).counters().nonsense > 0) exercise.complain("an honest peer was taken for another");
    if (!run.losses && exercise.rdm(node).held() > 0) exercise.complain("something is still held");
  }
  return exercise.problem();
}

TEST(Rdm, AnyCarrierGivesEachMessageOnceWholeInOrderToAReceiveThatSuitsIt) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) EXPECT_EQ(shuffled(seed, {}), "") << "seed " << seed;
}

TEST(Rdm, OrderIsOnlyWhereAsked) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) EXPECT_EQ(shuffled(seed, {.ordered = false}), "") << "seed " << seed;
}

TEST(Rdm, LostConnectionsLoseOnlyWhatWasOnThem) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) EXPECT_EQ(shuffled(seed, {.losses = true}), "") << "seed " << seed;
}

// Messages of lost connections may still be received, before those that are waited for.
TEST(Rdm, ReceivesForAllThatIsMissingArePostedAtOnce) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    constexpr std::uint32_t kNodes = 2;
    Random random(seed, 0x9f0, 3);
    Exercise exercise(seed, kNodes, {}, 2000);
    Shuffle shuffle(exercise, seed, kNodes, 500, Shuffle::Breaks::nothing);
    const auto settle = [&] {
      for (int i = 0; i < 10000 && !shuffle.idle(); ++i) shuffle.step();
    };
    for (int i = 0; i < 60; ++i) {
      exercise.act(random.below(kNodes));
      if (i == 40) {
        settle();
        shuffle.lose(0, 1);
      }
    }
    settle();
    exercise.drain();
    settle();
    EXPECT_EQ(exercise.open(), 0u) << seed;
    EXPECT_EQ(exercise.problem(), "") << seed;
  }
}

TEST(Rdm, CarriersThatBreakTheirPromisesAreNoticed) {
  for (const Shuffle::Breaks breaks :
       {Shuffle::Breaks::twice, Shuffle::Breaks::other_byte, Shuffle::Breaks::lost, Shuffle::Breaks::misplaced}) {
    int noticed = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) noticed += !shuffled(seed, {.breaks = breaks}).empty();
    EXPECT_GE(noticed, 8) << static_cast<int>(breaks);
  }
  int noticed = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed)
    noticed += !shuffled(seed, {.ordered = false, .demand_order = true}).empty();
  EXPECT_GE(noticed, 5) << "messages out of order";
}

}  // namespace
}  // namespace weft::transport::rdm
