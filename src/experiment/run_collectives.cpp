#include "experiment/run_collectives.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/wide.hpp"
#include "collective/alike.hpp"
#include "collective/carried.hpp"
#include "collective/folded.hpp"
#include "collective/timing.hpp"
#include "collective/validated.hpp"
#include "experiment/network.hpp"
#include "experiment/network_shares.hpp"
#include "experiment/unknowns.hpp"
#include "schedule/composed.hpp"
#include "sim/run/lane_sim.hpp"

namespace weft::experiment {
namespace {

using collective::Algorithm;
using collective::Choice;
using collective::Operation;
using collective::PlanOptions;
using collective::Team;
using schedule::CollectiveRow;

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

// One group of one job, with what it is to do.
using CollectiveGroup = Unknowns::Job;

// What came of all groups at once, for one size.
struct CollectiveTimes {
  std::vector<CollectiveRow> rows;          // by group; empty: stopped, or more messages than are simulated
  std::vector<CollectiveMessage> messages;  // of the last run, as many as were wanted
  bool more_messages = false;               // there were more
  bool too_many = false;                    // it was not begun: more messages than are simulated
  bool stuck = false;                       // somebody waits for what never comes
  schedule::RunResult links;                // what they carried, where that was wanted, and until when
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
  row.not_validated = collective::not_validated(team, options.operation, options.bytes);
  return row;
}

// Which channel a message belongs to, by the tag that its program gave it; where one program stands for all channels,
// which of its phases.
std::uint32_t channel_of(Algorithm algorithm, std::uint64_t tag) {
  const bool tree = algorithm == Algorithm::tree || algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree ||
                    algorithm == Algorithm::collnet;
  return static_cast<std::uint32_t>(tree ? tag >> 32 : tag);
}

CollectiveRow timed(const Team& team, const PlanOptions& plan, const KeepGoing& keep_going, const Listener& listener,
                    collective::Plan& planned) {
  const auto execute = [&](schedule::Schedule& work, const collective::Plan& made) -> collective::Ends {
    sim::LaneConfig config;
    config.keep_going = keep_going;
    config.sent = listener.sent;
    if (!listener.sent) {
      if (auto ends = collective::ends_of_pairs(made)) return std::move(*ends);
      const auto some = [&](schedule::Schedule& part) -> collective::Ends {
        sim::LaneResult result = sim::run_lanes(part, config);
        return {std::move(result.ends), result.messages, result.run.stopped_by};
      };
      if (auto ends = collective::ends_of_folded(made, some)) return std::move(*ends);
    }
    std::uint64_t messages = 0;
    for (const auto& program : made.different) messages += program->messages();
    if (messages > kMostMessages) return {std::vector<Duration>(made.ranks), 0, "messages"};
    if (listener.begins) listener.begins();
    sim::LaneResult result = sim::run_lanes(work, config);
    return {std::move(result.ends), result.messages, result.run.stopped_by};
  };
  collective::Timing timing = collective::time_among_many(team, plan, execute);
  CollectiveRow row = row_of(team, plan, timing.plan);
  row.time = Duration(timing.stopped_by.empty() ? timing.time.count() : 0);
  row.messages = timing.messages;
  row.skipped_rounds = timing.skipped;
  row.stood_for = timing.plan.stood_for;
  planned = std::move(timing.plan);
  return row;
}

// One group after the other, each beside what `others` take.
CollectiveTimes by_messages(const Design& design, const std::vector<CollectiveGroup>& groups,
                            const std::vector<collective::TakenByOthers>& others, std::size_t kept, Watch& watch,
                            std::vector<collective::Plan>& plans) {
  CollectiveTimes made;
  const KeepGoing keep_going = [&](std::int64_t now, std::uint64_t messages, std::uint64_t bytes) {
    return watch({Duration(now), messages, bytes});
  };
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const Team& team = *groups[group].team;
    PlanOptions plan = groups[group].plan;
    plan.beside = others.empty() ? nullptr : &others[group];
    std::vector<CollectiveMessage> seen;
    bool more = false;
    const std::uint32_t gpus = design.cluster().gpus;
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
    plans.emplace_back();
    CollectiveRow row = timed(team, plan, keep_going, listener, plans.back());
    made.stuck = plans.back().cut;
    if (made.stuck) return made;
    if (row.time == Duration(0)) {
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

// Groups know of each other by what each would take of links alone. When the others are done, one goes on as if alone.
CollectiveTimes by_messages(const Design& design, const std::vector<CollectiveGroup>& groups, std::size_t kept,
                            Watch& watch) {
  std::vector<collective::Plan> plans;
  CollectiveTimes alone = by_messages(design, groups, {}, kept, watch, plans);
  if (groups.size() == 1 || alone.rows.size() < groups.size()) return alone;
  std::vector<collective::TakenByOthers> others(groups.size());
  for (std::size_t group = 0; group < groups.size(); ++group)
    for (std::size_t other = 0; other < groups.size(); ++other)
      if (other != group) add_to(others[group], plans[other], alone.rows[other].time);
  CollectiveTimes made = by_messages(design, groups, others, kept, watch, plans);
  if (made.rows.size() < groups.size()) return made;
  std::vector<std::int64_t> together;
  for (const CollectiveRow& row : made.rows) together.push_back(row.time.count());
  for (std::size_t group = 0; group < groups.size(); ++group) {
    std::int64_t last = 0;
    for (std::size_t other = 0; other < groups.size(); ++other)
      if (other != group) last = std::max(last, together[other]);
    const std::int64_t own = together[group];
    if (last >= own) continue;
    const Wide rest = Wide{own - last} * alone.rows[group].time.count() / own;
    made.rows[group].time = Duration(last + static_cast<std::int64_t>(rest));
  }
  return made;
}

// How long senders look for their rates: DCQCN cuts them until they fit, and goes half of the way back in every period.
// Some times over, for others on the same link do so, too.
Duration settling_time(const model::Cluster& cluster) {
  constexpr std::int64_t kTimes = 4;
  const model::RoceSpec& roce = cluster.file.transport.rocev2;
  return has_dcqcn(cluster) ? roce.increase_timer * roce.fast_recovery * kTimes : Duration(0);
}

// Nothing of the run but its links.
schedule::RunResult links_of(const schedule::RunResult& run) {
  schedule::RunResult made;
  made.fidelity = run.fidelity;
  made.end = run.end;
  made.links = run.links;
  return made;
}

CollectiveTimes by_links(const Design& design, const std::vector<CollectiveGroup>& groups, const Traffic* beside,
                         const Experiment& experiment, std::size_t kept, Watch& watch) {
  const sim::HostRates rates = rates_of_kernels(groups[0].team->group(0));
  std::vector<collective::CarriedJob> jobs;
  for (const CollectiveGroup& each : groups) jobs.push_back({each.team, each.plan});
  const collective::CarriedLimits limits{.messages = kMostCarried, .settles = settling_time(design.cluster())};
  const collective::CarriedResult result =
      collective::carry(design.fabric(), jobs, limits, [&](schedule::Schedule& schedule) {
        schedule::RunResult made = run_schedule(design, schedule, beside, experiment, rates, watch);
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
    row.fidelity = experiment.fidelity;
    if (beside != nullptr) row.beside = beside->name;
    row.time = job.time;
    row.messages = result.messages;
    row.skipped_rounds = job.skipped;
    row.digest = result.run.digest;
    row.seed = experiment.seed;
    row.dropped = result.run.counters.dropped + result.run.counters.lost;
    row.sent_again = result.run.counters.data_resent;
    made.rows.push_back(std::move(row));
  }
  if (experiment.wanted.links) made.links = links_of(result.run);
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

bool crosses_network(const std::vector<CollectiveSide>& sides) {
  return std::any_of(sides.begin(), sides.end(), [](const CollectiveSide& side) {
    return std::any_of(side.teams.begin(), side.teams.end(), [](const auto& team) { return team->nodes() > 1; });
  });
}

// One experiment with collectives: all sizes, one after the other.
class CollectiveRuns {
 public:
  CollectiveRuns(const Design& design, const Collectives& work, const Experiment& experiment, const Observer& observer)
      : design_(design),
        work_(work),
        experiment_(experiment),
        observer_(observer),
        watch_(experiment.limits, observer) {
    spec::Diagnostics nothing;  // what could be wrong was said before
    sides_ = sides_of(design, work, experiment.seed, nothing);
    out_.rows.resize(sides_.size());
    if (!crosses_network(sides_)) return;
    const bool hashed = !flow_config(design.cluster(), work_and(nullptr), experiment).split;
    const bool chains = std::any_of(work.jobs.begin(), work.jobs.end(), [](const CollectiveJob& job) {
      return job.operation == Operation::broadcast || job.operation == Operation::reduce;
    });
    if (experiment.fidelity != Fidelity::packet) unknowns_.emplace(design, experiment);
    const bool wanted =
        (hashed && chains) || experiment.fidelity == Fidelity::message || (unknowns_ && unknowns_->wants_shares());
    if (!wanted || !why_no_shares(design).empty()) return;
    shares_.emplace(design, experiment);
    if (unknowns_) unknowns_->take(*shares_);
  }

  Outcome run() {
    std::size_t sizes = 0;
    for (const CollectiveSide& side : sides_) sizes = std::max(sizes, side.job->sizes.size());
    for (std::size_t index = 0; index < sizes; ++index)
      if (!watch_({}) || !run_size(index)) break;
    out_.stopped_by = watch_.stopped_by();
    return std::move(out_);
  }

 private:
  // A job with fewer sizes than others goes on with its last.
  static std::uint64_t bytes_of(const CollectiveSide& side, std::size_t index) {
    return static_cast<std::uint64_t>(side.job->sizes[std::min(index, side.job->sizes.size() - 1)].count());
  }

  // The choices of each job for a size, NCCL's own first; false: stop.
  bool run_size(std::size_t index) {
    std::vector<std::vector<Choice>> choices;
    std::size_t most = 1;
    for (const CollectiveSide& side : sides_) {
      choices.push_back(choices_for(*side.teams[0], side.job->operation, bytes_of(side, index), work_.choice,
                                    *side.stack, experiment_.fidelity != Fidelity::message));
      most = std::max(most, choices.back().size());
    }
    for (std::size_t i = 0; i < most; ++i) {
      std::vector<Choice> now;
      for (const auto& each : choices) now.push_back(each[std::min(i, each.size() - 1)]);
      if (!run_choice(index, now)) return false;
    }
    return true;
  }

  std::vector<CollectiveGroup> groups_for(std::size_t index, const std::vector<Choice>& choices) {
    std::vector<CollectiveGroup> groups;
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      const CollectiveSide& side = sides_[i];
      PlanOptions plan{
          .operation = side.job->operation, .bytes = bytes_of(side, index), .choice = choices[i], .stack = side.stack};
      plan.pxn = work_.choice.pxn;
      plan.network = shares_ ? &*shares_ : nullptr;
      plan.every_rank = sides_.size() > 1 || side.teams.size() > 1;  // shares are told link by link
      for (std::size_t group = 0; group < side.teams.size(); ++group) {
        plan.conditions = &side.conditions[group];
        groups.push_back({side.teams[group].get(), plan});
      }
    }
    return groups;
  }

  bool run_choice(std::size_t index, const std::vector<Choice>& choices) {
    const std::vector<CollectiveGroup> groups = groups_for(index, choices);
    const Traffic* beside = work_.beside ? &*work_.beside : nullptr;
    const std::size_t kept = experiment_.wanted.messages;
    CollectiveTimes times = experiment_.fidelity == Fidelity::message
                                ? by_messages(design_, groups, kept, watch_)
                                : by_links(design_, groups, beside, experiment_, kept, watch_);
    out_.stuck |= times.stuck;
    if (!watch_.stopped_by().empty() || out_.stuck) return false;
    if (times.too_many) {
      out_.left_out.push_back({choices[0].algorithm, groups[0].team->ranks(), groups[0].plan.bytes});
      return true;
    }
    out_.messages = std::move(times.messages);
    out_.more_messages = times.more_messages;
    out_.result = std::move(times.links);
    if (experiment_.fidelity != Fidelity::message && shares_) keep_to_links(groups, times.rows);
    if (unknowns_) unknowns_->add_to(times.rows, groups);
    take_rows(times.rows);
    return true;
  }

  // Of chains so few follow the first that two channels may never meet on a link that has to carry both: for as long as
  // that takes each of many, as at message level (timing.cpp).
  static void keep_to_links(const std::vector<CollectiveGroup>& groups, std::vector<CollectiveRow>& rows) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (!collective::overlaps_itself(groups[i].plan)) continue;
      const collective::Plan plan = make_plan(*groups[i].team, groups[i].plan);
      rows[i].time = std::max(rows[i].time, plan.launch + plan.network_time);
    }
  }

  // Of each job the slowest group's.
  void take_rows(const std::vector<CollectiveRow>& rows) {
    auto at = rows.begin();
    for (std::size_t job = 0; job < sides_.size(); ++job) {
      const auto end = at + static_cast<std::ptrdiff_t>(sides_[job].teams.size());
      CollectiveRow row =
          *std::max_element(at, end, [](const CollectiveRow& a, const CollectiveRow& b) { return a.time < b.time; });
      row.groups = static_cast<std::uint32_t>(sides_[job].teams.size());
      if (shares_ && shares_->is_drawn()) row.seed = experiment_.seed;
      const bool first = out_.rows[job].empty() || out_.rows[job].back().bytes != row.bytes;
      row.chosen_by = work_.choice.algorithms.empty() && first ? "auto" : "user";
      if (observer_.row) observer_.row(job, row);
      out_.rows[job].push_back(std::move(row));
      at = end;
    }
  }

  const Design& design_;
  const Collectives& work_;
  const Experiment& experiment_;
  const Observer& observer_;
  Watch watch_;
  std::vector<CollectiveSide> sides_;
  std::optional<NetworkShares> shares_;  // message level; of flows, to know where they collide
  std::optional<Unknowns> unknowns_;     // of what they do not tell; packets know
  Outcome out_;
};

}  // namespace

std::vector<CollectiveSide> sides_of(const Design& design, const Collectives& work, std::uint64_t seed,
                                     spec::Diagnostics& diagnostics) {
  std::vector<CollectiveSide> sides;
  for (const CollectiveJob& job : work.jobs) {
    CollectiveSide& side = sides.emplace_back();
    side.job = &job;
    side.stack = stack_of(job, design.cluster(), diagnostics);
    for (auto& gpus : groups_of(job, design.cluster(), diagnostics)) {
      const std::size_t group = side.teams.size();
      side.teams.push_back(std::make_unique<Team>(design.fabric(), std::move(gpus)));
      side.conditions.push_back(conditions_of(job, side.teams.back()->ranks(), seed + group, diagnostics));
    }
  }
  return sides;
}

Outcome run_collectives(const Design& design, const Collectives& work, const Experiment& experiment,
                        const Observer& observer) {
  return CollectiveRuns(design, work, experiment, observer).run();
}

namespace {

Choice choice_of(const Team& team, const TogetherOptions& options, bool by_links) {
  for (const Algorithm each : options.algorithms) {
    CollectiveChoice wanted;
    wanted.algorithms = {each};
    const std::vector<Choice> made =
        choices_for(team, options.operation, options.bytes, wanted, *options.stack, by_links);
    if (!made.empty()) return made[0];
  }
  return choices_for(team, options.operation, options.bytes, {}, *options.stack, by_links)[0];
}

bool is_faster(const CollectiveRow& a, const CollectiveRow& b) { return a.time < b.time; }

// Each with its choice; who is behind those that differ does what the one does that reaches over as many domains.
std::vector<CollectiveGroup> groups_together(const std::vector<const Team*>& teams, const TogetherOptions& options,
                                             Fidelity fidelity) {
  std::vector<CollectiveGroup> groups;
  for (std::size_t i = 0; i < teams.size(); ++i) {
    PlanOptions plan;
    plan.operation = options.operation;
    plan.bytes = options.bytes;
    plan.stack = options.stack;
    plan.network = options.network;
    const auto end = groups.begin() + static_cast<std::ptrdiff_t>(std::min(i, options.differ));
    const auto like = std::find_if(groups.begin(), end, [&](const CollectiveGroup& each) {
      return i >= options.differ && each.team->nodes() == teams[i]->nodes();
    });
    plan.choice = like != end ? like->plan.choice : choice_of(*teams[i], options, fidelity != Fidelity::message);
    groups.push_back({teams[i], plan});
  }
  return groups;
}

// What is carried out at once: those that cross the network, as far as they go through equally many rounds (others
// would have to be run whole); of those inside domains the ones that differ.
std::vector<std::vector<CollectiveGroup>> batches_of(const std::vector<CollectiveGroup>& groups, std::size_t differ) {
  std::map<std::pair<bool, std::uint64_t>, std::vector<CollectiveGroup>> batches;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const bool crosses = groups[i].team->nodes() > 1;
    if (!crosses && i >= differ) continue;
    PlanOptions one = groups[i].plan;
    one.network = nullptr;
    one.every_channel = true;
    one.most_rounds = 1;
    batches[{crosses, collective::make_plan(*groups[i].team, one).whole_rounds}].push_back(groups[i]);
  }
  std::vector<std::vector<CollectiveGroup>> made;
  for (auto& [key, batch] : batches) made.push_back(std::move(batch));
  return made;
}

// Of groups that are unlike each other the slowest, beside what all others would take alone.
CollectiveRow together_by_messages(const std::vector<CollectiveGroup>& groups, std::size_t differ,
                                   const KeepGoing& keep_going) {
  collective::Plan planned;
  CollectiveRow slowest;
  std::size_t which = 0;
  for (std::size_t i = 0; i < differ; ++i) {
    CollectiveRow row = timed(*groups[i].team, groups[i].plan, keep_going, {}, planned);
    if (row.time == Duration(0)) return row;
    if (row.time <= slowest.time) continue;
    slowest = std::move(row);
    which = i;
  }
  if (groups.size() == 1 || groups[which].team->nodes() == 1) return slowest;
  collective::TakenByOthers taken;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (i != which) add_to(taken, collective::make_plan(*groups[i].team, groups[i].plan), slowest.time);
  PlanOptions beside = groups[which].plan;
  beside.beside = &taken;
  return timed(*groups[which].team, beside, keep_going, {}, planned);
}

}  // namespace

CollectiveRow time_groups(const Design& design, const std::vector<const Team*>& teams, const TogetherOptions& options,
                          const Experiment& experiment, Watch& watch) {
  const std::vector<CollectiveGroup> groups = groups_together(teams, options, experiment.fidelity);
  if (experiment.fidelity == Fidelity::message)
    return together_by_messages(groups, options.differ,
                                [&](std::int64_t now, std::uint64_t count, std::uint64_t bytes) {
                                  return watch({Duration(now), count, bytes});
                                });
  CollectiveRow slowest;
  for (const std::vector<CollectiveGroup>& batch : batches_of(groups, options.differ)) {
    const CollectiveTimes times = by_links(design, batch, nullptr, experiment, 0, watch);
    if (times.rows.empty()) return {};
    const CollectiveRow& last = *std::max_element(times.rows.begin(), times.rows.end(), is_faster);
    if (slowest.time < last.time) slowest = last;
  }
  return slowest;
}

std::uint64_t least_messages(const std::vector<const Team*>& teams, const TogetherOptions& options) {
  const std::vector<CollectiveGroup> groups = groups_together(teams, options, Fidelity::flow);
  std::uint64_t sum = 0;
  for (const std::vector<CollectiveGroup>& batch : batches_of(groups, options.differ))
    sum += collective::least_carried({batch[0].team, batch[0].plan}) * batch.size();  // all about as many
  return sum;
}

CollectiveRow time_collective(const Team& team, const PlanOptions& plan) {
  collective::Plan planned;
  return timed(
      team, plan, [](std::int64_t, std::uint64_t, std::uint64_t) { return true; }, {}, planned);
}

}  // namespace weft::experiment
