#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "app/commands.hpp"
#include "app/ctrl_c.hpp"
#include "app/output.hpp"
#include "app/session.hpp"
#include "app/show/shown_costs.hpp"
#include "app/sim/experiment_options.hpp"
#include "app/sim/progress.hpp"
#include "app/sim/run_info.hpp"
#include "app/sweep/compared_run.hpp"
#include "base/text.hpp"
#include "report/comparison.hpp"
#include "report/measured_runs.hpp"
#include "report/sim_summary.hpp"
#include "report/sweep.hpp"
#include "report/table.hpp"
#include "spec/files.hpp"

namespace weft::app {
namespace {

using experiment::Experiment;
using experiment::Outcome;
using report::MeasuredRuns;
using report::Variant;
using spec::Error;

constexpr std::size_t kMostVariants = 64;

// What one variant is made of, before it is loaded.
struct Recipe {
  std::string label;
  InputOptions input;
};

struct Candidate {
  std::unique_ptr<Session> session;
  InputOptions input;
  Variant variant;
  std::vector<Experiment> experiments;  // of the seed that runs now: flows, or collectives one after the other
};

std::string without_ending(const std::string& name) {
  for (const std::string_view ending : {".weft.yaml", ".yaml", ".topo"})
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  return name;
}

bool all_differ(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) == names.end();
}

// The file's name where that tells them apart, else its folder's, else all of it.
std::vector<std::string> labels_of(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  std::vector<std::string> folders;
  for (const std::string& file : files) {
    names.push_back(without_ending(std::filesystem::path(file).filename().string()));
    folders.push_back(std::filesystem::path(file).parent_path().filename().string());
  }
  return all_differ(names) ? names : all_differ(folders) ? folders : files;
}

// "transport.paths=1,64" makes two recipes of each.
std::vector<Recipe> varied(const std::vector<Recipe>& recipes, const std::string& vary,
                           spec::Diagnostics& diagnostics) {
  const std::size_t equals = vary.find('=');
  std::vector<Recipe> out;
  if (equals == 0 || equals == std::string::npos || equals + 1 == vary.size()) {
    diagnostics.add(Error::wrong_type, {}, fmt::format("--vary cannot be '{}'", vary),
                    "for example --vary transport.paths=1,64");
    return out;
  }
  const std::string path = vary.substr(0, equals);
  const std::string key = path.substr(path.rfind('.') + 1);
  for (const Recipe& recipe : recipes) {
    for (std::size_t at = equals + 1; at <= vary.size() && out.size() <= kMostVariants;) {
      const std::size_t comma = std::min(vary.find(',', at), vary.size());
      const std::string value = vary.substr(at, comma - at);
      Recipe next = recipe;
      next.input.set.push_back(path + "=" + value);
      next.label += fmt::format("{}{}={}", next.label.empty() ? "" : " ", key, value);
      out.push_back(std::move(next));
      at = comma + 1;
    }
  }
  return out;
}

std::vector<Recipe> recipes_of(const CompareOptions& options, spec::Diagnostics& diagnostics) {
  const std::vector<std::string> files = options.files.empty() ? std::vector<std::string>{""} : options.files;
  const std::vector<std::string> labels = labels_of(files);
  std::vector<Recipe> recipes;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const bool alone = files.size() == 1 && options.vary.empty();
    Recipe recipe{files.size() > 1 ? labels[i] : alone ? "simulated" : "", options.input};
    recipe.input.file = files[i];
    recipes.push_back(std::move(recipe));
  }
  for (const std::string& vary : options.vary) recipes = varied(recipes, vary, diagnostics);
  if (diagnostics.has_errors()) return recipes;
  if (recipes.size() < 2 && options.measured.empty())
    diagnostics.add(
        Error::out_of_range, {}, "one cluster cannot be compared",
        "a second file, --vary transport.paths=1,64, or --measured with what weft run client --json printed");
  if (recipes.size() > kMostVariants)
    diagnostics.add(Error::out_of_range, {}, fmt::format("{} variants are too many", recipes.size()),
                    fmt::format("at most {}", kMostVariants));
  return recipes;
}

std::uint32_t smallest(const std::vector<Candidate>& candidates) {
  std::uint32_t gpus = UINT32_MAX;
  for (const Candidate& candidate : candidates) gpus = std::min(gpus, candidate.session->cluster().gpus);
  return gpus;
}

// Loads every variant; false when something was wrong and said.
bool load(const std::vector<Recipe>& recipes, std::vector<Candidate>& candidates, Console& console) {
  for (const Recipe& recipe : recipes) {
    candidates.push_back({std::make_unique<Session>(recipe.input, console), recipe.input, {}, {}});
    if (!candidates.back().session->ok()) return false;
    candidates.back().variant.label = recipe.label;
    candidates.back().variant.costs = shown_costs(*candidates.back().session);
  }
  return true;
}

// What runs on each variant with a seed. Where the files say it, it may travel differently in each, but must be the
// same. Clusters of different size run what the smallest can; loads are shares of the first one's line rate.
void load_work(const CompareOptions& options, const RunOptions& run, const experiment::Limits& limits,
               std::vector<Candidate>& candidates) {
  const experiment::TrafficGround ground{smallest(candidates),
                                         experiment::ground_of(candidates[0].session->design(), 0).line_rate, run.seed};
  WorkOptions work = options.work;
  if (!work.collective.operation.empty() && work.traffic.gpus == 0 && work.servers == 0 && work.collective.on.empty())
    work.traffic.gpus = ground.gpus;
  for (Candidate& candidate : candidates) {
    experiment::Design& design = candidate.session->design();
    candidate.experiments = make_experiments(app::load_work(work, ground, design), run, limits, design);
    for (Experiment& each : candidate.experiments) each.wanted.links = options.links.has_value();
    if (design.diagnostics().has_errors()) return;
    const auto same = [](const Experiment& a, const Experiment& b) {
      return experiment::same_work(*a.workload, *b.workload);
    };
    const std::vector<Experiment>& first = candidates[0].experiments;
    if (std::equal(first.begin(), first.end(), candidate.experiments.begin(), candidate.experiments.end(), same))
      continue;
    design.diagnostics().add(
        Error::contradiction, {},
        fmt::format("what {} runs is not what {} runs", candidate.variant.label, candidates[0].variant.label),
        "the same names and patterns in every file, or --pattern, --stream or --collective for all");
    return;
  }
}

// Whether every variant can run it; says why not.
bool covered(const RunOptions& run, std::vector<Candidate>& candidates, Console& console) {
  for (Candidate& candidate : candidates) {
    experiment::Design& design = candidate.session->design();
    check_experiments(candidate.experiments, design);
    const Experiment& last = candidate.experiments.back();
    check_links(last.wanted.links, candidate.experiments, {last.fidelity}, design.diagnostics());
    if (report(design.diagnostics(), candidate.input, console)) {
      if (!candidate.input.json) console.err << fmt::format("so {} cannot be compared\n", candidate.variant.label);
      return false;
    }
    candidate.variant.info = run_info(*candidate.session, candidate.input, run, candidate.experiments.back());
  }
  return true;
}

// What a variant is warned of, with its name: the winner may owe its lead to it.
void warn(std::vector<Candidate>& candidates, Console& console) {
  for (Candidate& candidate : candidates) {
    const Experiment& last = candidate.experiments.back();
    print_warnings(*candidate.session, last, {last.fidelity}, candidate.input, console, candidate.variant.label);
  }
}

// Says what a run that is not done came to; the code that the command ends with.
int explain_stop(const std::string& label, const Outcome& last, const std::string& trouble, Console& console) {
  if (trouble.empty()) return kFine;
  if (last.stopped_by == experiment::kStoppedByObserver) return kInterrupted;
  if (!last.result.deadlock.empty()) {
    console.err << fmt::format("{} ends in a deadlock, these wait for each other: {}\n", label, last.result.deadlock);
    return kExpectationFailed;
  }
  if (!last.stopped_by.empty()) {
    console.err << fmt::format("{} reached the limit {}\n", label, last.stopped_by);
    return kLimitReached;
  }
  console.err << fmt::format("{} does not finish its {}\n", label, last.rows.empty() ? "traffic" : "collectives");
  return kExpectationFailed;
}

// Until one is stopped.
std::vector<Outcome> run_all(const Candidate& candidate, Console& console) {
  std::vector<Outcome> outcomes;
  for (const Experiment& each : candidate.experiments) {
    const auto* traffic = std::get_if<experiment::Traffic>(each.workload.get());
    RunProgress progress([&] { return traffic != nullptr ? traffic->total_bytes() : 0; }, console);
    outcomes.push_back(experiment::run(candidate.session->design(), each, progress.observer()));
    if (!outcomes.back().stopped_by.empty() || outcomes.back().stuck) break;
  }
  return outcomes;
}

// One seed on every variant, whatever becomes of the others. An interrupted round counts only where there is no other:
// then those that it did not come to have no run.
int run_round(std::uint64_t seed, std::optional<std::size_t> links, std::vector<Candidate>& candidates,
              Console& console) {
  std::vector<report::ComparedRun> round;
  int worst = kFine;
  for (const Candidate& candidate : candidates) {
    const std::vector<Outcome> outcomes = run_all(candidate, console);
    round.push_back(compared_run(seed, *candidate.experiments[0].workload, outcomes));
    if (links) round.back().links = busiest_links(outcomes.back().result, *links);
    worst = std::max(worst, explain_stop(candidate.variant.label, outcomes.back(), round.back().trouble, console));
    if (worst == kInterrupted && !candidate.variant.runs.empty()) return worst;
    if (worst == kInterrupted) break;
  }
  for (std::size_t i = 0; i < round.size(); ++i) candidates[i].variant.runs.push_back(std::move(round[i]));
  return worst;
}

// A line for each run, or for each row of its collectives.
int write_csv(const CompareOptions& options, const std::vector<Candidate>& candidates, Console& console) {
  if (options.csv.empty()) return kFine;
  report::Sweep runs{{"variant"}, {}};
  for (const Candidate& each : candidates) runs.points.push_back({{each.variant.label}, each.variant, "", ""});
  return write_output(options.csv, console, [&](std::ostream& out) { report::write_sweep_csv(runs, out); });
}

std::vector<MeasuredRuns> read_measured(const CompareOptions& options, spec::Diagnostics& diagnostics) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  std::vector<MeasuredRuns> out;
  const std::vector<std::string> labels = labels_of(options.measured);
  for (std::size_t i = 0; i < options.measured.size(); ++i) {
    const auto source = spec::load_file(options.measured[i], diagnostics, kMost);
    if (!source) continue;
    auto runs = report::read_measured_runs(diagnostics.sources().text(*source), labels[i]);
    if (runs)
      out.push_back(std::move(*runs));
    else
      diagnostics.add(Error::cannot_read, {}, fmt::format("--measured {}: {}", options.measured[i], runs.error()));
  }
  return out;
}

// Only messages between two ends are measured: what a collective or a step takes is not among them.
bool can_stand_beside(const std::vector<Candidate>& candidates) {
  return std::holds_alternative<experiment::Traffic>(*candidates[0].experiments[0].workload);
}

void print_measured(const std::vector<MeasuredRuns>& measured, const std::vector<Variant>& variants, Console& console) {
  for (const MeasuredRuns& each : measured) {
    console.out << "\nbeside " << each.traffic() << "\n"
                << report::measured_text(each, variants, console.width, console.colour_out);
    for (const Variant& variant : variants)
      if (const std::string why = report::traffic_differs(each, variant); !why.empty())
        console.out << "not the same traffic: " << why << "\n";
  }
}

// What is finished; nobody wins where an interrupted round is all there is.
void print(const CompareOptions& options, const std::vector<MeasuredRuns>& measured, std::vector<Candidate>& candidates,
           bool interrupted, Console& console) {
  std::vector<Variant> variants;
  std::vector<std::string> not_run;
  for (Candidate& candidate : candidates) {
    if (candidate.variant.runs.empty()) {
      not_run.push_back(candidate.variant.label);
    } else {
      variants.push_back(std::move(candidate.variant));
    }
  }
  const std::size_t seeds = variants[0].runs.size();
  const bool whole =
      !interrupted || (not_run.empty() && std::all_of(variants.begin(), variants.end(), report::is_finished));
  const report::Verdict verdict = whole ? report::judge(variants) : report::no_verdict(variants, not_run);
  if (options.input.json) {
    report::write_comparison(variants, verdict, console.out, measured);
    return;
  }
  console.out << variants[0].info.traffic << (seeds > 1 ? fmt::format(", mean of {} seeds", seeds) : "") << "\n\n"
              << report::comparison_text(variants, console.width, console.colour_out) << "\n";
  report::Facts facts;
  if (candidates.size() > 1) facts.add("result", verdict.sentence);
  if (!verdict.tail.empty()) facts.add("tail", verdict.tail);
  for (const auto& [stream, sentence] : verdict.streams) facts.add(stream, sentence);
  for (const auto& [sum, sentence] : report::cost_sentences(report::labelled_costs(variants))) facts.add(sum, sentence);
  console.out << facts.text(console.width, console.colour_out);
  print_measured(measured, variants, console);
  for (const Variant& each : variants)
    if (options.links)
      console.out << "\n" << each.label << report::links_text(each.runs[0].links, 0, console.width, console.colour_out);
}

}  // namespace

int compare(const CompareOptions& options, Console& console) {
  spec::Diagnostics diagnostics;
  const std::vector<Recipe> recipes = recipes_of(options, diagnostics);
  const experiment::Limits limits = experiment::parse_limits(options.limit, diagnostics);
  const std::vector<MeasuredRuns> measured = read_measured(options, diagnostics);
  if (report(diagnostics, options.input, console)) return kYourInput;
  std::vector<Candidate> candidates;
  if (!load(recipes, candidates, console)) return kYourInput;
  std::vector<NamedFile> read = {file_of(options.work.traffic)};
  for (const Candidate& each : candidates) read.push_back({"", each.session->file()});
  for (const std::string& each : options.measured) read.push_back({"--measured", each});
  for (const std::string& why : file_conflicts(read, {{"--csv", options.csv}}))
    diagnostics.add(Error::contradiction, {}, why, "another name");
  if (report(diagnostics, options.input, console)) return kYourInput;
  if (!can_be_written({options.csv}, console)) return kThisMachine;

  const CtrlC ctrl_c;
  int code = kFine;
  for (std::uint32_t i = 0; i < options.seeds && code == kFine; ++i) {
    RunOptions run = options.run;
    run.seed += i;
    load_work(options, run, limits, candidates);
    for (Candidate& each : candidates)
      if (report(each.session->diagnostics(), options.input, console)) return kYourInput;
    if (!measured.empty() && !can_stand_beside(candidates))
      diagnostics.add(Error::contradiction, {}, "--measured is of messages between two ends",
                      "--pattern or --stream instead of collectives or training");
    if (report(diagnostics, options.input, console)) return kYourInput;
    if (!covered(run, candidates, console)) return kYourInput;
    if (i == 0) warn(candidates, console);
    code = run_round(run.seed, options.links, candidates, console);
  }
  const std::size_t seeds = candidates[0].variant.runs.size();
  const bool interrupted = code == kInterrupted;
  const int written = write_csv(options, candidates, console);
  print(options, measured, candidates, interrupted, console);
  if (interrupted)
    console.err << fmt::format("interrupted: the result is {}\n",
                               options.seeds > 1 ? fmt::format("of {} of {} seeds", seeds, options.seeds) : "partial");
  return code == kFine ? written : code;
}

}  // namespace weft::app
