// Which cluster for which training job: the best layout at each point of a grid.
#include <fmt/format.h>

#include <optional>

#include "app/ctrl_c.hpp"
#include "app/sim/progress.hpp"
#include "app/sweep/sweep_grid.hpp"
#include "app/sweep/sweep_progress.hpp"
#include "app/why/plan_training.hpp"
#include "base/text.hpp"
#include "report/sweep.hpp"
#include "report/table.hpp"

namespace weft::app {
namespace {

using experiment::Training;
using experiment::TrainingCandidate;

// What came of a point.
struct Planned {
  std::vector<std::string> cells;  // behind those of its values
  nlohmann::ordered_json record;
  bool stopped = false;
};

std::vector<report::Column> columns_of(const Grid& grid) {
  std::vector<report::Column> columns;
  for (const Axis& axis : grid.axes()) columns.push_back({axis.key.substr(axis.key.rfind('.') + 1)});
  columns.insert(columns.end(), {{"GPUs", true},
                                 {"step", true},
                                 {"tokens/s", true},
                                 {"MFU %", true},
                                 {"$ per Mtoken", true},
                                 {"layout, and what it waits for"}});
  return columns;
}

Planned plan_point(Session& session, const Training& work, experiment::BestBy by, Console& console) {
  const Training free = with_free_layout(work);
  experiment::Experiment experiment{.workload = std::make_shared<const experiment::Workload>(free)};
  experiment.fidelity = experiment::Fidelity::message;
  const auto without = [](std::string why) {
    Planned none;
    none.cells = {"-", "-", "-", "-", "-", std::move(why)};
    return none;
  };
  check_search(session.design(), free);
  for (const spec::Diagnostic& each : session.diagnostics().sorted())
    if (spec::info(each.error).severity() != spec::Severity::warning) return without(each.message);
  const fabric::Costs costs = fabric::summarise(session.fabric()).costs;
  if (by == experiment::BestBy::dollars && !costs.price) return without("no price is known");
  RunProgress progress([] { return std::uint64_t{0}; }, console);
  const experiment::TrainingSearch found =
      experiment::search_training(session.design(), free, experiment, {1, by}, progress.observer());
  Planned out = without(fmt::format("none fits: {} need more memory than a GPU has", grouped(found.too_large)));
  out.stopped = !found.stopped_by.empty();
  if (found.best.empty()) return out;
  const TrainingCandidate& best = found.best[0];
  const double peak = peak_flops(session, work);
  const auto dollars = dollars_of(best, costs, session);
  out.cells = {
      grouped(best.layout.gpus),
      brief(best.step.time),
      grouped(static_cast<std::int64_t>(best.step.tokens_per_second)),
      fmt::format("{:.1f}", 100 * best.step.flops_per_gpu / peak),
      dollars ? fmt::format("{:.3f}", *dollars) : "-",
      fmt::format("{}: {}", experiment::describe_layout(best.run, best.layout), experiment::bound_by(best.step))};
  out.record = layout_record(best, 1, peak, costs, session);
  return out;
}

}  // namespace

int plan_training_over(const PlanCommandOptions& options, Console& console) {
  spec::Diagnostics diagnostics;
  const Grid grid(options.over, diagnostics);
  if (options.confirm.value_or(0) > 0)
    diagnostics.add(spec::Error::contradiction, {}, "--confirm is of the layouts of one cluster", "without --over");
  if (report(diagnostics, options.input, console)) return kYourInput;
  const auto by = *parse_enum<experiment::BestBy>(options.best_by);
  const CtrlC ctrl_c;
  report::Table table(columns_of(grid));
  SweepProgress progress(grid.points(), console, "points");
  bool some = false;
  std::size_t done = 0;
  for (; done < grid.points() && !CtrlC::pressed(); ++done) {
    progress.show(done);
    const std::vector<std::string> values = grid.values(done);
    InputOptions input = options.input;
    for (std::size_t i = 0; i < values.size(); ++i) input.set.push_back(grid.axes()[i].key + "=" + values[i]);
    Session session(input, console);
    if (!session.ok()) return kYourInput;
    const std::vector<Training> jobs = experiment::training_of(session.cluster());
    if (jobs.size() != 1)
      session.diagnostics().add(spec::Error::contradiction, {},
                                fmt::format("--over is of one training job, and the file's `run:` has {}", jobs.size()),
                                "run: [{training: {model: llama3-70b, global_batch: 1024}}]");
    if (jobs.size() != 1 && report(session.diagnostics(), options.input, console)) return kYourInput;
    Planned planned = plan_point(session, jobs[0], by, console);
    if (planned.stopped) break;
    some |= !planned.record.is_null();
    if (options.input.json && !planned.record.is_null()) {
      for (std::size_t i = 0; i < values.size(); ++i) planned.record["point"][grid.axes()[i].key] = values[i];
      console.out << planned.record.dump() << "\n";
    }
    std::vector<std::string> cells = values;
    cells.insert(cells.end(), planned.cells.begin(), planned.cells.end());
    table.add(std::move(cells));
  }
  progress.finish();
  if (!options.input.json) console.out << table.text(console.width, console.colour_out, true);
  if (done < grid.points()) return progress.interrupted(done);
  return some ? kFine : kExpectationFailed;
}

}  // namespace weft::app
