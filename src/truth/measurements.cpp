#include "truth/measurements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "measured/environment.hpp"
#include "measured/nccl_tests.hpp"
#include "spec/files.hpp"
#include "truth/measurement_columns.hpp"

namespace weft::truth {
namespace {

using spec::Error;
using spec::Place;
using What = MeasuredColumn::What;

constexpr std::size_t kMostText = std::size_t{1} << 20;
constexpr double kMostBytes = 1e15;
constexpr double kMostMicroseconds = 1e12;
constexpr double kLeastRate = 1e-9;  // GB/s
constexpr std::string_view kHelp =
    "size_bytes and one of time_us, oop_time_us, ip_time_us, algbw_GBps, busbw_GBps; or what nccl-tests prints";

// In-place and out-of-place times that differ by more say that something else ran.
bool steady_enough(double a, double b) { return std::max(a, b) <= 1.15 * std::min(a, b); }

struct Cell {
  std::string_view text;
  std::uint32_t column = 1;
};

std::vector<Cell> cells_of(std::string_view line, char separator) {
  std::vector<Cell> cells;
  for (std::size_t at = 0; at <= line.size();) {
    std::size_t end = at;
    for (bool quoted = false; end < line.size() && (quoted || line[end] != separator); ++end)
      if (line[end] == '"') quoted = !quoted;
    cells.push_back({line.substr(at, end - at), static_cast<std::uint32_t>(at + 1)});
    at = end + 1;
  }
  return cells;
}

// One of , ; and tab: the one that cuts the head into most cells.
char separator_of(std::string_view head) {
  char best = ',';
  for (const char each : {';', '\t'})
    if (std::count(head.begin(), head.end(), each) > std::count(head.begin(), head.end(), best)) best = each;
  return best;
}

class TableReader {
 public:
  TableReader(std::uint32_t source, spec::Diagnostics& diagnostics) : diagnostics_(diagnostics) {
    out_.source = source;
  }

  // Its first line that is no remark names a size.
  bool has_head() {
    for (std::string_view line; next_line(line);)
      if (!is_remark(line)) {
        const std::vector<Cell> cells = cells_of(line, separator_of(line));
        return cells.size() > 1 && std::any_of(cells.begin(), cells.end(), [](const Cell& cell) {
                 const auto column = column_named(cell.text);
                 return column && column->what == What::size;
               });
      }
    return false;
  }

  std::optional<Measurements> read() {
    for (std::string_view line; next_line(line) && !diagnostics_.full();) {
      if (is_remark(line))
        read_remark(line);
      else if (columns_.empty())
        read_head(line);
      else
        read_row(cells_of(line, separator_));
      if (columns_.empty() && diagnostics_.has_errors()) return std::nullopt;
    }
    if (out_.rows.empty() && !diagnostics_.has_errors())
      complain(1, "no measurements in it", "a head line and a line per size");
    if (diagnostics_.has_errors()) return std::nullopt;
    return std::move(out_);
  }

 private:
  bool next_line(std::string_view& line) {
    const std::string_view text = diagnostics_.sources().text(out_.source);
    if (at_ == 0 && text.starts_with("\xEF\xBB\xBF")) at_ = 3;  // what editors of Windows begin a file with
    if (at_ >= text.size()) return false;
    const std::size_t end = std::min(text.find('\n', at_), text.size());
    line = text.substr(at_, end - at_);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at_ = end + 1;
    ++line_;
    return true;
  }

  static bool is_remark(std::string_view line) {
    const std::string_view bare = bare_cell(line);
    return bare.empty() || bare.starts_with('#');
  }

  void read_remark(std::string_view line) {
    constexpr std::string_view kOperation = "# operation: ";
    if (line.starts_with(kOperation)) out_.collective = bare_cell(line.substr(kOperation.size()));
    measured::collect_environment(line, out_.environment);
  }

  void complain(std::uint32_t column, std::string message, std::string help) {
    diagnostics_.add(Error::wrong_type, Place{out_.source, std::max(1u, line_), column, 1}, std::move(message),
                     std::move(help));
  }

  void read_head(std::string_view line) {
    separator_ = separator_of(line);
    const std::vector<Cell> cells = cells_of(line, separator_);
    bool size = false, enough = false;
    for (const Cell& cell : cells) {
      columns_.push_back(column_named(cell.text));
      auto& column = columns_.back();
      if (!column) continue;
      // Of columns that say the same the first counts.
      for (std::size_t i = 0; i + 1 < columns_.size() && column; ++i)
        if (columns_[i] && columns_[i]->what == column->what && columns_[i]->in_place == column->in_place)
          column.reset();
      if (!column) continue;
      (column->what == What::size ? size : enough) = true;
    }
    const bool timed = std::any_of(columns_.begin(), columns_.end(),
                                   [](const auto& column) { return column && column->what == What::time; });
    for (std::size_t i = 0; i < cells.size() && !timed; ++i)
      if (columns_[i] && columns_[i]->ambiguous)
        complain(cells[i].column, fmt::format("'{}' may be bits or bytes", bare_cell(cells[i].text).substr(0, 40)),
                 "GBps for bytes, Gbit for bits");
    if (!size || !enough)
      complain(1, size ? "the head names neither a time nor a bandwidth" : "the head names no size",
               std::string(kHelp));
    if (diagnostics_.has_errors()) columns_.clear();
  }

  std::optional<double> value(const Cell& cell, const MeasuredColumn& column, double least, double most) {
    const auto read = column.what == What::size ? size_in(cell.text) : number_in(cell.text);
    if (read && *read * column.scale >= least && *read * column.scale <= most) return *read * column.scale;
    complain(cell.column,
             fmt::format("'{}' is not a number above 0 that could be meant", bare_cell(cell.text).substr(0, 40)), "");
    return std::nullopt;
  }

  void read_row(const std::vector<Cell>& cells) {
    Measurement row;
    std::vector<double> times, from_rates, bus;
    double algorithm_rate = 0;
    bool wrong = false;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!columns_[i]) continue;
      if (i >= cells.size()) {
        if (columns_[i]->what != What::size && !times.empty()) continue;
        return complain(1, "the line is too short", "as many columns as the head has");
      }
      if (columns_[i]->what != What::size && nothing_measured(cells[i].text)) continue;
      const bool is_size = columns_[i]->what == What::size;
      const bool is_rate = columns_[i]->what == What::algorithm_rate || columns_[i]->what == What::bus_rate;
      // Rates of small messages are printed as 0.00: they count where there is nothing else.
      if (is_rate && (has(What::time) || (columns_[i]->what == What::bus_rate && has(What::algorithm_rate)))) {
        if (const auto rate = number_in(cells[i].text))
          remember_rate(*columns_[i], *rate * columns_[i]->scale, algorithm_rate);
        continue;
      }
      const auto read = value(cells[i], *columns_[i],
                              is_size   ? 1
                              : is_rate ? kLeastRate
                                        : 1e-6,
                              is_size ? kMostBytes : kMostMicroseconds);
      if (!read) {
        wrong = true;
        continue;
      }
      if (is_size) row.bytes = static_cast<std::uint64_t>(*read);
      if (columns_[i]->what == What::time) times.push_back(*read);
      if (columns_[i]->what == What::algorithm_rate) from_rates.push_back(*read);
      if (columns_[i]->what == What::bus_rate) bus.push_back(*read);
      if (is_rate) remember_rate(*columns_[i], *read, algorithm_rate);
    }
    if (wrong) return;
    for (const double rate : from_rates) times.push_back(static_cast<double>(row.bytes) / rate / 1e3);
    if (times.empty() && bus.empty())
      return complain(1, "nothing was measured in this line", "a time or a bandwidth beside each size");
    const std::vector<double>& all = times.empty() ? bus : times;
    const auto [least, most] = std::minmax_element(all.begin(), all.end());
    row.steady = steady_enough(*least, *most);
    if (times.empty())
      row.bus_rate = *most;
    else
      row.time = Duration(static_cast<std::int64_t>(*least * 1e6));
    out_.rows.push_back(row);
  }

  bool has(What what) const {
    return std::any_of(columns_.begin(), columns_.end(),
                       [&](const auto& column) { return column && column->what == what; });
  }

  // busbw / algbw of the largest rates is 2(n-1)/n of an all-reduce and (n-1)/n of others.
  void remember_rate(const MeasuredColumn& column, double rate, double& algorithm_rate) {
    if (column.what == What::algorithm_rate) algorithm_rate = rate;
    if (column.what != What::bus_rate || algorithm_rate < 10) return;
    const double part = rate / algorithm_rate;
    const double whole = part > 1 ? 2 : 1;
    if (part < whole) out_.ranks = std::llround(whole / (whole - part));
  }

  spec::Diagnostics& diagnostics_;
  Measurements out_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 0;
  char separator_ = ',';
  std::vector<std::optional<MeasuredColumn>> columns_;  // empty: the head is yet to come
};

// The first table of nccl-tests' output: where a text has more, they are of other jobs.
std::optional<Measurements> read_nccl_tests(std::uint32_t source, spec::Diagnostics& diagnostics) {
  Measurements out;
  out.source = source;
  const auto benchmark = measured::read_benchmark(source, diagnostics);
  if (!benchmark) return std::nullopt;
  for (const measured::BenchmarkTable& table : benchmark->tables) {
    for (const measured::BenchmarkRow& row : table.rows) {
      const std::int64_t best = row.best().time.count();
      if (row.bytes <= 0 || best <= 0) continue;  // nccl-tests prints rows of nothing, too
      const bool steady = !row.in_place || !row.out_of_place ||
                          steady_enough(static_cast<double>(row.in_place->time.count()),
                                        static_cast<double>(row.out_of_place->time.count()));
      out.rows.push_back({static_cast<std::uint64_t>(row.bytes), Duration(best), steady});
    }
    out.collective = table.collective;
    out.environment = table.environment;
    out.ranks = table.inferred_ranks();
    if (!out.rows.empty()) return out;
  }
  diagnostics.add(Error::wrong_type, Place{source, 1, 1, 1}, "no table of nccl-tests in it", std::string(kHelp));
  return std::nullopt;
}

}  // namespace

std::optional<Measurements> load_measurements(const std::filesystem::path& file, spec::Diagnostics& diagnostics) {
  const auto source = spec::load_file(file, diagnostics, kMostText);
  if (!source) return std::nullopt;
  const std::string_view text = diagnostics.sources().text(*source);
  if (text.size() > kMostText) {
    diagnostics.add(Error::out_of_range, Place{*source, 1, 1, 1}, "larger than 1 MiB", "a table of measurements");
    return std::nullopt;
  }
  // What it is, is told by what is in it: outputs of nccl-tests are kept under any name.
  const bool printed = text.find("busbw") != std::string_view::npos || text.find(" float ") != std::string_view::npos;
  if (!TableReader(*source, diagnostics).has_head() && (printed || file.extension() != ".csv"))
    return read_nccl_tests(*source, diagnostics);
  return TableReader(*source, diagnostics).read();
}

void time_from_bus(std::vector<Measurement>& rows, Ratio factor) {
  for (Measurement& row : rows)
    if (row.time == Duration(0))
      row.time = Duration(static_cast<std::int64_t>(static_cast<double>(row.bytes) * static_cast<double>(factor.over) /
                                                    static_cast<double>(factor.under) / row.bus_rate * 1e3));
}

}  // namespace weft::truth
