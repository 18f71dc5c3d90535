// Published training steps of a folder against what the simulator says.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/commands.hpp"
#include "app/ctrl_c.hpp"
#include "app/sweep/sweep_progress.hpp"
#include "report/table.hpp"
#include "truth/training_tables.hpp"

namespace weft::app {
namespace {

std::string percents(double error) { return fmt::format("{:.1f}", 100 * error); }

void print_training_rows(const truth::TrainingTable& table, bool json, Console& console) {
  for (const truth::TrainingRow& row : table.rows) {
    if (json)
      console.out << nlohmann::ordered_json({{"record", "training_validation_row"},
                                             {"version", 1},
                                             {"table", table.name},
                                             {"row", row.name},
                                             {"measured_s", row.measured},
                                             {"simulated_s", row.simulated},
                                             {"error", row.error()},
                                             {"blind_error", row.blind_error()},
                                             {"counted", row.counted}})
                         .dump()
                  << "\n";
    else
      console.out << fmt::format("{:<26} {:<30} {:>9.3f} {:>9.3f} {:>+7.1f}%{} blind {:>+7.1f}%\n", table.name,
                                 row.name, row.measured, row.simulated, 100 * row.error(), row.counted ? " " : "*",
                                 100 * row.blind_error());
  }
}

}  // namespace

int validate_training(const ValidateOptions& options, Console& console) {
  const std::string directory = (std::filesystem::path(tables_folder(options)) / "training").string();
  const CtrlC ctrl_c;
  std::optional<SweepProgress> progress;
  const std::vector<truth::TrainingTable> tables =
      truth::time_training_tables(directory, [&](std::size_t done, std::size_t all) {
        if (!progress) progress.emplace(all, console, "tables");
        progress->show(done);
        return !CtrlC::pressed();
      });
  if (progress) progress->finish();
  if (tables.empty()) return progress ? progress->interrupted(0) : no_tables(directory, options.json, console);
  report::Table summary({{"table"},
                         {"rows", true},
                         {"counted", true},
                         {"median %", true},
                         {"9 of 10", true},
                         {"worst", true},
                         {"left out: median", true},
                         {"9 of 10", true},
                         {"blind: median", true},
                         {"9 of 10", true},
                         {"worst", true}});
  std::vector<double> medians;
  bool failed = false;
  for (const truth::TrainingTable& table : tables) {
    for (const std::string& each : table.wrong) console.err << each << "\n";
    failed |= !table.wrong.empty();
    if (!table.wrong.empty()) continue;
    if (options.rows) print_training_rows(table, options.json, console);
    const truth::Errors now = table.errors();
    const truth::Errors blind = table.blind_errors();
    const truth::Errors left_out = truth::left_out_errors(tables, table);
    if (!now.relative.empty()) medians.push_back(now.median());
    const auto cell = [&](double error) { return now.relative.empty() ? "-" : percents(error); };
    summary.add({table.name, fmt::format("{}", table.rows.size()), fmt::format("{}", now.relative.size()),
                 cell(now.median()), cell(now.p90()), cell(now.worst()), cell(left_out.median()), cell(left_out.p90()),
                 cell(blind.median()), cell(blind.p90()), cell(blind.worst())});
    if (options.json)
      console.out << nlohmann::ordered_json({{"record", "training_validation"},
                                             {"version", 1},
                                             {"table", table.name},
                                             {"rows", table.rows.size()},
                                             {"counted", now.relative.size()},
                                             {"median", now.median()},
                                             {"p90", now.p90()},
                                             {"worst", now.worst()},
                                             {"left_out_median", left_out.median()},
                                             {"left_out_p90", left_out.p90()},
                                             {"blind_median", blind.median()},
                                             {"blind_p90", blind.p90()},
                                             {"blind_worst", blind.worst()}})
                         .dump()
                  << "\n";
  }
  if (!options.json && !medians.empty()) {
    std::sort(medians.begin(), medians.end());
    console.out << summary.text(console.width, console.colour_out)
                << fmt::format("median of the tables' medians: {} %\n", percents(truth::Errors{medians}.median()));
  }
  if (CtrlC::pressed()) return progress->interrupted(tables.size());
  return failed ? kYourInput : kFine;
}

}  // namespace weft::app
