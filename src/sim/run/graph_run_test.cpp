// Graphs of other programs, carried out at message level, where closed forms say how long they take.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/random.hpp"
#include "schedule/composed.hpp"
#include "sim/run/message_sim.hpp"
#include "workload/goal.hpp"
#include "workload/graph_steps.hpp"

namespace weft::sim {
namespace {

constexpr std::int64_t kLatency = 1'000'000;  // ps, there and back each
constexpr std::int64_t kByte = 1'000;         // 8 Gbps

schedule::RunResult run_graph(std::string text) {
  spec::Diagnostics diagnostics;
  const std::uint32_t source = diagnostics.sources().add("a.goal", std::move(text));
  const workload::Graph graph = workload::read_goal(source, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << render_text(diagnostics, false);
  const auto ranks = static_cast<std::uint32_t>(graph.ranks.size());
  schedule::Composed work(
      ranks, {}, std::make_unique<workload::GraphSteps>(graph, ranks, std::vector<std::vector<std::uint32_t>>{}));
  MessageConfig config;
  config.transfer = [](std::uint32_t, std::uint32_t) {
    return TransferCost{Duration(kLatency), Bandwidth(8'000'000'000), Duration(kLatency)};
  };
  return run_messages(work, config);
}

std::string one_rank(const std::string& text) { return "num_ranks 1\nrank 0 {\n" + text + "}\n"; }

TEST(GraphRun, AProcessorDoesOneAtATimeAndOthersGoOnBesideIt) {
  EXPECT_EQ(run_graph(one_rank("calc 100\ncalc 50\n")).end.count(), 150'000);
  EXPECT_EQ(run_graph(one_rank("calc 100 cpu 0\ncalc 50 cpu 1\n")).end.count(), 100'000);
}

TEST(GraphRun, WhoeverIsReadyFirstGoesFirst) {
  // The one that stands first is ready last: nothing waits for it.
  EXPECT_EQ(run_graph(one_rank("l1: calc 10\nl2: calc 100 cpu 1\nl3: calc 20\nl1 requires l2\n")).end.count(), 110'000);
}

TEST(GraphRun, NeedsAreOverOrBegun) {
  EXPECT_EQ(run_graph(one_rank("l1: calc 100\nl2: calc 50 cpu 1\nl2 requires l1\n")).end.count(), 150'000);
  EXPECT_EQ(run_graph(one_rank("l1: calc 100\nl2: calc 50 cpu 1\nl2 irequires l1\n")).end.count(), 100'000);
}

TEST(GraphRun, AMessageTakesItsWayAndItsBytes) {
  const auto result = run_graph(
      "num_ranks 2\nrank 0 {\nl1: calc 100\nl2: send 4096b to 1 tag 7\nl2 requires l1\n}\n"
      "rank 1 {\nl1: recv 4096b from 0 tag 7\nl2: calc 10\nl2 requires l1\n}\n");
  EXPECT_EQ(result.unfinished, 0u);
  ASSERT_EQ(result.flows.size(), 1u);
  EXPECT_EQ(result.flows[0].start.count(), 100'000);
  EXPECT_EQ(result.flows[0].received.count(), 100'000 + kLatency + 4096 * kByte);
  EXPECT_EQ(result.end.count(), 100'000 + 2 * kLatency + 4096 * kByte);  // the sender knows
}

TEST(GraphRun, ABinomialTreeTakesItsDepth) {
  // Rank r sends to r + 2^k for all 2^k > r: log2(ranks) messages behind each other to the last.
  const std::uint32_t ranks = 32;
  std::string text = "num_ranks 32\n";
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    text += "rank " + std::to_string(rank) + " {\n";
    std::uint32_t bit = 1;
    for (; bit <= rank; bit *= 2) continue;
    if (rank > 0) text += "l0: recv 8b from " + std::to_string(rank - bit / 2) + " tag 0\n";
    for (; rank + bit < ranks; bit *= 2) {
      const std::string label = "s" + std::to_string(bit);
      text += label + ": send 8b to " + std::to_string(rank + bit) + " tag 0\n";
      if (rank > 0) text += label + " requires l0\n";
    }
    text += "}\n";
  }
  // Sends are beside each other: five in a row only to rank 31, which is reached over five ranks.
  EXPECT_EQ(run_graph(text).end.count(), 5 * (kLatency + 8 * kByte) + kLatency);
}

TEST(GraphRun, HundredsOfReceivesDoNotKeepSendsFromBeginning) {
  std::string text = "num_ranks 2\n";
  for (const int rank : {0, 1}) {
    const std::string other = std::to_string(1 - rank);
    text += "rank " + std::to_string(rank) + " {\n";
    for (int i = 0; i < 300; ++i) text += "recv 8b from " + other + " tag " + std::to_string(i) + "\n";
    for (int i = 0; i < 300; ++i) text += "send 8b to " + other + " tag " + std::to_string(i) + "\n";
    text += "}\n";
  }
  const auto result = run_graph(text);
  EXPECT_EQ(result.unfinished, 0u);
  EXPECT_EQ(result.flows.size(), 600u);
}

// Drawn graphs of one rank, against the rule itself: without processors a task is over its time after the last of what
// it needs is over, or begun.
TEST(GraphRun, DrawnGraphsTakeTheirLongestWay) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed, 0, 0);
    std::string text;
    std::vector<std::int64_t> begins, ends;
    std::int64_t last = 0;
    for (std::uint32_t task = 0; task < 40; ++task) {
      const auto time = static_cast<std::int64_t>(random.below(1000));
      // A processor each, so that they share none.
      text += "t" + std::to_string(task) + ": calc " + std::to_string(time) + " cpu " + std::to_string(task) + "\n";
      std::int64_t begin = 0;
      for (std::uint32_t i = 0; i < random.below(4) && task > 0; ++i) {
        const auto needed = static_cast<std::uint32_t>(random.below(task));
        const bool begun = random.below(3) == 0;
        text += "t" + std::to_string(task) + (begun ? " irequires t" : " requires t") + std::to_string(needed) + "\n";
        begin = std::max(begin, begun ? begins[needed] : ends[needed]);
      }
      begins.push_back(begin);
      ends.push_back(begin + time);
      last = std::max(last, ends.back());
    }
    EXPECT_EQ(run_graph(one_rank(text)).end.count(), last * 1000) << seed << "\n" << text;
  }
}

}  // namespace
}  // namespace weft::sim
