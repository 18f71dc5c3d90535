#include "workload/graph_steps.hpp"

#include <algorithm>

namespace weft::workload {
namespace {

using schedule::Instruction;
using schedule::Step;

constexpr std::uint32_t kNone = 0xFFFFFFFFu;
// Events are messages of a rank to itself; those that it sends itself have tags of 32 bits.
constexpr std::uint64_t kEvents = std::uint64_t{1} << 40;

}  // namespace

GraphSteps::GraphSteps(const Graph& graph, std::uint32_t ranks, const std::vector<std::vector<std::uint32_t>>& places)
    : graph_(graph), crosses_(graph.needs.size()), first_fed_(graph.tasks.size() + 1) {
  first_track_.push_back(0);
  const auto gpus = static_cast<std::uint32_t>(graph.ranks.size());
  for (std::uint32_t rank = 0; rank < gpus; ++rank) {
    add_rank(rank);
    first_track_.push_back(static_cast<std::uint32_t>(tracks_.size()));
  }
  // How often each collective is carried out: as often as by the first of its GPUs.
  std::vector<std::uint32_t> times(graph.shared.size());
  for (std::uint32_t part = 0; part < places.size(); ++part) {
    const auto [first, end] = graph.ranks[places[part][0]];
    for (std::uint32_t task = first; task < end; ++task)
      times[part] += graph.tasks[task].kind == Task::Kind::together && graph.tasks[task].peer == part;
  }
  std::vector<std::vector<std::uint32_t>> of_switch(ranks - gpus);
  for (std::uint32_t part = 0; part < places.size(); ++part)
    for (const std::uint32_t place : places[part])
      if (place >= gpus) of_switch[place - gpus].push_back(part);
  for (const std::vector<std::uint32_t>& parts : of_switch) {
    for (const std::uint32_t part : parts) add_switch(part, times[part]);
    first_track_.push_back(static_cast<std::uint32_t>(tracks_.size()));
  }
  // Needs that cross tracks, by what they wait for.
  std::vector<std::uint32_t> counts(graph.tasks.size());
  const auto each_crossing = [&](bool begun, const auto& take) {
    for (const auto& [first, end] : graph.ranks)
      for (std::uint32_t task = first; task < end; ++task)
        for (std::uint32_t need = graph.tasks[task].first_need; need < graph.needs_end(task); ++need)
          if (crosses_[need] && (graph.needs[need].begun != 0) == begun) take(first + graph.needs[need].task, need);
  };
  for (const bool begun : {true, false})
    each_crossing(begun, [&](std::uint32_t task, std::uint32_t) { ++counts[task]; });
  for (std::size_t task = 0; task < counts.size(); ++task) first_fed_[task + 1] = first_fed_[task] + counts[task];
  fed_.resize(first_fed_.back());
  std::copy(first_fed_.begin(), first_fed_.end() - 1, counts.begin());
  for (const bool begun : {true, false})
    each_crossing(begun, [&](std::uint32_t task, std::uint32_t need) { fed_[counts[task]++] = need; });
}

void GraphSteps::add_rank(std::uint32_t rank) {
  const auto [first, end] = graph_.ranks[rank];
  std::vector<std::uint32_t> track_of(end - first, kNone);  // of this rank's
  std::vector<std::uint32_t> last;                          // by track: its last task
  std::vector<std::uint32_t> of_group(graph_.groups.size(), kNone);
  std::vector<std::uint32_t> next(end - first, kNone);  // behind it in its track
  std::vector<std::uint32_t> heads;
  for (const std::uint32_t task : order_of(graph_, rank)) {
    const Task& each = graph_.tasks[task];
    std::uint32_t track = kNone;
    if (each.kind == Task::Kind::together) {
      track = of_group[graph_.shared[each.peer].group];
    } else {
      // Behind one that it needs, if nothing is there yet; what follows a collective must not hold up the next one.
      for (std::uint32_t need = each.first_need; need < graph_.needs_end(task) && track == kNone; ++need) {
        const std::uint32_t needed = graph_.needs[need].task;
        const std::uint32_t its = track_of[needed];
        if (graph_.needs[need].begun == 0 && last[its] == needed &&
            graph_.tasks[first + needed].kind != Task::Kind::together)
          track = its;
      }
    }
    if (track == kNone) {
      track = static_cast<std::uint32_t>(last.size());
      last.push_back(task - first);
      heads.push_back(task - first);
      if (each.kind == Task::Kind::together) of_group[graph_.shared[each.peer].group] = track;
    } else {
      next[last[track]] = task - first;
      last[track] = task - first;
    }
    track_of[task - first] = track;
  }
  for (std::uint32_t task = first; task < end; ++task)
    for (std::uint32_t need = graph_.tasks[task].first_need; need < graph_.needs_end(task); ++need)
      crosses_[need] = track_of[graph_.needs[need].task] != track_of[task - first];
  for (const std::uint32_t head : heads) {
    const auto from = static_cast<std::uint32_t>(order_.size());
    for (std::uint32_t task = head; task != kNone; task = next[task]) order_.push_back(first + task);
    tracks_.push_back({from, static_cast<std::uint32_t>(order_.size()), from, 0, Step::kNoPart, 0});
  }
}

void GraphSteps::add_switch(std::uint32_t part, std::uint32_t times) { tracks_.push_back({0, 0, 0, 0, part, times}); }

bool GraphSteps::next(std::uint32_t rank, std::uint32_t number, Step& out) {
  Track& track = tracks_[first_track_[rank] + number];
  if (track.part != Step::kNoPart) {
    out = Step::run(track.part);
    return track.before++ < track.times;
  }
  for (; track.at < track.end; ++track.at, track.before = 0) {
    const std::uint32_t task = order_[track.at];
    const Task& each = graph_.tasks[task];
    // Awaits, what waits for its begin, the task, what waits for its end: in this order, whatever is not there left
    // out.
    const std::uint32_t needs = graph_.needs_end(task) - each.first_need;
    for (; track.before < needs; ++track.before)
      if (const std::uint32_t need = each.first_need + track.before; crosses_[need]) {
        ++track.before;
        out = Step::await(kEvents + need);
        return true;
      }
    const std::uint32_t fed = first_fed_[task + 1] - first_fed_[task];
    std::uint32_t begun = 0;
    while (begun < fed && graph_.needs[fed_[first_fed_[task] + begun]].begun != 0) ++begun;
    const std::uint32_t taken = track.before - needs;
    if (taken > fed) continue;
    ++track.before;
    if (taken == begun)
      out = step_of(each);
    else
      out = Step::record(kEvents + fed_[first_fed_[task] + (taken < begun ? taken : taken - 1)]);
    return true;
  }
  return false;
}

Step GraphSteps::step_of(const Task& task) const {
  switch (task.kind) {
    case Task::Kind::compute: {
      Instruction made = Instruction::compute(Duration(static_cast<std::int64_t>(task.amount)));
      if (task.processor != Task::kNoProcessor) made.peer = task.processor + 1u;
      return {Step::kNoPart, made};
    }
    case Task::Kind::copy:
      return {Step::kNoPart, Instruction::copy(task.amount)};
    case Task::Kind::send:  // a message of no bytes still takes its way
      return {Step::kNoPart, Instruction::send(task.peer, std::max<std::uint64_t>(1, task.amount), task.tag)};
    case Task::Kind::recv:
      return {Step::kNoPart, Instruction::recv(task.peer, task.tag)};
    default:
      return Step::run(task.peer);
  }
}

bool GraphSteps::runs(std::uint32_t rank, std::uint32_t number, std::uint32_t part) const {
  const Track& track = tracks_[first_track_[rank] + number];
  if (track.part != Step::kNoPart) return track.part == part;
  if (track.first == track.end) return false;
  const Task& head = graph_.tasks[order_[track.first]];
  return head.kind == Task::Kind::together && graph_.shared[head.peer].group == graph_.shared[part].group;
}

}  // namespace weft::workload
