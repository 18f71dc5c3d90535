// Steps of drawn tracks take the times that adding them up by hand gives, whoever carries them out.

#include "schedule/composed.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "sim/flow/flow_sim.hpp"
#include "sim/host/testing_hosts.hpp"
#include "sim/packet/packet_run.hpp"
#include "sim/run/lane_sim.hpp"
#include "sim/run/message_sim.hpp"

namespace weft::sim {
namespace {

using schedule::Composed;
using schedule::Instruction;
using schedule::Schedule;
using schedule::Step;
using schedule::WrittenSteps;

// A part in which every lane pauses for a time, and then again when it is run again.
class Pauses final : public Schedule {
 public:
  explicit Pauses(std::vector<std::vector<std::int64_t>> times) : times_(std::move(times)), begun_(times_.size()) {
    for (std::size_t rank = 0; rank < times_.size(); ++rank) begun_[rank].resize(times_[rank].size());
  }
  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(times_.size()); }
  std::uint32_t lanes(std::uint32_t rank) const override { return static_cast<std::uint32_t>(times_[rank].size()); }
  bool next(std::uint32_t rank, std::uint32_t lane, Instruction& out) override {
    begun_[rank][lane] = !begun_[rank][lane];
    out = Instruction::pause(Duration(times_[rank][lane]));
    return begun_[rank][lane];
  }

 private:
  std::vector<std::vector<std::int64_t>> times_;
  std::vector<std::vector<bool>> begun_;
};

constexpr std::uint32_t kRanks = 4;
using Times = std::vector<std::vector<std::vector<std::int64_t>>>;  // by part, rank and lane
using Tracks = std::vector<std::vector<std::vector<Step>>>;         // by rank and track

Composed composed(const Times& times, const Tracks& tracks) {
  std::vector<Composed::Part> parts;
  for (const auto& each : times) {
    std::vector<std::uint32_t> places(kRanks);
    std::iota(places.begin(), places.end(), 0u);
    parts.push_back({std::make_unique<Pauses>(each), places});
  }
  auto steps = std::make_unique<WrittenSteps>(kRanks);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    for (const auto& track : tracks[rank]) steps->add(rank, track);
  return Composed(kRanks, std::move(parts), std::move(steps));
}

// Steps were drawn in an order in which every await comes behind its record.
struct Drawn {
  Times times;
  Tracks tracks{kRanks};
  std::int64_t end = 0;
};

std::int64_t some_time() { return *rc::gen::inRange<std::int64_t>(0, 1'000'000); }

Drawn draw() {
  Drawn drawn;
  drawn.times.resize(*rc::gen::inRange<std::size_t>(1, 4));
  for (auto& part : drawn.times) {
    part.resize(kRanks);
    for (auto& lanes : part)
      for (auto i = *rc::gen::inRange(0, 5); i-- > 0;) lanes.push_back(some_time());
  }
  std::uint64_t event = 0;
  for (auto& tracks : drawn.tracks) {
    const auto rank = static_cast<std::size_t>(&tracks - drawn.tracks.data());
    tracks.resize(*rc::gen::inRange<std::size_t>(1, 4));
    std::vector<std::int64_t> clocks(tracks.size());
    const auto some_track = [&] { return *rc::gen::inRange<std::size_t>(0, tracks.size()); };
    for (auto i = *rc::gen::inRange(0, 20); i-- > 0;) {
      const std::size_t track = some_track();
      switch (*rc::gen::inRange(0, 4)) {
        case 0: {
          const std::int64_t time = some_time();
          tracks[track].push_back(Step::compute(Duration(time)));
          clocks[track] += time;
          break;
        }
        case 1: {
          const std::size_t other = some_track();
          tracks[track].push_back(Step::record(event));
          tracks[other].push_back(Step::await(event++));
          clocks[other] = std::max(clocks[other], clocks[track]);
          break;
        }
        default: {
          // By one track of a rank: each has its own parts.
          const auto part = static_cast<std::uint32_t>(track);
          if (part >= drawn.times.size()) break;
          tracks[track].push_back(Step::run(part));
          const auto& lanes = drawn.times[part][rank];
          if (!lanes.empty()) clocks[track] += *std::max_element(lanes.begin(), lanes.end());
        }
      }
    }
    drawn.end = std::max(drawn.end, *std::max_element(clocks.begin(), clocks.end()));
  }
  return drawn;
}

RC_GTEST_PROP(Composed, TakesWhatItsStepsTakeByEveryExecutor, ()) {
  static const testing::Hosts servers("{kind: hgx-h100, count: 1}");
  const Drawn drawn = draw();
  const auto make = [&] { return composed(drawn.times, drawn.tracks); };
  const auto check = [&](const schedule::RunResult& result) {
    RC_ASSERT(result.unfinished == 0u);
    RC_ASSERT(result.flows.empty());
    RC_ASSERT(result.end.count() == drawn.end);
  };
  Composed first = make();
  check(run_lanes(first, {}).run);
  Composed second = make();
  check(run_messages(second, {}));
  Composed third = make();
  FlowRoutes routes(servers.fabric, {});
  check(run_flows(third, routes, {}));
  Composed fourth = make();
  PacketSim engine(servers.fabric, {});
  check(PacketRun(fourth, engine, true).run());
}

// Counts what is asked for.
struct Endless final : schedule::Steps {
  std::uint64_t pulled = 0;
  std::uint32_t tracks(std::uint32_t rank) const override { return rank == 0 ? 1 : 0; }
  bool next(std::uint32_t, std::uint32_t, Step& out) override {
    out = Step::run(0);
    return ++pulled < 10'000;
  }
  bool runs(std::uint32_t, std::uint32_t, std::uint32_t) const override { return true; }
};

TEST(Composed, PullsOneStepAheadOfTheOneThatRuns) {
  auto steps = std::make_unique<Endless>();
  const Endless& counted = *steps;
  std::vector<Composed::Part> parts;
  parts.push_back({std::make_unique<Pauses>(std::vector<std::vector<std::int64_t>>{{5}}), {0}});
  Composed made(1, std::move(parts), std::move(steps));
  EXPECT_EQ(counted.pulled, 2u);
  Instruction out;
  for (std::uint64_t paused = 0; paused < 100;) {
    ASSERT_TRUE(made.next(0, 0, out));
    paused += out.kind == Instruction::Kind::pause;
    EXPECT_LE(counted.pulled, paused + 2);
  }
}

TEST(Composed, OnePartKeepsItsOwnInstructionsAndNoOthers) {
  Composed made = composed({{{3, 4}, {5}, {}, {6}}}, {{{Step::run(0)}}, {{Step::run(0)}}, {{Step::run(0)}}, {}});
  EXPECT_EQ(made.lanes(0), 2u);
  Instruction out;
  for (const auto& [rank, lane, time] : {std::tuple{0u, 0u, 3}, {0u, 1u, 4}, {1u, 0u, 5}}) {
    ASSERT_TRUE(made.next(rank, lane, out));
    EXPECT_EQ(out.kind, Instruction::Kind::pause);
    EXPECT_EQ(out.time.count(), time);
    EXPECT_FALSE(made.next(rank, lane, out));
  }
  EXPECT_FALSE(made.next(2, 0, out));
  EXPECT_EQ(made.lanes(3), 0u);
}

}  // namespace
}  // namespace weft::sim
