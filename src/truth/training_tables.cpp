#include "truth/training_tables.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include "base/text.hpp"
#include "experiment/experiment.hpp"
#include "spec/files.hpp"
#include "training/constants.hpp"

namespace weft::truth {
namespace {

namespace fs = std::filesystem;

// row,measured_s,counted,blind_s
bool read_row(std::string_view line, TrainingRow& out) {
  std::vector<std::string> cells;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t comma = std::min(line.find(',', at), line.size());
    cells.emplace_back(line.substr(at, comma - at));
    at = comma + 1;
  }
  if (cells.size() != 4) return false;
  out.name = cells[0];
  out.measured = std::atof(cells[1].c_str());
  out.counted = cells[2] == "yes";
  out.blind = std::atof(cells[3].c_str());
  return out.measured > 0 && (cells[2] == "yes" || cells[2] == "no");
}

void read_rows(std::string_view text, TrainingTable& table) {
  bool head = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("# never fitted on")) table.for_fitting = false;
    if (line.empty() || line.starts_with('#')) continue;
    if (std::exchange(head, false)) continue;
    TrainingRow row;
    if (read_row(line, row))
      table.rows.push_back(std::move(row));
    else
      table.wrong.push_back(fmt::format("{}.csv: '{}' is no row,measured_s,counted,blind_s", table.name, line));
  }
}

void time_rows(experiment::Design& design, TrainingTable& table) {
  const std::vector<experiment::Training> jobs = experiment::training_of(design.cluster());
  if (jobs.size() != table.rows.size()) {
    table.wrong.push_back(fmt::format("{}: {} jobs for {} rows", table.name, jobs.size(), table.rows.size()));
    return;
  }
  std::map<std::uint64_t, TrainingRow> known;  // a table repeats what several releases were measured on
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    experiment::Experiment experiment{.workload = std::make_shared<const experiment::Workload>(jobs[i])};
    const auto [at, is_new] = known.try_emplace(experiment::fingerprint(*experiment.workload));
    if (!is_new) {
      table.rows[i].simulated = at->second.simulated;
      table.rows[i].gaps = at->second.gaps;
      table.rows[i].framework = at->second.framework;
      continue;
    }
    experiment.fidelity = experiment::Fidelity::message;
    experiment::check(design, experiment);
    if (design.diagnostics().has_errors()) {
      table.wrong.push_back(spec::render_text(design.diagnostics(), false, 0));
      return;
    }
    const experiment::Outcome outcome = experiment::run(design, experiment, {});
    const training::Step& step = outcome.training->step;
    table.rows[i].simulated = static_cast<double>(step.time.count()) * 1e-12;
    table.rows[i].gaps = static_cast<double>(step.parts.gaps.count()) * 1e-12;
    table.rows[i].framework = jobs[i].run.framework;
    at->second = table.rows[i];
  }
}

Errors errors_of(const std::vector<TrainingRow>& rows, double (TrainingRow::*error)() const) {
  Errors out;
  for (const TrainingRow& row : rows)
    if (row.counted) out.relative.push_back(std::abs((row.*error)()));
  return out;
}

// Relative, with other gaps than the constant makes; a pipeline's bubble is taken to stay.
double error_with(const TrainingRow& row, std::int64_t gaps) {
  const double factor = static_cast<double>(gaps) / static_cast<double>(training::gaps_of(row.framework));
  return std::abs((row.simulated + row.gaps * (factor - 1)) / row.measured - 1);
}

constexpr std::int64_t kMostGaps = 400;  // per mille
constexpr std::int64_t kGapStep = 5;

// That leaves the smallest errors in tables of a framework but one: the mean of their medians.
std::int64_t fitted_gaps(const std::vector<TrainingTable>& tables, const TrainingTable& without,
                         model::Framework framework) {
  std::int64_t best = training::gaps_of(framework);
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t gaps = 0; gaps <= kMostGaps; gaps += kGapStep) {
    double sum = 0;
    std::size_t counted = 0;
    for (const TrainingTable& table : tables) {
      if (&table == &without || !table.for_fitting) continue;
      Errors errors;
      for (const TrainingRow& row : table.rows)
        if (row.counted && row.framework == framework) errors.relative.push_back(error_with(row, gaps));
      if (errors.relative.empty()) continue;
      sum += errors.median();
      ++counted;
    }
    if (counted == 0 || sum / static_cast<double>(counted) >= least) continue;
    least = sum / static_cast<double>(counted);
    best = gaps;
  }
  return best;
}

}  // namespace

Errors left_out_errors(const std::vector<TrainingTable>& tables, const TrainingTable& table) {
  std::map<model::Framework, std::int64_t> fitted;
  Errors out;
  for (const TrainingRow& row : table.rows) {
    if (!row.counted) continue;
    const auto [at, is_new] = fitted.try_emplace(row.framework);
    if (is_new) at->second = fitted_gaps(tables, table, row.framework);
    out.relative.push_back(error_with(row, at->second));
  }
  return out;
}

Errors TrainingTable::errors() const { return errors_of(rows, &TrainingRow::error); }
Errors TrainingTable::blind_errors() const { return errors_of(rows, &TrainingRow::blind_error); }

std::vector<TrainingTable> time_training_tables(const std::string& directory,
                                                const std::function<bool(std::size_t done, std::size_t all)>& go_on) {
  std::set<fs::path> files;  // sorted: the same order on every file system
  std::error_code fault;
  for (const auto& item : fs::directory_iterator(directory, fault))
    if (item.path().string().ends_with(".weft.yaml")) files.insert(item.path());
  std::vector<TrainingTable> tables;
  for (const fs::path& file : files) {
    if (go_on && !go_on(tables.size(), files.size())) break;
    TrainingTable& table = tables.emplace_back();
    const std::string path = file.string();
    table.name = file.filename().string();
    table.name.resize(table.name.size() - std::string_view(".weft.yaml").size());
    spec::Diagnostics diagnostics;
    auto catalog = std::make_shared<const model::Catalog>(model::Catalog::embedded(diagnostics));
    const auto measured =
        spec::load_file(path.substr(0, path.size() - std::string_view(".weft.yaml").size()) + ".csv", diagnostics);
    const auto source = spec::load_file(file, diagnostics);
    if (measured) read_rows(diagnostics.sources().text(*measured), table);
    auto design = source ? experiment::Design::read(*source, table.name, {}, catalog, diagnostics) : nullptr;
    if (design == nullptr)
      table.wrong.push_back(spec::render_text(diagnostics, false, 0));
    else if (table.wrong.empty())
      time_rows(*design, table);
  }
  return tables;
}

}  // namespace weft::truth
