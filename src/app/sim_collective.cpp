#include "app/sim_collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "app/build_info.hpp"
#include "app/collective_plot.hpp"
#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/sim_run.hpp"
#include "app/sim_traffic.hpp"
#include "base/text.hpp"
#include "collective/carried.hpp"
#include "collective/tuner.hpp"
#include "report/collective_trace.hpp"

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
constexpr std::size_t kMostTraced = 200'000;  // messages: what a viewer opens in a moment

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
std::vector<Bytes> parse_sizes(const std::string& given, spec::Diagnostics& diagnostics) {
  const std::string text = bare_as_bytes(given);
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
                                const collective::Stack& stack, std::uint32_t channels, bool by_links) {
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
    if (there || !collective::why_not(team, operation, algorithm, made.protocol).empty()) continue;
    if (!by_links || collective::why_not_carried(team, algorithm).empty()) choices.push_back(made);
  }
  return choices;
}

// One of the jobs that run at the same time: its groups, and what came of them.
struct Side {
  const CollectiveJob* job = nullptr;
  const collective::Stack* stack = nullptr;
  std::vector<std::unique_ptr<Team>> teams;          // by group
  std::vector<collective::Conditions> conditions;    // by group
  std::vector<std::vector<CollectiveRow>> rows;      // by fidelity
};

std::string name_of(const CollectiveJob& job) {
  return (job.on.empty() ? counted(job.gpus, "GPU") : "GPUs " + job.on) + (job.split.empty() ? "" : " split " + job.split);
}

std::string names_beside(const Traffic* beside) {
  if (beside == nullptr) return "";
  std::string names;
  for (const TrafficStream& each : beside->streams) names += (names.empty() ? " beside " : ", ") + each.name;
  return names;
}

class Runs {
 public:
  // `beside`: streams that run at the same time, or nullptr.
  Runs(Session& session, const CollectiveRequest& request, const Wanted& wanted, const std::vector<std::string>& fidelities,
       const Traffic* beside, const Limits& limits, Console& console);

  // Jobs that run at the same time; the exit code.
  int run(std::span<const CollectiveJob> jobs);
  // The last row of each, and what the job is called; none where nothing ran.
  const std::vector<std::pair<std::string, CollectiveRow>>& last() const { return last_; }
  const std::vector<CollectiveRow>& rows() const { return all_rows_; }

 private:
  bool side_by_side() const { return wanted_.all || wanted_.algorithms.size() > 1; }
  bool has(std::string_view fidelity) const {
    return std::find(fidelities_.begin(), fidelities_.end(), fidelity) != fidelities_.end();
  }
  bool by_links() const { return fidelities_.size() > 1 || fidelities_[0] != "message"; }
  // Rows are printed as they come.
  bool streams(const std::vector<Side>& sides) const {
    return sides.size() == 1 && fidelities_.size() == 1 && !side_by_side();
  }
  void print_row(const Side& side, const CollectiveRow& row) const;
  Side side_of(const CollectiveJob& job);
  bool check(const Side& side);
  void check_networks(const std::vector<Side>& sides);
  report::CollectiveHead head(const Side& side) const;
  bool run_size(std::vector<Side>& sides, std::size_t index);
  bool run_choice(std::vector<Side>& sides, std::size_t index, const std::vector<Choice>& choices);
  void print_rows(const Side& side) const;
  void print_foot(const Side& side) const;
  int stopped() const;
  int write_trace(const std::vector<Side>& sides) const;

  Session& session_;
  const CollectiveRequest& request_;
  const Wanted& wanted_;
  const Traffic* beside_;
  Console& console_;
  std::vector<std::string> fidelities_;
  Watch watch_;
  std::vector<CollectiveMessage> traced_;
  bool traced_all_ = true;
  bool stuck_ = false;
  std::vector<std::pair<std::string, CollectiveRow>> last_;
  std::vector<CollectiveRow> all_rows_;  // of the first fidelity
};

Runs::Runs(Session& session, const CollectiveRequest& request, const Wanted& wanted, const std::vector<std::string>& fidelities,
           const Traffic* beside, const Limits& limits, Console& console)
    : session_(session),
      request_(request),
      wanted_(wanted),
      beside_(beside),
      console_(console),
      fidelities_(fidelities),
      watch_(limits, 0, console) {}

Side Runs::side_of(const CollectiveJob& job) {
  spec::Diagnostics& diagnostics = session_.diagnostics();
  Side made;
  made.job = &job;
  made.stack = stack_of(job, request_.options.stack, session_.cluster(), diagnostics);
  made.rows.resize(fidelities_.size());
  for (auto& gpus : groups_of(job, session_.cluster(), request_.options.per_server, diagnostics)) {
    made.teams.push_back(std::make_unique<Team>(session_.fabric(), std::move(gpus)));
    const std::size_t group = made.conditions.size();
    made.conditions.push_back(conditions_of(job, made.teams.back()->ranks(), request_.run.seed + group, diagnostics));
  }
  return made;
}

report::CollectiveHead Runs::head(const Side& side) const {
  report::CollectiveHead made;
  made.version = build_info().version;
  made.cluster = session_.cluster().name;
  made.operation = collective::name(side.job->operation);
  const auto [least, most] = std::minmax_element(side.job->sizes.begin(), side.job->sizes.end());
  made.min_bytes = static_cast<std::uint64_t>(least->count());
  made.max_bytes = static_cast<std::uint64_t>(most->count());
  const fabric::Fabric& fabric = session_.fabric();
  std::uint32_t shown = 0;
  for (std::size_t group = 0; group < side.teams.size(); ++group)
    for (std::uint32_t rank = 0; rank < side.teams[group]->ranks() && shown < kDevicesShown; ++rank, ++shown) {
      const Team& team = *side.teams[group];
      const fabric::Node node = fabric.describe(fabric.gpu(team.gpu(rank)));
      const std::string gpu = fabric.name(fabric.gpu(team.gpu(rank)));
      made.devices.push_back(fmt::format("Group {:2} Pid {:6} on {:>10} device {:2} [{}] {}", group, shown,
                                         gpu.substr(0, gpu.find('/')), node.local, gpu, team.group(rank).spec.gpu.kind));
    }
  return made;
}

// All that is wrong with a job, before any of it runs.
bool Runs::check(const Side& side) {
  spec::Diagnostics& diagnostics = session_.diagnostics();
  if (diagnostics.has_errors()) return false;
  if (side.teams.empty() || side.teams[0]->ranks() < 2) {
    diagnostics.add(Complaint::out_of_range, {}, "a collective needs two GPUs", "--gpus 2 or more");
    return false;
  }
  for (const auto& team : side.teams)
    if (!team->broken().empty()) {
      diagnostics.add(Complaint::not_simulated, {}, team->broken(), "GPUs that are joined, or another fabric");
      return false;
    }
  const Team& team = *side.teams[0];
  for (const Algorithm algorithm : wanted_.algorithms) {
    const Protocol protocol =
        wanted_.protocol.value_or(collective::protocol_for(team, side.job->operation, algorithm, 1, *side.stack));
    if (const std::string why = collective::why_not(team, side.job->operation, algorithm, protocol); !why.empty())
      diagnostics.add(
          Complaint::contradiction, {},
          fmt::format("{} with {}: {}", collective::name(side.job->operation), collective::name(algorithm), why),
          "--algorithms auto, or all to see what is possible");
    else if (const std::string only = collective::why_not_carried(team, algorithm); by_links() && !only.empty())
      diagnostics.add(Complaint::not_simulated, {}, fmt::format("{}: {}", collective::name(algorithm), only),
                      "--fidelity message");
  }
  return !diagnostics.has_errors();
}

// What the fidelities need of the network and of its faults.
void Runs::check_networks(const std::vector<Side>& sides) {
  spec::Diagnostics& diagnostics = session_.diagnostics();
  std::vector<std::string> links;
  for (const std::string& each : fidelities_)
    if (each != "message") links.push_back(each);
  if (!links.empty()) check_network(session_, links, beside_, request_.run);
  if (beside_ != nullptr && has("message"))
    diagnostics.add(Complaint::contradiction, {}, "messages know no traffic beside them", "--fidelity packet");
  collective::Conditions slow;
  if (has("message") && !add_slow_nics(all_faults(session_, request_.run, diagnostics), session_.fabric(), slow))
    diagnostics.add(Complaint::contradiction, {}, "messages know no faults but NICs that are slow for good",
                    "--fidelity packet");
  for (const Side& side : sides)
    for (const auto& team : side.teams)
      if (!links.empty() && session_.cluster().file.transport.kind == "srd" &&
          team->group(0).site != team->group(team->ranks() - 1).site)
        return diagnostics.add(Complaint::srd_between_sites, {}, "a collective goes from one site to another, where SRD is not routed",
                               "GPUs of one site, or --set transport.kind=tcp");
  const bool several = sides.size() > 1 || fidelities_.size() > 1 || !request_.trace.empty();
  if (side_by_side() && several)
    diagnostics.add(Complaint::contradiction, {},
                    "algorithms side by side are shown for one job, with one fidelity and without a trace",
                    "--algorithms auto, or one name");
}

// What one job does for a size: the choices, NCCL's own first.
bool Runs::run_size(std::vector<Side>& sides, std::size_t index) {
  std::vector<std::vector<Choice>> choices;
  std::size_t most = 1;
  for (const Side& side : sides) {
    const Bytes size = side.job->sizes[std::min(index, side.job->sizes.size() - 1)];
    choices.push_back(choices_for(*side.teams[0], side.job->operation, static_cast<std::uint64_t>(size.count()), wanted_,
                                  *side.stack, request_.options.channels, by_links()));
    most = std::max(most, choices.back().size());
  }
  for (std::size_t i = 0; i < most; ++i) {
    std::vector<Choice> now;
    for (const auto& each : choices) now.push_back(each[std::min(i, each.size() - 1)]);
    if (!run_choice(sides, index, now)) return false;
  }
  return true;
}

bool Runs::run_choice(std::vector<Side>& sides, std::size_t index, const std::vector<Choice>& choices) {
  std::vector<CollectiveGroup> groups;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const Bytes size = sides[i].job->sizes[std::min(index, sides[i].job->sizes.size() - 1)];
    PlanOptions plan{.operation = sides[i].job->operation,
                     .bytes = static_cast<std::uint64_t>(size.count()),
                     .choice = choices[i],
                     .stack = sides[i].stack};
    plan.pxn = request_.options.pxn;
    for (std::size_t group = 0; group < sides[i].teams.size(); ++group) {
      plan.conditions = &sides[i].conditions[group];
      groups.push_back({sides[i].teams[group].get(), plan});
    }
  }
  for (std::size_t fidelity = 0; fidelity < fidelities_.size(); ++fidelity) {
    RunOptions run = request_.run;
    run.fidelity = fidelities_[fidelity];
    const std::size_t kept = !request_.trace.empty() && fidelity == 0 ? kMostTraced : 0;
    CollectiveTimes times = run_collectives(session_, groups, beside_, run, kept, watch_);
    stuck_ |= times.stuck;
    if (!watch_.stopped_by().empty() || stuck_) return false;
    if (times.too_many) {
      // A size is shown by all fidelities or by none, so that they can be compared.
      for (Side& side : sides)
        for (std::size_t other = 0; other < fidelity; ++other) side.rows[other].pop_back();
      console_.err << fmt::format("{} of {} ranks at {} would be too many messages for {} level: left out\n",
                                  collective::name(choices[0].algorithm), groups[0].team->ranks(),
                                  exact(Bytes(static_cast<std::int64_t>(groups[0].plan.bytes))), run.fidelity);
      return true;
    }
    if (kept > 0) {
      traced_ = std::move(times.messages);
      traced_all_ = !times.more_messages;
    }
    std::size_t at = 0;
    for (Side& side : sides) {
      const std::size_t end = at + side.teams.size();
      const auto slowest = std::max_element(
          times.rows.begin() + static_cast<std::ptrdiff_t>(at), times.rows.begin() + static_cast<std::ptrdiff_t>(end),
          [](const CollectiveRow& a, const CollectiveRow& b) { return a.time < b.time; });
      CollectiveRow row = *slowest;
      row.groups = static_cast<std::uint32_t>(side.teams.size());
      const bool first = side.rows[fidelity].empty() || side.rows[fidelity].back().bytes != row.bytes;
      row.chosen_by = wanted_.algorithms.empty() && first ? "auto" : "user";
      if (streams(sides)) print_row(side, row);
      side.rows[fidelity].push_back(std::move(row));
      at = end;
    }
  }
  return true;
}

int Runs::stopped() const {
  if (stuck_) {
    console_.err << "some of the collective waits for what never comes\n";
    return kExpectationFailed;
  }
  const bool interrupted = watch_.stopped_by() == "ctrl-c";
  console_.err << fmt::format("{}: the table is partial\n",
                              interrupted ? "interrupted" : "limit " + watch_.stopped_by() + " reached");
  return interrupted ? kInterrupted : kLimitReached;
}

void Runs::print_row(const Side& side, const CollectiveRow& row) const {
  if (request_.input.json)
    report::write_collective_record(row, head(side), console_.out);
  else
    report::write_collective_line(row, console_.out);
}

// All rows, where they were not printed as they came.
void Runs::print_rows(const Side& side) const {
  if (!request_.input.json) report::write_collective_head(head(side), console_.out);
  for (std::size_t row = 0; row < side.rows[0].size(); ++row)
    for (std::size_t fidelity = 0; fidelity < side.rows.size(); ++fidelity)
      if (row < side.rows[fidelity].size() && (request_.input.json || fidelity == 0))
        print_row(side, side.rows[fidelity][row]);
}

// What stands below them.
void Runs::print_foot(const Side& side) const {
  const bool several = side.rows.size() > 1 && side.rows.back().size() == side.rows[0].size() && !side.rows[0].empty();
  if (!request_.input.json) report::write_collective_foot(side.rows[0], console_.out);
  if (several && request_.input.json) report::write_difference_records(side.rows, console_.out);
  if (several && !request_.input.json) report::write_collective_differences(side.rows, console_.out);
}

int Runs::write_trace(const std::vector<Side>& sides) const {
  std::map<std::uint32_t, std::uint32_t> number;  // by GPU or switch
  std::vector<std::string> names;
  const fabric::Fabric& fabric = session_.fabric();
  const auto process = [&](std::uint32_t part) {
    const auto [found, is_new] = number.emplace(part, static_cast<std::uint32_t>(names.size()));
    if (is_new)
      names.push_back(part < session_.cluster().gpus ? fabric.name(fabric.gpu(part))
                                                     : fmt::format("switches {}", part - session_.cluster().gpus));
    return found->second;
  };
  std::vector<report::ChannelSlice> slices;
  for (const CollectiveMessage& each : traced_)
    slices.push_back({process(each.gpu), each.channel, process(each.peer), each.bytes, each.start, each.end});
  const int code = write_output(request_.trace, console_, [&](std::ostream& out) {
    report::write_channel_trace(names, std::move(slices), out);
  });
  const auto& rows = sides[0].rows[0];
  if (code == kFine && (!traced_all_ || rows.back().skipped_rounds > 0))
    console_.err << fmt::format("the trace has {} of the last size, and not all of it\n",
                                counted(static_cast<std::int64_t>(traced_.size()), "message"));
  return code;
}

int Runs::run(std::span<const CollectiveJob> jobs) {
  std::vector<Side> sides;
  for (const CollectiveJob& job : jobs) {
    sides.push_back(side_of(job));
    if (check(sides.back())) continue;
    app::report(session_.diagnostics(), request_.input, console_);
    return kYourInput;
  }
  check_networks(sides);
  if (app::report(session_.diagnostics(), request_.input, console_)) return kYourInput;
  std::size_t sizes = 0;
  for (Side& side : sides) {
    sizes = std::max(sizes, side.job->sizes.size());
    if (has("message"))
      for (collective::Conditions& each : side.conditions)
        add_slow_nics(all_faults(session_, request_.run, session_.diagnostics()), session_.fabric(), each);
  }
  bool whole = true;
  if (streams(sides) && !request_.input.json) report::write_collective_head(head(sides[0]), console_.out);
  for (std::size_t index = 0; whole && index < sizes; ++index) whole = run_size(sides, index);
  watch_.finish();
  for (const Side& side : sides) {
    if (side_by_side() && !request_.input.json) {
      report::write_algorithms_side_by_side(side.rows[0], console_.out);
      continue;
    }
    if (!streams(sides)) print_rows(side);
    if (whole || !streams(sides)) print_foot(side);
  }
  if (!whole) return stopped();
  for (const Side& side : sides) all_rows_.insert(all_rows_.end(), side.rows[0].begin(), side.rows[0].end());
  for (const Side& side : sides)
    if (!side.rows[0].empty())
      last_.emplace_back(name_of(*side.job) + (sides.size() > 1 ? " beside others" : "") + names_beside(beside_), side.rows[0].back());
  return request_.trace.empty() || sides[0].rows[0].empty() ? kFine : write_trace(sides);
}

}  // namespace

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

bool wants_collectives(const Session& session, const CollectiveOptions& options, const TrafficOptions& traffic) {
  if (!options.operation.empty()) return true;
  return !asks_for_traffic(traffic) && !collectives_of(session.cluster()).empty();
}

void check_collective_options(const RunOptions& run, const SimOutputOptions& output, std::uint32_t seeds,
                              spec::Diagnostics& diagnostics) {
  const auto forbid = [&](bool given, std::string_view option) {
    if (given)
      diagnostics.add(Complaint::contradiction, {}, fmt::format("{} is of flows, not of collectives", option),
                      "without it, or --pattern for flows");
  };
  forbid(!run.sample.empty(), "--sample");
  forbid(!run.capture.empty() || !output.pcap.empty(), "--pcap");
  forbid(!output.csv.empty(), "--csv");
  forbid(output.links.has_value() || output.flows || output.samples, "--links, --flows or --samples");
  forbid(seeds > 1, "--seeds");
}

namespace {

// Streams of the command line, else of the file, that run at the same time.
std::optional<Traffic> traffic_beside(Session& session, const CollectiveRequest& request) {
  const TrafficGround ground = ground_of(session, request.run.seed);
  const bool of_the_file = request.options.operation.empty() && !ground.streams.empty();
  if (request.streams.empty() && !of_the_file) return std::nullopt;
  TrafficOptions options;
  options.streams = request.streams;
  return load_traffic(options, ground, session.diagnostics());
}

}  // namespace

int sim_collectives(Session& session, const CollectiveRequest& request, const Limits& limits, Console& console) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  const CollectiveOptions& options = request.options;
  std::vector<CollectiveJob> jobs;
  if (options.operation.empty()) {
    jobs = collectives_of(session.cluster());
  } else if (const auto operation = collective::operation_named(options.operation)) {
    jobs.push_back({*operation,
                    request.gpus == 0 ? session.cluster().gpus : request.gpus,
                    parse_sizes(request.sizes.empty() ? "8B..8GiB" : request.sizes, diagnostics),
                    {}});
  } else {
    unknown("--collective", options.operation, names_of(collective::kOperations), diagnostics);
  }
  jobs = take_options(options, std::move(jobs), diagnostics);
  for (const CollectiveJob& job : jobs) {
    check_job(job, session.cluster(), diagnostics);
    stack_of(job, options.stack, session.cluster(), diagnostics);
  }
  const Wanted wanted = read_options(options, diagnostics);
  const std::optional<Traffic> beside = traffic_beside(session, request);
  const std::vector<std::string> fidelities =
      options.fidelity_given || beside ? parse_fidelities(request.run.fidelity) : std::vector<std::string>{"message"};
  if (const std::string why = why_not_write(options.plot, session.file()); !options.plot.empty() && !why.empty())
    diagnostics.add(Complaint::contradiction, {}, fmt::format("--plot {}: {}", options.plot, why), "another name");
  if (!request.trace.empty())
    if (const std::string why = why_not_write(request.trace, session.file()); !why.empty())
      diagnostics.add(Complaint::contradiction, {}, why, "another name for --trace");
  if (app::report(diagnostics, request.input, console)) return kYourInput;
  const CtrlC ctrl_c;
  std::vector<std::pair<std::string, CollectiveRow>> last;
  std::vector<CollectiveRow> rows;
  for (std::size_t first = 0; first < jobs.size();) {
    std::size_t end = first + 1;
    while (end < jobs.size() && jobs[end].alongside) ++end;
    // Beside traffic it says little how long it takes, unless it is known what it takes alone.
    for (const Traffic* with : beside ? std::vector<const Traffic*>{nullptr, &*beside} : std::vector<const Traffic*>{nullptr}) {
      if (with != nullptr && !request.input.json) console.out << fmt::format("# beside {}\n", with->name);
      Runs runs(session, request, wanted, fidelities, with, limits, console);
      if (const int code = runs.run(std::span(jobs).subspan(first, end - first)); code != kFine) return code;
      last.insert(last.end(), runs.last().begin(), runs.last().end());
      rows.insert(rows.end(), runs.rows().begin(), runs.rows().end());
    }
    first = end;
  }
  const auto same = [&](const auto& each) {
    return each.second.operation == last[0].second.operation && each.second.bytes == last[0].second.bytes;
  };
  if (!request.input.json && last.size() > 1 && std::all_of(last.begin(), last.end(), same))
    report::write_collective_verdict(last, console.out);
  if (options.plot.empty()) return kFine;
  return write_output(options.plot, console,
                      [&](std::ostream& out) { out << draw::to_svg(collective_plot(session.cluster().name, rows)); });
}

}  // namespace weft::app
