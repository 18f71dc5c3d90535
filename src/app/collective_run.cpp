#include "app/collective_run.hpp"

#include <algorithm>
#include <utility>

#include "app/sim_run.hpp"
#include "collective/carried.hpp"
#include "collective/timing.hpp"
#include "schedule/composed.hpp"
#include "sim/lane_sim.hpp"

namespace weft::app {
namespace {

using collective::Algorithm;
using collective::Operation;
using collective::PlanOptions;
using collective::Team;
using report::CollectiveRow;

// Some tens of nanoseconds and 16 bytes each: minutes, and more than most machines have.
constexpr std::uint64_t kMostMessages = std::uint64_t{1} << 31;
// Where links are known a message costs microseconds, and some hundred bytes until the run is over.
constexpr std::uint64_t kMostCarried = std::uint64_t{1} << 24;

using KeepGoing = std::function<bool(std::int64_t, std::uint64_t, std::uint64_t)>;
// Told of every run that is begun, and of its messages.
struct Listener {
  std::function<void()> begins;
  std::function<void(const schedule::FlowRecord&)> sent;
};

// All but what it took.
CollectiveRow row_of(const Team& team, const PlanOptions& options, const collective::Plan& plan) {
  const Ratio factor = collective::bus_factor(options.operation, team.ranks());
  const bool rooted = options.operation == Operation::broadcast || options.operation == Operation::reduce;
  CollectiveRow row;
  row.operation = collective::name(options.operation);
  row.bytes = options.bytes;
  row.ranks = team.ranks();
  row.nodes = team.nodes();
  row.parts = collective::counts_parts(options.operation);
  row.reduces = collective::reduces(options.operation);
  row.root = rooted ? std::int64_t{options.root} : -1;
  row.bus_over = factor.over;
  row.bus_under = factor.under;
  row.algorithm = collective::name(plan.choice.algorithm);
  row.protocol = collective::name(plan.choice.protocol);
  row.channels = plan.choice.channels;
  row.chunk = plan.chunk;
  row.host_memory = plan.host_memory;
  row.stack = options.stack->name;
  return row;
}

// Which channel a message belongs to, by the tag that its program gave it; where one program stands for all channels,
// which of its phases.
std::uint32_t channel_of(Algorithm algorithm, std::uint64_t tag) {
  const bool tree = algorithm == Algorithm::tree || algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree ||
                    algorithm == Algorithm::collnet;
  return static_cast<std::uint32_t>(tree ? tag >> 32 : tag);
}

CollectiveRow timed(const Team& team, const PlanOptions& plan, const KeepGoing& keep_going, const Listener& listener) {
  const auto execute = [&](schedule::Schedule& work, const collective::Plan& made) -> collective::Ends {
    std::uint64_t messages = 0;
    for (const auto& program : made.different) messages += program->messages();
    if (messages > kMostMessages) return {std::vector<std::int64_t>(made.ranks), 0, "messages"};
    sim::LaneConfig config;
    config.keep_going = keep_going;
    config.sent = listener.sent;
    if (listener.begins) listener.begins();
    sim::LaneResult result = sim::run_lanes(work, config);
    return {std::move(result.ends), result.messages, result.run.stopped_by};
  };
  const collective::Timing timing = collective::time_among_many(team, plan, execute);
  CollectiveRow row = row_of(team, plan, timing.plan);
  row.time = timing.stopped_by.empty() ? timing.time.count() : 0;
  row.messages = timing.messages;
  row.skipped_rounds = timing.skipped;
  return row;
}

// What the others load the links with that a group uses itself.
std::vector<collective::Loads> loads_of_others(const std::vector<CollectiveGroup>& groups) {
  std::vector<collective::Loads> own;
  collective::Loads all;
  for (const CollectiveGroup& each : groups) {
    PlanOptions few = each.plan;
    few.most_rounds = 1;
    own.push_back(collective::make_plan(*each.team, few).loads);
    for (const auto& [link, users] : own.back()) all[link] += users;
  }
  for (collective::Loads& each : own)
    for (auto& [link, users] : each) users = all[link] - users;
  return own;
}

CollectiveTimes by_messages(const Session& session, const std::vector<CollectiveGroup>& groups, std::size_t kept,
                            Watch& watch) {
  CollectiveTimes made;
  const KeepGoing keep_going = [&](std::int64_t now, std::uint64_t messages, std::uint64_t bytes) {
    return watch({now, messages, bytes});
  };
  const std::vector<collective::Loads> others =
      groups.size() > 1 ? loads_of_others(groups) : std::vector<collective::Loads>(1);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const Team& team = *groups[group].team;
    PlanOptions plan = groups[group].plan;
    plan.beside = &others[group];
    std::vector<CollectiveMessage> seen;
    bool more = false;
    const std::uint32_t gpus = session.cluster().gpus;
    const auto place = [&](std::uint32_t rank) {
      if (rank < team.ranks()) return team.gpu(rank);
      const std::uint32_t node = rank - team.ranks();  // of the switches one is the network's, behind the domains'
      return gpus + (node < team.nodes() ? team.place_of_node(node) : 0xFFFFFFu);
    };
    Listener listener;
    if (kept > 0) {
      listener.begins = [&] {
        seen.clear();
        more = false;
      };
      listener.sent = [&](const schedule::FlowRecord& flow) {
        more |= made.messages.size() + seen.size() >= kept;
        if (more) return;
        seen.push_back({group, place(flow.source), place(flow.destination), channel_of(plan.choice.algorithm, flow.tag),
                        flow.bytes, flow.start, flow.received});
      };
    }
    CollectiveRow row = timed(team, plan, keep_going, listener);
    if (row.time == 0) {
      made.too_many = watch.stopped_by().empty();
      made.rows.clear();
      return made;
    }
    made.rows.push_back(std::move(row));
    made.messages.insert(made.messages.end(), seen.begin(), seen.end());
    made.more_messages |= more;
  }
  return made;
}

CollectiveTimes by_links(const Session& session, const std::vector<CollectiveGroup>& groups, const Traffic* beside,
                         const RunOptions& run, std::size_t kept, Watch& watch) {
  const collective::Generation& generation = collective::generation_of(groups[0].team->group(0).spec.gpu.kind);
  const sim::HostRates rates{generation.scale_up_per_mille, collective::kPciePerMille};
  std::vector<collective::CarriedJob> jobs;
  for (const CollectiveGroup& each : groups) jobs.push_back({each.team, each.plan});
  const collective::CarriedResult result =
      collective::carry(session.fabric(), jobs, {.messages = kMostCarried}, [&](schedule::Schedule& schedule) {
        schedule::RunResult made = run_schedule(session, schedule, beside, run, rates, watch);
        if (!watch.stopped_by().empty()) made.stopped_by = watch.stopped_by();
        return made;
      });
  CollectiveTimes made;
  made.too_many = result.stopped_by == "messages";
  made.stuck = result.stopped_by == "unfinished" || !result.run.deadlock.empty();
  if (!result.stopped_by.empty()) return made;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const collective::CarriedTime& job = result.jobs[group];
    CollectiveRow row = row_of(*groups[group].team, groups[group].plan, job.plan);
    row.executor = run.fidelity;
    if (beside != nullptr) row.beside = beside->name;
    row.time = job.time.count();
    row.messages = result.messages;
    row.skipped_rounds = job.skipped;
    row.digest = result.run.digest;
    row.seed = run.seed;
    row.dropped = result.run.counters.dropped + result.run.counters.lost;
    row.sent_again = result.run.counters.data_resent;
    made.rows.push_back(std::move(row));
  }
  for (const schedule::FlowRecord& flow : result.run.flows) {
    if (made.messages.size() >= kept) {
      made.more_messages = kept > 0;
      break;
    }
    const std::size_t group = schedule::Composed::part_of(flow.tag);
    made.messages.push_back({group, flow.source, flow.destination,
                             channel_of(groups[group].plan.choice.algorithm, schedule::Composed::tag_of(flow.tag)),
                             flow.bytes, flow.start, flow.received});
  }
  return made;
}

}  // namespace

CollectiveTimes run_collectives(const Session& session, const std::vector<CollectiveGroup>& groups,
                                const Traffic* beside, const RunOptions& run, std::size_t messages, Watch& watch) {
  return run.fidelity == "message" ? by_messages(session, groups, messages, watch)
                                   : by_links(session, groups, beside, run, messages, watch);
}

CollectiveRow time_collective(const Team& team, const PlanOptions& plan, const KeepGoing& keep_going) {
  return timed(team, plan, keep_going, {});
}

}  // namespace weft::app
