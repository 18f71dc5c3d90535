// Layouts of the rows, by version of nccl-tests:
//
//   1.0      bytes N type [op] [root]            time algbw busbw res    | the same in place; time in ms
//   2.0 on   size count type [redop] [root]      time algbw busbw error  | the same
//   2.13 on  size count type redop root          time algbw busbw #wrong | the same; redop and root may be blank
//   2.18 on  the same, a time stamp after it if asked for
//   2.19.5   time algbw busbw #wrong i_min i_max i_p99 i_cv% | the same, if asked for
//
// The heading above the rows says which; so many numbers belong to the time and what follows it, and what
// stands before them is told by its place and whether it is a word.

#include "measured/nccl_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "measured/environment.hpp"
#include "measured/text_lines.hpp"
#include "spec/node.hpp"

namespace weft::measured {
namespace {

using spec::Error;

constexpr std::size_t kMostRows = 100'000;
constexpr std::size_t kMostRanks = 1'000'000;

const std::vector<std::string> kCollectives = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                               "reduce",     "alltoallv",  "alltoall",       "gather",
                                               "scatter",    "sendrecv",   "hypercube"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// int8, uint32, half, float, bfloat16, fp8_e4m3, ...
bool is_type(std::string_view word) {
  constexpr std::string_view kBegin[] = {"int", "uint", "char", "half", "float", "double", "bf", "fp8", "f8"};
  return std::any_of(std::begin(kBegin), std::end(kBegin),
                     [&](std::string_view begin) { return word.starts_with(begin); }) &&
         word.find_first_of(":=,()") == std::string_view::npos;
}

// Whether `word` stands at `at` as a whole word of letters, digits and underscores.
bool whole_word(std::string_view text, std::size_t at, std::size_t length) {
  const auto inner = [](char c) { return is_letter(c) || c == '_' || (c >= '0' && c <= '9'); };
  return (at == 0 || !inner(text[at - 1])) && (at + length >= text.size() || !inner(text[at + length]));
}

// The collective that a text names as nccl-tests names its programs: all_reduce_perf.
std::string collective_in(std::string_view text) {
  for (const std::string& name : kCollectives)
    if (const std::size_t at = text.find(name + "_perf");
        at != std::string_view::npos && whole_word(text, at, name.size() + 5))
      return name;
  if (text.find(": simulated") == std::string_view::npos) return "";
  // weft's own heading, with weft's names.
  if (text.find(" all_to_all:") != std::string_view::npos) return "alltoall";
  if (text.find(" send_recv:") != std::string_view::npos) return "sendrecv";
  for (const std::string& name : kCollectives)
    if (text.find(" " + name + ":") != std::string_view::npos) return name;
  return "";
}

// The number before a word: 16 of "16 ranks".
std::optional<std::int64_t> number_before(std::string_view text, std::string_view noun) {
  const std::vector<Word> all = words(text);
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (!all[i].text.starts_with(noun)) continue;
    if (const auto value = whole_number(all[i - 1].text); value && *value > 0 && *value < 10'000'000) return value;
  }
  return std::nullopt;
}

// Headings of the retyped kind write time(us) and in-place:.
std::string_view bare(std::string_view word) {
  word = word.substr(0, word.find('('));
  if (word.ends_with(':')) word.remove_suffix(1);
  if (word.starts_with('#')) word.remove_prefix(1);
  return word;
}

struct Layout {
  std::size_t values = 4;     // columns of one half: time, algbw, busbw, wrong and what follows
  std::size_t halves = 2;     // out of place and in place
  bool milliseconds = false;  // 1.0
  bool with_timestamp = false;
  std::size_t behind = 0;  // words after both halves: weft's algorithm, protocol and channels
};

class BenchmarkReader {
 public:
  BenchmarkReader(std::uint32_t source, spec::Diagnostics& diagnostics)
      : diagnostics_(diagnostics), lines_(source, Error::bad_benchmark, diagnostics), refused_(!lines_.readable()) {}

  std::optional<Benchmark> read() {
    for (Line line; lines_.next(line);) read_line(line);
    end_partial();
    if (out_.tables.empty() && out_.ranks.empty() && out_.jobs_at_once == 1 && !refused_)
      refuse(lines_.whole(), "no row of nccl-tests was found",
             "what all_reduce_perf or another of its programs prints");
    if (refused_) return std::nullopt;
    return std::move(out_);
  }

 private:
  void refuse(spec::Place place, std::string message, std::string help) {
    refused_ = true;
    diagnostics_.add(Error::bad_benchmark, place, std::move(message), std::move(help));
  }

  void read_line(const Line& line) {
    const std::string_view text = after_tags(line.text);
    const auto shift = static_cast<std::uint32_t>(text.data() - line.text.data());
    std::vector<Word> all = words(text, 64);
    for (Word& word : all) word.column += shift;
    if (all.empty()) return;
    if (all[0].text.starts_with('#')) return read_comment(line, text, all);
    if (text.find("NCCL failure") != std::string_view::npos || text.find("CUDA failure") != std::string_view::npos)
      ++out_.failures;
    if (read_summary(all)) return;  // 1.0 prints it without #
    const std::vector<Word> cells = cells_of(all);
    if (partial_ && go_on(cells)) return;
    if (is_row(cells)) return begin_row(line, cells, cells.size() < all.size() && is_log(text));
    if (read_heading(all) || read_rank(line, all)) return;  // copied without #
    if (const std::string named = collective_in(text); !named.empty()) collective_ = named;
    collect_environment(text, table_open_ ? out_.tables.back().environment : next_environment_);
  }

  static bool is_log(std::string_view text) {
    return text.find("NCCL INFO") != std::string_view::npos || text.find("NCCL WARN") != std::string_view::npos;
  }

  // The words of a row, up to where NCCL's log got into it, without bars of a drawn table and
  // without tags of a launcher, which some glue to numbers: "-1[0]".
  static std::vector<Word> cells_of(const std::vector<Word>& all) {
    const bool log = std::any_of(all.begin(), all.end(), [](const Word& word) { return word.text == "NCCL"; });
    std::vector<Word> out;
    for (const Word& word : all) {
      if (log && word.text.find(':') != std::string_view::npos) break;  // host:process:thread
      const std::string_view cell = word.text.substr(0, word.text.find('['));
      if (!cell.empty() && cell != "|") out.push_back({cell, word.column});
    }
    return out;
  }

  // ---- lines that begin with #

  void read_comment(const Line& line, std::string_view text, std::vector<Word>& all) {
    if (all[0].text == "#") all.erase(all.begin());
    if (all.empty()) return;
    if (read_heading(all) || read_rank(line, all) || read_summary(all)) return;
    const std::string_view first = all[0].text;
    if (first == "nThread" && all.size() > 3) {
      out_.threads = whole_number(all[1].text).value_or(0);
      out_.gpus_per_thread = whole_number(all[3].text).value_or(0);
      return end_table();
    }
    if (first == "nccl-tests" || text.find("Using devices") != std::string_view::npos) return read_versions(text, all);
    if (first.starts_with("(B)") || first.starts_with("out-of-place")) return;
    if (const std::string named = collective_in(text); !named.empty()) collective_ = named;
    read_note(text);
  }

  // Returns whether the words are those above the columns.
  bool read_heading(const std::vector<Word>& all) {
    if (bare(all[0].text) != "size" && bare(all[0].text) != "bytes") return false;
    std::vector<std::string_view> names;
    for (const Word& word : all) names.push_back(bare(word.text));
    const auto first = std::find_if(names.begin(), names.end(),
                                    [](std::string_view name) { return name == "time" || name == "cputime"; });
    if (first == names.end()) return false;
    const auto second =
        std::find_if(first + 1, names.end(), [](std::string_view name) { return name == "time" || name == "cputime"; });
    const auto columns = std::count_if(first, second, [](std::string_view name) {
      return !name.empty() && name != "|" && name != "in-place" && name != "out-of-place" && name != "timestamp";
    });
    if (columns < 4) return false;
    layout_ = Layout{};
    layout_.values = static_cast<std::size_t>(columns);
    layout_.halves = second == names.end() ? 1 : 2;
    layout_.milliseconds = names[0] == "bytes";
    layout_.with_timestamp = std::find(names.begin(), names.end(), "timestamp") != names.end();
    layout_.behind = names.back() == "algorithm" ? 3 : 0;
    end_table();
    return true;
  }

  // Rank 0 Group 0 Pid 123 on node1 device 0 [0000:1b:00] NVIDIA H100; older versions leave parts out.
  bool read_rank(const Line& line, const std::vector<Word>& all) {
    if (all[0].text != "Rank" || all.size() < 6) return false;
    BenchmarkRank rank;
    rank.place = lines_.place(line, all[0]);
    const auto number = whole_number(all[1].text);
    if (!number || *number < 0 || *number >= static_cast<std::int64_t>(kMostRanks)) return false;
    rank.rank = *number;
    for (std::size_t i = 2; i + 1 < all.size(); ++i) {
      if (all[i].text == "on" && rank.host.empty()) rank.host = all[i + 1].text;
      if (all[i].text != "device") continue;
      rank.device = whole_number(all[i + 1].text).value_or(0);
      for (std::size_t j = i + 2; j < all.size(); ++j) {
        if (all[j].text.starts_with('[')) {
          rank.bus_id = all[j].text.substr(1, all[j].text.find(']') - 1);
        } else if (!all[j].text.ends_with(']')) {
          rank.gpu += (rank.gpu.empty() ? "" : " ") + std::string(all[j].text);
        }
      }
      break;
    }
    if (rank.gpu.find("AMD ") != std::string::npos || rank.gpu.find("Instinct") != std::string::npos)
      out_.of_rccl = out_.of_rccl.value_or(rank.place);
    if (rank.rank == 0) {
      // The next run of one job is listed after the rows of the one before.
      if (!host_of_rank_0_.empty() && host_of_rank_0_ != rank.host && rows_at_rank_0_ == rows_) ++out_.jobs_at_once;
      host_of_rank_0_ = rank.host;
      rows_at_rank_0_ = rows_;
    }
    if (out_.ranks.size() < kMostRanks) out_.ranks.push_back(std::move(rank));
    return true;
  }

  // A job ends with two lines. Where they come again without a row between, several ended at once.
  void count_summary(const std::vector<Word>& all) {
    const bool bounds = all[0].text == "Out" && all[2].text == "bounds";
    const bool average = all[0].text == "Avg" && all[1].text == "bus";
    if (bounds) bounds_ = true;
    if (!average || !std::exchange(bounds_, false)) return;
    ended_ = average_at_row_ == rows_ ? ended_ + 1 : 1;
    average_at_row_ = rows_;
    out_.jobs_at_once = std::max(out_.jobs_at_once, ended_);
  }

  // "Out of bounds values : 0 OK" and "Avg bus bandwidth    : 2.36", both about the table above them.
  bool read_summary(const std::vector<Word>& all) {
    if (all.size() < 4) return false;
    count_summary(all);
    if (out_.tables.empty()) return false;
    const std::size_t colon = static_cast<std::size_t>(
        std::find_if(all.begin(), all.end(), [](const Word& word) { return word.text == ":"; }) - all.begin());
    if (all[0].text == "Out" && all[2].text == "bounds" && colon + 1 < all.size()) {
      out_.tables.back().out_of_bounds = whole_number(all[colon + 1].text);
      return true;
    }
    if (all[0].text != "Avg" || all[1].text != "bus") return false;
    const auto gigabytes = scaled_decimal(all[colon + 1 < all.size() ? colon + 1 : 3].text, 9);
    if (!gigabytes || *gigabytes > INT64_MAX / 8) return false;
    out_.tables.back().average = Bandwidth(*gigabytes * 8);
    end_table();
    return true;
  }

  void read_versions(std::string_view text, const std::vector<Word>& all) {
    for (std::size_t i = 0; i + 1 < all.size(); ++i)
      if (all[i].text == "version") out_.tests_version = all[i + 1].text;
    for (const Word& word : all)
      if (word.text.starts_with("nccl-library="))
        if (const auto code = whole_number(word.text.substr(13))) out_.nccl_version = version_of_code(*code);
    if (text.find("Using devices") != std::string_view::npos) end_table();
  }

  // A comment that somebody wrote: what the next rows are.
  void read_note(std::string_view text) {
    end_table();
    if (text.find("rccl-tests") != std::string_view::npos) out_.of_rccl = out_.of_rccl.value_or(lines_.whole());
    note_ = std::string(text.substr(std::min(text.find_first_not_of("# \t"), text.size())));
    const auto ranks = number_before(text, "rank");
    if (const auto gpus = number_before(text, "GPU"); ranks || gpus) said_ranks_ = ranks ? ranks : gpus;
    if (const auto nodes = number_before(text, "node")) said_nodes_ = nodes;
    if (const auto nodes = number_before(text, "server"); nodes && !said_nodes_) said_nodes_ = nodes;
    if (const std::size_t at = text.find("NCCL "); at != std::string_view::npos && out_.nccl_version.empty()) {
      const std::string_view version = text.substr(at + 5, text.find_first_not_of("0123456789.", at + 5) - at - 5);
      if (std::count(version.begin(), version.end(), '.') == 2) out_.nccl_version = version;
    }
    collect_environment(text, next_environment_);
  }

  // ---- rows

  static bool is_row(const std::vector<Word>& all) {
    return all.size() >= 4 && whole_number(all[0].text).value_or(-1) >= 0 &&
           whole_number(all[1].text).value_or(-1) >= 0 && is_type(all[2].text);
  }

  // Numbers after the type that make a row: both halves or one of them, with or without the root
  // before them.
  static bool fits(std::size_t values, std::size_t half) {
    return values == 2 * half || values == 2 * half + 1 || values == half || values == half + 1;
  }
  // Of one half; some versions, and persons, leave out what was wrong. 0: the row is not whole.
  std::size_t half_of(std::size_t values) const {
    constexpr std::size_t kRates = 3;  // time, algbw, busbw
    if (fits(values, layout_.values)) return layout_.values;
    return values / 2 == kRates ? kRates : 0;
  }
  static std::size_t first_value(const std::vector<Word>& all) {
    return is_letter(all[3].text[0]) && all[3].text != "N/A" ? 4 : 3;
  }
  std::size_t values_of(const std::vector<Word>& all) const {
    return all.size() - std::min(all.size(), first_value(all) + (layout_.with_timestamp ? 2 : 0) + layout_.behind);
  }

  void begin_row(const Line& line, const std::vector<Word>& all, bool torn) {
    end_partial();
    if (refused_) return;
    const bool half_missing = torn && layout_.halves == 2 && values_of(all) < 2 * layout_.values;
    if (half_of(values_of(all)) > 0 && !half_missing) return read_row(line, all);
    partial_ = Partial{line, all, torn};
  }

  // A line of numbers alone continues a row that is not whole; other lines between belong to a log
  // that tore it.
  bool go_on(const std::vector<Word>& cells) {
    const bool numbers = !cells.empty() && std::all_of(cells.begin(), cells.end(), [](const Word& cell) {
      return cell.text == "N/A" || scaled_decimal(cell.text, 0);
    });
    if (!numbers || partial_->cells.size() + cells.size() > 64) {
      if (!partial_->torn) end_partial();
      return false;
    }
    // What is wrong with them is said where the row broke off: its line is the one that is shown.
    for (Word cell : cells) {
      cell.column = partial_->cells.back().column;
      partial_->cells.push_back(cell);
    }
    const std::size_t values = values_of(partial_->cells);
    if (half_of(values) == 0 || (layout_.halves == 2 && values < 2 * layout_.values)) return true;
    const Partial whole = *partial_;
    partial_.reset();
    read_row(whole.line, whole.cells);
    return true;
  }

  // A log may have swallowed the rest, and half a row is a row; a row that is cut off otherwise is
  // a mistake.
  void end_partial() {
    if (!partial_) return;
    const Partial cut = *partial_;
    partial_.reset();
    if (half_of(values_of(cut.cells)) > 0) return read_row(cut.line, cut.cells);
    if (!cut.torn)
      refuse(lines_.place(cut.line, cut.cells.back()),
             fmt::format("the row has {} numbers after its type, not {}", values_of(cut.cells), 2 * layout_.values + 1),
             "copy whole rows: size count type redop root, then time algbw busbw #wrong twice");
  }

  void read_row(const Line& line, const std::vector<Word>& all) {
    BenchmarkRow row;
    row.place = lines_.place(line, all[0]);
    row.bytes = *whole_number(all[0].text);
    row.count = *whole_number(all[1].text);
    row.type = all[2].text;
    std::size_t at = first_value(all);
    if (at == 4) row.operation = all[3].text;
    const std::size_t values = values_of(all);
    const std::size_t half = half_of(values);
    if (values % half == 1) {
      const auto root = whole_number(all[at].text);
      if (!root)
        return refuse(lines_.place(line, all[at]), fmt::format("the root cannot be '{}'", spec::shown(all[at].text)),
                      "a rank, or -1");
      row.root = *root;
      ++at;
    }
    if (values < 2 * half) {  // only in place: replayed traces
      row.in_place = read_timing(line, all, at, half);
    } else {
      row.out_of_place = read_timing(line, all, at, half);
      row.in_place = read_timing(line, all, at + half, half);
    }
    if (refused_) return;
    if (!row.out_of_place && !row.in_place)
      return refuse(row.place, "the row has no time", "a time out of place, in place or both");
    add(std::move(row));
  }

  // nullopt for N/A; complains about anything else that is no number.
  std::optional<Timing> read_timing(const Line& line, const std::vector<Word>& all, std::size_t at, std::size_t half) {
    const auto number = [&](std::size_t index, int decimals) -> std::optional<std::int64_t> {
      const std::string_view text = all[at + index].text;
      if (text == "N/A") return std::nullopt;
      const auto value = scaled_decimal(text, decimals);
      if (!value)
        refuse(lines_.place(line, all[at + index]), fmt::format("'{}' is not a number", spec::shown(text)),
               "a time in us, or a rate in GB/s");
      return value;
    };
    const auto time = number(0, layout_.milliseconds ? 9 : 6);
    const auto algorithm = number(1, 9);
    const auto bus = number(2, 9);
    if (!time || !algorithm || !bus) return std::nullopt;
    if (*algorithm > INT64_MAX / 8 || *bus > INT64_MAX / 8) return std::nullopt;
    Timing out{Duration(*time), Bandwidth(*algorithm * 8), Bandwidth(*bus * 8), std::nullopt};
    // Up to 2.11 a relative error stands here, which says nothing of elements: only that it was
    // checked.
    if (half > 3 && all[at + 3].text != "N/A")
      out.wrong = all[at + 3].text.find('e') == std::string_view::npos ? scaled_decimal(all[at + 3].text, 0) : 0;
    return out;
  }

  void add(BenchmarkRow row) {
    // Sizes grow in a table: one that does not begins the next.
    if (table_open_ && !out_.tables.back().rows.empty() && row.bytes <= out_.tables.back().rows.back().bytes)
      end_table();
    if (!table_open_) {
      BenchmarkTable table;
      table.place = row.place;
      table.collective = collective_;
      table.note = note_;
      table.said_ranks = said_ranks_;
      table.said_nodes = said_nodes_;
      table.environment = next_environment_;
      out_.tables.push_back(std::move(table));
      table_open_ = true;
    }
    if (++rows_ > kMostRows) {
      if (rows_ == kMostRows + 1)
        refuse(row.place, fmt::format("more than {} rows", grouped(kMostRows)), "the output of one job");
      return;
    }
    out_.tables.back().rows.push_back(std::move(row));
  }

  void end_table() { table_open_ = false; }

  // A row of which more lines are awaited.
  struct Partial {
    Line line;
    std::vector<Word> cells;
    bool torn = false;  // by NCCL's log
  };

  spec::Diagnostics& diagnostics_;
  Lines lines_;
  bool refused_;
  Benchmark out_;
  std::optional<Partial> partial_;
  std::string host_of_rank_0_;
  std::size_t rows_at_rank_0_ = 0;
  bool bounds_ = false;  // since the last average
  std::int64_t ended_ = 0;
  std::size_t average_at_row_ = SIZE_MAX;
  Layout layout_;
  bool table_open_ = false;
  std::size_t rows_ = 0;
  std::string collective_;
  std::string note_;
  std::optional<std::int64_t> said_ranks_;
  std::optional<std::int64_t> said_nodes_;
  std::map<std::string, std::string> next_environment_;
};

}  // namespace

const Timing& BenchmarkRow::best() const {
  if (!in_place) return *out_of_place;
  if (!out_of_place) return *in_place;
  return in_place->time < out_of_place->time ? *in_place : *out_of_place;
}

std::int64_t BenchmarkTable::inferred_ranks() const {
  const auto largest =
      std::max_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  if (largest == rows.end()) return 0;
  const Timing& timing = largest->best();
  // busbw / algbw is 2(n-1)/n or (n-1)/n. Two decimals of a rate tell n apart while they are small beside it.
  const std::int64_t algorithm = timing.algorithm.count();
  const std::int64_t bus = timing.bus.count();
  const bool twice = collective == "all_reduce" || (collective.empty() && bus > algorithm);
  const bool once = collective == "all_gather" || collective == "reduce_scatter" || collective.starts_with("alltoall");
  if (algorithm == 0 || (!twice && !once)) return 0;
  const std::int64_t whole = twice ? 2 * algorithm : algorithm;
  if (bus >= whole) return 0;
  return (whole + (whole - bus) / 2) / (whole - bus);
}

std::int64_t BenchmarkTable::wrong() const {
  std::int64_t sum = 0;
  for (const BenchmarkRow& row : rows)
    for (const auto* half : {&row.out_of_place, &row.in_place})
      if (*half) sum += std::min<std::int64_t>((*half)->wrong.value_or(0), INT64_C(1) << 40);
  return sum;
}

std::int64_t Benchmark::hosts() const {
  std::set<std::string_view> names;
  for (const BenchmarkRank& rank : ranks) names.insert(rank.host);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(names.size()) / jobs_at_once);
}

std::optional<Benchmark> read_benchmark(std::uint32_t source, spec::Diagnostics& diagnostics) {
  return BenchmarkReader(source, diagnostics).read();
}

std::string version_of_code(std::int64_t code) {
  const std::int64_t major = code >= 10'000 ? 10'000 : 1'000;  // since 2.9
  return fmt::format("{}.{}.{}", code / major, code % major / 100, code % 100);
}

}  // namespace weft::measured
