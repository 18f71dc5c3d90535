#include "truth/training_page.hpp"

#include <fmt/format.h>

#include <iterator>

namespace weft::truth {
namespace {

using Out = std::back_insert_iterator<std::string>;

// What is asked of a table: of its median and of nine rows in ten, as it is and with its framework's constant fitted
// without it.
constexpr double kMedian = 0.08;
constexpr double kMost = 0.20;
constexpr double kLeftOutMedian = 0.12;
constexpr double kLeftOutMost = 0.30;

std::string three(const Errors& errors) {
  if (errors.relative.empty()) return "-";
  return fmt::format("{:.1f}, {:.1f}, {:.1f}", 100 * errors.median(), 100 * errors.p90(), 100 * errors.worst());
}

std::string met(const Errors& errors, double median, double most) {
  if (errors.relative.empty()) return "-";
  if (errors.median() > median) return "median missed";
  return errors.p90() > most ? "nine in ten missed" : "met";
}

void write_table(Out out, const TrainingTable& table) {
  fmt::format_to(out, "\n### {}\n\n| row | measured s | simulated s | error % | blind % |\n|---|---:|---:|---:|---:|\n",
                 table.name);
  for (const TrainingRow& row : table.rows)
    fmt::format_to(out, "| {}{} | {:.4g} | {:.4g} | {:+.1f} | {:+.1f} |\n", row.name, row.counted ? "" : " *",
                   row.measured, row.simulated, 100 * row.error(), 100 * row.blind_error());
}

}  // namespace

std::string training_page(const std::vector<TrainingTable>& tables, const std::vector<TrainingTable>& blind) {
  std::string page;
  const Out out = std::back_inserter(page);
  Errors medians;
  for (const TrainingTable& table : tables)
    if (const Errors now = table.errors(); !now.relative.empty()) medians.relative.push_back(now.median());
  fmt::format_to(out,
                 "\n## Training steps\n\nMedian, nine rows in ten and worst error of a step's seconds in per cent, of "
                 "rows that count. Wanted of a table: median at most {:.0f}, nine in ten within {:.0f}; with its "
                 "framework's constant fitted to the others (left out) {:.0f} and {:.0f}. Blind is the first run, "
                 "before anybody had looked. Median of the tables' medians: {:.1f} (7 wanted). "
                 "[training.md](training.md) says why rows do not count and what is far off.\n\n"
                 "| table | rows | counted | today | {:.0f} / {:.0f} | left out | {:.0f} / {:.0f} | blind |\n"
                 "|---|---:|---:|---|---|---|---|---|\n",
                 100 * kMedian, 100 * kMost, 100 * kLeftOutMedian, 100 * kLeftOutMost, 100 * medians.median(),
                 100 * kMedian, 100 * kMost, 100 * kLeftOutMedian, 100 * kLeftOutMost);
  for (const TrainingTable& table : tables) {
    const Errors now = table.errors();
    const Errors left_out = left_out_errors(tables, table);
    fmt::format_to(out, "| {} | {} | {} | {} | {} | {} | {} | {} |\n", table.name, table.rows.size(),
                   now.relative.size(), three(now), met(now, kMedian, kMost), three(left_out),
                   met(left_out, kLeftOutMedian, kLeftOutMost), three(table.blind_errors()));
  }
  if (!blind.empty()) {
    fmt::format_to(out,
                   "\nTables of `truth/blind/training`, which no constant was fitted to:\n\n"
                   "| table | rows | counted | today | blind |\n|---|---:|---:|---|---|\n");
    for (const TrainingTable& table : blind) {
      const Errors now = table.errors();
      fmt::format_to(out, "| {} | {} | {} | {} | {} |\n", table.name, table.rows.size(), now.relative.size(),
                     three(now), three(table.blind_errors()));
    }
  }
  fmt::format_to(out, "\nEvery row; those marked * do not count.\n");
  for (const auto* all : {&tables, &blind})
    for (const TrainingTable& table : *all) write_table(out, table);
  return page;
}

}  // namespace weft::truth
