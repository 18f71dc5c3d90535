#include "workload/patterns.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "workload/sizes.hpp"

namespace weft::workload {
namespace {

using schedule::Instruction;
using Kind = Instruction::Kind;

using model::FlowArrivals;
using model::FlowSizes;
using model::TrafficPattern;

// A pattern, and among whom.
struct Drawn {
  model::TrafficRun run;
  PatternGround ground;
};
Drawn drawn(TrafficPattern pattern, std::uint32_t nodes, std::int64_t bytes) {
  Drawn made;
  made.run.pattern = pattern;
  made.run.size = Bytes(bytes);
  made.ground.nodes = nodes;
  return made;
}

std::unique_ptr<schedule::Schedule> make(const Drawn& each) {
  spec::Diagnostics diagnostics;
  auto made = make_traffic(each.run, each.ground, diagnostics);
  EXPECT_TRUE(made) << spec::render_text(diagnostics, false);
  return made;
}

std::vector<Instruction> drain(schedule::Schedule& schedule, std::uint32_t rank) {
  std::vector<Instruction> all;
  Instruction each;
  for (std::uint32_t lane = 0; lane < schedule.lanes(rank); ++lane)
    while (schedule.next(rank, lane, each)) all.push_back(each);
  return all;
}

// Who sends to whom.
std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs(const Drawn& drawn) {
  const auto schedule = make(drawn);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> all;
  for (std::uint32_t rank = 0; rank < schedule->ranks(); ++rank)
    for (const Instruction& each : drain(*schedule, rank))
      if (each.kind == Kind::send) {
        EXPECT_EQ(each.bytes, static_cast<std::uint64_t>(drawn.run.size.count()));
        EXPECT_NE(each.peer, rank);
        EXPECT_LT(each.peer, drawn.ground.nodes);
        all.emplace_back(rank, each.peer);
      }
  return all;
}

RC_GTEST_PROP(Patterns, APermutationGivesEverybodyOneOther, ()) {
  const auto nodes = *rc::gen::inRange(2u, 500u);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  std::set<std::uint32_t> from;
  std::set<std::uint32_t> to;
  Drawn permutation = drawn(TrafficPattern::permutation, nodes, 1);
  permutation.ground.seed = seed;
  for (const auto& [source, destination] : pairs(permutation)) {
    RC_ASSERT(source != destination);
    RC_ASSERT(from.insert(source).second);
    RC_ASSERT(to.insert(destination).second);
  }
  RC_ASSERT(from.size() == nodes);
  RC_ASSERT(to.size() == nodes);
}

TEST(Patterns, AnotherSeedIsAnotherPermutation) {
  const auto with = [](std::uint64_t seed) {
    Drawn permutation = drawn(TrafficPattern::permutation, 100, 1);
    permutation.ground.seed = seed;
    return pairs(permutation);
  };
  EXPECT_EQ(with(1), with(1));
  EXPECT_NE(with(1), with(2));
}

TEST(Patterns, SimpleOnesAreWhatTheirNamesSay) {
  using List = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  const auto of = [](const std::string& name) { return pairs(drawn(parse_enum<TrafficPattern>(name).value(), 4, 9)); };
  EXPECT_EQ(of("one"), (List{{0, 3}}));
  EXPECT_EQ(of("ring"), (List{{0, 1}, {1, 2}, {2, 3}, {3, 0}}));
  EXPECT_EQ(of("incast"), (List{{1, 0}, {2, 0}, {3, 0}}));
  EXPECT_EQ(of("outcast"), (List{{0, 1}, {0, 2}, {0, 3}}));
}

// The window is all-to-all's: whoever sends to several in another pattern begins with all at once.
TEST(Patterns, OthersWaitForNothing) {
  for (const TrafficPattern pattern : {TrafficPattern::outcast, TrafficPattern::incast, TrafficPattern::ring}) {
    Drawn made = drawn(pattern, 5, 9);
    made.run.window = 1;
    const auto schedule = make(made);
    for (std::uint32_t rank = 0; rank < 5; ++rank)
      for (const Instruction& each : drain(*schedule, rank))
        EXPECT_TRUE(each.kind == Kind::send && each.detached) << enum_name(pattern) << rank;
  }
}

RC_GTEST_PROP(Patterns, AllToAllCoversEveryPairOnceWithoutACommonTarget, ()) {
  const auto nodes = *rc::gen::inRange(2u, 40u);
  const auto window = *rc::gen::inRange(0u, 65u);
  Drawn all = drawn(TrafficPattern::all_to_all, nodes, 5);
  all.run.window = window;
  const auto schedule = make(all);
  std::vector<std::set<std::uint32_t>> targets_of_step(nodes);
  for (std::uint32_t rank = 0; rank < nodes; ++rank) {
    std::set<std::uint32_t> targets;
    std::uint32_t sent = 0;
    std::uint32_t finished = 0;  // at least: those that were waited for
    for (const Instruction& each : drain(*schedule, rank)) {
      if (each.kind == Kind::wait) {
        finished = std::max(finished, sent - each.back + 1);
        continue;
      }
      RC_ASSERT(each.kind == Kind::send);
      RC_ASSERT(each.detached == (window == 0));
      RC_ASSERT(targets.insert(each.peer).second);
      RC_ASSERT(targets_of_step[sent].insert(each.peer).second);
      ++sent;
      RC_ASSERT(window == 0 || sent - finished <= window);
    }
    RC_ASSERT(targets.size() == nodes - 1);
    RC_ASSERT(!targets.contains(rank));
  }
}

struct Arrivals {
  std::vector<std::int64_t> times;  // of all nodes, in their order
  std::vector<std::int64_t> gaps;
  std::map<std::uint32_t, int> to;
  double bytes = 0;
};

Arrivals arrivals(const Drawn& drawn) {
  Arrivals out;
  const auto schedule = make(drawn);
  for (std::uint32_t rank = 0; rank < schedule->ranks(); ++rank) {
    std::int64_t time = 0;
    for (const Instruction& each : drain(*schedule, rank)) {
      if (each.kind == Kind::at) {
        EXPECT_GE(each.time.count(), time);
        out.gaps.push_back(each.time.count() - time);
        time = each.time.count();
        continue;
      }
      EXPECT_EQ(each.kind, Kind::send);
      EXPECT_TRUE(each.detached);
      EXPECT_NE(each.peer, rank);
      out.times.push_back(time);
      ++out.to[each.peer];
      out.bytes += static_cast<double>(each.bytes);
    }
  }
  return out;
}

Drawn poisson() {
  Drawn made = drawn(TrafficPattern::poisson, 50, 100'000);
  made.run.load = Share(600'000);
  made.run.duration = microseconds(20'000);
  made.ground.line_rate = gigabits_per_second(400);
  return made;
}

// 100 kB at 400 Gb/s take 2 us; at 60 % load a node begins a flow every 3.33 us.
TEST(Poisson, FlowsComeAtTheRateThatMakesTheLoad) {
  const Drawn options = poisson();
  const Arrivals all = arrivals(options);
  const double expected = 50 * 20'000 / (2 / 0.6);
  const auto count = static_cast<double>(all.times.size());
  EXPECT_NEAR(count, expected, 5 * std::sqrt(expected));
  double squares = 0;
  double sum = 0;
  for (const std::int64_t gap : all.gaps) {
    sum += static_cast<double>(gap);
    squares += static_cast<double>(gap) * static_cast<double>(gap);
  }
  const double mean = sum / count;
  // Exponential gaps have a squared coefficient of variation of 1; its estimate deviates by sqrt(8 / n).
  EXPECT_NEAR(squares / count / (mean * mean) - 1, 1, 5 * std::sqrt(8 / count));
  for (const std::int64_t time : all.times) EXPECT_LE(time, options.run.duration.count());
}

TEST(Poisson, EveryOtherNodeIsATargetAsOftenAsAnyOther) {
  const Arrivals all = arrivals(poisson());
  const double expected = static_cast<double>(all.times.size()) / 50;
  ASSERT_EQ(all.to.size(), 50u);
  for (const auto& [node, count] : all.to) EXPECT_NEAR(count, expected, 5 * std::sqrt(expected)) << node;
}

TEST(Poisson, SizesFollowTheirDistributionAndKeepTheLoad) {
  for (const std::string sizes : {"uniform", "web-search", "data-mining", "hadoop"}) {
    Drawn options = poisson();
    options.run.sizes = parse_enum<FlowSizes>(sizes).value();
    const auto published = SizeDistribution::published(sizes);
    const double mean = published ? static_cast<double>(published->mean()) : 100'000;
    const double most = published ? static_cast<double>(published->points().back().bytes) : 200'000;
    const double seconds = 100'000 * mean / (0.6 * 50e9 * 50);  // for so many flows at that load on 50 nodes
    options.run.duration = Duration(static_cast<std::int64_t>(seconds * 1e12));
    // The bytes that come in a time are a compound Poisson sum of variance n E[size^2], and E[size^2] is at
    // most the mean times the largest size.
    const double expected = 100'000 * mean;
    EXPECT_NEAR(arrivals(options).bytes, expected, 5 * std::sqrt(expected * most)) << sizes;
  }
}

TEST(Poisson, ANumberOfFlowsIsKeptExactly) {
  Drawn options = poisson();
  options.run.duration = Duration(0);
  options.ground.flows = 1234;
  EXPECT_EQ(arrivals(options).times.size(), 1234u);
  options.ground.flows = 3;
  EXPECT_EQ(arrivals(options).times.size(), 3u);
}

TEST(Poisson, EqualSeedsGiveEqualTrafficWhateverTheOrderOfPulling) {
  const auto forward = make(poisson());
  const auto backward = make(poisson());
  std::vector<std::vector<Instruction>> expected(50);
  for (std::uint32_t rank = 0; rank < 50; ++rank) expected[rank] = drain(*forward, rank);
  for (std::uint32_t rank = 50; rank-- > 0;) {
    const auto again = drain(*backward, rank);
    ASSERT_EQ(again.size(), expected[rank].size());
    for (std::size_t i = 0; i < again.size(); ++i) {
      EXPECT_EQ(again[i].time.count(), expected[rank][i].time.count());
      EXPECT_EQ(again[i].peer, expected[rank][i].peer);
      EXPECT_EQ(again[i].bytes, expected[rank][i].bytes);
    }
  }
  Drawn other = poisson();
  other.ground.seed = 2;
  EXPECT_NE(arrivals(other).times, arrivals(poisson()).times);
}

// 1 of 50 nodes receives from all others, each at 60 % of its line.
TEST(OpenLoop, PacedFlowsKeepTheirIntervalAndTheTargetsOfThePattern) {
  Drawn options = poisson();
  options.run.pattern = TrafficPattern::incast;
  options.run.arrivals = FlowArrivals::paced;
  const auto schedule = make(options);
  EXPECT_EQ(schedule->lanes(0), 0u);
  EXPECT_EQ(schedule->lanes(1), 1u) << "flows of a node begin one after another";
  std::set<std::int64_t> first;
  for (std::uint32_t rank = 1; rank < 50; ++rank) {
    std::vector<std::int64_t> times;
    for (const Instruction& each : drain(*schedule, rank)) {
      if (each.kind == Kind::at) times.push_back(each.time.count());
      if (each.kind == Kind::send) {
        EXPECT_EQ(each.peer, 0u);
        EXPECT_TRUE(each.detached);
      }
    }
    EXPECT_NEAR(static_cast<double>(times.size()), 6000, 1);  // 20 ms, one every 3.33 us
    first.insert(times.at(0));
    for (std::size_t i = 1; i < times.size(); ++i) ASSERT_EQ(times[i] - times[i - 1], 3'333'333);
  }
  EXPECT_GT(first.size(), 40u) << "not in step";
}

TEST(OpenLoop, EveryPatternKeepsItsTargetsInTurnAndItsLoad) {
  Drawn options = poisson();
  options.run.arrivals = FlowArrivals::poisson;
  options.ground.nodes = 5;
  for (const std::string name : {"ring", "all-to-all", "permutation", "outcast", "one"}) {
    options.run.pattern = parse_enum<TrafficPattern>(name).value();
    const auto schedule = make(options);
    for (std::uint32_t rank = 0; rank < 5; ++rank) {
      std::map<std::uint32_t, int> to;
      int all = 0;
      for (const Instruction& each : drain(*schedule, rank))
        if (each.kind == Kind::send) ++to[each.peer], ++all;
      const bool sends = rank == 0 || (name != "outcast" && name != "one");
      EXPECT_EQ(to.size(), !sends ? 0u : name == "all-to-all" || name == "outcast" ? 4u : 1u) << name << rank;
      EXPECT_NEAR(all, sends ? 6000 : 0, 5 * std::sqrt(6000.0)) << name << rank;
      for (const auto& [peer, count] : to) EXPECT_NEAR(count, all / static_cast<double>(to.size()), 1) << name << peer;
    }
  }
}

TEST(Patterns, OptionsThatCannotBeAreNamed) {
  const auto error = [](const Drawn& each) {
    spec::Diagnostics diagnostics;
    EXPECT_FALSE(make_traffic(each.run, each.ground, diagnostics));
    return spec::render_text(diagnostics, false);
  };
  const auto says = [&](const Drawn& each, const char* part) {
    EXPECT_NE(error(each).find(part), std::string::npos) << part;
  };
  says(drawn(TrafficPattern::ring, 1, 1), "--gpus");
  says(drawn(TrafficPattern::ring, 99'999'999, 1), "--gpus");
  says(drawn(TrafficPattern::ring, 2, 0), "--size");
  says(drawn(TrafficPattern::ring, 2, std::int64_t{1} << 50), "--size");
  Drawn wide = drawn(TrafficPattern::all_to_all, 8, 1);
  wide.run.window = 65;
  says(wide, "--window");
  says(drawn(TrafficPattern::all_to_all, 100'000, 1), "fewer nodes");
  const auto of_poisson = [&](auto change, const char* part) {
    Drawn each = poisson();
    change(each);
    says(each, part);
  };
  of_poisson([](Drawn& o) { o.run.arrivals = FlowArrivals::paced; }, "another pattern");
  of_poisson([](Drawn& o) { o.run.load = Share(0); }, "--load");
  of_poisson([](Drawn& o) { o.run.load = Share(1'000'001); }, "--load");
  of_poisson([](Drawn& o) { o.ground.line_rate = Bandwidth(0); }, "without a network");
  of_poisson([](Drawn& o) { o.run.duration = Duration(0); }, "--duration");
  of_poisson([](Drawn& o) { o.run.duration = Duration(INT64_MAX); }, "--duration");
  of_poisson([](Drawn& o) { o.ground.flows = std::uint64_t{1} << 40; }, "fewer nodes");
  of_poisson([](Drawn& o) { o.run.size = Bytes(1), o.run.duration = Duration(std::int64_t{1} << 60); }, "fewer nodes");
  of_poisson([](Drawn& o) { o.run.size = Bytes(std::int64_t{1} << 40), o.ground.line_rate = Bandwidth(1); }, "years");
}

// A load is as exact as it is written: not cut to thousandths.
TEST(OpenLoop, SmallLoadsAreToldApart) {
  const auto gap = [](std::int64_t millionths) {
    Drawn each = poisson();
    each.run.arrivals = FlowArrivals::paced;
    each.run.pattern = TrafficPattern::ring;
    each.run.load = Share(millionths);
    each.run.duration = microseconds(100'000);
    std::vector<std::int64_t> times;
    for (const Instruction& step : drain(*make(each), 0))
      if (step.kind == Kind::at) times.push_back(step.time.count());
    return times.at(1) - times.at(0);
  };
  EXPECT_EQ(gap(4'000), 500'000'000);  // 2 us of wire at 0.4 %
  EXPECT_EQ(gap(4'900), 408'163'265);
}

}  // namespace
}  // namespace weft::workload
