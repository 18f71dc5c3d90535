#include "schedule/composed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "schedule/testing_script.hpp"

namespace weft::schedule {
namespace {

// What they do is tested where they run (sim); here: who has how many lanes.
TEST(Composed, EachTrackHasALaneOfItsRank) {
  auto steps = std::make_unique<WrittenSteps>(3);
  steps->add(0, {Step::compute(Duration(5))});
  steps->add(2, {Step::compute(Duration(6))});
  steps->add(2, {Step::compute(Duration(7))});
  Composed composed(3, {}, std::move(steps));
  ASSERT_EQ(composed.ranks(), 3u);
  EXPECT_EQ(composed.lanes(0), 1u);
  EXPECT_EQ(composed.lanes(1), 0u);
  EXPECT_EQ(composed.lanes(2), 2u);
  Instruction first;
  ASSERT_TRUE(composed.next(2, 1, first));
  EXPECT_EQ(first.time.count(), 7);
}

// Carries out the lanes of one rank, whose parts pause and send nothing but messages to the rank itself; what they
// paused for, in that order. Empty: somebody waits for what never comes, or never ends.
std::vector<std::int64_t> pauses_of(Composed& composed) {
  struct Lane {
    std::vector<std::uint64_t> awaited;
    bool waits = false;
    bool ended = false;
  };
  std::vector<Lane> lanes(composed.lanes(0));
  std::multiset<std::uint64_t> sent;
  std::vector<std::int64_t> paused;
  int pulled = 0;
  for (bool moved = true; moved;) {
    moved = false;
    // The last lane first: it must be held by what it waits for, not by the order in which lanes are asked.
    for (std::uint32_t number = composed.lanes(0); number-- > 0;) {
      Lane& lane = lanes[number];
      while (!lane.ended) {
        std::erase_if(lane.awaited, [&](std::uint64_t tag) {
          const auto found = sent.find(tag);
          if (found != sent.end()) sent.erase(found);
          return found != sent.end();
        });
        if (lane.waits && !lane.awaited.empty()) break;
        if (++pulled > 1'000) return {};
        moved = true;
        lane.waits = false;
        Instruction next;
        lane.ended = !composed.next(0, number, next);
        if (lane.ended) break;
        if (next.kind == Instruction::Kind::send) sent.insert(next.tag);
        if (next.kind == Instruction::Kind::recv) lane.awaited.push_back(next.tag);
        if (next.kind == Instruction::Kind::pause) paused.push_back(next.time.count());
        lane.waits = next.kind == Instruction::Kind::wait || next.kind == Instruction::Kind::wait_all;
      }
    }
  }
  const bool all = std::all_of(lanes.begin(), lanes.end(), [](const Lane& each) { return each.ended; });
  EXPECT_TRUE(sent.empty()) << "what a lane says is heard by one";
  return all ? paused : std::vector<std::int64_t>{};
}

TEST(Composed, APartBeginsWhenAllLanesOfTheOneBeforeItHaveEnded) {
  std::vector<Composed::Part> parts;
  for (const std::vector<std::int64_t>& times : {std::vector<std::int64_t>{10, 11, 12}, {20, 21}, {30, 31, 32}}) {
    auto work = std::make_unique<Script>(1);
    for (const std::int64_t time : times) work->add(0, {Instruction::pause(Duration(time))});
    parts.push_back({std::move(work), {0}});
  }
  auto steps = std::make_unique<WrittenSteps>(1);
  steps->add(0, {Step::run(0), Step::compute(Duration(15)), Step::run(1), Step::run(2), Step::compute(Duration(40))});
  Composed composed(1, std::move(parts), std::move(steps));
  ASSERT_EQ(composed.lanes(0), 3u);
  std::vector<std::int64_t> paused = pauses_of(composed);
  ASSERT_EQ(paused.size(), 10u) << "a lane waits for ever";
  // Lanes of a part have no order among themselves.
  for (std::int64_t& each : paused) each = each == 15 ? 15 : each / 10 * 10;
  EXPECT_EQ(paused, (std::vector<std::int64_t>{10, 10, 10, 15, 20, 20, 30, 30, 30, 40}));
}

}  // namespace
}  // namespace weft::schedule
