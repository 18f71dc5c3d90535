#include "app/measurements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "measured/nccl_tests.hpp"
#include "spec/files.hpp"

namespace weft::app {
namespace {

using spec::Complaint;
using spec::Place;

constexpr std::size_t kMostText = std::size_t{1} << 20;
constexpr double kMostBytes = 1e15;
constexpr double kMostMicroseconds = 1e12;

// In-place and out-of-place times that differ by more say that something else ran.
bool steady_enough(double a, double b) { return std::max(a, b) <= 1.15 * std::min(a, b); }

struct Cell {
  std::string_view text;
  std::uint32_t column = 1;
};

std::vector<Cell> cells_of(std::string_view line) {
  std::vector<Cell> cells;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t comma = std::min(line.find(',', at), line.size());
    cells.push_back({line.substr(at, comma - at), static_cast<std::uint32_t>(at + 1)});
    at = comma + 1;
  }
  return cells;
}

class Parser {
 public:
  Parser(std::uint32_t source, spec::Diagnostics& diagnostics) : source_(source), diagnostics_(diagnostics) {}

  std::vector<Measurement> parse() {
    const std::string_view text = diagnostics_.sources().text(source_);
    std::vector<Measurement> rows;
    for (std::size_t at = 0; at < text.size() && !diagnostics_.full();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      std::string_view line = text.substr(at, end - at);
      at = end + 1;
      ++line_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty() || line.starts_with('#')) continue;
      const std::vector<Cell> cells = cells_of(line);
      if (!columns_known_) {
        read_head(cells);
        if (diagnostics_.has_errors()) return {};
      } else if (const auto row = read_row(cells)) {
        rows.push_back(*row);
      }
    }
    if (rows.empty() && !diagnostics_.has_errors())
      complain(1, "no measurements in it", "a head line and a line per size");
    return rows;
  }

 private:
  static constexpr std::size_t kMissing = SIZE_MAX;

  void complain(std::uint32_t column, std::string message, std::string help) {
    diagnostics_.add(Complaint::wrong_type, Place{source_, std::max(1u, line_), column, 1}, std::move(message),
                     std::move(help));
  }

  void read_head(const std::vector<Cell>& cells) {
    columns_known_ = true;
    const auto find = [&](std::string_view name) {
      const auto found = std::find_if(cells.begin(), cells.end(), [&](const Cell& cell) { return cell.text == name; });
      return found == cells.end() ? kMissing : static_cast<std::size_t>(found - cells.begin());
    };
    size_ = find("size_bytes");
    times_[0] = find("oop_time_us");
    times_[1] = find("ip_time_us");
    if (times_[0] == kMissing) times_[0] = find("time_us");
    rate_ = find("algbw_GBps");
    if (size_ == kMissing || (times_[0] == kMissing && times_[1] == kMissing && rate_ == kMissing))
      complain(1, "the head names no size_bytes, or no time",
               "size_bytes and one of oop_time_us, ip_time_us, time_us, algbw_GBps");
  }

  std::optional<double> number(const std::vector<Cell>& cells, std::size_t index, double most) {
    if (index >= cells.size()) {
      complain(1, "the line is too short", "as many columns as the head has");
      return std::nullopt;
    }
    const Cell& cell = cells[index];
    double value = 0;
    const auto [end, fault] = std::from_chars(cell.text.data(), cell.text.data() + cell.text.size(), value);
    if (fault == std::errc() && end == cell.text.data() + cell.text.size() && value > 0 && value <= most) return value;
    complain(cell.column, fmt::format("'{}' is not a number above 0 that could be meant", cell.text.substr(0, 40)), "");
    return std::nullopt;
  }

  std::optional<Measurement> read_row(const std::vector<Cell>& cells) {
    const auto size = number(cells, size_, kMostBytes);
    if (!size) return std::nullopt;
    std::vector<double> times;
    for (const std::size_t column : times_)
      if (column != kMissing) {
        const auto time = number(cells, column, kMostMicroseconds);
        if (!time) return std::nullopt;
        times.push_back(*time);
      }
    if (times.empty()) {
      const auto rate = number(cells, rate_, kMostBytes);
      if (!rate) return std::nullopt;
      times.push_back(*size / *rate / 1e3);
    }
    const auto [least, most] = std::minmax_element(times.begin(), times.end());
    return Measurement{static_cast<std::uint64_t>(*size), static_cast<std::int64_t>(*least * 1e6),
                       steady_enough(*least, *most)};
  }

  std::uint32_t source_;
  spec::Diagnostics& diagnostics_;
  std::uint32_t line_ = 0;
  bool columns_known_ = false;
  std::size_t size_ = kMissing;
  std::size_t times_[2] = {kMissing, kMissing};
  std::size_t rate_ = kMissing;
};

// The first table of nccl-tests' output: where a text has more, they are of other jobs.
std::vector<Measurement> read_nccl_tests(std::uint32_t source, spec::Diagnostics& diagnostics) {
  std::vector<Measurement> rows;
  const auto benchmark = measured::read_benchmark(source, diagnostics);
  if (!benchmark) return rows;
  for (const measured::BenchmarkTable& table : benchmark->tables) {
    for (const measured::BenchmarkRow& row : table.rows) {
      const std::int64_t best = row.best().time.count();
      if (row.bytes <= 0 || best <= 0) continue;  // nccl-tests prints rows of nothing, too
      const bool steady = !row.in_place || !row.out_of_place ||
                          steady_enough(static_cast<double>(row.in_place->time.count()),
                                        static_cast<double>(row.out_of_place->time.count()));
      rows.push_back({static_cast<std::uint64_t>(row.bytes), best, steady});
    }
    if (!rows.empty()) break;
  }
  if (rows.empty() && !diagnostics.has_errors())
    diagnostics.add(Complaint::wrong_type, Place{source, 1, 1, 1}, "no table of nccl-tests in it",
                    "what nccl-tests prints, or a CSV file with size_bytes and time_us");
  return rows;
}

}  // namespace

std::optional<std::vector<Measurement>> load_measurements(const std::filesystem::path& file,
                                                          spec::Diagnostics& diagnostics) {
  const auto source = spec::load_file(file, diagnostics, kMostText);
  if (!source) return std::nullopt;
  if (diagnostics.sources().text(*source).size() > kMostText) {
    diagnostics.add(Complaint::out_of_range, Place{*source, 1, 1, 1}, "larger than 1 MiB", "a table of measurements");
    return std::nullopt;
  }
  std::vector<Measurement> rows =
      file.extension() == ".csv" ? Parser(*source, diagnostics).parse() : read_nccl_tests(*source, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  return rows;
}

}  // namespace weft::app
