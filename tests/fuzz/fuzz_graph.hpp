#pragma once
// What the fuzz targets of GOAL schedules and Chakra's traces and the replay of their corpora do with one input.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fuzz_one.hpp"
#include "workload/chakra.hpp"
#include "workload/goal.hpp"
#include "workload/graph_steps.hpp"

namespace weft::fuzz {

inline void check_graph(const workload::Graph& graph) {
  using Kind = workload::Task::Kind;
  for (std::uint32_t rank = 0; rank < graph.ranks.size(); ++rank) {
    const auto [first, end] = graph.ranks[rank];
    require(first <= end && end <= graph.tasks.size(), "a rank's tasks exist");
    require(workload::order_of(graph, rank).size() == end - first, "nothing needs itself");
    for (std::uint32_t task = first; task < end; ++task) {
      const workload::Task& each = graph.tasks[task];
      for (std::uint32_t need = each.first_need; need < graph.needs_end(task); ++need)
        require(graph.needs[need].task < end - first, "what is needed exists");
      if (each.kind == Kind::send || each.kind == Kind::recv)
        require(each.peer < graph.ranks.size(), "messages are between ranks that exist");
      if (each.kind == Kind::together) require(each.peer < graph.shared.size(), "collectives that are used exist");
    }
  }
  // Every task is a step once, and events are recorded as often as they are awaited.
  std::vector<std::vector<std::uint32_t>> places;
  for (const workload::Shared& shared : graph.shared) places.push_back(graph.groups[shared.group]);
  const auto ranks = static_cast<std::uint32_t>(graph.ranks.size());
  workload::GraphSteps steps(graph, ranks, places);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::size_t tasks = 0, recorded = 0, awaited = 0;
    for (std::uint32_t track = 0; track < steps.tracks(rank); ++track)
      for (schedule::Step step; steps.next(rank, track, step);) {
        const bool event = step.part == schedule::Step::kNoPart && step.own.peer == schedule::kItself;
        recorded += event && step.own.kind == schedule::Instruction::Kind::send;
        awaited += event && step.own.kind == schedule::Instruction::Kind::recv;
        tasks += !event;
      }
    require(tasks == graph.ranks[rank].end - graph.ranks[rank].first, "every task is a step, once");
    require(recorded == awaited, "every event is recorded and awaited");
  }
}

inline void load_goal(std::string text) {
  spec::Diagnostics diagnostics;
  const std::uint32_t source = diagnostics.sources().add("fuzz.goal", std::move(text));
  const workload::Graph graph = workload::read_goal(source, diagnostics);
  check_errors(diagnostics, !diagnostics.has_errors());
  if (!diagnostics.has_errors()) check_graph(graph);
}

// The same file for two ranks: what groups do is looked at, too.
inline void load_chakra(const std::string& text) {
  spec::Diagnostics diagnostics;
  const std::uint32_t first = diagnostics.sources().add("fuzz.0.et", text);
  const std::uint32_t second = diagnostics.sources().add("fuzz.1.et", text);
  const workload::Graph graph = workload::read_chakra({first, second}, {}, {1e15, 3e12}, diagnostics);
  check_errors(diagnostics, !diagnostics.has_errors());
  if (!diagnostics.has_errors()) check_graph(graph);
}

}  // namespace weft::fuzz
