// What a collective takes at least, from bounds alone, beside what the simulation says.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "app/ctrl_c.hpp"
#include "app/session.hpp"
#include "app/sim/progress.hpp"
#include "app/sweep/sweep_progress.hpp"
#include "app/why/one_job.hpp"
#include "app/why/plan_training.hpp"
#include "base/text.hpp"
#include "collective/tuner.hpp"
#include "experiment/unknowns.hpp"
#include "experiment/warnings.hpp"
#include "report/table.hpp"
#include "why/bounds.hpp"

namespace weft::app {
namespace {

struct Row {
  Bytes size;
  collective::Choice choice;
  why::Bounds bounds;
  std::int64_t simulated = 0;  // ps; 0: not asked for
  std::string not_known = {};  // of that, in words
};

std::string limit_of(const Row& row) {
  const why::Bound* bound = row.bounds.tightest();
  return bound == nullptr ? "latency of its steps" : bound->text;
}

void print(const std::vector<Row>& rows, const OneJob& one, const Session& session, Console& console) {
  report::Facts facts;
  facts.add("cluster", session.cluster().name);
  facts.add("job", fmt::format("{} of {}, stack {}", collective::name(one.job.operation), counted(one.job.gpus, "GPU"),
                               one.job.stack->name));
  facts.add("bounds", "of wires and latencies: nothing can be faster; above: how much longer the simulation takes");
  console.out << facts.text(console.width, console.colour_out) << "\n";
  report::Table table({{"size", true},
                       {"at least", true},
                       {"busbw", true},
                       {"simulated", true},
                       {"busbw", true},
                       {"above", true},
                       {"algorithm"},
                       {"bound by"}});
  for (const Row& row : rows) {
    const auto bytes = static_cast<std::uint64_t>(row.size.count());
    const std::int64_t least = row.bounds.total().count();
    const bool simulated = row.simulated > 0;
    table.add({exact(row.size), brief(Duration(least)),
               fmt::format("{:.1f}", why::bus_bandwidth(one.job, bytes, Duration(least))),
               simulated ? brief(Duration(row.simulated)) : "-",
               simulated ? fmt::format("{:.1f}", why::bus_bandwidth(one.job, bytes, Duration(row.simulated))) : "-",
               simulated ? fmt::format("{:+.0f}%",
                                       100 * (static_cast<double>(row.simulated) / static_cast<double>(least) - 1))
                         : "-",
               std::string(collective::name(row.choice.algorithm)), limit_of(row)});
  }
  console.out << table.text(console.width, console.colour_out, true);
  std::vector<std::string> unknown;
  for (const Row& row : rows)
    if (!row.not_known.empty() && std::find(unknown.begin(), unknown.end(), row.not_known) == unknown.end())
      unknown.push_back(row.not_known);
  if (!unknown.empty()) {
    report::Facts said;
    for (const std::string& each : unknown) said.add("not known", each);
    console.out << "\n" << said.text(console.width, console.colour_out);
  }
  const auto beaten = [](const Row& row) { return row.simulated > 0 && row.simulated < row.bounds.total().count(); };
  if (!std::any_of(rows.begin(), rows.end(), beaten)) return;
  report::Facts note;
  note.add("simulated", "at message level; where that says less than the bound, believe the bound");
  console.out << "\n" << note.text(console.width, console.colour_out);
}

void print_records(const std::vector<Row>& rows, const OneJob& one, const Session& session, Console& console) {
  for (const Row& row : rows) {
    nlohmann::ordered_json out = {{"record", "plan"},
                                  {"version", 1},
                                  {"cluster", session.cluster().name},
                                  {"operation", collective::name(one.job.operation)},
                                  {"gpus", one.job.gpus},
                                  {"stack", one.job.stack->name},
                                  {"bytes", row.size.count()},
                                  {"algorithm", collective::name(row.choice.algorithm)},
                                  {"protocol", collective::name(row.choice.protocol)},
                                  {"bound_ps", row.bounds.total().count()},
                                  {"launch_ps", row.bounds.launch.count()},
                                  {"latency_ps", row.bounds.latency.count()},
                                  {"bound_by", limit_of(row)}};
    out["resources"] = nlohmann::ordered_json::array();
    for (const why::Bound& each : row.bounds.bandwidths)
      out["resources"].push_back(
          {{"resource", why::name(each.resource)}, {"text", each.text}, {"time_ps", each.time.count()}});
    out["simulated_ps"] = row.simulated > 0 ? nlohmann::ordered_json(row.simulated) : nlohmann::ordered_json(nullptr);
    if (!row.not_known.empty()) out["not_known"] = row.not_known;
    console.out << out.dump() << "\n";
  }
}

}  // namespace

int plan(const PlanCommandOptions& options, Console& console) {
  const JobOptions wanted{options.collective, options.gpus, options.sizes,
                          static_cast<std::uint32_t>(options.input.nodes)};
  if (options.training && !options.over.empty()) return plan_training_over(options, console);
  Session session(options.input, console);
  if (!session.ok()) return kYourInput;
  if (!options.over.empty())
    session.diagnostics().add(spec::Error::contradiction, {}, "--over is of layouts for training",
                              "--training, or weft sweep --over");
  const bool only_training = options.collective.operation.empty() &&
                             experiment::collectives_of(session.cluster()).empty() &&
                             !experiment::training_of(session.cluster()).empty();
  if (options.training || only_training) return plan_training(session, options, console);
  if (options.best_by != "time")
    session.diagnostics().add(spec::Error::contradiction, {}, "--best-by is of layouts for training",
                              "--training, or without it");
  auto one = job_of(session, wanted);
  if (report(session.diagnostics(), options.input, console) || !one) return kYourInput;
  why::Machine machine(session.design());
  const collective::Team* team = machine.team(one->job, {});
  spec::Diagnostics& diagnostics = session.diagnostics();
  if (team == nullptr)
    diagnostics.add(spec::Error::not_simulated, {},
                    fmt::format("these {} GPUs are not joined, or are not there", one->job.gpus),
                    "--gpus and --per-server that fit the cluster");
  else
    experiment::check_shares(session.design(), {}, {team});
  if (report(diagnostics, options.input, console)) return kYourInput;
  std::vector<Row> rows;
  const why::Variant variant = one->variant(options.collective);
  experiment::Experiment messages;
  messages.fidelity = experiment::Fidelity::message;
  experiment::Unknowns unknowns(session.design(), messages);
  if (auto* shares = machine.network({})) unknowns.take(*shares);
  const CtrlC ctrl_c;
  SweepProgress progress(one->sizes.size(), console, "sizes");
  for (const Bytes size : one->sizes) {
    progress.show(rows.size());
    if (CtrlC::pressed()) break;
    const auto choice =
        why::choose(*team, one->job, variant, static_cast<std::uint64_t>(size.count()), *one->job.stack);
    if (!choice) {
      diagnostics.add(spec::Error::contradiction, {}, one->why_not(*team), "--algorithms auto");
      break;
    }
    collective::PlanOptions plan{.operation = one->job.operation,
                                 .bytes = static_cast<std::uint64_t>(size.count()),
                                 .choice = *choice,
                                 .stack = one->job.stack};
    plan.pxn = options.collective.pxn;
    plan.network = machine.network({});
    Row row{size, *choice, why::bounds_of(*team, plan, bisection_of(session, one->job))};
    if (!options.bounds_only)
      if (const auto made = machine.predict(one->job, variant, {plan.bytes}); !made.empty()) {
        std::vector<schedule::CollectiveRow> told(1);
        told[0].time = made[0].time;
        if (team->nodes() > 1) unknowns.add_to(told, {{team, plan}});
        row.simulated = told[0].time.count();
        row.not_known = told[0].not_known;
      }
    rows.push_back(std::move(row));
  }
  progress.finish();
  if (report(diagnostics, options.input, console)) return kYourInput;
  print_warnings(session, experiment::collective_warnings(session.design()), options.input, console);
  if (options.input.json)
    print_records(rows, *one, session, console);
  else
    print(rows, *one, session, console);
  if (rows.size() < one->sizes.size()) return progress.interrupted(rows.size());
  return kFine;
}

}  // namespace weft::app
