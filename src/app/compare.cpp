#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "app/commands.hpp"
#include "app/shown_costs.hpp"
#include "app/sim_run.hpp"
#include "base/text.hpp"
#include "report/comparison.hpp"
#include "report/table.hpp"

namespace weft::app {
namespace {

using report::Variant;
using schedule::RunResult;
using spec::Complaint;

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
    diagnostics.add(Complaint::wrong_type, {}, fmt::format("--vary cannot be '{}'", vary),
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
    Recipe recipe{files.size() > 1 ? labels[i] : "", options.input};
    recipe.input.file = files[i];
    recipes.push_back(std::move(recipe));
  }
  for (const std::string& vary : options.vary) recipes = varied(recipes, vary, diagnostics);
  if (diagnostics.has_errors()) return recipes;
  if (recipes.size() < 2)
    diagnostics.add(Complaint::out_of_range, {}, "one cluster cannot be compared",
                    "a second file, or --vary transport.paths=1,64");
  if (recipes.size() > kMostVariants)
    diagnostics.add(Complaint::out_of_range, {}, fmt::format("{} variants are too many", recipes.size()),
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
    candidates.push_back({std::make_unique<Session>(recipe.input, console), recipe.input, {}});
    if (!candidates.back().session->ok()) return false;
    candidates.back().variant.label = recipe.label;
    candidates.back().variant.costs = shown_costs(*candidates.back().session);
  }
  return true;
}

// What runs on each variant. Streams of the files may travel differently in each, but must be the same flows.
class ComparedTraffic {
 public:
  // Complains where it fails.
  void load(const TrafficOptions& options, const TrafficGround& ground, const std::vector<Candidate>& candidates,
            spec::Diagnostics& diagnostics) {
    const auto has_streams = [](const Candidate& each) { return !streams_of(each.session->cluster()).empty(); };
    const bool by_file = !asks_for_traffic(options) && std::any_of(candidates.begin(), candidates.end(), has_streams);
    if (!options.matrix.empty() && !traffic_.empty()) return;  // the same whatever the seed
    traffic_.clear();
    for (const Candidate& candidate : candidates) {
      TrafficGround own = ground;
      own.streams = streams_of(candidate.session->cluster());
      auto made = load_traffic(options, own, diagnostics);
      if (!made) return;
      traffic_.push_back(std::move(*made));
      if (!by_file) return;
      if (traffic_.back().fingerprint == traffic_[0].fingerprint) continue;
      diagnostics.add(
          Complaint::contradiction, {},
          fmt::format("the streams of {} are not those of {}", candidate.variant.label, candidates[0].variant.label),
          "the same names and patterns in every file, or --pattern or --stream for all");
      return;
    }
  }
  const Traffic& of(std::size_t candidate) const { return traffic_[traffic_.size() == 1 ? 0 : candidate]; }

 private:
  std::vector<Traffic> traffic_;  // one for all, or one for each
};

// Whether the traffic can run on every variant; says why not.
bool covered(const ComparedTraffic& compared, const RunOptions& options, std::vector<Candidate>& candidates,
             Console& console) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Candidate& candidate = candidates[i];
    const Traffic& traffic = compared.of(i);
    check_run(*candidate.session, traffic, options);
    if (report(candidate.session->diagnostics(), candidate.input, console)) {
      if (!candidate.input.json) console.err << fmt::format("so {} cannot be compared\n", candidate.variant.label);
      return false;
    }
    candidate.variant.info = run_info(*candidate.session, candidate.input, traffic, options);
  }
  return true;
}

// Says what a run that is not done came to; the code that the command ends with.
int explain_stop(const std::string& label, const RunResult& result, const std::string& trouble, Console& console) {
  if (trouble.empty()) return kFine;
  if (result.stopped_by == "ctrl-c") return kInterrupted;
  if (!result.deadlock.empty()) {
    console.err << fmt::format("{} ends in a deadlock, these wait for each other: {}\n", label, result.deadlock);
    return kExpectationFailed;
  }
  if (!result.stopped_by.empty()) {
    console.err << fmt::format("{} reached the limit {}\n", label, result.stopped_by);
    return kLimitReached;
  }
  console.err << fmt::format("{} does not finish its traffic\n", label);
  return kExpectationFailed;
}

// One seed on every variant, whatever becomes of the others. An interrupted round counts only where there is no other:
// then those that it did not come to have no run.
int run_round(const ComparedTraffic& traffic, const RunOptions& options, const Limits& limits,
              std::vector<Candidate>& candidates, Console& console) {
  std::vector<report::ComparedRun> round;
  int worst = kFine;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    Watch watch(
        limits, [&] { return traffic.of(i).total_bytes(); }, console);
    const Run run = run_traffic(*candidate.session, traffic.of(i), options, false, watch);
    const RunResult& result = run.result;
    const report::SimSummary summary = report::summarise(result);
    const std::string trouble = report::trouble_of(result, summary);
    worst = std::max(worst, explain_stop(candidate.variant.label, result, trouble, console));
    if (worst == kInterrupted && !candidate.variant.runs.empty()) return worst;
    round.push_back({options.seed, result.end, result.digest, result.counters.trimmed, result.counters.data_resent,
                     result.counters.dropped, summary, report::summarise_streams(result), trouble, run.fullest_link});
    if (worst == kInterrupted) break;
  }
  for (std::size_t i = 0; i < round.size(); ++i) candidates[i].variant.runs.push_back(std::move(round[i]));
  return worst;
}

// What is finished; nobody wins where an interrupted round is all there is.
void print(const CompareOptions& options, std::vector<Candidate>& candidates, bool interrupted, Console& console) {
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
    report::write_comparison(variants, verdict, console.out);
    return;
  }
  console.out << variants[0].info.traffic << (seeds > 1 ? fmt::format(", mean of {} seeds", seeds) : "") << "\n\n"
              << report::comparison_text(variants, console.width, console.colour_out) << "\n";
  report::Facts facts;
  facts.add("result", verdict.sentence);
  if (!verdict.tail.empty()) facts.add("tail", verdict.tail);
  for (const auto& [stream, sentence] : verdict.streams) facts.add(stream, sentence);
  for (const auto& [sum, sentence] : report::cost_sentences(report::labelled_costs(variants))) facts.add(sum, sentence);
  console.out << facts.text(console.width, console.colour_out);
}

}  // namespace

int compare(const CompareOptions& options, Console& console) {
  spec::Diagnostics diagnostics;
  const std::vector<Recipe> recipes = recipes_of(options, diagnostics);
  const Limits limits = parse_limits(options.limit, diagnostics);
  if (report(diagnostics, options.input, console)) return kYourInput;
  std::vector<Candidate> candidates;
  if (!load(recipes, candidates, console)) return kYourInput;

  const std::uint32_t gpus = smallest(candidates);
  const CtrlC ctrl_c;
  ComparedTraffic traffic;
  int code = kFine;
  for (std::uint32_t i = 0; i < options.seeds && code == kFine; ++i) {
    RunOptions run = options.run;
    run.seed += i;
    traffic.load(options.traffic, {gpus, ground_of(*candidates[0].session, 0).line_rate, run.seed, {}}, candidates,
                 diagnostics);
    if (report(diagnostics, options.input, console) || !covered(traffic, run, candidates, console)) return kYourInput;
    code = run_round(traffic, run, limits, candidates, console);
  }
  const std::size_t seeds = candidates[0].variant.runs.size();
  const bool interrupted = code == kInterrupted;
  print(options, candidates, interrupted, console);
  if (interrupted)
    console.err << fmt::format("interrupted: the result is {}\n",
                               options.seeds > 1 ? fmt::format("of {} of {} seeds", seeds, options.seeds) : "partial");
  return code;
}

}  // namespace weft::app
