#include "truth/validation_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "report/table.hpp"

namespace weft::truth {
namespace {

using collective::Origin;

std::string percent(double part) { return fmt::format("{:.1f}%", 100 * part); }

std::string percent_or_none(const Errors& errors, double part) {
  return errors.relative.empty() ? "-" : percent(part == 0.5 ? errors.median() : errors.quantile(part));
}
std::string percent_or_none(const std::optional<double>& part) { return part ? percent(*part) : "-"; }

std::string three(const Errors& errors) {
  if (errors.relative.empty()) return "-";
  return fmt::format("{}, {}, {}", percent(errors.median()), percent(errors.p90()), percent(errors.worst()));
}

constexpr double kQuantiles[] = {0.5, 0.9, 1.0};

struct Total {
  std::size_t rows = 0;
  BySize errors;
  BySize left_out;
  bool has_left_out = false;
};

Total total_of(const std::vector<Verdict>& verdicts) {
  Total total;
  for (const Verdict& each : verdicts) {
    total.rows += each.table->rows.size();
    total.errors.add(each.errors);
    total.has_left_out |= each.left_out.has_value();
    if (each.left_out) total.left_out.add(*each.left_out);
  }
  return total;
}

// One half of the sizes: a line per table, and one for all.
std::string half(const std::vector<Verdict>& verdicts, const Total& total, Errors BySize::*size, std::string title,
                 bool colour) {
  std::vector<report::Column> columns = {
      {std::move(title)}, {"rows", true}, {"median", true}, {"p90", true}, {"worst", true}};
  if (total.has_left_out)
    for (const char* name : {"left out", "p90", "worst"}) columns.push_back({name, true});
  report::Table table(std::move(columns));
  const auto add = [&](const std::string& name, const BySize& errors, const BySize& left_out) {
    if ((errors.*size).relative.empty()) return;
    std::vector<std::string> cells{name, fmt::format("{}", (errors.*size).relative.size())};
    for (const double part : kQuantiles) cells.push_back(percent_or_none(errors.*size, part));
    if (total.has_left_out)
      for (const double part : kQuantiles) cells.push_back(percent_or_none(left_out.*size, part));
    table.add(std::move(cells));
  };
  for (const Verdict& each : verdicts) add(each.table->name, each.errors, each.left_out.value_or(BySize{}));
  add("all", total.errors, total.left_out);
  return table.text(0, colour);
}

std::string in_words(const Target& target) {
  if (!target.reached) return fmt::format("{}: -, no rows", target.text);
  return fmt::format("{}: {}, {} {} asked for", target.text, percent(*target.reached), target.met() ? "at most" : "but",
                     percent(target.limit));
}

std::string numbers_text() {
  return fmt::format("{} constants are published, {} were measured elsewhere, {} fitted to tables of truth/",
                     collective::count(Origin::published), collective::count(Origin::measured),
                     collective::count(Origin::fitted));
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(between)) + word;
  return text;
}

using Out = std::back_insert_iterator<std::string>;

void write_summary(Out out, const Total& total, std::size_t tables) {
  fmt::format_to(out, "{} tables with {} rows, of which {} count. Errors are of time, without sign.\n\n", tables,
                 total.rows, total.errors.all().relative.size());
  fmt::format_to(out, "| what is asked | limit | reached | left out | |\n|---|---:|---:|---:|---|\n");
  const std::vector<Target> in = targets(total.errors);
  const std::vector<Target> without = targets(total.left_out);
  for (std::size_t i = 0; i < in.size(); ++i)
    fmt::format_to(out, "| {} | {} | {} | {} | {} |\n", in[i].text, percent(in[i].limit),
                   percent_or_none(in[i].reached), percent_or_none(without[i].reached),
                   in[i].met() ? "met" : "**missed**");
  fmt::format_to(out,
                 "\n\"Left out\" is the error of every table with the fitted constants fitted anew to all other tables "
                 "(of up to {} GPUs), by coordinate descent from what they are, and by a factor of two at most.\n",
                 kMostFittedRanks);
}

std::string rests_on(const collective::Number& number, const std::vector<Support>& supports) {
  for (const Support& each : supports)
    if (each.number.owner == number.owner && each.number.name == number.name)
      return each.tables.size() == 1 ? "**only " + each.tables[0] + "**" : fmt::format("{}", each.tables.size());
  return "-";
}

void write_constants(Out out, const std::vector<Support>& supports) {
  fmt::format_to(out,
                 "\n## Constants\n\n{}. A constant belongs to a GPU generation, a network or a launch mode, never "
                 "to a table. Those that are published are in `src/collective/constants.cpp`; the others:\n\n",
                 numbers_text());
  fmt::format_to(out,
                 "| of | constant | value | | where from | tables that change with it |\n|---|---|---:|---|---|---|\n");
  for (const collective::Number& each : collective::numbers(collective::constants()))
    if (each.origin != Origin::published)
      fmt::format_to(out, "| {} | {} | {} | {} | {}: {} | {} |\n", each.owner, each.name, each.value, each.unit,
                     collective::name(each.origin), each.source, rests_on(each, supports));
}

void write_tables(Out out, const std::vector<Verdict>& verdicts) {
  fmt::format_to(out,
                 "\n## Tables\n\nMedian, nine rows in ten, worst; behind them the same with the table left out.\n\n");
  fmt::format_to(
      out,
      "| table | operation | GPUs | servers | stack | rows | counted | below 1 MiB | left out | from 1 MiB | "
      "left out |\n|---|---|---:|---|---|---:|---:|---|---|---|---|\n");
  for (const Verdict& each : verdicts) {
    const TruthTable& table = *each.table;
    const BySize left_out = each.left_out.value_or(BySize{});
    fmt::format_to(out, "| [{0}](#{0}) | {1} | {2} | {3} | {4} | {5} | {6} | {7} | {8} | {9} | {10} |\n", table.name,
                   collective::name(table.job.operation), table.team->ranks(), table.kind, table.stack,
                   table.rows.size(), each.counted, three(each.errors.small), three(left_out.small),
                   three(each.errors.large), three(left_out.large));
  }
}

void write_spreads(Out out, const std::vector<TruthTable>& tables) {
  fmt::format_to(out,
                 "\n## What tables of the same kind say of each other\n\nThe same GPUs, network, operation and number "
                 "of GPUs: how "
                 "much longer the longest time is than the shortest, at sizes that several have.\n\n"
                 "| tables | sizes | median | worst |\n|---|---:|---:|---:|\n");
  for (const Spread& each : spreads(tables))
    fmt::format_to(out, "| {} | {} | {} | {} |\n", joined(each.tables, ", "), each.sizes, percent(each.median),
                   percent(each.worst));
}

void write_held_out(Out out, const std::vector<Verdict>& verdicts) {
  const Total total = total_of(verdicts);
  fmt::format_to(
      out,
      "\n## Tables that nothing was fitted to\n\n{} tables in truth/held-out, of other hardware and stacks. No "
      "constant was fitted to them; what they show may have led to a mechanism. Median, nine rows in ten and "
      "worst of all: {} below 1 MiB, {} from 1 MiB.\n\n"
      "| table | operation | GPUs | servers | stack | counted | below 1 MiB | from 1 MiB | |\n"
      "|---|---|---:|---|---|---:|---|---|---|\n",
      verdicts.size(), three(total.errors.small), three(total.errors.large));
  for (const Verdict& each : verdicts)
    fmt::format_to(out, "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", each.table->name,
                   collective::name(each.table->job.operation), each.table->team->ranks(), each.table->kind,
                   each.table->stack, each.counted, three(each.errors.small), three(each.errors.large),
                   joined(each.table->notes, " "));
}

void write_blind(Out out, const std::vector<Verdict>& verdicts) {
  fmt::format_to(
      out,
      "\n## Tables that were first tried blind\n\nThe cluster file was written from the head of the table, and "
      "the error noted, in a commit that changes nothing else. Median, nine rows in ten, worst of time. Tables "
      "whose source has an address with an odd CRC-32 are never fitted to.\n\n"
      "| table | operation | GPUs | servers | stack | blind | below 1 MiB today | from 1 MiB today | fitted to "
      "| |\n|---|---|---:|---|---|---|---|---|---|---|\n");
  for (const Verdict& each : verdicts)
    fmt::format_to(out, "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", each.table->name,
                   collective::name(each.table->job.operation), each.table->team->ranks(), each.table->kind,
                   each.table->stack, joined(each.table->blind, "; "), three(each.errors.small),
                   three(each.errors.large), each.table->never_fitted ? "never" : "not yet",
                   joined(each.table->notes, " "));
}

void write_rows(Out out, const Verdict& verdict) {
  const TruthTable& table = *verdict.table;
  fmt::format_to(out, "\n### {0}\n\n![{0}](pictures/validation/{0}.svg)\n\n", table.name);
  for (const std::string& note : table.notes) fmt::format_to(out, "{}\n", note);
  if (!verdict.lonely.empty())
    fmt::format_to(out, "{}Only this table tells: {}. Left out, they are those of their like, or nothing.\n",
                   table.notes.empty() ? "" : "\n", joined(verdict.lonely, ", "));
  fmt::format_to(out, "\n| bytes | measured us | simulated us | error | chosen |\n|---:|---:|---:|---:|---|\n");
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const schedule::CollectiveRow& row = verdict.simulated[i];
    fmt::format_to(out, "| {} | {:.2f} | {:.2f} | {:+.1f}%{} | {} {} {} |\n", table.rows[i].bytes,
                   static_cast<double>(table.rows[i].time.count()) / 1e6, static_cast<double>(row.time.count()) / 1e6,
                   100 * error_of(table.rows[i], row), table.rows[i].steady ? "" : " *", row.algorithm, row.protocol,
                   row.channels);
  }
}

}  // namespace

std::string validation_text(const std::vector<Verdict>& verdicts, const std::vector<TruthTable>& tables, bool colour) {
  const Total total = total_of(verdicts);
  std::string text;
  if (!total.errors.small.relative.empty()) text += half(verdicts, total, &BySize::small, "below 1 MiB", colour) + "\n";
  if (!total.errors.large.relative.empty()) text += half(verdicts, total, &BySize::large, "from 1 MiB", colour) + "\n";
  for (const Spread& each : spreads(tables))
    text += fmt::format("{} differ from each other by {}, at most {}, at {} sizes\n", joined(each.tables, ", "),
                        percent(each.median), percent(each.worst), each.sizes);
  for (const Verdict& each : verdicts)
    if (!each.table->blind.empty())
      text += fmt::format("{}: blind {}\n", each.table->name, joined(each.table->blind, "; "));
  text += fmt::format("{} rows, {} counted; {}\n", total.rows, total.errors.all().relative.size(), numbers_text());
  for (const Target& each : targets(total.errors)) text += in_words(each) + "\n";
  return text;
}

std::string validation_page(const std::vector<Verdict>& verdicts, const std::vector<TruthTable>& tables,
                            const std::vector<Verdict>& held_out, const std::vector<Verdict>& blind,
                            const std::vector<Support>& supports) {
  const Total total = total_of(verdicts);
  std::string page;
  const Out out = std::back_inserter(page);
  fmt::format_to(out,
                 "<!-- weft validate --page writes this page -->\n# How far collectives and training steps are from "
                 "measurements\n\n");
  write_summary(out, total, verdicts.size());
  fmt::format_to(out, "\n## Where it is not met, and why\n\n");
  for (const Verdict& each : verdicts) {
    if (each.errors.large.p90() <= 0.15 && each.errors.large.worst() <= 0.30 && each.errors.small.p90() <= 0.25)
      continue;
    fmt::format_to(out, "- **{}**: from 1 MiB nine rows in ten {}, worst {}; below 1 MiB nine rows in ten {}. {}\n",
                   each.table->name, percent_or_none(each.errors.large, 0.9), percent_or_none(each.errors.large, 1.0),
                   percent_or_none(each.errors.small, 0.9), joined(each.table->notes, " "));
  }
  write_tables(out, verdicts);
  if (!held_out.empty()) write_held_out(out, held_out);
  if (!blind.empty()) write_blind(out, blind);
  write_spreads(out, tables);
  write_constants(out, supports);
  fmt::format_to(out,
                 "\n## Every row\n\nRows marked * do not count: their in-place and out-of-place times differ by more "
                 "than 15 %.\n");
  for (const Verdict& each : verdicts) write_rows(out, each);
  return page;
}

draw::Picture validation_plot(const Verdict& verdict) {
  const TruthTable& table = *verdict.table;
  const Ratio factor = collective::bus_factor(table.job.operation, table.team->ranks());
  const auto bus = [&](std::uint64_t bytes, std::int64_t time) {
    return static_cast<double>(bytes) * 1e3 / static_cast<double>(time) * static_cast<double>(factor.over) /
           static_cast<double>(factor.under);
  };
  draw::Plot plot;
  plot.title = table.name;
  plot.caption = {fmt::format("{} of {} GPUs, {}, stack {}", collective::name(table.job.operation), table.team->ranks(),
                              table.kind, table.stack)};
  plot.quantity = "busbw in GB/s";
  plot.curves = {{"measured", {}, true}, {"simulated", {}, false}};
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const std::uint64_t bytes = table.rows[i].bytes;
    plot.curves[0].points.push_back({static_cast<double>(bytes), bus(bytes, table.rows[i].time.count())});
    plot.curves[1].points.push_back({static_cast<double>(bytes), bus(bytes, verdict.simulated[i].time.count())});
  }
  return draw::plot(plot);
}

}  // namespace weft::truth
