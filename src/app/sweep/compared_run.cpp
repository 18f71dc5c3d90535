#include "app/sweep/compared_run.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "experiment/fingerprint.hpp"

namespace weft::app {
namespace {

using experiment::Outcome;
using report::CollectiveRow;
using report::ComparedRun;

ComparedRun of_traffic(const Outcome& outcome) {
  const schedule::RunResult& result = outcome.result;
  ComparedRun run;
  run.end = result.end;
  run.digest = result.digest;
  run.trimmed = result.counters.trimmed;
  run.sent = result.counters.data_sent;
  run.resent = result.counters.data_resent;
  run.dropped = result.counters.dropped;
  run.summary = report::summarise(result);
  // At message level collectives of a trace are no flows.
  if (result.flows.empty() && result.unfinished == 0 && result.stopped_by.empty())
    for (const experiment::TogetherTime& each : outcome.together) run.summary.done = run.summary.flows += each.times;
  run.streams = report::summarise_streams(result);
  run.trouble = report::trouble_of(result, run.summary);
  run.fullest_link = outcome.fullest_link;
  return run;
}

std::string trouble_of(const Outcome& outcome) {
  if (outcome.stuck) return "waits for what never comes";
  if (!outcome.stopped_by.empty())
    return outcome.stopped_by == experiment::kStoppedByObserver ? "interrupted" : "limit " + outcome.stopped_by;
  if (!outcome.left_out.empty())
    return fmt::format("too many messages at {}", exact(Bytes(static_cast<std::int64_t>(outcome.left_out[0].bytes))));
  return "";
}

// Its time is that of the largest size of each job.
ComparedRun of_collectives(const std::vector<Outcome>& outcomes) {
  ComparedRun run;
  experiment::Fingerprint same;
  for (const Outcome& outcome : outcomes) {
    for (const std::vector<CollectiveRow>& rows : outcome.rows) {
      if (!rows.empty()) run.end += rows.back().time;
      for (const CollectiveRow& row : rows) {
        same.add(static_cast<std::uint64_t>(row.time.count()));
        same.add(row.digest);
        run.resent += row.sent_again;
        run.dropped += row.dropped;
        run.collectives.push_back(row);
      }
    }
    if (run.trouble.empty()) run.trouble = trouble_of(outcome);
  }
  run.digest = same.value();
  run.summary.flows = run.summary.done = run.collectives.size();
  if (!run.trouble.empty()) ++run.summary.flows;
  return run;
}

ComparedRun of_training(const std::vector<Outcome>& outcomes) {
  ComparedRun run;
  run.summary.flows = run.summary.done = outcomes.size();
  for (const Outcome& outcome : outcomes)
    if (run.trouble.empty()) run.trouble = trouble_of(outcome);
  if (!run.trouble.empty()) ++run.summary.flows;
  if (!outcomes.back().training) return run;  // it was stopped: a step has no part that counts
  experiment::Fingerprint same;
  for (const Outcome& outcome : outcomes) {
    run.end += outcome.training->step.time;
    same.add(static_cast<std::uint64_t>(outcome.training->step.time.count()));
  }
  const experiment::TrainingResult& last = *outcomes.back().training;
  run.training = schedule::TrainingRow{.model = last.model,
                                       .gpus = last.layout.gpus,
                                       .fidelity = last.fidelity,
                                       .tokens_per_second = last.step.tokens_per_second,
                                       .teraflops = last.step.flops_per_gpu / 1e12,
                                       .mfu_percent = 100 * last.step.flops_per_gpu / last.peak_flops,
                                       .network_percent = last.network_percent(),
                                       .joules_per_token = last.joules_per_token,
                                       .dollars_per_million = last.dollars_per_million,
                                       .seed = last.drawn ? 1u : 0u};
  const training::Breakdown& parts = last.step.parts;
  const auto seconds = [](Duration time) { return static_cast<double>(time.count()) * 1e-12; };
  const Duration again = parts.computing[static_cast<std::size_t>(training::Part::recompute)];
  run.training->recomputing = seconds(again);
  for (const Duration each : parts.computing) run.training->computing += seconds(each);
  run.training->computing -= run.training->recomputing;
  run.training->communication = seconds(parts.network() + parts.beside);
  run.training->bubble = seconds(parts.bubble);
  run.training->rest = seconds(parts.launching + parts.gaps + parts.host + parts.slow);
  run.digest = same.value();
  return run;
}

}  // namespace

void check_experiments(const std::vector<experiment::Experiment>& experiments, experiment::Design& design) {
  for (const experiment::Experiment& each : experiments) {
    const auto* work = std::get_if<experiment::Collectives>(each.workload.get());
    if (work != nullptr && work->choice.side_by_side())
      design.diagnostics().add(spec::Error::contradiction, {}, "algorithms side by side are shown by weft sim",
                               "--algorithms auto, or one name");
    if (!design.diagnostics().has_errors()) experiment::check(design, each);
  }
}

ComparedRun compared_run(std::uint64_t seed, const experiment::Workload& work, const std::vector<Outcome>& outcomes) {
  ComparedRun run =
      std::visit(experiment::Match{[&](const experiment::Traffic&) { return of_traffic(outcomes[0]); },
                                   [&](const experiment::Collectives&) { return of_collectives(outcomes); },
                                   [&](const experiment::Training&) { return of_training(outcomes); }},
                 work);
  run.seed = seed;
  return run;
}

schedule::RunResult busiest_links(const schedule::RunResult& run, std::size_t most) {
  schedule::RunResult made;
  made.fidelity = run.fidelity;
  made.end = run.end;
  made.links = run.links;
  if (most > 0 && made.links.size() > most) made.links.resize(most);
  return made;
}

}  // namespace weft::app
