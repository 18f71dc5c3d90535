#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include "app/build_info.hpp"
#include "app/commands.hpp"
#include "app/ctrl_c.hpp"
#include "app/output.hpp"
#include "app/session.hpp"
#include "app/show/shown_costs.hpp"
#include "app/sim/experiment_options.hpp"
#include "app/sim/progress.hpp"
#include "app/sim/run_info.hpp"
#include "app/sweep/compared_run.hpp"
#include "app/sweep/sweep_grid.hpp"
#include "app/sweep/sweep_pool.hpp"
#include "app/sweep/sweep_progress.hpp"
#include "app/sweep/sweep_store.hpp"
#include "base/text.hpp"
#include "draw/timeline.hpp"
#include "experiment/fingerprint.hpp"
#include "experiment/warnings.hpp"
#include "report/sim_summary.hpp"
#include "report/sweep.hpp"
#include "report/table.hpp"
#include "spec/files.hpp"

namespace weft::app {
namespace {

using experiment::Experiment;
using experiment::Fingerprint;
using report::ComparedRun;
using spec::Error;

constexpr std::uint64_t kMostRuns = 100'000;

struct Point {
  std::string label;
  InputOptions input;
  std::unique_ptr<Session> session;
  std::size_t first_job = 0;  // of one per seed; none where there is an
  std::string error;
};

// One run: a point and a seed.
struct Job {
  std::size_t point = 0;
  std::uint64_t seed = 0;
  std::vector<Experiment> experiments;  // flows, or collectives one after the other
  std::uint64_t inputs = 0;             // what its line in the file is found by
  std::optional<ComparedRun> result;
  std::string stopped_by;
  std::string trouble;  // of a run that was stopped
};

std::vector<std::string> keys_of(const Grid& grid) {
  std::vector<std::string> keys;
  for (const Axis& axis : grid.axes()) keys.push_back(axis.key);
  return keys;
}

// The errors of all points as one list, each of them once: a wrong key is wrong in every point.
class PointErrors {
 public:
  void add(const spec::Diagnostics& from) {
    for (const spec::Diagnostic& d : from.sorted()) {
      if (spec::info(d.error).severity() == spec::Severity::warning) continue;
      const std::string name = d.place.source == 0 ? "" : from.sources().name(d.place.source);
      if (!known_.emplace(name, d.place.line, d.place.column, d.message, d.help).second) continue;
      spec::Place place = d.place;
      if (place.source != 0) place.source = all_.sources().add(name, from.sources().text(place.source));
      all_.add(d.error, place, d.message, d.help);
    }
  }
  spec::Diagnostics& all() { return all_; }

 private:
  spec::Diagnostics all_;
  std::set<std::tuple<std::string, std::uint32_t, std::uint32_t, std::string, std::string>> known_;
};

std::uint64_t catalog_fingerprint(const std::string& directory) {
  Fingerprint fingerprint;
  std::set<std::filesystem::path> files;
  std::error_code fault;
  if (!directory.empty())
    for (const auto& item : std::filesystem::directory_iterator(directory, fault)) files.insert(item.path());
  for (const auto& path : files) {
    spec::Diagnostics scratch;
    if (const auto source = spec::load_file(path, scratch)) fingerprint.add(scratch.sources().text(*source));
  }
  return fingerprint.value();
}

class Sweeper {
 public:
  Sweeper(const SweepOptions& options, Console& console) : options_(options), console_(console) {}

  int run() {
    grid_ = Grid(options_.over, errors_.all());
    limits_ = experiment::parse_limits(options_.limit, errors_.all());
    if (grid_.points() * options_.seeds > kMostRuns)
      errors_.all().add(
          Error::out_of_range, {},
          fmt::format("{} runs are too many", grouped(static_cast<std::int64_t>(grid_.points() * options_.seeds))),
          fmt::format("at most {}, with fewer points or --seeds", grouped(kMostRuns)));
    if (options_.links && !options_.out.empty())
      errors_.all().add(Error::contradiction, {}, "--out keeps no links of runs, so --links could not show all",
                        "one of the two; or --links of weft sim, at the point that matters");
    SweepStore store(options_.out, errors_.all());
    if (report(errors_.all(), options_.input, console_)) return kYourInput;
    if (!load_points()) return kYourInput;
    if (!can_be_written({options_.csv, options_.plot}, console_)) return kThisMachine;
    if (const std::string why = store.begin(); !why.empty()) {
      console_.err << why << "\n";
      return kThisMachine;
    }
    warn();
    run_all(store);
    print();
    return explain(store);
  }

 private:
  // Every point is looked at before any runs, and what is wrong with it said; false when that leaves none.
  bool load_points() {
    std::vector<std::string> wrong;
    for (std::size_t i = 0; i < grid_.points(); ++i) {
      Point point = point_of(i);
      spec::Diagnostics unloaded;
      point.session = std::make_unique<Session>(point.input, unloaded);
      point.first_job = jobs_.size();
      if (point.session->ok()) plan_runs(i, *point.session, point.input);
      const spec::Diagnostics& said = point.session->ok() ? point.session->diagnostics() : unloaded;
      if (said.has_errors()) {
        wrong.push_back(point.label);
        point.error = first_error(said);
        jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(point.first_job), jobs_.end());
      }
      errors_.add(said);
      points_.push_back(std::move(point));
    }
    if (wrong.empty()) return true;
    const bool none = wrong.size() == grid_.points();
    if (none || !options_.input.json) report(errors_.all(), options_.input, console_);  // else the record has them
    if (!options_.input.json)
      console_.err << fmt::format("so {} of {} cannot run{}\n", wrong.size(),
                                  counted(static_cast<std::int64_t>(grid_.points()), "point"),
                                  none ? "" : ": " + wrong[0] + (wrong.size() > 1 ? " and others" : ""));
    return !none;
  }

  // Points that differ in nothing that matters for it are warned of the same: the first of them stands for all.
  void warn() {
    std::set<std::string> said;
    for (const Point& point : points_) {
      if (!point.error.empty()) continue;
      const Experiment& last = jobs_[point.first_job].experiments.back();
      const auto warnings = experiment::warnings_of(point.session->design(), last, {last.fidelity});
      const auto is_new = [&](const spec::Diagnostic& each) { return said.insert(each.message).second; };
      if (std::count_if(warnings.begin(), warnings.end(), is_new) > 0)
        print_warnings(*point.session, last, {last.fidelity}, point.input, console_, point.label);
    }
  }

  static std::string first_error(const spec::Diagnostics& diagnostics) {
    for (const spec::Diagnostic& each : diagnostics.sorted())
      if (spec::info(each.error).severity() != spec::Severity::warning) return each.message;
    return "";
  }

  Point point_of(std::size_t index) const {
    const std::vector<std::string> values = grid_.values(index);
    Point point{report::point_label(keys_of(grid_), values), options_.input, nullptr, 0, {}};
    for (std::size_t i = 0; i < values.size(); ++i) point.input.set.push_back(grid_.axes()[i].key + "=" + values[i]);
    return point;
  }

  void plan_runs(std::size_t index, Session& session, const InputOptions& input) {
    const std::vector<NamedFile> read = {{"", session.file()}, file_of(options_.work, session.design())};
    const std::vector<NamedFile> written = {
        {"--out", options_.out}, {"--csv", options_.csv}, {"--plot", options_.plot}};
    for (const std::string& why : file_conflicts(read, written))
      session.diagnostics().add(Error::contradiction, {}, why, "another name");
    const std::uint64_t catalog = catalog_fingerprint(input.catalog);
    for (std::uint32_t i = 0; i < options_.seeds && !session.diagnostics().has_errors(); ++i) {
      RunOptions run = options_.run;
      run.threads = 1;  // the cores are busy with other points
      run.seed += i;
      Job job{index, run.seed, work_for(session, run), 0, {}, {}, {}};
      if (job.experiments.empty()) return;
      for (Experiment& each : job.experiments) each.wanted.links = options_.links.has_value();
      if (i == 0) {
        check_experiments(job.experiments, session.design());
        check_links(options_.links.has_value(), job.experiments, {job.experiments.back().fidelity},
                    session.diagnostics());
      }
      Fingerprint inputs;
      for (const Experiment& each : job.experiments) inputs.add(run_info(session, input, run, each).configuration);
      inputs.add(catalog);
      job.inputs = inputs.value();
      jobs_.push_back(std::move(job));
    }
  }

  // Points of equal size share what a file says is sent, which may be large. (Chakra's traces may take the GPU's
  // rates.)
  std::vector<Experiment> work_for(Session& session, const RunOptions& run) {
    experiment::Design& design = session.design();
    const bool of_a_file = !file_of(options_.work.traffic).path.empty() && options_.work.traffic.chakra.empty();
    const experiment::TrafficGround ground = experiment::ground_of(design, of_a_file ? options_.run.seed : run.seed);
    auto& known = matrices_[ground.gpus];
    std::vector<experiment::Workload> work;
    if (!known || !of_a_file) work = load_work(options_.work, ground, design);
    if (known && of_a_file) work.emplace_back();
    std::vector<Experiment> made = make_experiments(std::move(work), run, limits_, design);
    if (!of_a_file || made.empty()) return made;
    if (!known) known = made[0].workload;
    made[0].workload = known;
    return made;
  }

  void run_all(SweepStore& store) {
    std::vector<Job*> missing;
    for (Job& job : jobs_) {
      if (const ComparedRun* known = store.find(job.inputs, job.seed)) {
        job.result = *known;
      } else {
        missing.push_back(&job);
      }
    }
    if (missing.size() < jobs_.size())
      console_.err << fmt::format("{} of {} stand in {} already\n", jobs_.size() - missing.size(),
                                  counted(static_cast<std::int64_t>(jobs_.size()), "run"), options_.out);
    const CtrlC ctrl_c;
    SweepProgress progress(missing.size(), console_);
    const auto work = [&](std::size_t i) { return !CtrlC::pressed() && run_one(*missing[i], store); };
    const unsigned workers = options_.run.threads == 0 ? std::thread::hardware_concurrency() : options_.run.threads;
    const std::string fewer = run_jobs({workers, work, [&](std::size_t done) { progress.show(done); }}, missing.size());
    progress.finish();
    if (!fewer.empty()) console_.err << fewer << "\n";
    interrupted_ = CtrlC::pressed();
  }

  // In a thread of the pool. A run that was stopped is not kept: with another limit it may get through.
  bool run_one(Job& job, SweepStore& store) {
    const Point& point = points_[job.point];
    std::vector<experiment::Outcome> outcomes;
    for (const Experiment& each : job.experiments) {
      outcomes.push_back(experiment::run(point.session->design(), each, silent_observer()));
      job.stopped_by = outcomes.back().stopped_by;
      if (job.stopped_by == experiment::kStoppedByObserver) return false;
      if (!job.stopped_by.empty() || outcomes.back().stuck) break;
    }
    ComparedRun run = compared_run(job.seed, *job.experiments[0].workload, outcomes);
    if (options_.links) run.links = busiest_links(outcomes.back().result, *options_.links);
    if (!job.stopped_by.empty()) {
      job.trouble = run.trouble;
      return true;
    }
    job.result = std::move(run);
    // Who waits for what never comes has at least one flow that is not done.
    report::SimSummary& summary = job.result->summary;
    if (outcomes[0].result.unfinished > 0) summary.flows = std::max(summary.flows, summary.done + summary.lost + 1);
    const std::string why = store.append(job.inputs, point.label, *job.result);
    if (why.empty()) return true;
    const std::lock_guard lock(unwritten_mutex_);
    unwritten_ = why;
    return false;
  }

  report::SweptPoint swept(std::size_t index) const {
    const Point& point = points_[index];
    report::SweptPoint out{grid_.values(index), {}, {}, {}};
    out.variant.label = point.label;
    out.variant.info.version = build_info().version;
    out.variant.info.commit = build_info().commit;
    if (!point.error.empty()) {
      out.trouble = report::kCannotRun;
      out.detail = point.error;
      return out;
    }
    out.variant.costs = shown_costs(*point.session);
    const Job& first = jobs_[point.first_job];
    out.variant.info = run_info(*point.session, point.input, options_.run, first.experiments.back());
    for (std::uint32_t i = 0; i < options_.seeds; ++i) add_run(jobs_[point.first_job + i], out);
    return out;
  }

  static void add_run(const Job& job, report::SweptPoint& out) {
    if (job.result) {
      const report::SimSummary& summary = job.result->summary;
      out.variant.runs.push_back(*job.result);
      if (summary.flows == 0) out.trouble = "no flows";
      if (summary.done + summary.lost == summary.flows) return;
      out.trouble = "not done";
      out.detail = job.result->collectives.empty()
                       ? fmt::format("{} of {} failed",
                                     grouped(static_cast<std::int64_t>(summary.flows - summary.done - summary.lost)),
                                     counted(static_cast<std::int64_t>(summary.flows), "flow"))
                       : job.result->trouble;
      return;
    }
    const bool ran = !job.stopped_by.empty() && job.stopped_by != experiment::kStoppedByObserver;
    out.trouble = ran ? (job.stopped_by == "deadlock" ? "" : "limit ") + job.stopped_by : std::string(report::kNotRun);
    out.detail = job.trouble;
  }

  void print() {
    sweep_.keys = keys_of(grid_);
    for (std::size_t i = 0; i < points_.size(); ++i) sweep_.points.push_back(swept(i));
    const report::Verdict verdict = report::judge_sweep(sweep_);
    if (options_.input.json) {
      report::write_sweep(sweep_, verdict, console_.out);
      return;
    }
    const std::string& pattern = options_.work.traffic.pattern;
    const std::string varied = pattern.empty() ? "the file's own traffic" : pattern;
    console_.out << (same_work() ? experiment::describe(*jobs_[0].experiments.back().workload) : varied)
                 << (options_.seeds > 1 ? fmt::format(", mean of {} seeds", options_.seeds) : "") << "\n\n"
                 << report::sweep_text(sweep_, console_.width, console_.colour_out) << "\n";
    report::Facts facts;
    facts.add("result", verdict.sentence);
    for (const auto& [sum, text] : report::cost_sentences(report::labelled_costs(sweep_))) facts.add(sum, text);
    for (const auto& [trouble, text] : report::trouble_lines(sweep_)) facts.add(trouble, text);
    console_.out << facts.text(console_.width, console_.colour_out);
    for (const report::SweptPoint& point : sweep_.points)
      if (options_.links && !point.variant.runs.empty())
        console_.out << "\n"
                     << point.variant.label
                     << report::links_text(point.variant.runs[0].links, 0, console_.width, console_.colour_out);
  }

  // Clusters that differ may still have traffic in common: where --gpus says of how many, and no line rate matters.
  bool same_work() const {
    const auto of = [](const Job& job) {
      const experiment::Workload& last = *job.experiments.back().workload;
      const auto* traffic = std::get_if<experiment::Traffic>(&last);
      return std::pair(experiment::fingerprint(last), traffic != nullptr ? traffic->load_of() : Bandwidth());
    };
    return std::all_of(jobs_.begin(), jobs_.end(), [&](const Job& job) { return of(job) == of(jobs_[0]); });
  }

  // Where the time of a training step goes, at each point.
  int draw_steps() {
    draw::Bars drawn{"Where the time of a step goes",
                     {},
                     "s",
                     {{"near", "computing"},
                      {"spine", "computing again"},
                      {"far", "waiting for communication"},
                      {"nic", "waiting for other stages"},
                      {"plain", "gaps between kernels, host, slow ranks"}},
                     {}};
    for (const auto& point : sweep_.points) {
      const auto& runs = point.variant.runs;
      if (runs.empty() || !runs[0].training) continue;
      const schedule::TrainingRow& step = *runs[0].training;
      drawn.stacks.push_back({report::point_label(sweep_.keys, point.values),
                              {step.computing, step.recomputing, step.communication, step.bubble, step.rest}});
    }
    if (drawn.stacks.empty()) {
      console_.err << "--plot shows training steps, and none was run\n";
      return kYourInput;
    }
    return write_output(options_.plot, console_, [&](std::ostream& out) { out << draw::to_svg(draw::bars(drawn)); });
  }

  // What the table does not say, and the exit code.
  int explain(const SweepStore& store) {
    const auto has = [&](std::string_view trouble) {
      return std::any_of(sweep_.points.begin(), sweep_.points.end(),
                         [&](const auto& point) { return point.trouble.starts_with(trouble); });
    };
    if (!options_.csv.empty())
      if (const int code =
              write_output(options_.csv, console_, [&](std::ostream& out) { report::write_sweep_csv(sweep_, out); });
          code != kFine)
        return code;
    if (!options_.plot.empty())
      if (const int code = draw_steps(); code != kFine) return code;
    if (!unwritten_.empty()) {
      console_.err << unwritten_ << "\n";
      return kThisMachine;
    }
    if (interrupted_) {
      const auto done =
          std::count_if(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.result.has_value(); });
      console_.err << fmt::format(
          "interrupted: {} of {} are done{}\n", done, counted(static_cast<std::int64_t>(jobs_.size()), "run"),
          store.keeps() ? fmt::format(" and stand in {}; the same command goes on from there", options_.out)
                        : "; with --out FILE.jsonl they would be kept and not be run again");
      return kInterrupted;
    }
    if (has("limit ")) return kLimitReached;
    return std::all_of(sweep_.points.begin(), sweep_.points.end(),
                       [](const auto& point) { return point.trouble.empty(); })
               ? kFine
               : kExpectationFailed;
  }

  const SweepOptions& options_;
  Console& console_;
  PointErrors errors_;
  Grid grid_;
  experiment::Limits limits_;
  std::vector<Point> points_;
  std::vector<Job> jobs_;                                                          // point by point, seed by seed
  std::map<std::uint32_t, std::shared_ptr<const experiment::Workload>> matrices_;  // by GPUs
  report::Sweep sweep_;
  std::mutex unwritten_mutex_;
  std::string unwritten_;  // why
  bool interrupted_ = false;
};

}  // namespace

int sweep(const SweepOptions& options, Console& console) { return Sweeper(options, console).run(); }

}  // namespace weft::app
