#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/ctrl_c.hpp"
#include "app/session.hpp"
#include "app/sim/experiment_options.hpp"
#include "app/sim/graph_output.hpp"
#include "app/sim/progress.hpp"
#include "app/sim/run_info.hpp"
#include "app/sim/sim_collective.hpp"
#include "app/sim/sim_output.hpp"
#include "app/sim/sim_training.hpp"
#include "base/text.hpp"
#include "experiment/network.hpp"
#include "report/fidelity.hpp"

namespace weft::app {
namespace {

using experiment::Experiment;
using experiment::Fidelity;
using experiment::Traffic;
using schedule::RunResult;

int exit_code(const RunResult& result, const Traffic& traffic, Console& console) {
  if (result.stopped_by.empty()) {
    // That messages which nobody repeats are lost is a result.
    const auto as_it_should = [](const schedule::FlowRecord& flow) { return report::is_done(flow) || flow.unanswered; };
    const auto done = static_cast<std::uint64_t>(std::count_if(result.flows.begin(), result.flows.end(), as_it_should));
    if (result.flows.size() < traffic.flows)
      console.err << fmt::format("{} never started: they wait for {}\n",
                                 counted(static_cast<std::int64_t>(traffic.flows - result.flows.size()), "flow"),
                                 traffic.matrix  ? "a trigger"
                                 : traffic.graph ? "what never comes"
                                                 : "others to be done");
    if (done < result.flows.size())
      console.err << fmt::format("{} did not get through\n",
                                 counted(static_cast<std::int64_t>(result.flows.size() - done), "flow"));
    if (result.unfinished > 0) console.err << "some of the work waits for what never comes\n";
    return result.unfinished == 0 && done == std::max<std::uint64_t>(traffic.flows, result.flows.size())
               ? kFine
               : kExpectationFailed;
  }
  if (!result.deadlock.empty()) {
    console.err << fmt::format("deadlock at {}: these ports wait for each other for ever\n", brief(result.end));
    return kExpectationFailed;
  }
  const bool interrupted = result.stopped_by == experiment::kStoppedByObserver;
  console.err << fmt::format("{}: the result is partial\n",
                             interrupted ? "interrupted" : "limit " + result.stopped_by + " reached");
  return interrupted ? kInterrupted : kLimitReached;
}

int explain_nothing(const RunResult& result, const Traffic& traffic, Console& console) {
  if (!result.stopped_by.empty()) return exit_code(result, traffic, console);
  console.err << (traffic.matrix
                      ? "no flow ever started: every one waits for a trigger\n"
                      : "no flow began in that time: a longer --duration, a higher --load or smaller flows\n");
  return kExpectationFailed;
}

void print_difference(const InputOptions& input, std::uint64_t seed, const std::vector<report::FidelityRun>& ran,
                      bool first, Console& console) {
  if (input.json) report::write_difference(seed, ran, console.out);
  if (!input.json && first) console.out << "\n" << report::difference_text(ran, console.width, console.colour_out);
}

// A fault that comes too late says nothing of what it would have done.
void print_late_faults(const std::vector<model::FaultSpec>& faults, const RunResult& result, Console& console) {
  if (console.quiet || !result.stopped_by.empty()) return;
  for (const model::FaultSpec& fault : faults)
    if (fault.at >= result.end && fault.at > Duration(0))
      console.err << fmt::format("fault of {} at {}: all was over after {}, before it began\n", fault.part,
                                 brief(fault.at), brief(result.end));
}

void print_speed(const RunResult& result, double seconds, Console& console) {
  if (console.width > 0 && !console.quiet && result.counters.packet_hops > 0)  // somebody is watching
    console.err << fmt::format("{:.2f} s, {:.1f} M packet-hops/s\n", seconds,
                               static_cast<double>(result.counters.packet_hops) / 1e6 / seconds);
}

// One seed with every fidelity; the first is told of in full.
class SeedRun {
 public:
  SeedRun(const SimOptions& options, Session& session, Experiment& experiment, bool first_seed, Console& console)
      : options_(options), session_(session), experiment_(experiment), first_seed_(first_seed), console_(console) {}

  int run(const std::vector<Fidelity>& fidelities) {
    int code = kFine;
    for (const Fidelity fidelity : fidelities) {
      code = std::max(code, run_with(fidelity));
      if (code > kExpectationFailed || ran_.empty()) return code;
    }
    if (ran_.size() > 1) print_difference(options_.input, experiment_.seed, ran_, first_seed_, console_);
    return code;
  }
  // When the first was done; nothing: no flow ever began.
  std::optional<std::int64_t> end() const { return ran_.empty() ? std::nullopt : std::optional(ran_[0].end.count()); }

 private:
  int run_with(Fidelity fidelity) {
    const auto begin = std::chrono::steady_clock::now();
    const bool first = ran_.empty();
    experiment_.fidelity = fidelity;
    experiment_.wanted.links = first && wants_links(options_.output, options_.input);
    report::RunInfo info = run_info(session_, options_.input, options_.run, experiment_);
    const Traffic& traffic = std::get<Traffic>(*experiment_.workload);
    const experiment::Outcome outcome = watched_run(traffic);
    const RunResult& result = outcome.result;
    info.sample_interval = std::max(info.sample_interval, result.sample_interval);  // coarser where there was no room
    if (result.flows.empty() && !traffic.graph) return explain_nothing(result, traffic, console_);
    if (options_.input.json || (first && first_seed_)) {
      if (!result.flows.empty() || options_.input.json)
        print_result(options_.output, options_.input, info, result, session_, console_);
      if (traffic.graph) print_graph(*traffic.graph, outcome, options_.input.json, console_);
    }
    if (first && first_seed_)
      print_late_faults(experiment::all_faults(session_.design(), experiment_), result, console_);
    if (first_seed_)
      print_speed(result, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), console_);
    const int code = exit_code(result, traffic, console_);
    ran_.push_back({fidelity, result.end, report::summarise(result).completion});
    // Files are of the first fidelity, of which all is told.
    return std::max(code, first ? write_files(options_.output, info, outcome, session_, console_) : kFine);
  }

  experiment::Outcome watched_run(const Traffic& traffic) {
    RunProgress progress([&] { return traffic.total_bytes(); }, console_);
    return experiment::run(session_.design(), experiment_, progress.observer());
  }

  const SimOptions& options_;
  Session& session_;
  Experiment& experiment_;
  bool first_seed_;
  Console& console_;
  std::vector<report::FidelityRun> ran_;
};

int sim_traffic(const SimOptions& options, Session& session, Experiment experiment, Console& console) {
  check_outputs(options.output, options.input, options.run, options.seeds, file_of(options.work, session.design()),
                session);
  const std::vector<Fidelity> fidelities = fidelities_of(options.run, {experiment});
  if (!session.diagnostics().has_errors()) experiment::check(session.design(), experiment, fidelities);
  if (report(session.diagnostics(), options.input, console)) return kYourInput;
  if (!outputs_can_be_written(options.output, console)) return kThisMachine;
  print_warnings(session, experiment, fidelities, options.input, console);

  const CtrlC ctrl_c;
  int code = kFine;
  std::int64_t least = INT64_MAX;
  std::int64_t most = 0;
  for (std::uint32_t number = 0; number < options.seeds && code <= kExpectationFailed; ++number) {
    SeedRun run(options, session, experiment, number == 0, console);
    code = std::max(code, run.run(fidelities));
    if (!run.end()) return code;
    least = std::min(least, *run.end());
    most = std::max(most, *run.end());
    ++experiment.seed;
  }
  if (options.seeds > 1 && code <= kExpectationFailed && !options.input.json)
    console.out << fmt::format("over {}: {} between {} and {}\n", counted(options.seeds, "seed"),
                               code == kFine ? "all done" : "ended", brief(Duration(least)), brief(Duration(most)));
  return code;
}

}  // namespace

int sim(const SimOptions& options, Console& console) {
  Session session(options.input, console);
  if (!session.ok()) return kYourInput;
  spec::Diagnostics& diagnostics = session.diagnostics();
  const experiment::Limits limits = experiment::parse_limits(options.limit, diagnostics);
  std::vector<Experiment> experiments = make_experiments(
      load_work(options.work, experiment::ground_of(session.design(), options.run.seed), session.design()), options.run,
      limits, session.design());
  if (experiments.empty()) {
    if (wants_collectives(session.cluster(), options.work))
      return sim_collectives(session, options, std::move(experiments), console);
    check_outputs(options.output, options.input, options.run, options.seeds, file_of(options.work, session.design()),
                  session);
    report(diagnostics, options.input, console);
    return kYourInput;
  }
  // Each kind of work is told of in a file of its own.
  const std::shared_ptr<const experiment::Workload> work = experiments[0].workload;
  return std::visit(
      experiment::Match{
          [&](const Traffic&) { return sim_traffic(options, session, std::move(experiments[0]), console); },
          [&](const experiment::Collectives&) {
            return sim_collectives(session, options, std::move(experiments), console);
          },
          [&](const experiment::Training&) { return sim_training(session, options, std::move(experiments), console); },
      },
      *work);
}

}  // namespace weft::app
