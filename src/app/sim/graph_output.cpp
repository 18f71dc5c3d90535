#include "app/sim/graph_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/text.hpp"
#include "report/table.hpp"

namespace weft::app {
namespace {

using workload::Graph;
using workload::Task;
using workload::Together;

constexpr const char* name_of(Together what) {
  switch (what) {
    case Together::all_gather:
      return "all_gather";
    case Together::reduce_scatter:
      return "reduce_scatter";
    case Together::broadcast:
      return "broadcast";
    case Together::reduce:
      return "reduce";
    case Together::all_to_all:
      return "all_to_all";
    default:
      return "all_reduce";
  }
}

struct Counts {
  std::int64_t computations = 0;
  std::int64_t messages = 0;
  std::int64_t computing = 0;  // ps, of all ranks
  std::int64_t most = 0;       // of one
  std::uint32_t busiest = 0;   // that one
};

// A processor does one thing at a time, so what it is asked for is what it does; CPUs are beside the GPU, or the only
// ones.
Counts count(const Graph& graph) {
  Counts made;
  for (std::uint32_t rank = 0; rank < graph.ranks.size(); ++rank) {
    std::int64_t computing = 0;
    for (std::uint32_t task = graph.ranks[rank].first; task < graph.ranks[rank].end; ++task) {
      const Task& each = graph.tasks[task];
      made.computations += each.kind == Task::Kind::compute && each.amount > 0;
      made.messages += each.kind == Task::Kind::send;
      if (each.kind == Task::Kind::compute && each.processor == 0) computing += static_cast<std::int64_t>(each.amount);
    }
    made.computing += computing;
    if (computing > made.most) {
      made.most = computing;
      made.busiest = rank;
    }
  }
  return made;
}

// Equal collectives of equal groups are one line.
struct CollectiveCount {
  std::uint64_t groups = 0;
  std::uint64_t times = 0;
  std::int64_t busy = 0;  // of the group that was longest
};
using Lines = std::map<std::tuple<Together, std::uint64_t, std::size_t>, CollectiveCount>;

Lines lines_of(const Graph& graph, const experiment::Outcome& outcome) {
  Lines lines;
  for (std::size_t i = 0; i < graph.shared.size() && i < outcome.together.size(); ++i) {
    const workload::Shared& shared = graph.shared[i];
    CollectiveCount& line = lines[{shared.what, shared.bytes, graph.groups[shared.group].size()}];
    ++line.groups;
    line.times = std::max(line.times, outcome.together[i].times);
    line.busy = std::max(line.busy, outcome.together[i].busy.count());
  }
  return lines;
}

}  // namespace

void print_graph(const Graph& graph, const experiment::Outcome& outcome, bool json, Console& console) {
  const Counts counts = count(graph);
  const Lines lines = lines_of(graph, outcome);
  std::uint64_t together = 0;
  for (const experiment::TogetherTime& each : outcome.together) together += each.times;
  const std::int64_t end = outcome.result.end.count();
  const auto ranks = static_cast<std::int64_t>(graph.ranks.size());
  if (json) {
    nlohmann::ordered_json record = {{"record", "graph"},
                                     {"version", 1},
                                     {"format", graph.format},
                                     {"ranks", ranks},
                                     {"operations", graph.tasks.size()},
                                     {"computations", counts.computations},
                                     {"messages", counts.messages},
                                     {"collectives", together},
                                     {"end_ps", end},
                                     {"computing_mean_ps", counts.computing / std::max<std::int64_t>(1, ranks)},
                                     {"computing_most_ps", counts.most},
                                     {"groups", nlohmann::ordered_json::array()}};
    for (const auto& [what, line] : lines)
      record["groups"].push_back({{"operation", name_of(std::get<0>(what))},
                                  {"bytes", std::get<1>(what)},
                                  {"ranks", std::get<2>(what)},
                                  {"groups", line.groups},
                                  {"times", line.times},
                                  {"busy_ps", line.busy}});
    console.out << record.dump() << "\n";
    return;
  }
  report::Facts facts;
  facts.add(graph.format,
            fmt::format("{}: {}, {}, {}; done after {}", counted(ranks, "rank"),
                        counted(counts.computations, "computation"), counted(counts.messages, "message"),
                        counted(static_cast<std::int64_t>(together), "collective"), brief(Duration(end))));
  if (counts.computing > 0 && end > 0)
    facts.add("computing",
              fmt::format(
                  "{:.1f} % of the time, {} of a rank on average; most: rank {}, {}",
                  100.0 * static_cast<double>(counts.computing) / static_cast<double>(ranks) / static_cast<double>(end),
                  brief(Duration(counts.computing / ranks)), counts.busiest, brief(Duration(counts.most))));
  console.out << facts.text(console.width, console.colour_out);
  if (lines.empty()) return;
  report::Table table({{"collective"}, {"size", true}, {"ranks", true}, {"times", true}, {"under way", true}});
  for (const auto& [what, line] : lines)
    table.add({name_of(std::get<0>(what)), brief(Bytes(static_cast<std::int64_t>(std::get<1>(what)))),
               line.groups == 1 ? grouped(static_cast<std::int64_t>(std::get<2>(what)))
                                : fmt::format("{} x {}", line.groups, std::get<2>(what)),
               grouped(static_cast<std::int64_t>(line.times)), brief(Duration(line.busy))});
  console.out << "\n" << table.text(console.width, console.colour_out);
}

}  // namespace weft::app
