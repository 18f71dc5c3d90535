// Every table of measurements in a folder against what the simulator says.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "app/ctrl_c.hpp"
#include "app/data_folder.hpp"
#include "app/output.hpp"
#include "app/session.hpp"
#include "app/sim/progress.hpp"
#include "app/sweep/sweep_progress.hpp"
#include "report/table.hpp"
#include "truth/training_page.hpp"
#include "truth/validation_text.hpp"

namespace weft::app {
namespace {

using collective::Origin;
using truth::Errors;
using truth::Measurement;
using truth::TruthClock;
using truth::TruthTable;
using truth::Verdict;

void print_row(const Verdict& verdict, std::size_t i, bool json, Console& console) {
  const Measurement& row = verdict.table->rows[i];
  const schedule::CollectiveRow& simulated = verdict.simulated[i];
  const double off = truth::error_of(row, simulated);
  if (json) {
    console.out << nlohmann::ordered_json({{"record", "validation_row"},
                                           {"version", 1},
                                           {"table", verdict.table->name},
                                           {"bytes", row.bytes},
                                           {"measured_ps", row.time.count()},
                                           {"simulated_ps", simulated.time.count()},
                                           {"error", off},
                                           {"counted", row.steady},
                                           {"algorithm", simulated.algorithm},
                                           {"protocol", simulated.protocol},
                                           {"channels", simulated.channels}})
                       .dump()
                << "\n";
  } else {
    console.out << fmt::format("{:<44} {:>12} {:>12.2f} {:>12.2f} {:>+8.1f}%{} {} {} {}\n", verdict.table->name,
                               row.bytes, static_cast<double>(row.time.count()) / 1e6,
                               static_cast<double>(simulated.time.count()) / 1e6, 100 * off, row.steady ? " " : "*",
                               simulated.algorithm, simulated.protocol, simulated.channels);
  }
}

nlohmann::ordered_json record_of(const Errors& errors) {
  return {
      {"rows", errors.relative.size()}, {"median", errors.median()}, {"p90", errors.p90()}, {"worst", errors.worst()}};
}

void print_record(const Verdict& verdict, Console& console) {
  const TruthTable& table = *verdict.table;
  const Errors all = verdict.errors.all();
  nlohmann::ordered_json record({{"record", "validation"},
                                 {"version", 1},
                                 {"table", table.name},
                                 {"operation", collective::name(table.job.operation)},
                                 {"gpu", table.team->group(0).spec.gpu.kind},
                                 {"ranks", table.team->ranks()},
                                 {"stack", table.stack},
                                 {"rows", table.rows.size()},
                                 {"counted", verdict.counted},
                                 {"median", all.median()},
                                 {"p90", all.p90()},
                                 {"worst", all.worst()},
                                 {"below_1MiB", record_of(verdict.errors.small)},
                                 {"from_1MiB", record_of(verdict.errors.large)}});
  if (verdict.left_out)
    record["left_out"] = {{"below_1MiB", record_of(verdict.left_out->small)},
                          {"from_1MiB", record_of(verdict.left_out->large)},
                          {"only_known_here", verdict.lonely}};
  console.out << record.dump() << "\n";
}

// What constants would explain these tables best.
void print_refit(const std::vector<TruthTable>& tables, const std::string& what, TruthClock& clock, Console& console) {
  collective::Constants fitted = collective::constants();
  for (const Origin origin : {Origin::measured, Origin::fitted})
    if (what == "all" || what == collective::name(origin))
      fitted = truth::refit(tables, std::move(fitted), origin, clock);
  const std::vector<collective::Number> before = collective::numbers(collective::constants());
  const std::vector<collective::Number> after = collective::numbers(fitted);
  report::Table changed({{"of"}, {"constant"}, {"now", true}, {"fitted", true}, {"unit"}});
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i].value != after[i].value)
      changed.add({std::string(before[i].owner), std::string(before[i].name), fmt::format("{}", before[i].value),
                   fmt::format("{}", after[i].value), std::string(before[i].unit)});
  std::vector<Verdict> verdicts;
  for (const TruthTable& each : tables) verdicts.push_back(truth::judge(each, fitted, clock));
  console.out << changed.text(0, console.colour_out) << "\n"
              << truth::validation_text(verdicts, tables, console.colour_out);
}

// Of tables beside those that constants are fitted to; empty where there are none.
std::vector<Verdict> held_out_of(const std::vector<TruthTable>& tables, TruthClock& clock) {
  std::vector<Verdict> verdicts;
  for (const TruthTable& each : tables) verdicts.push_back(truth::judge(each, collective::constants(), clock));
  return verdicts;
}

std::vector<TruthTable> load(const std::string& directory, bool json, Console& console, bool& failed) {
  truth::LoadedTables loaded = truth::load_tables(directory);
  for (const spec::Diagnostics& each : loaded.wrong)
    (json ? console.out : console.err) << (json ? spec::render_json(each)
                                                : spec::render_text(each, console.colour_err, console.width));
  for (const std::string& each : loaded.remarks) console.err << each << "\n";
  failed |= !loaded.wrong.empty();
  return std::move(loaded.tables);
}

int write_plots(const std::vector<Verdict>& verdicts, const std::string& directory, Console& console) {
  std::error_code fault;
  std::filesystem::create_directories(directory, fault);
  for (const Verdict& each : verdicts) {
    const std::string file = (std::filesystem::path(directory) / (each.table->name + ".svg")).string();
    const int code =
        write_output(file, console, [&](std::ostream& out) { out << draw::to_svg(truth::validation_plot(each)); });
    if (code != kFine) return code;
  }
  return kFine;
}

bool meets_targets(const std::vector<Verdict>& verdicts) {
  truth::BySize all;
  for (const Verdict& each : verdicts) all.add(each.errors);
  const auto targets = truth::targets(all);
  return std::all_of(targets.begin(), targets.end(), [](const truth::Target& each) { return each.met(); });
}

}  // namespace

std::string tables_folder(const ValidateOptions& options) {
  return options.directory.empty() ? data_folder("truth").string() : options.directory;
}

int no_tables(const std::string& directory, bool json, Console& console) {
  spec::Diagnostics diagnostics;
  diagnostics.add(spec::Error::cannot_read, {},
                  directory.empty() ? "the tables that come with weft are not installed"
                                    : fmt::format("no tables in {}", directory),
                  "a folder with NAME.csv and NAME.weft.yaml");
  InputOptions input;
  input.json = json;
  report(diagnostics, input, console);
  return kYourInput;
}

int validate(const ValidateOptions& options, Console& console) {
  if (options.training) return validate_training(options, console);
  bool failed = false;
  const std::string directory = tables_folder(options);
  const std::vector<TruthTable> tables = load(directory, options.json, console, failed);
  if (tables.empty() && !failed) return no_tables(directory, options.json, console);
  TruthClock clock;
  if (!options.refit.empty()) {
    if (!failed) print_refit(tables, options.refit, clock, console);
    return failed ? kYourInput : kFine;  // a fit to a part of the tables would be another one
  }
  const CtrlC ctrl_c;
  std::vector<Verdict> verdicts;
  SweepProgress progress(tables.size(), console, "tables");
  for (const TruthTable& table : tables) {
    progress.show(verdicts.size());
    if (CtrlC::pressed()) break;
    Verdict verdict = truth::judge(table, collective::constants(), clock);
    if (options.rows)
      for (std::size_t i = 0; i < table.rows.size(); ++i) print_row(verdict, i, options.json, console);
    if (options.leave_one_out || options.page) {
      const truth::LeftOut without = truth::leave_out(tables, table, clock);
      verdict.left_out = truth::judge(table, without.constants, clock).errors;
      verdict.lonely = without.lonely;
    }
    if (options.json) print_record(verdict, console);
    verdicts.push_back(std::move(verdict));
  }
  progress.finish();
  if (verdicts.size() < tables.size()) {
    if (!options.json && !verdicts.empty()) console.out << truth::validation_text(verdicts, tables, console.colour_out);
    return progress.interrupted(verdicts.size());
  }
  const auto beside = [&](const char* folder) {
    const std::string path = (std::filesystem::path(directory) / folder).string();
    return options.page ? load(path, options.json, console, failed) : std::vector<TruthTable>{};
  };
  const std::vector<TruthTable> held_out = beside("held-out");
  const std::vector<TruthTable> blind = beside("blind");
  const auto training_page_of = [](const std::filesystem::path& folder) {
    const auto tables_in = [](const std::filesystem::path& each) { return truth::time_training_tables(each.string()); };
    const auto steps = tables_in(folder / "training");
    return steps.empty() ? "" : truth::training_page(steps, tables_in(folder / "blind" / "training"));
  };
  if (options.page)
    console.out << truth::validation_page(verdicts, tables, held_out_of(held_out, clock), held_out_of(blind, clock),
                                          truth::supports(tables, clock))
                << training_page_of(directory);
  else if (!options.json && !verdicts.empty())
    console.out << truth::validation_text(verdicts, tables, console.colour_out);
  const int written = options.plots.empty() ? kFine : write_plots(verdicts, options.plots, console);
  if (written != kFine) return written;
  return failed ? kYourInput : options.page || meets_targets(verdicts) ? kFine : kExpectationFailed;
}

}  // namespace weft::app
