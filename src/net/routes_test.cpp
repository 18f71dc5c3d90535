// Which questions are asked of routers, and whom the answers point at.
#include "net/routes.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "transport/operation.hpp"

namespace weft::net {
namespace {

using Instant = RouteTrace::Instant;

Address router(std::uint32_t number) { return *Address::parse("10.0.0." + std::to_string(number), 0); }

// Two leaves and four spines whose routers answer as Linux does: six times at once, then once a second.
class Fabric {
 public:
  explicit Fabric(bool silent = false) : silent_(silent) {}

  static std::uint32_t spine_of(std::uint32_t path) { return path * 7 % 4; }
  void answer(RouteTrace& trace, const RouteTrace::Question& question, Instant now) {
    const std::vector<std::uint32_t> way = {1, 10 + spine_of(question.path), 2};
    if (question.hops > way.size()) return trace.arrived(question.hops);
    if (silent_) return;
    const std::uint32_t who = way[question.hops - 1u];
    auto& [tokens, since] = buckets_.try_emplace(who, 6.0, now).first->second;
    tokens = std::min(6.0, tokens + static_cast<double>(now - since) / static_cast<double>(RouteTrace::kRound));
    since = now;
    if (tokens < 1) return;
    tokens -= 1;
    trace.turned_back(question.path, router(who));
  }

 private:
  bool silent_;
  std::map<std::uint32_t, std::pair<double, Instant>> buckets_;
};

struct Traced {
  std::size_t questions = 0;
  Instant ended = 0;
};

Traced run(RouteTrace& trace, Fabric& fabric, Instant until) {
  Traced out;
  for (Instant now = 0; now < until; now = std::max(now + 1, trace.due())) {
    if (trace.due() == transport::kNever) break;
    if (const auto question = trace.ask(now)) {
      ++out.questions;
      EXPECT_NE(question->path, 0u);
      fabric.answer(trace, *question, now);
    }
    out.ended = now;
  }
  return out;
}

TEST(RouteTrace, LearnsSomeWaysAtOnceAndTheOthersAsRoutersAnswer) {
  RouteTrace trace(64);
  Fabric fabric;
  run(trace, fabric, 2 * RouteTrace::kRound);
  std::set<std::uint32_t> seen;
  std::size_t known = 0;
  for (std::uint32_t path = 1; path < 64; ++path) {
    const Route route = trace.route(path);
    if (route.size() < 2 || !route[1]) continue;
    ++known;
    EXPECT_EQ(*route[1], router(10 + Fabric::spine_of(path)));
    seen.insert(Fabric::spine_of(path));
  }
  EXPECT_EQ(seen.size(), 4u);
  EXPECT_GE(known, 24u);

  run(trace, fabric, 100 * RouteTrace::kRound);
  for (std::uint32_t path = 1; path < 64; ++path) EXPECT_EQ(trace.route(path).size(), 3u) << path;
}

TEST(RouteTrace, EndsWhereTheWayEnds) {
  RouteTrace trace(4);
  Fabric fabric;
  // Three paths of three routers each, and the one probe that arrives.
  EXPECT_EQ(run(trace, fabric, 100 * RouteTrace::kRound).questions, 10u);
  EXPECT_EQ(trace.due(), transport::kNever);
}

TEST(RouteTrace, LeavesThoseAloneWhoNeverAnswer) {
  RouteTrace trace(8);
  Fabric fabric(true);
  const Traced traced = run(trace, fabric, 1000 * RouteTrace::kRound);
  EXPECT_EQ(trace.due(), transport::kNever);
  EXPECT_LE(traced.ended, 4 * RouteTrace::kRound);
  for (std::uint32_t path = 0; path < 8; ++path) EXPECT_TRUE(trace.route(path).empty());
}

TEST(RouteTrace, AsksOneQuestionInFiveMilliseconds) {
  RouteTrace trace(8);
  ASSERT_TRUE(trace.ask(1000));
  EXPECT_FALSE(trace.ask(1000 + RouteTrace::kBetween - 1));
  EXPECT_TRUE(trace.ask(1000 + RouteTrace::kBetween));
}

TEST(RouteTrace, WaitsForAnAnswerBeforeItAsksThePathAgain) {
  RouteTrace trace(2);
  const auto first = trace.ask(1000);
  ASSERT_TRUE(first);
  EXPECT_FALSE(trace.ask(1000 + RouteTrace::kAnswerWithin - 1));
  trace.turned_back(1, router(1));  // late, and still of the first question
  const auto second = trace.ask(1000 + RouteTrace::kAnswerWithin);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->hops, 2);
  EXPECT_EQ(trace.route(1), Route{router(1)});
}

Way way(PathState state, std::uint32_t spine) { return {state, {router(1), router(10 + spine), router(2)}}; }

TEST(Suspects, NameWhatDeadPathsCrossAndHealthyOnesDoNot) {
  std::vector<Way> ways;
  for (std::uint32_t i = 0; i < 16; ++i) ways.push_back(way(i % 4 == 2 ? PathState::dead : PathState::healthy, i % 4));
  ways.push_back({PathState::dead, {router(1)}});  // whose spine is not known
  const auto found = suspects(ways);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].router, router(12));
  EXPECT_EQ(found[0].ill, 4u);
  EXPECT_EQ(found[0].all_ill, 4u);
  EXPECT_EQ(found[0].healthy, 0u);
  EXPECT_EQ(found[0].all_healthy, 12u);
}

TEST(Suspects, LiveWithPathsWhoseLossNobodyNoticedYet) {
  std::vector<Way> ways;
  for (std::uint32_t i = 0; i < 16; ++i)
    ways.push_back(way(i % 4 == 2 ? PathState::losing : PathState::healthy, i % 4));
  ways[2].state = PathState::healthy;
  ways[5].state = PathState::losing;
  const auto found = suspects(ways);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].router, router(12));
  EXPECT_EQ(found[0].ill, 3u);
  EXPECT_EQ(found[0].healthy, 1u);
}

TEST(Suspects, AreNoneWhereTheIllHaveNothingInCommon) {
  std::vector<Way> ways;
  for (std::uint32_t i = 0; i < 16; ++i) ways.push_back(way(i < 4 ? PathState::dead : PathState::healthy, i % 4));
  EXPECT_TRUE(suspects(ways).empty());
  // All paths cross the leaves: that all are ill says nothing of them.
  for (Way& each : ways) each.state = PathState::slow;
  EXPECT_TRUE(suspects(ways).empty());
}

TEST(Suspects, AreOnePerState) {
  std::vector<Way> ways;
  for (std::uint32_t i = 0; i < 16; ++i)
    ways.push_back(way(i % 4 == 0 ? PathState::dead : i % 4 == 1 ? PathState::slow : PathState::healthy, i % 4));
  const auto found = suspects(ways);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].router, router(10));
  EXPECT_EQ(found[1].router, router(11));
}

}  // namespace
}  // namespace weft::net
