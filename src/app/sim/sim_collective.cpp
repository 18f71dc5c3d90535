#include "app/sim/sim_collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "app/build_info.hpp"
#include "app/ctrl_c.hpp"
#include "app/output.hpp"
#include "app/sim/collective_plot.hpp"
#include "app/sim/experiment_options.hpp"
#include "app/sim/progress.hpp"
#include "base/text.hpp"
#include "experiment/warnings.hpp"
#include "report/collective_table.hpp"
#include "report/collective_trace.hpp"
#include "report/sim_records.hpp"
#include "report/sim_summary.hpp"

namespace weft::app {
namespace {

using experiment::CollectiveJob;
using experiment::Collectives;
using experiment::Experiment;
using experiment::Fidelity;
using experiment::Outcome;
using report::CollectiveRow;
using spec::Error;

constexpr std::size_t kDevicesShown = 64;
constexpr std::size_t kMostTraced = 200'000;  // messages: what a viewer opens in a moment

const Collectives& work_of(const Experiment& experiment) { return std::get<Collectives>(*experiment.workload); }

std::string name_of(const CollectiveJob& job) {
  return (job.on.empty() ? counted(job.gpus, "GPU") : "GPUs " + job.on) +
         (job.split.empty() ? "" : " split " + job.split);
}

std::string names_beside(const Collectives& work) {
  std::string names;
  if (!work.beside) return names;
  for (const experiment::TrafficStream& each : work.beside->streams)
    names += (names.empty() ? " beside " : ", ") + each.run.name;
  return names;
}

report::CollectiveHead head_of(const CollectiveJob& job, const std::vector<Fidelity>& fidelities,
                               const Session& session) {
  report::CollectiveHead made;
  made.version = build_info().version;
  made.cluster = session.cluster().name;
  made.operation = collective::name(job.operation);
  const auto [least, most] = std::minmax_element(job.sizes.begin(), job.sizes.end());
  made.min_bytes = static_cast<std::uint64_t>(least->count());
  made.max_bytes = static_cast<std::uint64_t>(most->count());
  const fabric::Fabric& fabric = session.fabric();
  spec::Diagnostics nothing;  // they were found before
  std::uint32_t shown = 0;
  std::size_t number = 0;
  for (const Fidelity each : fidelities) made.level += (made.level.empty() ? "" : ", ") + std::string(name(each));
  std::set<std::uint32_t> servers;
  for (const std::vector<std::uint32_t>& group : experiment::groups_of(job, session.cluster(), nothing)) {
    made.ranks += static_cast<std::uint32_t>(group.size());
    for (const std::uint32_t gpu : group) servers.insert(fabric.describe(fabric.gpu(gpu)).server);
    for (std::size_t rank = 0; rank < group.size() && shown < kDevicesShown; ++rank, ++shown) {
      const fabric::Node node = fabric.describe(fabric.gpu(group[rank]));
      const std::string gpu = fabric.name(fabric.gpu(group[rank]));
      made.devices.push_back(fmt::format("Group {:2} Pid {:6} on {:>10} device {:2} [{}] {}", number, shown,
                                         gpu.substr(0, gpu.find('/')), node.local, gpu,
                                         session.cluster().groups[node.group].spec.gpu.kind));
    }
    ++number;
  }
  made.servers = static_cast<std::uint32_t>(servers.size());
  return made;
}

// One experiment: jobs at the same time, with every fidelity, and the tables that come of it.
class CollectiveTables {
 public:
  CollectiveTables(const Session& session, const SimOptions& options, Experiment experiment,
                   const std::vector<Fidelity>& fidelities, Console& console)
      : session_(session),
        options_(options),
        experiment_(std::move(experiment)),
        work_(work_of(experiment_)),
        fidelities_(fidelities),
        console_(console) {
    for (const CollectiveJob& job : work_.jobs) heads_.push_back(head_of(job, fidelities, session));
  }

  int run() {
    if (work_.beside && !json()) console_.out << fmt::format("# beside {}\n", work_.beside->name);
    if (prints_as_it_goes() && !json()) report::write_collective_head(heads_[0], console_.out, narrow());
    for (const Fidelity fidelity : fidelities_) {
      outcomes_.push_back(run_with(fidelity));
      if (!outcomes_.back().stopped_by.empty() || outcomes_.back().stuck) break;
    }
    say_what_is_left_out();
    const Outcome& last = outcomes_.back();
    const bool whole = last.stopped_by.empty() && !last.stuck;
    for (std::size_t job = 0; job < work_.jobs.size(); ++job) print(job, whole);
    print_links();
    if (!whole) return stopped(last);
    return options_.output.trace.empty() || first().rows[0].empty() ? kFine : write_trace();
  }

  // The last row of each job, and what the job is called; none where nothing ran.
  std::vector<std::pair<std::string, CollectiveRow>> last() const {
    std::vector<std::pair<std::string, CollectiveRow>> made;
    for (std::size_t job = 0; job < work_.jobs.size(); ++job)
      if (!first().rows[job].empty())
        made.emplace_back(
            name_of(work_.jobs[job]) + (work_.jobs.size() > 1 ? " beside others" : "") + names_beside(work_),
            first().rows[job].back());
    return made;
  }
  // Of the first fidelity.
  std::vector<CollectiveRow> rows() const {
    std::vector<CollectiveRow> all;
    for (const auto& each : first().rows) all.insert(all.end(), each.begin(), each.end());
    return all;
  }

 private:
  bool json() const { return options_.input.json; }
  bool narrow() const {
    return !options_.output.wide && console_.width > 0 && console_.width < report::kNcclTestsWidth;
  }
  const Outcome& first() const { return outcomes_[0]; }
  bool prints_as_it_goes() const {
    return work_.jobs.size() == 1 && fidelities_.size() == 1 && !work_.choice.side_by_side();
  }

  Outcome run_with(Fidelity fidelity) {
    experiment_.fidelity = fidelity;
    experiment_.wanted.links = options_.output.links.has_value();
    experiment_.wanted.messages = !options_.output.trace.empty() && outcomes_.empty() ? kMostTraced : 0;
    RunProgress progress([] { return std::uint64_t{0}; }, console_);
    progress.count_sizes(work_.jobs[0].sizes.size());
    experiment::Observer observer = progress.observer();
    const auto begin = observer.clock();
    std::uint64_t before = 0;  // a size has a row for each algorithm
    observer.row = [&, clock = observer.clock](std::size_t job, const CollectiveRow& row) {
      if (job == 0 && std::exchange(before, row.bytes) != row.bytes) progress.size_done(clock() - begin);
      if (!prints_as_it_goes()) return;
      progress.clear();
      print_row(job, row);
    };
    return experiment::run(session_.design(), experiment_, observer);
  }

  // A size is shown by all fidelities or by none, so that they can be compared.
  void say_what_is_left_out() {
    for (std::size_t i = 0; i < outcomes_.size(); ++i)
      for (const experiment::LeftOut& size : outcomes_[i].left_out) {
        console_.err << fmt::format("{} of {} ranks at {} would be too many messages for {} level: left out\n",
                                    collective::name(size.algorithm), size.ranks,
                                    exact(Bytes(static_cast<std::int64_t>(size.bytes))), name(fidelities_[i]));
        for (Outcome& other : outcomes_)
          for (auto& rows : other.rows)
            if (fidelities_.size() > 1)
              std::erase_if(rows, [&](const CollectiveRow& row) { return row.bytes == size.bytes; });
      }
  }

  void print_row(std::size_t job, const CollectiveRow& row) const {
    if (json())
      report::write_collective_record(row, heads_[job], console_.out);
    else
      report::write_collective_line(row, console_.out, narrow());
  }

  void print(std::size_t job, bool whole) const {
    if (work_.choice.side_by_side() && !json())
      return report::write_algorithms_side_by_side(first().rows[job], console_.out, narrow());
    if (!prints_as_it_goes()) print_rows(job);
    if (whole || !prints_as_it_goes()) print_foot(job);
  }

  // All rows, where they were not printed as they came.
  void print_rows(std::size_t job) const {
    if (!json()) report::write_collective_head(heads_[job], console_.out, narrow());
    for (std::size_t row = 0; row < first().rows[job].size(); ++row)
      for (const Outcome& each : outcomes_)
        if (row < each.rows[job].size() && (json() || &each == &first())) print_row(job, each.rows[job][row]);
  }

  // What stands below them.
  void print_foot(std::size_t job) const {
    std::vector<std::vector<CollectiveRow>> by_fidelity;
    for (const Outcome& each : outcomes_) by_fidelity.push_back(each.rows[job]);
    const bool several =
        by_fidelity.size() > 1 && by_fidelity.back().size() == by_fidelity[0].size() && !by_fidelity[0].empty();
    if (!json()) report::write_collective_foot(by_fidelity[0], console_.out, narrow());
    if (several && json()) report::write_difference_records(by_fidelity, console_.out);
    if (several && !json()) report::write_collective_differences(by_fidelity, console_.out);
  }

  // Of the last size, by the first fidelity that knows them.
  void print_links() const {
    for (const Outcome& each : outcomes_) {
      if (each.result.links.empty()) continue;
      if (json()) return report::write_link_records(each.result, *options_.output.links, console_.out);
      console_.out << report::links_text(each.result, *options_.output.links, console_.width, console_.colour_out);
      const CollectiveRow& last = each.rows[0].back();
      console_.out << fmt::format(
          "of {}, level {}{}\n", brief(Bytes(static_cast<std::int64_t>(last.bytes))), name(last.fidelity),
          last.skipped_rounds > 0 ? "; rounds that only repeat were not simulated, nor counted" : "");
      return;
    }
  }

  int stopped(const Outcome& outcome) const {
    if (outcome.stuck) {
      console_.err << "some of the collective waits for what never comes\n";
      return kExpectationFailed;
    }
    const bool interrupted = outcome.stopped_by == experiment::kStoppedByObserver;
    console_.err << fmt::format("{}: the table is partial\n",
                                interrupted ? "interrupted" : "limit " + outcome.stopped_by + " reached");
    return interrupted ? kInterrupted : kLimitReached;
  }

  // The messages of the last size, for ui.perfetto.dev.
  int write_trace() const {
    std::map<std::uint32_t, std::uint32_t> number;  // by GPU or switch
    std::vector<std::string> names;
    const fabric::Fabric& fabric = session_.fabric();
    const std::uint32_t gpus = session_.cluster().gpus;
    const auto process = [&](std::uint32_t part) {
      const auto [found, is_new] = number.emplace(part, static_cast<std::uint32_t>(names.size()));
      if (is_new)
        names.push_back(part < gpus ? fabric.name(fabric.gpu(part)) : fmt::format("switches {}", part - gpus));
      return found->second;
    };
    std::vector<report::ChannelSlice> slices;
    for (const experiment::CollectiveMessage& each : first().messages)
      slices.push_back({process(each.gpu), each.channel, process(each.peer), each.bytes, each.start, each.end});
    const int code = write_output(options_.output.trace, console_, [&](std::ostream& out) {
      report::write_channel_trace(names, std::move(slices), out);
    });
    if (code == kFine && (first().more_messages || first().rows[0].back().skipped_rounds > 0))
      console_.err << fmt::format("the trace has {} of the last size, and not all of it\n",
                                  counted(static_cast<std::int64_t>(first().messages.size()), "message"));
    return code;
  }

  const Session& session_;
  const SimOptions& options_;
  Experiment experiment_;
  const Collectives& work_;
  std::vector<Fidelity> fidelities_;
  Console& console_;
  std::vector<report::CollectiveHead> heads_;  // by job
  std::vector<Outcome> outcomes_;              // by fidelity
};

// What is of flows, or cannot be written.
void check_options(const SimOptions& options, const std::filesystem::path& file, spec::Diagnostics& diagnostics) {
  const auto forbid = [&](bool given, std::string_view option) {
    if (given)
      diagnostics.add(Error::contradiction, {}, fmt::format("{} applies to flows, not to collectives", option),
                      "without it, or --pattern for flows");
  };
  const SimOutputOptions& output = options.output;
  forbid(!options.run.sample.empty(), "--sample");
  forbid(!options.run.capture.empty() || !output.pcap.empty(), "--pcap");
  forbid(!output.csv.empty(), "--csv");
  forbid(!output.metrics.empty(), "--metrics");
  forbid(output.flows || output.samples, "--flows or --samples");
  forbid(options.seeds > 1, "--seeds");
  for (const std::string& why :
       file_conflicts({{"", file}}, {{"--plot", options.work.collective.plot}, {"--trace", output.trace}}))
    diagnostics.add(Error::contradiction, {}, why, "another name");
}

// Whether the design can do all of it, before any of it runs.
void check_experiments(const SimOptions& options, const std::vector<Experiment>& experiments,
                       const std::vector<Fidelity>& fidelities, Session& session) {
  for (const Experiment& each : experiments) {
    experiment::check(session.design(), each, fidelities);
    const bool several = work_of(each).jobs.size() > 1 || fidelities.size() > 1 || !options.output.trace.empty();
    if (work_of(each).choice.side_by_side() && several)
      session.diagnostics().add(Error::contradiction, {},
                                "algorithms side by side are shown for one job, with one fidelity and without a trace",
                                "--algorithms auto, or one name");
    if (session.diagnostics().has_errors()) return;
  }
  check_links(options.output.links.has_value(), experiments, fidelities, session.diagnostics());
}

// The job that others are beside (--beside) runs alone first, so that it can be seen what they cost it.
std::vector<Experiment> with_alone(std::vector<Experiment> experiments) {
  std::vector<Experiment> all;
  for (Experiment& each : experiments) {
    if (work_of(each).jobs.size() > 1) {
      Collectives alone = work_of(each);
      alone.jobs.resize(1);
      all.push_back(each);
      all.back().workload = std::make_shared<const experiment::Workload>(std::move(alone));
    }
    all.push_back(std::move(each));
  }
  return all;
}

}  // namespace

int sim_collectives(Session& session, const SimOptions& options, std::vector<Experiment> experiments,
                    Console& console) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  check_options(options, session.file(), diagnostics);
  if (report(diagnostics, options.input, console)) return kYourInput;
  const std::vector<Fidelity> fidelities = fidelities_of(options.run, experiments);
  check_experiments(options, experiments, fidelities, session);
  if (report(diagnostics, options.input, console)) return kYourInput;
  if (!can_be_written({options.work.collective.plot, options.output.trace}, console)) return kThisMachine;
  print_warnings(session, experiments.back(), fidelities, options.input, console);
  if (!options.input.json && !experiment::collective_warnings(session.design()).empty())
    console.out << "# which algorithms these accelerators take is not known: NCCL's stand in for them\n";
  if (!options.work.collective.beside.empty() && options.output.trace.empty())
    experiments = with_alone(std::move(experiments));
  const CtrlC ctrl_c;
  std::vector<std::pair<std::string, CollectiveRow>> last;
  std::vector<CollectiveRow> rows;
  for (Experiment& each : experiments) {
    CollectiveTables tables(session, options, std::move(each), fidelities, console);
    if (const int code = tables.run(); code != kFine) return code;
    for (auto& row : tables.last()) last.push_back(std::move(row));
    for (CollectiveRow& row : tables.rows()) rows.push_back(std::move(row));
  }
  const auto same = [&](const auto& each) {
    return each.second.operation == last[0].second.operation && each.second.bytes == last[0].second.bytes;
  };
  if (!options.input.json && last.size() > 1 && std::all_of(last.begin(), last.end(), same))
    report::write_collective_verdict(last, console.out);
  const std::string& plot = options.work.collective.plot;
  if (plot.empty()) return kFine;
  return write_output(plot, console,
                      [&](std::ostream& out) { out << draw::to_svg(collective_plot(session.cluster().name, rows)); });
}

}  // namespace weft::app
