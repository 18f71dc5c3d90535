// Every table of measurements in a folder against what the simulator says: NAME.csv is what was measured,
// NAME.weft.yaml the cluster, with one `run:` that says which collective, on how many GPUs and with which stack.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "app/measurements.hpp"
#include "app/sim_collective.hpp"
#include "base/text.hpp"
#include "collective/tuner.hpp"
#include "report/table.hpp"

namespace weft::app {
namespace {

using collective::Team;
using spec::Complaint;

constexpr std::uint64_t kSmall = 1 << 20;  // below it latency decides, above it bandwidth

struct Errors {
  std::vector<double> relative;  // of time, without sign

  double quantile(double part) const {
    if (relative.empty()) return 0;
    std::vector<double> sorted = relative;
    std::sort(sorted.begin(), sorted.end());
    return sorted[std::min(sorted.size() - 1,
                           static_cast<std::size_t>(std::ceil(part * static_cast<double>(sorted.size()))) - 1)];
  }
  double median() const { return quantile(0.5); }
  double p90() const { return quantile(0.9); }
  double worst() const { return quantile(1.0); }
};

struct TableResult {
  std::string name;
  std::string operation;
  std::uint32_t ranks = 0;
  std::string stack;
  std::size_t rows = 0;     // in the table
  std::size_t counted = 0;  // whose two times agree
  Errors small;
  Errors large;
};

std::string percent(double part) {
  return fmt::format("{:.1f}%", 100 * part);
}

class Validation {
 public:
  Validation(const ValidateOptions& options, Console& console) : options_(options), console_(console) {}

  int run();

 private:
  std::vector<std::filesystem::path> tables() const;
  std::optional<TableResult> check(const std::filesystem::path& table);
  void show_row(const TableResult& result, const Measurement& row, const report::CollectiveRow& simulated) const;
  void print(const std::vector<TableResult>& results) const;
  void print_record(const TableResult& result) const;

  const ValidateOptions& options_;
  Console& console_;
};

std::vector<std::filesystem::path> Validation::tables() const {
  std::vector<std::filesystem::path> found;
  std::error_code fault;
  for (std::filesystem::directory_iterator each(options_.directory, fault), end; !fault && each != end;
       each.increment(fault))
    if (each->path().extension() == ".csv") found.push_back(each->path());
  std::sort(found.begin(), found.end());
  return found;
}

void Validation::show_row(const TableResult& result, const Measurement& row,
                          const report::CollectiveRow& simulated) const {
  const double off = static_cast<double>(simulated.time - row.time) / static_cast<double>(row.time);
  if (options_.json) {
    console_.out << nlohmann::ordered_json({{"record", "validation_row"},
                                            {"version", 1},
                                            {"table", result.name},
                                            {"bytes", row.bytes},
                                            {"measured_ps", row.time},
                                            {"simulated_ps", simulated.time},
                                            {"error", off},
                                            {"counted", row.steady},
                                            {"algorithm", simulated.algorithm},
                                            {"protocol", simulated.protocol},
                                            {"channels", simulated.channels}})
                        .dump()
                 << "\n";
  } else {
    console_.out << fmt::format("{:<44} {:>12} {:>12.2f} {:>12.2f} {:>+8.1f}%{} {} {} {}\n", result.name, row.bytes,
                                static_cast<double>(row.time) / 1e6, static_cast<double>(simulated.time) / 1e6,
                                100 * off, row.steady ? " " : "*", simulated.algorithm, simulated.protocol,
                                simulated.channels);
  }
}

std::optional<TableResult> Validation::check(const std::filesystem::path& table) {
  InputOptions input;
  input.file = (table.parent_path() / (table.stem().string() + ".weft.yaml")).string();
  input.json = options_.json;
  Session session(input, console_);
  if (!session.ok()) return std::nullopt;
  spec::Diagnostics& diagnostics = session.diagnostics();
  const auto rows = load_measurements(table, diagnostics);
  const std::vector<CollectiveJob> jobs = collectives_of(session.cluster());
  if (jobs.size() != 1)
    diagnostics.add(Complaint::contradiction, session.place("run", ""), "a scenario has one collective",
                    "run: [{all_reduce: {gpus: 16, stack: ib}}]");
  if (jobs.size() == 1) check_job(jobs[0], session.cluster(), diagnostics);
  const collective::Stack* stack = jobs.size() == 1 ? stack_of(jobs[0], "", session.cluster(), diagnostics) : nullptr;
  if (app::report(diagnostics, input, console_) || !rows || stack == nullptr) return std::nullopt;

  const Team team(session.fabric(), collective::pick_gpus(session.cluster(), jobs[0].gpus, 0));
  TableResult result{table.stem().string(),
                     std::string(collective::name(jobs[0].operation)),
                     team.ranks(),
                     std::string(stack->name),
                     rows->size(),
                     0,
                     {},
                     {}};
  for (const Measurement& row : *rows) {
    const collective::Estimate best = collective::estimates(team, jobs[0].operation, row.bytes, *stack).front();
    const report::CollectiveRow simulated = time_collective(team,
                                                            {.operation = jobs[0].operation,
                                                             .bytes = row.bytes,
                                                             .choice = {best.algorithm, best.protocol, 0},
                                                             .stack = stack},
                                                            nullptr);
    if (options_.rows) show_row(result, row, simulated);
    if (!row.steady) continue;
    ++result.counted;
    const double off = std::abs(static_cast<double>(simulated.time - row.time)) / static_cast<double>(row.time);
    (row.bytes < kSmall ? result.small : result.large).relative.push_back(off);
  }
  return result;
}

void Validation::print_record(const TableResult& result) const {
  const auto errors = [](const Errors& each) {
    return nlohmann::ordered_json{
        {"rows", each.relative.size()}, {"median", each.median()}, {"p90", each.p90()}, {"worst", each.worst()}};
  };
  Errors all = result.small;
  all.relative.insert(all.relative.end(), result.large.relative.begin(), result.large.relative.end());
  console_.out << nlohmann::ordered_json({{"record", "validation"},
                                          {"version", 1},
                                          {"table", result.name},
                                          {"operation", result.operation},
                                          {"ranks", result.ranks},
                                          {"stack", result.stack},
                                          {"rows", result.rows},
                                          {"counted", result.counted},
                                          {"median", all.median()},
                                          {"p90", all.p90()},
                                          {"worst", all.worst()},
                                          {"below_1MiB", errors(result.small)},
                                          {"from_1MiB", errors(result.large)}})
                      .dump()
               << "\n";
}

void Validation::print(const std::vector<TableResult>& results) const {
  report::Table table({{"table"},
                       {"operation"},
                       {"ranks", true},
                       {"stack"},
                       {"rows", true},
                       {"counted", true},
                       {"<1MiB median", true},
                       {"p90", true},
                       {"worst", true},
                       {">=1MiB median", true},
                       {"p90", true},
                       {"worst", true}});
  Errors small;
  Errors large;
  const auto cells = [](const Errors& errors) {
    return errors.relative.empty()
               ? std::vector<std::string>{"-", "-", "-"}
               : std::vector<std::string>{percent(errors.median()), percent(errors.p90()), percent(errors.worst())};
  };
  const auto add = [&](std::vector<std::string> line, const Errors& below, const Errors& above) {
    for (const Errors* errors : {&below, &above})
      for (std::string& cell : cells(*errors)) line.push_back(std::move(cell));
    table.add(std::move(line));
  };
  std::size_t rows = 0;
  for (const TableResult& each : results) {
    add({each.name, each.operation, fmt::format("{}", each.ranks), each.stack, fmt::format("{}", each.rows),
         fmt::format("{}", each.counted)},
        each.small, each.large);
    rows += each.rows;
    small.relative.insert(small.relative.end(), each.small.relative.begin(), each.small.relative.end());
    large.relative.insert(large.relative.end(), each.large.relative.begin(), each.large.relative.end());
  }
  add({"all", "", "", "", fmt::format("{}", rows), fmt::format("{}", small.relative.size() + large.relative.size())},
      small, large);
  console_.out << table.text(0, console_.colour_out);
}

int Validation::run() {
  const std::vector<std::filesystem::path> found = tables();
  if (found.empty()) {
    console_.err << fmt::format("no tables in {}: a folder with NAME.csv and NAME.weft.yaml is needed\n",
                                options_.directory);
    return kYourInput;
  }
  std::vector<TableResult> results;
  bool failed = false;
  for (const std::filesystem::path& table : found) {
    auto result = check(table);
    failed |= !result;
    if (!result) continue;
    if (options_.json) print_record(*result);
    results.push_back(std::move(*result));
  }
  if (!options_.json && !results.empty()) print(results);
  return failed ? kYourInput : kFine;
}

}  // namespace

int validate(const ValidateOptions& options, Console& console) {
  return Validation(options, console).run();
}

}  // namespace weft::app
