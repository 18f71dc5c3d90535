#include "app/sim_collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/build_info.hpp"
#include "app/collective_plot.hpp"
#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/sim_traffic.hpp"
#include "base/text.hpp"
#include "collective/tuner.hpp"
#include "sim/lane_sim.hpp"

namespace weft::app {
namespace {

using collective::Algorithm;
using collective::Choice;
using collective::Operation;
using collective::PlanOptions;
using collective::Protocol;
using collective::Team;
using report::CollectiveRow;
using spec::Complaint;

constexpr std::size_t kDevicesShown = 64;
constexpr std::size_t kMostSizes = 1000;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 44;
// A plan keeps some hundred bytes for every rank and channel: a GiB.
constexpr std::uint32_t kMostRanks = 262'144;
// Some tens of nanoseconds and 16 bytes each: minutes, and more than most machines have.
constexpr std::uint64_t kMostMessages = std::uint64_t{1} << 31;

template <class Values>
std::vector<std::string> names_of(const Values& values) {
  std::vector<std::string> names;
  for (const auto each : values) names.emplace_back(collective::name(each));
  return names;
}

void unknown(std::string_view option, const std::string& text, std::vector<std::string> names,
             spec::Diagnostics& diagnostics) {
  const auto guess = did_you_mean(text, names);
  diagnostics.add(Complaint::unknown_key, {}, fmt::format("{} knows no '{}'", option, text.substr(0, 40)),
                  guess ? fmt::format("did you mean {}?", *guess) : fmt::format("one of {}", either(names)));
}

// 1MiB, 8B..8GiB (doubling), or several of them with commas.
std::vector<Bytes> parse_sizes(const std::string& text, spec::Diagnostics& diagnostics) {
  std::vector<Bytes> sizes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, comma - at);
    at = comma + 1;
    const std::size_t dots = item.find("..");
    const auto first = parse<BytesDimension>(item.substr(0, dots));
    const auto last = dots == std::string::npos ? first : parse<BytesDimension>(item.substr(dots + 2));
    if (!first || !last || first->count() < 1 || last->count() > kMostBytes || *last < *first) {
      diagnostics.add(Complaint::wrong_type, {}, fmt::format("--sizes cannot be '{}'", item.substr(0, 40)),
                      "sizes up to 16TiB, for example --sizes 8B..8GiB");
      return {};
    }
    for (std::int64_t size = first->count(); size <= last->count() && sizes.size() < kMostSizes; size *= 2)
      sizes.emplace_back(size);
  }
  return sizes;
}

// What the command line leaves open.
struct Wanted {
  std::vector<Algorithm> algorithms;  // empty: the one that NCCL would take
  bool all = false;                   // whatever is possible
  std::optional<Protocol> protocol;
};

Wanted read_options(const CollectiveOptions& options, spec::Diagnostics& diagnostics) {
  Wanted wanted;
  for (const std::string& text : options.algorithms) {
    if (text == "auto") continue;
    if (text == "all") {
      wanted.all = true;
    } else if (const auto algorithm = collective::algorithm_named(text)) {
      wanted.algorithms.push_back(*algorithm);
    } else {
      std::vector<std::string> names = names_of(collective::kAlgorithms);
      names.insert(names.end(), {"auto", "all"});
      unknown("--algorithms", text, std::move(names), diagnostics);
    }
  }
  if (options.protocol != "auto") {
    wanted.protocol = collective::protocol_named(options.protocol);
    if (!wanted.protocol) unknown("--protocol", options.protocol, names_of(collective::kProtocols), diagnostics);
  }
  return wanted;
}

// The choices to be timed for one size, NCCL's own first.
std::vector<Choice> choices_for(const Team& team, Operation operation, std::uint64_t bytes, const Wanted& wanted,
                                const collective::Stack& stack, std::uint32_t channels) {
  const auto choice = [&](Algorithm algorithm) {
    return Choice{algorithm,
                  wanted.protocol.value_or(collective::protocol_for(team, operation, algorithm, bytes, stack)),
                  channels};
  };
  const collective::Estimate best = collective::estimates(team, operation, bytes, stack).front();
  std::vector<Choice> choices;
  if (wanted.algorithms.empty()) choices.push_back({best.algorithm, wanted.protocol.value_or(best.protocol), channels});
  for (const Algorithm algorithm :
       wanted.all ? std::vector<Algorithm>(collective::kAlgorithms.begin(), collective::kAlgorithms.end())
                  : wanted.algorithms) {
    const bool there =
        std::any_of(choices.begin(), choices.end(), [&](const Choice& each) { return each.algorithm == algorithm; });
    const Choice made = choice(algorithm);
    if (!there && collective::why_not(team, operation, algorithm, made.protocol).empty()) choices.push_back(made);
  }
  return choices;
}

class Runs {
 public:
  Runs(Session& session, const InputOptions& input, const CollectiveOptions& options, const Wanted& wanted,
       const Limits& limits, Console& console)
      : session_(session), input_(input), options_(options), wanted_(wanted), limits_(limits), console_(console) {}

  // The exit code.
  int run(const CollectiveJob& job);
  const std::vector<CollectiveRow>& rows() const { return all_rows_; }

 private:
  bool side_by_side() const { return wanted_.all || wanted_.algorithms.size() > 1; }
  report::CollectiveHead head(const CollectiveJob& job, const Team& team) const;
  bool check(const CollectiveJob& job, const Team& team);

  Session& session_;
  const InputOptions& input_;
  const CollectiveOptions& options_;
  const Wanted& wanted_;
  const Limits& limits_;
  Console& console_;
  const collective::Stack* stack_ = nullptr;  // of the job that runs
  std::vector<CollectiveRow> all_rows_;       // of all jobs
};

report::CollectiveHead Runs::head(const CollectiveJob& job, const Team& team) const {
  report::CollectiveHead made;
  made.version = build_info().version;
  made.cluster = session_.cluster().name;
  made.operation = collective::name(job.operation);
  const auto [least, most] = std::minmax_element(job.sizes.begin(), job.sizes.end());
  made.min_bytes = static_cast<std::uint64_t>(least->count());
  made.max_bytes = static_cast<std::uint64_t>(most->count());
  const fabric::Fabric& fabric = session_.fabric();
  for (std::uint32_t rank = 0; rank < std::min<std::size_t>(team.ranks(), kDevicesShown); ++rank) {
    const fabric::Node node = fabric.describe(fabric.gpu(team.gpu(rank)));
    const std::string gpu = fabric.name(fabric.gpu(team.gpu(rank)));
    made.devices.push_back(fmt::format("Group  0 Pid {:6} on {:>10} device {:2} [{}] {}", rank,
                                       gpu.substr(0, gpu.find('/')), node.local, gpu, team.group(rank).spec.gpu.kind));
  }
  return made;
}

// All that is wrong with a job, before any of it runs.
bool Runs::check(const CollectiveJob& job, const Team& team) {
  spec::Diagnostics& diagnostics = session_.diagnostics();
  if (team.ranks() < 2) {
    diagnostics.add(Complaint::out_of_range, {}, "a collective needs two GPUs", "--gpus 2 or more");
  } else if (!team.broken().empty()) {
    diagnostics.add(Complaint::not_simulated, {}, team.broken(), "GPUs that are joined, or another fabric");
  } else {
    for (const Algorithm algorithm : wanted_.algorithms) {
      const Protocol protocol =
          wanted_.protocol.value_or(collective::protocol_for(team, job.operation, algorithm, 1, *stack_));
      if (const std::string why = collective::why_not(team, job.operation, algorithm, protocol); !why.empty())
        diagnostics.add(
            Complaint::contradiction, {},
            fmt::format("{} with {}: {}", collective::name(job.operation), collective::name(algorithm), why),
            "--algorithms auto, or all to see what is possible");
    }
  }
  return !diagnostics.has_errors();
}

int Runs::run(const CollectiveJob& job) {
  stack_ = stack_of(job, options_.stack, session_.cluster(), session_.diagnostics());
  const Team team(session_.fabric(), collective::pick_gpus(session_.cluster(), job.gpus, options_.per_server));
  if (!check(job, team)) {
    app::report(session_.diagnostics(), input_, console_);
    return kYourInput;
  }
  const report::CollectiveHead top = head(job, team);
  if (!input_.json && !side_by_side()) report::write_collective_head(top, console_.out);
  std::vector<CollectiveRow> rows;
  Watch watch(limits_, 0, console_);
  const auto keep_going = [&](std::int64_t now, std::uint64_t messages, std::uint64_t bytes) {
    return watch({now, messages, bytes});
  };
  for (const Bytes size : job.sizes) {
    const auto bytes = static_cast<std::uint64_t>(size.count());
    for (const Choice& choice : choices_for(team, job.operation, bytes, wanted_, *stack_, options_.channels)) {
      PlanOptions plan{.operation = job.operation, .bytes = bytes, .choice = choice, .stack = stack_};
      plan.pxn = options_.pxn;
      CollectiveRow row = time_collective(team, plan, keep_going);
      if (!watch.stopped_by().empty()) {
        watch.finish();
        console_.err << fmt::format("{}: the table is partial\n", watch.stopped_by() == "ctrl-c"
                                                                      ? "interrupted"
                                                                      : "limit " + watch.stopped_by() + " reached");
        return watch.stopped_by() == "ctrl-c" ? kInterrupted : kLimitReached;
      }
      if (row.time == 0) {
        console_.err << fmt::format("{} of {} ranks at {} would be more than {} messages: left out\n", row.algorithm,
                                    team.ranks(), exact(size), grouped(static_cast<std::int64_t>(kMostMessages)));
        continue;
      }
      const bool first = rows.empty() || rows.back().bytes != bytes;  // NCCL's own choice comes first
      row.chosen_by = wanted_.algorithms.empty() && first ? "auto" : "user";
      if (input_.json)
        report::write_collective_record(row, top, console_.out);
      else if (!side_by_side())
        report::write_collective_line(row, console_.out);
      rows.push_back(std::move(row));
    }
  }
  watch.finish();
  all_rows_.insert(all_rows_.end(), rows.begin(), rows.end());
  if (input_.json) return kFine;
  if (side_by_side())
    report::write_algorithms_side_by_side(rows, console_.out);
  else
    report::write_collective_foot(rows, console_.out);
  return kFine;
}

}  // namespace

std::vector<CollectiveJob> collectives_of(const model::Cluster& cluster) {
  std::vector<CollectiveJob> jobs;
  for (const model::RunSpec& run : cluster.file.run) {
    const auto add = [&](Operation operation, const std::optional<model::CollectiveRun>& given) {
      if (given)
        jobs.push_back({operation, static_cast<std::uint32_t>(given->gpus.value_or(cluster.gpus)), given->sizes.values,
                        given->stack});
    };
    add(Operation::all_reduce, run.all_reduce);
    add(Operation::all_gather, run.all_gather);
    add(Operation::reduce_scatter, run.reduce_scatter);
    add(Operation::broadcast, run.broadcast);
    add(Operation::reduce, run.reduce);
    add(Operation::all_to_all, run.all_to_all);
    add(Operation::send_recv, run.send_recv);
  }
  return jobs;
}

void check_job(const CollectiveJob& job, const model::Cluster& cluster, spec::Diagnostics& diagnostics) {
  const auto refuse = [&](std::uint32_t most, std::string_view whose, std::string_view help) {
    diagnostics.add(Complaint::out_of_range, {},
                    fmt::format("{} of {} GPUs, {} {}", collective::name(job.operation), grouped(job.gpus), whose, grouped(most)),
                    std::string(help));
  };
  if (job.gpus > cluster.gpus) refuse(cluster.gpus, "the cluster has", "a larger cluster, or fewer GPUs");
  else if (job.gpus > kMostRanks) refuse(kMostRanks, "collectives are simulated for up to", "--gpus, or gpus in `run:`");
}

const collective::Stack* stack_of(const CollectiveJob& job, const std::string& given, const model::Cluster& cluster,
                                  spec::Diagnostics& diagnostics) {
  const std::string& name = given.empty() ? job.stack : given;
  if (name.empty()) return &collective::default_stack(cluster.file.transport.kind, cluster.groups[0].spec.nic.kind);
  const collective::Stack* found = collective::stack_named(name);
  if (found != nullptr) return found;
  std::vector<std::string> names;
  for (const collective::Stack& each : collective::stacks()) names.emplace_back(each.name);
  unknown(given.empty() ? "stack" : "--stack", name, std::move(names), diagnostics);
  return nullptr;
}

CollectiveRow time_collective(const Team& team, const PlanOptions& plan,
                              const std::function<bool(std::int64_t, std::uint64_t, std::uint64_t)>& keep_going) {
  const auto execute = [&](schedule::Schedule& work, const collective::Plan& made) -> collective::Ends {
    std::uint64_t messages = 0;
    for (const auto& program : made.different) messages += program->messages();
    if (messages > kMostMessages) return {std::vector<std::int64_t>(made.ranks), 0, "messages"};
    sim::LaneConfig config;
    config.latency = [&](std::uint32_t from, std::uint32_t to) { return made.latency(from, to); };
    config.keep_going = keep_going;
    sim::LaneResult result = sim::run_lanes(work, config);
    return {std::move(result.ends), result.messages, result.run.stopped_by};
  };
  const collective::Timing timing = collective::time_of(team, plan, execute);
  const Ratio factor = collective::bus_factor(plan.operation, team.ranks());
  const bool rooted = plan.operation == Operation::broadcast || plan.operation == Operation::reduce;
  CollectiveRow row;
  row.operation = collective::name(plan.operation);
  row.bytes = plan.bytes;
  row.ranks = team.ranks();
  row.nodes = team.nodes();
  row.parts = collective::counts_parts(plan.operation);
  row.reduces = collective::reduces(plan.operation);
  row.root = rooted ? std::int64_t{plan.root} : -1;
  row.time = timing.stopped_by.empty() ? timing.time.count() : 0;
  row.bus_over = factor.over;
  row.bus_under = factor.under;
  row.algorithm = collective::name(timing.plan.choice.algorithm);
  row.protocol = collective::name(timing.plan.choice.protocol);
  row.channels = timing.plan.choice.channels;
  row.chunk = timing.plan.chunk;
  row.host_memory = timing.plan.host_memory;
  row.messages = timing.messages;
  row.skipped_rounds = timing.skipped;
  row.stack = plan.stack->name;
  return row;
}

bool wants_collectives(const Session& session, const CollectiveOptions& options, const TrafficOptions& traffic) {
  if (!options.operation.empty()) return true;
  return !asks_for_traffic(traffic) && streams_of(session.cluster()).empty() && !session.cluster().file.run.empty();
}

void check_collective_options(const RunOptions& run, const SimOutputOptions& output, std::uint32_t seeds,
                              spec::Diagnostics& diagnostics) {
  const auto forbid = [&](bool given, std::string_view option) {
    if (given)
      diagnostics.add(Complaint::contradiction, {},
                      fmt::format("{} is of flows; collectives run at message level", option),
                      "without it, or --pattern for flows");
  };
  forbid(!run.faults.empty(), "--fault");
  forbid(!run.sample.empty(), "--sample");
  forbid(!run.capture.empty() || !output.pcap.empty(), "--pcap");
  forbid(!output.csv.empty(), "--csv");
  forbid(!output.trace.empty(), "--trace");
  forbid(output.links.has_value() || output.flows || output.samples, "--links, --flows or --samples");
  forbid(seeds > 1, "--seeds");
}

int sim_collectives(Session& session, const InputOptions& input, const CollectiveOptions& options, std::uint32_t gpus,
                    const std::string& sizes, const Limits& limits, Console& console) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  std::vector<CollectiveJob> jobs;
  if (options.operation.empty()) {
    jobs = collectives_of(session.cluster());
  } else if (const auto operation = collective::operation_named(options.operation)) {
    jobs.push_back({*operation,
                    gpus == 0 ? session.cluster().gpus : gpus,
                    parse_sizes(sizes.empty() ? "8B..8GiB" : sizes, diagnostics),
                    {}});
  } else {
    unknown("--collective", options.operation, names_of(collective::kOperations), diagnostics);
  }
  for (const CollectiveJob& job : jobs) check_job(job, session.cluster(), diagnostics);
  const Wanted wanted = read_options(options, diagnostics);
  for (const CollectiveJob& job : jobs) stack_of(job, options.stack, session.cluster(), diagnostics);
  if (const std::string why = why_not_write(options.plot, session.file()); !options.plot.empty() && !why.empty())
    diagnostics.add(Complaint::contradiction, {}, fmt::format("--plot {}: {}", options.plot, why), "another name");
  if (app::report(diagnostics, input, console)) return kYourInput;
  const CtrlC ctrl_c;
  Runs runs(session, input, options, wanted, limits, console);
  for (const CollectiveJob& job : jobs)
    if (const int code = runs.run(job); code != kFine) return code;
  if (options.plot.empty()) return kFine;
  return write_output(options.plot, console, [&](std::ostream& out) {
    out << draw::to_svg(collective_plot(session.cluster().name, runs.rows()));
  });
}

}  // namespace weft::app
