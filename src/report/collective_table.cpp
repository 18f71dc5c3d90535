#include "report/collective_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text.hpp"
#include "report/fidelity.hpp"

namespace weft::report {
namespace {

// As nccl-tests: seven places, fewer decimals for longer times.
std::string microseconds(std::int64_t ps) {
  const double us = static_cast<double>(ps) / 1e6;
  return us >= 10'000 ? fmt::format("{:7.0f}", us)
         : us >= 100  ? fmt::format("{:7.1f}", us)
                      : fmt::format("{:7.2f}", us);
}

// What readers of nccl-tests skip.
void write_remark(const std::string& text, std::ostream& out, bool narrow) {
  constexpr std::size_t kColumns = 80;
  std::size_t column = 1;
  out << "#";
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (narrow && column + 1 + display_width(word) >= kColumns) {
      out << "\n#  ";
      column = 3;
    }
    out << " " << word;
    column += 1 + display_width(word);
  }
  out << "\n#\n";
}

void write_narrow_columns(std::ostream& out) {
  out << fmt::format("# {:>10}  {:>7}  {:>7}  {:>7}  algorithm\n", "size", "time", "algbw", "busbw");
  out << fmt::format("# {:>10}  {:>7}  {:>7}  {:>7}  (--wide: nccl-tests' columns)\n", "(B)", "(us)", "(GB/s)",
                     "(GB/s)");
}

void write_narrow_head(const CollectiveHead& head, std::ostream& out) {
  constexpr std::size_t kShown = 4;
  const std::size_t shown = head.devices.size() <= 2 * kShown ? head.devices.size() : kShown;
  out << "#\n";
  for (std::size_t rank = 0; rank < shown; ++rank) out << fmt::format("#  Rank {:2} {}\n", rank, head.devices[rank]);
  if (shown < head.ranks) out << fmt::format("#  ... {} more\n", head.ranks - shown);
  out << "#\n";
  write_narrow_columns(out);
}

}  // namespace

void write_collective_head(const CollectiveHead& head, std::ostream& out, bool narrow) {
  out << fmt::format("# weft {} {}: simulated at {} level,{}{} ranks on {} server{}, {}\n", head.version,
                     head.operation, head.level, narrow ? "\n#   " : " ", head.ranks, head.servers,
                     head.servers == 1 ? "" : "s", head.cluster);
  if (narrow) return write_narrow_head(head, out);
  out << fmt::format(
      "# nThread 1 nGpus 1 minBytes {} maxBytes {} step: 2(factor) warmup iters: 0 iters: 1 agg iters: 1 validation: 0 "
      "graph: 0\n",
      head.min_bytes, head.max_bytes);
  out << "#\n# Using devices\n";
  for (std::size_t rank = 0; rank < head.devices.size(); ++rank)
    out << fmt::format("#  Rank {:2} {}\n", rank, head.devices[rank]);
  if (head.devices.size() < head.ranks) out << fmt::format("#  ... {} more\n", head.ranks - head.devices.size());
  out << "#\n";
  out << fmt::format(
      "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}           out-of-place                       in-place          \n", "", "",
      "", "", "");
  out << fmt::format(
      "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6} {:>6}  {:>7}  {:>6}  {:>6} {:>6}  algorithm\n",
      "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong");
  out << fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:>5}  {:>7}  {:>6}  {:>6}  {:>5}\n",
                     "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "");
}

// Nothing is computed on data, so there is nothing that could be wrong; buffers are not modelled, so in place is as out
// of place.
void write_collective_line(const CollectiveRow& row, std::ostream& out, bool narrow) {
  if (narrow) {
    out << fmt::format("{:12}  {}  {:7.2f}  {:7.2f}  {} {} {}\n", row.size(), microseconds(row.time.count()),
                       row.algorithm_bandwidth(), row.bus_bandwidth(), row.algorithm, row.protocol, row.channels);
    return;
  }
  const std::string half = fmt::format("  {}  {:6.2f}  {:6.2f}    N/A", microseconds(row.time.count()),
                                       row.algorithm_bandwidth(), row.bus_bandwidth());
  out << fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:>6}{}{}  {} {} {}\n", row.size(), row.count(), "float",
                     row.reduces ? "sum" : "none", row.root, half, half, row.algorithm, row.protocol, row.channels);
}

void write_collective_foot(const std::vector<CollectiveRow>& rows, std::ostream& out, bool narrow) {
  double sum = 0;
  for (const CollectiveRow& row : rows) sum += row.bus_bandwidth();
  out << fmt::format("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {:g} \n#\n",
                     rows.empty() ? 0.0 : sum / static_cast<double>(rows.size()));
  const auto told = [](const CollectiveRow& row) { return row.not_validated.empty(); };
  if (const auto untold = std::find_if_not(rows.begin(), rows.end(), told); untold != rows.end())
    write_remark(fmt::format("not validated here{}: {}",
                             std::any_of(rows.begin(), rows.end(), told)
                                 ? fmt::format(", {} of {} sizes",
                                               std::count_if(rows.begin(), rows.end(), std::not_fn(told)), rows.size())
                                 : "",
                             untold->not_validated),
                 out, narrow);
  if (!rows.empty() && rows.back().stood_for > 0)
    write_remark(fmt::format("all ranks are alike: times of up to {} were followed on to {}", rows.back().stood_for,
                             rows.back().ranks),
                 out, narrow);
  if (!rows.empty() && !rows.back().not_known.empty())
    write_remark(fmt::format("not known at {} level: {}", name(rows.back().fidelity), rows.back().not_known), out,
                 narrow);
}

void write_algorithms_side_by_side(const std::vector<CollectiveRow>& rows, std::ostream& out, bool narrow) {
  if (narrow) {
    write_narrow_columns(out);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i > 0 && rows[i].bytes != rows[i - 1].bytes) out << "#\n";
      write_collective_line(rows[i], out, true);
    }
    out << "# the first of each size is what NCCL would choose\n";
    return;
  }
  std::vector<std::string> names;
  for (const CollectiveRow& row : rows)
    if (std::find(names.begin(), names.end(), row.algorithm) == names.end()) names.push_back(row.algorithm);
  std::sort(names.begin(), names.end());
  out << fmt::format("# {:>10}", "");
  for (const std::string& each : names) out << fmt::format("  {:>18}", each);
  out << fmt::format("\n# {:>10}", "size");
  for (std::size_t i = 0; i < names.size(); ++i) out << fmt::format("  {:>9} {:>8}", "time", "busbw");
  out << fmt::format("  auto\n# {:>10}", "(B)");
  for (std::size_t i = 0; i < names.size(); ++i) out << fmt::format("  {:>9} {:>8}", "(us)", "(GB/s)");
  out << "\n";
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t end = first;
    while (end < rows.size() && rows[end].bytes == rows[first].bytes) ++end;
    out << fmt::format("{:12}", rows[first].size());
    for (const std::string& name : names) {
      const auto found = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(first),
                                      rows.begin() + static_cast<std::ptrdiff_t>(end),
                                      [&](const CollectiveRow& row) { return row.algorithm == name; });
      if (found == rows.begin() + static_cast<std::ptrdiff_t>(end))
        out << fmt::format("  {:>9} {:>8}", "-", "-");
      else
        out << fmt::format("  {:>9} {:8.2f}", microseconds(found->time.count()), found->bus_bandwidth());
    }
    out << fmt::format("  {} {} {}\n", rows[first].algorithm, rows[first].protocol, rows[first].channels);
    first = end;
  }
}

void write_collective_differences(const std::vector<std::vector<CollectiveRow>>& by_level, std::ostream& out) {
  const std::vector<CollectiveRow>& first = by_level[0];
  if (first.empty()) return;
  out << fmt::format("# {:>12}  {:>9}", "size", name(first[0].fidelity));
  for (std::size_t i = 1; i < by_level.size(); ++i)
    out << fmt::format("  {:>9} {:>7}", name(by_level[i][0].fidelity), "");
  out << fmt::format("\n# {:>12}  {:>9}", "(B)", "(us)");
  for (std::size_t i = 1; i < by_level.size(); ++i) out << fmt::format("  {:>9} {:>7}", "(us)", "");
  out << "\n";
  for (std::size_t row = 0; row < first.size(); ++row) {
    out << fmt::format("# {:>12}  {:>9}", first[row].size(), microseconds(first[row].time.count()));
    for (std::size_t i = 1; i < by_level.size(); ++i)
      out << fmt::format("  {:>9} {:>+6.1f}%", microseconds(by_level[i][row].time.count()),
                         100 * difference(by_level[i][row].time.count(), first[row].time.count()));
    out << "\n";
  }
  // What the last size says in words.
  const CollectiveRow& last = first.back();
  for (std::size_t i = 1; i < by_level.size(); ++i)
    out << fmt::format("# at {} B {} level says {:.2f} times what {} level does\n", last.size(), name(last.fidelity),
                       static_cast<double>(last.time.count()) / static_cast<double>(by_level[i].back().time.count()),
                       name(by_level[i].back().fidelity));
  out << "#\n";
}

void write_collective_verdict(const std::vector<std::pair<std::string, CollectiveRow>>& jobs, std::ostream& out) {
  std::vector<std::pair<std::string, CollectiveRow>> ranked = jobs;
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.second.time < b.second.time; });
  const auto& [best, fastest] = ranked[0];
  out << fmt::format("# {} of {} B: {} is fastest, {:.2f} GB/s\n", fastest.operation, fastest.size(), best,
                     fastest.bus_bandwidth());
  for (std::size_t i = 1; i < ranked.size(); ++i) {
    const CollectiveRow& row = ranked[i].second;
    out << fmt::format("#   {}: {:.2f} GB/s, {:.2f}x the time{}\n", ranked[i].first, row.bus_bandwidth(),
                       static_cast<double>(row.time.count()) / static_cast<double>(fastest.time.count()),
                       row.host_memory && !fastest.host_memory ? ", through host memory" : "");
  }
}

void write_difference_records(const std::vector<std::vector<CollectiveRow>>& by_level, std::ostream& out) {
  for (std::size_t row = 0; row < by_level[0].size(); ++row) {
    nlohmann::ordered_json record = {{"record", "collective_difference"},
                                     {"version", 1},
                                     {"operation", by_level[0][row].operation},
                                     {"bytes", by_level[0][row].size()}};
    for (const std::vector<CollectiveRow>& rows : by_level) {
      nlohmann::ordered_json& mine = record["executors"][name(rows[row].fidelity)];
      mine["time_ps"] = rows[row].time.count();
      mine["difference"] = difference(rows[row].time.count(), by_level[0][row].time.count());
    }
    out << record.dump() << "\n";
  }
}

void write_collective_record(const CollectiveRow& row, const CollectiveHead& head, std::ostream& out) {
  nlohmann::ordered_json record = {{"record", "collective"},
                                   {"version", 1},
                                   {"weft", head.version},
                                   {"cluster", head.cluster},
                                   {"operation", row.operation},
                                   {"ranks", row.ranks},
                                   {"domains", row.nodes},
                                   {"bytes", row.size()},
                                   {"count", row.count()},
                                   {"time_ps", row.time.count()},
                                   {"algbw_GBps", row.algorithm_bandwidth()},
                                   {"busbw_GBps", row.bus_bandwidth()},
                                   {"algorithm", row.algorithm},
                                   {"protocol", row.protocol},
                                   {"channels", row.channels},
                                   {"chosen_by", row.chosen_by},
                                   {"chunk_bytes", row.chunk},
                                   {"host_memory", row.host_memory},
                                   {"stack", row.stack},
                                   {"executor", name(row.fidelity)},
                                   {"messages", row.messages},
                                   {"skipped_rounds", row.skipped_rounds},
                                   {"groups", row.groups}};
  if (row.stood_for > 0) record["ranks_computed"] = row.stood_for;
  if (!row.beside.empty()) record["beside"] = row.beside;
  if (!row.not_known.empty()) record["not_known"] = row.not_known;
  if (!row.not_validated.empty()) record["not_validated"] = row.not_validated;
  if (row.fidelity == schedule::Fidelity::message && row.seed != 0) record["seed"] = row.seed;
  if (row.fidelity != schedule::Fidelity::message)
    record.update({{"seed", row.seed},
                   {"digest", fmt::format("{:016x}", row.digest)},
                   {"dropped", row.dropped},
                   {"sent_again", row.sent_again}});
  out << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

}  // namespace weft::report
