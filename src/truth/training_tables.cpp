#include "truth/training_tables.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "base/text.hpp"
#include "experiment/experiment.hpp"
#include "spec/files.hpp"

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
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    experiment::Experiment experiment{.workload = std::make_shared<const experiment::Workload>(jobs[i])};
    experiment.fidelity = experiment::Fidelity::message;
    experiment::check(design, experiment);
    if (design.diagnostics().has_errors()) {
      table.wrong.push_back(spec::render_text(design.diagnostics(), false, 0));
      return;
    }
    const experiment::Outcome outcome = experiment::run(design, experiment, {});
    table.rows[i].simulated = static_cast<double>(outcome.training->step.time.count()) * 1e-12;
  }
}

Errors errors_of(const std::vector<TrainingRow>& rows, double (TrainingRow::*error)() const) {
  Errors out;
  for (const TrainingRow& row : rows)
    if (row.counted) out.relative.push_back(std::abs((row.*error)()));
  return out;
}

}  // namespace

Errors TrainingTable::errors() const { return errors_of(rows, &TrainingRow::error); }
Errors TrainingTable::blind_errors() const { return errors_of(rows, &TrainingRow::blind_error); }

std::vector<TrainingTable> time_training_tables(const std::string& directory) {
  std::set<fs::path> files;  // sorted: the same order on every file system
  std::error_code fault;
  for (const auto& item : fs::directory_iterator(directory, fault))
    if (item.path().string().ends_with(".weft.yaml")) files.insert(item.path());
  std::vector<TrainingTable> tables;
  for (const fs::path& file : files) {
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
