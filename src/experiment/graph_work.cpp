#include "experiment/graph_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "collective/part.hpp"
#include "experiment/collectives.hpp"
#include "experiment/run_collectives.hpp"
#include "workload/graph_steps.hpp"

namespace weft::experiment {
namespace {

using collective::Operation;
using schedule::Instruction;
using workload::Graph;
using workload::Shared;
using workload::Task;
using workload::Together;

// Where links are known a message costs microseconds, and some hundred bytes until the run is over.
constexpr std::uint64_t kMostCarried = std::uint64_t{1} << 24;
constexpr std::size_t kMostShared = (std::size_t{1} << 16) - 2;  // parts of a composed schedule

Operation operation_of(Together what) {
  switch (what) {
    case Together::all_gather:
      return Operation::all_gather;
    case Together::reduce_scatter:
      return Operation::reduce_scatter;
    case Together::broadcast:
      return Operation::broadcast;
    case Together::reduce:
      return Operation::reduce;
    case Together::all_to_all:
      return Operation::all_to_all;
    default:
      return Operation::all_reduce;
  }
}

// Ranks tell the first one that they have come; when all have, and the time is over, it tells them.
class Meeting final : public schedule::Schedule {
 public:
  Meeting(std::uint32_t ranks, Duration takes) : at_(ranks), takes_(takes) {}

  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(at_.size()); }
  std::uint32_t lanes(std::uint32_t) const override { return 1; }
  bool next(std::uint32_t rank, std::uint32_t, Instruction& out) override {
    const std::uint32_t step = at_[rank]++;
    const std::uint32_t others = ranks() - 1;
    if (rank > 0) {
      if (step == 0) out = told(0, 0);
      if (step == 1) out = Instruction::recv(0, 1);
      if (step == 2) out = Instruction::wait_all();
    } else if (step < others) {
      out = Instruction::recv(step + 1, 0);
    } else if (step == others) {
      out = Instruction::wait_all();
    } else if (step == others + 1) {
      out = Instruction::pause(takes_);
    } else if (step < 2 * others + 2) {
      out = told(step - others - 1, 1);
    }
    const bool more = step < (rank > 0 ? 3 : 2 * others + 2);
    if (!more) at_[rank] = 0;  // it may be held again
    return more;
  }

 private:
  static Instruction told(std::uint32_t peer, std::uint64_t tag) {
    Instruction made = Instruction::send(peer, 0, tag);
    made.detached = true;
    return made;
  }
  std::vector<std::uint32_t> at_;  // by rank
  Duration takes_;
};

const collective::Stack& stack_for(const Design& design) {
  spec::Diagnostics nothing;
  return *stack_of(CollectiveJob{}, design.cluster(), nothing);
}

collective::PlanOptions options_for(const Shared& shared, const collective::Team& team, const collective::Stack& stack,
                                    bool by_links) {
  collective::PlanOptions options;
  options.operation = operation_of(shared.what);
  options.bytes = shared.bytes;
  options.stack = &stack;
  options.root = shared.root;
  options.every_channel = by_links;
  options.choice = choices_for(team, options.operation, options.bytes, {}, stack, by_links)[0];
  return options;
}

std::unique_ptr<schedule::Composed> compose(const Graph& graph, std::vector<schedule::Composed::Part> parts,
                                            std::uint32_t ranks) {
  std::vector<std::vector<std::uint32_t>> places;
  for (const auto& part : parts) {
    places.push_back(part.places);
    for (const std::uint32_t place : part.places) ranks = std::max(ranks, place + 1);
  }
  auto steps = std::make_unique<workload::GraphSteps>(graph, ranks, places);
  return std::make_unique<schedule::Composed>(ranks, std::move(parts), std::move(steps));
}

// How often a rank of its group does each collective.
std::vector<std::uint64_t> times_of(const Graph& graph) {
  std::vector<std::uint64_t> times(graph.shared.size());
  for (std::uint32_t group = 0; group < graph.groups.size(); ++group) {
    if (graph.groups[group].empty()) continue;
    const auto [first, end] = graph.ranks[graph.groups[group][0]];
    for (std::uint32_t task = first; task < end; ++task)
      if (const Task& each = graph.tasks[task];
          each.kind == Task::Kind::together && graph.shared[each.peer].group == group)
        ++times[each.peer];
  }
  return times;
}

}  // namespace

std::unique_ptr<schedule::Schedule> outline_of(const Graph& graph) {
  std::vector<schedule::Composed::Part> parts;
  for (const Shared& shared : graph.shared) {
    const std::vector<std::uint32_t>& ranks = graph.groups[shared.group];
    parts.push_back({std::make_unique<Meeting>(static_cast<std::uint32_t>(ranks.size()), Duration{}), ranks});
  }
  return compose(graph, std::move(parts), static_cast<std::uint32_t>(graph.ranks.size()));
}

GraphWork::GraphWork(const Design& design, const Graph& graph, const Experiment& experiment)
    : graph_(graph), meets_(experiment.fidelity == Fidelity::message) {
  const collective::Stack& stack = stack_for(design);
  if (meets_ && !graph.shared.empty() && why_no_shares(design).empty()) shares_.emplace(design, experiment);
  for (const auto& ranks : graph.groups) teams_.push_back(std::make_unique<collective::Team>(design.fabric(), ranks));
  std::vector<schedule::Composed::Part> parts;
  for (const Shared& shared : graph.shared) {
    const collective::Team& team = *teams_[shared.group];
    collective::PlanOptions options = options_for(shared, team, stack, !meets_);
    if (meets_) {
      options.network = team.nodes() > 1 && shares_ ? &*shares_ : nullptr;
      takes_.push_back(time_collective(team, options).time);
      parts.push_back({std::make_unique<Meeting>(team.ranks(), takes_.back()), graph.groups[shared.group]});
    } else {
      plans_.push_back(std::make_unique<collective::Plan>(make_plan(team, options)));
      parts.push_back(collective::carried_part(design.fabric(), team, *plans_.back()));
    }
  }
  // Switches that reduce come behind all GPUs of the cluster.
  const bool switches = std::any_of(parts.begin(), parts.end(), [&](const auto& part) {
    return std::any_of(part.places.begin(), part.places.end(),
                       [&](std::uint32_t place) { return place >= graph.ranks.size(); });
  });
  schedule_ = compose(graph, std::move(parts),
                      switches ? design.cluster().gpus : static_cast<std::uint32_t>(graph.ranks.size()));
}

std::vector<TogetherTime> GraphWork::together(const schedule::RunResult& result) const {
  std::vector<TogetherTime> made(graph_.shared.size());
  const std::vector<std::uint64_t> times = times_of(graph_);
  for (std::size_t i = 0; i < made.size(); ++i) made[i].times = times[i];
  if (meets_) {
    for (std::size_t i = 0; i < made.size(); ++i) made[i].busy = takes_[i] * static_cast<std::int64_t>(times[i]);
    return made;
  }
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> under_way(made.size());
  for (const schedule::FlowRecord& flow : result.flows)
    if (is_together(flow.tag))
      under_way[schedule::Composed::part_of(flow.tag)].emplace_back(flow.start.count(),
                                                                    std::max(flow.start, flow.received).count());
  for (std::size_t i = 0; i < made.size(); ++i) {
    std::sort(under_way[i].begin(), under_way[i].end());
    std::int64_t until = 0;
    for (const auto& [start, end] : under_way[i]) {
      made[i].busy += Duration(std::max<std::int64_t>(0, end - std::max(start, until)));
      until = std::max(until, end);
    }
  }
  return made;
}

void check_graph_work(Design& design, const Graph& graph, const std::vector<Fidelity>& fidelities) {
  spec::Diagnostics& diagnostics = design.diagnostics();
  if (graph.shared.size() > kMostShared)
    diagnostics.add(
        spec::Error::out_of_range, {},
        fmt::format("the trace has {} different collectives", grouped(static_cast<std::int64_t>(graph.shared.size()))),
        fmt::format("at most {}", grouped(static_cast<std::int64_t>(kMostShared))));
  if (diagnostics.has_errors()) return;
  std::vector<std::unique_ptr<collective::Team>> teams;
  for (const auto& ranks : graph.groups) {
    teams.push_back(std::make_unique<collective::Team>(design.fabric(), ranks));
    if (!teams.back()->broken().empty())
      diagnostics.add(spec::Error::not_simulated, {}, teams.back()->broken(), "GPUs that a network joins");
  }
  const bool by_links =
      std::any_of(fidelities.begin(), fidelities.end(), [](Fidelity each) { return each != Fidelity::message; });
  if (!by_links || diagnostics.has_errors()) return;
  const collective::Stack& stack = stack_for(design);
  const std::vector<std::uint64_t> times = times_of(graph);
  std::uint64_t messages = 0;
  for (std::size_t i = 0; i < graph.shared.size(); ++i) {
    const collective::Team& team = *teams[graph.shared[i].group];
    const collective::Plan plan = make_plan(team, options_for(graph.shared[i], team, stack, true));
    for (const auto& program : plan.programs) messages += program->messages() * times[i];
    if (messages > kMostCarried) break;
  }
  if (messages > kMostCarried)
    diagnostics.add(spec::Error::out_of_range, {},
                    fmt::format("the collectives of the trace are more than {} messages",
                                grouped(static_cast<std::int64_t>(kMostCarried))),
                    "--fidelity message");
}

}  // namespace weft::experiment
