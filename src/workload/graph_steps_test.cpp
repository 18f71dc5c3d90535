#include "workload/graph_steps.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>

namespace weft::workload {
namespace {

using schedule::Instruction;
using schedule::Step;

constexpr std::uint32_t kGpus = 2;
constexpr std::uint32_t kSwitch = kGpus;  // the rank behind them

// Tasks are told apart by their amounts and tags, collectives by their order. Needs go from later tasks to earlier
// ones.
Graph drawn_graph() {
  Graph graph;
  graph.groups = {{0, 1}, {0, 1}};
  graph.shared = {{0, Together::all_reduce, 1024, 0}, {0, Together::all_gather, 2048, 0}, {1, Together::reduce, 8, 0}};
  for (std::uint32_t rank = 0; rank < kGpus; ++rank) {
    const auto first = static_cast<std::uint32_t>(graph.tasks.size());
    const auto count = *rc::gen::inRange<std::uint32_t>(1, 12);
    std::vector<NeedOf> needs;
    for (std::uint32_t i = 0; i < count; ++i) {
      Task task;
      task.kind = *rc::gen::element(Task::Kind::compute, Task::Kind::copy, Task::Kind::send, Task::Kind::recv,
                                    Task::Kind::together);
      task.amount = 1000 + graph.tasks.size();
      task.tag = static_cast<std::uint32_t>(graph.tasks.size());
      if (task.kind == Task::Kind::together) task.peer = *rc::gen::inRange(0u, 3u);
      graph.tasks.push_back(task);
      std::set<std::uint32_t> needed;
      for (int k = *rc::gen::inRange(0, 4); i > 0 && k > 0; --k)
        if (const auto other = *rc::gen::inRange(0u, i); needed.insert(other).second)
          needs.push_back({i, other, *rc::gen::arbitrary<bool>()});
    }
    graph.ranks.push_back({first, first + count});
    add_needs(graph, first, needs);
  }
  return graph;
}

bool is_step_of(const Step& step, const Task& task) {
  const Instruction& own = step.own;
  switch (task.kind) {
    case Task::Kind::compute:
      return own.kind == Instruction::Kind::compute && own.time.count() == static_cast<std::int64_t>(task.amount);
    case Task::Kind::copy:
      return own.kind == Instruction::Kind::copy && own.bytes == task.amount;
    case Task::Kind::send:
      return own.kind == Instruction::Kind::send && own.bytes == task.amount && own.tag == task.tag &&
             own.peer == task.peer;
    case Task::Kind::recv:
      return own.kind == Instruction::Kind::recv && own.tag == task.tag && own.peer == task.peer;
    default:
      return step.part == task.peer;
  }
}

bool is_event(const Step& step, Instruction::Kind kind) {
  return step.part == Step::kNoPart && step.own.peer == schedule::kItself && step.own.kind == kind;
}

// Whichever track goes on next: each task is done once, when what it needs is over or may begin; none waits for ever.
RC_GTEST_PROP(GraphSteps, EveryTaskWaitsForWhatItNeedsAndForNothingElse, ()) {
  const Graph graph = drawn_graph();
  GraphSteps steps(graph, kGpus + 1, {{0, 1, kSwitch}, {0, 1}, {1, 0, kSwitch}});
  for (std::uint32_t rank = 0; rank < kGpus; ++rank) {
    const auto [first, end] = graph.ranks[rank];
    std::vector<bool> over(end - first);
    const std::function<bool(std::uint32_t)> may_begin = [&, first = first](std::uint32_t task) {
      for (std::uint32_t need = graph.tasks[first + task].first_need; need < graph.needs_end(first + task); ++need) {
        const std::uint32_t needed = graph.needs[need].task;
        if (!over[needed] && (graph.needs[need].begun == 0 || !may_begin(needed))) return false;
      }
      return true;
    };
    std::vector<Step> next(steps.tracks(rank));
    std::vector<bool> ended(next.size());
    std::set<std::uint64_t> recorded;
    const auto pull = [&](std::uint32_t track) { ended[track] = !steps.next(rank, track, next[track]); };
    for (std::uint32_t i = 0; i < next.size(); ++i) pull(i);
    while (true) {
      std::vector<std::uint32_t> ready;
      for (std::uint32_t i = 0; i < next.size(); ++i)
        if (!ended[i] && (!is_event(next[i], Instruction::Kind::recv) || recorded.contains(next[i].own.tag)))
          ready.push_back(i);
      if (ready.empty()) break;
      const std::uint32_t track = *rc::gen::elementOf(ready);
      const Step& step = next[track];
      if (is_event(step, Instruction::Kind::send)) {
        RC_ASSERT(recorded.insert(step.own.tag).second);
      } else if (!is_event(step, Instruction::Kind::recv)) {
        std::uint32_t task = 0;
        while (task < over.size() && (over[task] || !is_step_of(step, graph.tasks[first + task]))) ++task;
        RC_ASSERT(task < over.size());
        RC_ASSERT(may_begin(task));
        over[task] = true;
      }
      pull(track);
    }
    RC_ASSERT(std::count(ended.begin(), ended.end(), false) == 0);
    RC_ASSERT(std::count(over.begin(), over.end(), false) == 0);
  }
}

// A track may run the collectives of one group, and a group's are all on one track.
RC_GTEST_PROP(GraphSteps, AGroupHasATrackOfItsOwn, ()) {
  const Graph graph = drawn_graph();
  GraphSteps steps(graph, kGpus + 1, {{0, 1, kSwitch}, {0, 1}, {1, 0, kSwitch}});
  for (std::uint32_t rank = 0; rank < kGpus; ++rank) {
    std::vector<std::uint32_t> tracks_of(graph.groups.size());
    for (std::uint32_t track = 0; track < steps.tracks(rank); ++track) {
      for (std::uint32_t part = 0; part < graph.shared.size(); ++part)
        if (steps.runs(rank, track, part)) tracks_of[graph.shared[part].group] |= 1u << track;
      Step step;
      while (steps.next(rank, track, step))
        if (step.part != Step::kNoPart) RC_ASSERT(steps.runs(rank, track, step.part));
    }
    for (const std::uint32_t tracks : tracks_of) RC_ASSERT((tracks & (tracks - 1)) == 0u);  // one at most
  }
}

// A switch runs what it takes part in as often as the first of the GPUs does, each part on its track.
RC_GTEST_PROP(GraphSteps, ASwitchRunsAPartAsOftenAsItsGpus, ()) {
  const Graph graph = drawn_graph();
  GraphSteps steps(graph, kGpus + 1, {{0, 1, kSwitch}, {0, 1}, {1, 0, kSwitch}});
  RC_ASSERT(steps.tracks(kSwitch) == 2u);
  for (const auto& [track, part, gpu] : {std::array<std::uint32_t, 3>{0, 0, 0}, {1, 2, 1}}) {
    std::uint32_t wanted = 0;
    for (std::uint32_t task = graph.ranks[gpu].first; task < graph.ranks[gpu].end; ++task)
      wanted += graph.tasks[task].kind == Task::Kind::together && graph.tasks[task].peer == part;
    std::uint32_t times = 0;
    for (Step step; steps.next(kSwitch, track, step); ++times) RC_ASSERT(step.part == part);
    RC_ASSERT(times == wanted);
    for (std::uint32_t other = 0; other < 3; ++other) RC_ASSERT(steps.runs(kSwitch, track, other) == (other == part));
  }
}

}  // namespace
}  // namespace weft::workload
