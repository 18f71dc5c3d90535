#include "workload/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "base/text.hpp"

namespace weft::workload {
namespace {

using spec::Error;

// Sends and receives of one pair of ranks under one tag.
struct Letter {
  std::uint32_t from;
  std::uint32_t to;
  std::uint32_t tag;
  bool sent;
  std::uint32_t rank;  // that has the task,
  std::uint32_t task;  // of all
  auto key() const { return std::tuple(from, to, tag); }
};

void check_letters(const Graph& graph, std::uint32_t source, WhereOf where, spec::Diagnostics& diagnostics) {
  std::vector<Letter> letters;
  for (std::uint32_t rank = 0; rank < graph.ranks.size(); ++rank)
    for (std::uint32_t task = graph.ranks[rank].first; task < graph.ranks[rank].end; ++task) {
      const Task& each = graph.tasks[task];
      if (each.kind == Task::Kind::send) letters.push_back({rank, each.peer, each.tag, true, rank, task});
      if (each.kind == Task::Kind::recv) letters.push_back({each.peer, rank, each.tag, false, rank, task});
    }
  std::stable_sort(letters.begin(), letters.end(), [](const Letter& a, const Letter& b) { return a.key() < b.key(); });
  for (std::size_t at = 0; at < letters.size() && !diagnostics.full();) {
    const Letter& first = letters[at];
    std::int64_t sent = 0, received = 0;
    const Letter* last = nullptr;
    for (; at < letters.size() && letters[at].key() == first.key(); ++at) {
      (letters[at].sent ? sent : received) += 1;
      if (!letters[at].sent) last = &letters[at];
    }
    if (received <= sent) continue;
    diagnostics.add(Error::bad_matrix, {source, 0, 0, 1},
                    fmt::format("{}: rank {} waits for {} from rank {} under tag {}, which sends {}",
                                where(graph, last->rank, last->task), first.to, counted(received, "message"),
                                first.from, first.tag, grouped(sent)),
                    "a send for each recv, with the same tag");
  }
}

// All ranks of a group do the same things together, in the same order.
void check_together(const Graph& graph, std::uint32_t source, WhereOf where, spec::Diagnostics& diagnostics) {
  struct Known {
    std::uint32_t rank;
    std::vector<std::uint32_t> tasks;
  };
  std::vector<Known> known(graph.groups.size(), Known{0xFFFFFFFFu, {}});
  std::vector<std::vector<std::uint32_t>> mine(graph.groups.size());
  for (std::uint32_t rank = 0; rank < graph.ranks.size(); ++rank) {
    for (auto& each : mine) each.clear();
    for (const std::uint32_t task : order_of(graph, rank))
      if (graph.tasks[task].kind == Task::Kind::together)
        mine[graph.shared[graph.tasks[task].peer].group].push_back(task);
    for (std::uint32_t group = 0; group < graph.groups.size(); ++group) {
      const std::vector<std::uint32_t>& members = graph.groups[group];
      const bool belongs = std::binary_search(members.begin(), members.end(), rank);
      if (!belongs && !mine[group].empty())
        diagnostics.add(Error::bad_matrix, {source, 0, 0, 1},
                        fmt::format("{}: rank {} is not in the group", where(graph, rank, mine[group][0]), rank),
                        "groups that have all ranks which use them");
      if (!belongs) continue;
      if (known[group].rank == 0xFFFFFFFFu) {
        known[group] = {rank, mine[group]};
        continue;
      }
      const Known& first = known[group];
      const auto shared = [&](std::uint32_t task) { return graph.tasks[task].peer; };
      const auto [here, there] =
          std::mismatch(mine[group].begin(), mine[group].end(), first.tasks.begin(), first.tasks.end(),
                        [&](std::uint32_t a, std::uint32_t b) { return shared(a) == shared(b); });
      if (here == mine[group].end() && there == first.tasks.end()) continue;
      const auto text = [&](const auto& at, const auto& end, std::uint32_t of) {
        return at == end ? fmt::format("rank {} has no more of them", of)
                         : fmt::format("{} of rank {}", where(graph, of, *at), of);
      };
      diagnostics.add(Error::bad_matrix, {source, 0, 0, 1},
                      fmt::format("ranks of a group do not do the same: the collective {} is {}, but {}",
                                  here - mine[group].begin() + 1, text(there, first.tasks.end(), first.rank),
                                  text(here, mine[group].end(), rank)),
                      "the same collectives with the same sizes in the same order on all ranks of a group");
      if (diagnostics.full()) return;
    }
  }
}

}  // namespace

void add_needs(Graph& graph, std::uint32_t first, const std::vector<NeedOf>& needs) {
  const std::size_t tasks = graph.tasks.size() - first;
  const auto base = static_cast<std::uint32_t>(graph.needs.size());
  std::vector<std::uint32_t> starts(tasks + 1);
  for (const NeedOf& each : needs) ++starts[each.task + 1];
  for (std::size_t i = 0; i < tasks; ++i) starts[i + 1] += starts[i];
  for (std::size_t i = 0; i < tasks; ++i) graph.tasks[first + i].first_need = base + starts[i];
  graph.needs.resize(base + needs.size());
  for (const NeedOf& each : needs)
    graph.needs[base + starts[each.task]++] = {each.needed & 0x7FFFFFFFu, each.begun ? 1u : 0u};
}

std::vector<std::uint32_t> order_of(const Graph& graph, std::uint32_t rank) {
  const auto [first, end] = graph.ranks[rank];
  const std::uint32_t count = end - first;
  std::vector<std::uint32_t> order;
  order.reserve(count);
  // Files mostly have them in order.
  bool in_order = true;
  for (std::uint32_t task = first; task < end && in_order; ++task)
    for (std::uint32_t i = graph.tasks[task].first_need; i < graph.needs_end(task); ++i)
      in_order &= graph.needs[i].task < task - first;
  if (in_order) {
    for (std::uint32_t task = first; task < end; ++task) order.push_back(task);
    return order;
  }
  std::vector<std::uint32_t> open(count), starts(count + std::size_t{1});
  for (std::uint32_t task = first; task < end; ++task) {
    open[task - first] = graph.needs_end(task) - graph.tasks[task].first_need;
    for (std::uint32_t i = graph.tasks[task].first_need; i < graph.needs_end(task); ++i)
      ++starts[graph.needs[i].task + 1];
  }
  for (std::uint32_t i = 0; i < count; ++i) starts[i + 1] += starts[i];
  std::vector<std::uint32_t> fed(starts.back()), at(starts.begin(), starts.end() - 1);
  for (std::uint32_t task = first; task < end; ++task)
    for (std::uint32_t i = graph.tasks[task].first_need; i < graph.needs_end(task); ++i)
      fed[at[graph.needs[i].task]++] = task - first;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < count; ++i)
    if (open[i] == 0) ready.push(i);
  while (!ready.empty()) {
    const std::uint32_t task = ready.top();
    ready.pop();
    order.push_back(first + task);
    for (std::uint32_t i = starts[task]; i < starts[task + 1]; ++i)
      if (--open[fed[i]] == 0) ready.push(fed[i]);
  }
  return order;
}

void check_graph(const Graph& graph, std::uint32_t source, WhereOf where, spec::Diagnostics& diagnostics) {
  for (std::uint32_t rank = 0; rank < graph.ranks.size() && !diagnostics.full(); ++rank) {
    const auto [first, end] = graph.ranks[rank];
    std::uint64_t time = 0;
    for (std::uint32_t task = first; task < end; ++task)
      if (graph.tasks[task].kind == Task::Kind::compute) time += graph.tasks[task].amount;
    if (time > std::uint64_t{7} * kMostTaskTime.count())
      diagnostics.add(Error::bad_matrix, {source, 0, 0, 1}, fmt::format("rank {} computes for more than a week", rank),
                      "times in the unit of the format: GOAL's are nanoseconds, Chakra's microseconds");
    const std::vector<std::uint32_t> order = order_of(graph, rank);
    if (order.size() == end - first) continue;
    std::vector<bool> seen(end - first);
    for (const std::uint32_t task : order) seen[task - first] = true;
    const auto stuck = static_cast<std::uint32_t>(std::find(seen.begin(), seen.end(), false) - seen.begin());
    diagnostics.add(Error::bad_matrix, {source, 0, 0, 1},
                    fmt::format("{}: what it needs needs it in turn, or something that does; {} of rank {} {} so",
                                where(graph, rank, first + stuck),
                                counted(static_cast<std::int64_t>(end - first - order.size()), "operation"), rank,
                                end - first - order.size() == 1 ? "is" : "are"),
                    "needs that do not go in a circle");
  }
  if (diagnostics.has_errors()) return;
  check_letters(graph, source, where, diagnostics);
  check_together(graph, source, where, diagnostics);
}

}  // namespace weft::workload
