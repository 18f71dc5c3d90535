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

std::unique_ptr<schedule::Schedule> make(const PatternOptions& options) {
  spec::Diagnostics diagnostics;
  auto made = make_traffic(options, diagnostics);
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
std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs(const PatternOptions& options) {
  const auto schedule = make(options);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> all;
  for (std::uint32_t rank = 0; rank < schedule->ranks(); ++rank)
    for (const Instruction& each : drain(*schedule, rank))
      if (each.kind == Kind::send) {
        EXPECT_EQ(each.bytes, options.bytes);
        EXPECT_NE(each.peer, rank);
        EXPECT_LT(each.peer, options.nodes);
        all.emplace_back(rank, each.peer);
      }
  return all;
}

RC_GTEST_PROP(Patterns, APermutationGivesEverybodyOneOther, ()) {
  const auto nodes = *rc::gen::inRange(2u, 500u);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  std::set<std::uint32_t> from;
  std::set<std::uint32_t> to;
  for (const auto& [source, destination] : pairs({.name = "permutation", .nodes = nodes, .bytes = 1, .seed = seed})) {
    RC_ASSERT(source != destination);
    RC_ASSERT(from.insert(source).second);
    RC_ASSERT(to.insert(destination).second);
  }
  RC_ASSERT(from.size() == nodes);
  RC_ASSERT(to.size() == nodes);
}

TEST(Patterns, AnotherSeedIsAnotherPermutation) {
  const auto with = [](std::uint64_t seed) {
    return pairs({.name = "permutation", .nodes = 100, .bytes = 1, .seed = seed});
  };
  EXPECT_EQ(with(1), with(1));
  EXPECT_NE(with(1), with(2));
}

TEST(Patterns, SimpleOnesAreWhatTheirNamesSay) {
  using List = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  const auto of = [](const std::string& name) { return pairs({.name = name, .nodes = 4, .bytes = 9}); };
  EXPECT_EQ(of("one"), (List{{0, 3}}));
  EXPECT_EQ(of("ring"), (List{{0, 1}, {1, 2}, {2, 3}, {3, 0}}));
  EXPECT_EQ(of("incast"), (List{{1, 0}, {2, 0}, {3, 0}}));
  EXPECT_EQ(of("outcast"), (List{{0, 1}, {0, 2}, {0, 3}}));
}

RC_GTEST_PROP(Patterns, AllToAllCoversEveryPairOnceWithoutACommonTarget, ()) {
  const auto nodes = *rc::gen::inRange(2u, 40u);
  const auto window = *rc::gen::inRange(0u, 65u);
  const auto schedule = make({.name = "all-to-all", .nodes = nodes, .bytes = 5, .window = window});
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

Arrivals arrivals(const PatternOptions& options) {
  Arrivals out;
  const auto schedule = make(options);
  for (std::uint32_t rank = 0; rank < schedule->ranks(); ++rank) {
    std::int64_t time = 0;
    for (const Instruction& each : drain(*schedule, rank)) {
      if (each.kind == Kind::at) {
        EXPECT_GE(each.time, time);
        out.gaps.push_back(each.time - time);
        time = each.time;
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

PatternOptions poisson() {
  PatternOptions options{.name = "poisson", .nodes = 50, .bytes = 100'000};
  options.load_per_mille = 600;
  options.line_rate = gigabits_per_second(400);
  options.duration = microseconds(20'000);
  return options;
}

// 100 kB at 400 Gb/s take 2 us; at 60 % load a node begins a flow every 3.33 us.
TEST(Poisson, FlowsComeAtTheRateThatMakesTheLoad) {
  const PatternOptions options = poisson();
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
  for (const std::int64_t time : all.times) EXPECT_LE(time, options.duration.count());
}

TEST(Poisson, EveryOtherNodeIsATargetAsOftenAsAnyOther) {
  const Arrivals all = arrivals(poisson());
  const double expected = static_cast<double>(all.times.size()) / 50;
  ASSERT_EQ(all.to.size(), 50u);
  for (const auto& [node, count] : all.to) EXPECT_NEAR(count, expected, 5 * std::sqrt(expected)) << node;
}

TEST(Poisson, SizesFollowTheirDistributionAndKeepTheLoad) {
  for (const std::string sizes : {"uniform", "web-search", "data-mining", "hadoop"}) {
    PatternOptions options = poisson();
    options.sizes = sizes;
    const auto published = SizeDistribution::published(sizes);
    const double mean = published ? static_cast<double>(published->mean()) : 100'000;
    const double most = published ? static_cast<double>(published->points().back().bytes) : 200'000;
    const double seconds = 100'000 * mean / (0.6 * 50e9 * 50);  // for so many flows at that load on 50 nodes
    options.duration = Duration(static_cast<std::int64_t>(seconds * 1e12));
    // The bytes that come in a time are a compound Poisson sum of variance n E[size^2], and E[size^2] is at
    // most the mean times the largest size.
    const double expected = 100'000 * mean;
    EXPECT_NEAR(arrivals(options).bytes, expected, 5 * std::sqrt(expected * most)) << sizes;
  }
}

TEST(Poisson, ANumberOfFlowsIsKeptExactly) {
  PatternOptions options = poisson();
  options.duration = Duration(0);
  options.flows = 1234;
  EXPECT_EQ(arrivals(options).times.size(), 1234u);
  options.flows = 3;
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
      EXPECT_EQ(again[i].time, expected[rank][i].time);
      EXPECT_EQ(again[i].peer, expected[rank][i].peer);
      EXPECT_EQ(again[i].bytes, expected[rank][i].bytes);
    }
  }
  PatternOptions other = poisson();
  other.seed = 2;
  EXPECT_NE(arrivals(other).times, arrivals(poisson()).times);
}

// 1 of 50 nodes receives from all others, each at 60 % of its line.
TEST(OpenLoop, PacedFlowsKeepTheirIntervalAndTheTargetsOfThePattern) {
  PatternOptions options = poisson();
  options.name = "incast";
  options.arrivals = "paced";
  const auto schedule = make(options);
  EXPECT_EQ(schedule->lanes(0), 0u);
  EXPECT_EQ(schedule->lanes(1), 1u) << "flows of a node begin one after another";
  std::set<std::int64_t> first;
  for (std::uint32_t rank = 1; rank < 50; ++rank) {
    std::vector<std::int64_t> times;
    for (const Instruction& each : drain(*schedule, rank)) {
      if (each.kind == Kind::at) times.push_back(each.time);
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
  PatternOptions options = poisson();
  options.arrivals = "poisson";
  options.nodes = 5;
  for (const std::string name : {"ring", "all-to-all", "permutation", "outcast", "one"}) {
    options.name = name;
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
  const auto error = [](PatternOptions options) {
    spec::Diagnostics diagnostics;
    EXPECT_FALSE(make_traffic(options, diagnostics));
    return spec::render_text(diagnostics, false);
  };
  EXPECT_NE(error({.name = "storm", .nodes = 2, .bytes = 1}).find("there is no pattern 'storm'"), std::string::npos);
  EXPECT_NE(error({.nodes = 2, .bytes = 1, .arrivals = "late"}).find("flows cannot begin 'late'"), std::string::npos);
  EXPECT_NE(error({.name = "poisson", .nodes = 2, .bytes = 1, .arrivals = "paced"}).find("another pattern"),
            std::string::npos);
  EXPECT_NE(error({.nodes = 1, .bytes = 1}).find("--nodes"), std::string::npos);
  EXPECT_NE(error({.nodes = 99'999'999, .bytes = 1}).find("--nodes"), std::string::npos);
  EXPECT_NE(error({.nodes = 2, .bytes = 0}).find("--size"), std::string::npos);
  EXPECT_NE(error({.nodes = 2, .bytes = std::uint64_t{1} << 50}).find("--size"), std::string::npos);
  EXPECT_NE(error({.name = "all-to-all", .nodes = 8, .bytes = 1, .window = 65}).find("--window"), std::string::npos);
  EXPECT_NE(error({.name = "all-to-all", .nodes = 100'000, .bytes = 1}).find("fewer nodes"), std::string::npos);
  const auto poisson_error = [&](auto change) {
    PatternOptions options = poisson();
    change(options);
    return error(options);
  };
  const auto says = [&](auto change, const char* part) {
    EXPECT_NE(poisson_error(change).find(part), std::string::npos) << part;
  };
  says([](PatternOptions& o) { o.sizes = "huge"; }, "no size distribution 'huge'");
  says([](PatternOptions& o) { o.load_per_mille = 0; }, "--load");
  says([](PatternOptions& o) { o.load_per_mille = 1001; }, "--load");
  says([](PatternOptions& o) { o.line_rate = Bandwidth(0); }, "without a network");
  says([](PatternOptions& o) { o.duration = Duration(0); }, "--duration");
  says([](PatternOptions& o) { o.duration = Duration(INT64_MAX); }, "--duration");
  says([](PatternOptions& o) { o.flows = std::uint64_t{1} << 40; }, "fewer nodes");
  says([](PatternOptions& o) { o.bytes = 1, o.duration = Duration(std::int64_t{1} << 60); }, "fewer nodes");
  says([](PatternOptions& o) { o.bytes = std::uint64_t{1} << 40, o.line_rate = Bandwidth(1); }, "years");
}

}  // namespace
}  // namespace weft::workload
