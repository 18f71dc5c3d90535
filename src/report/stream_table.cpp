#include "report/stream_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/units.hpp"
#include "report/table.hpp"

namespace weft::report {

std::string streams_text(const std::vector<StreamSummary>& streams, std::size_t width, bool colour) {
  constexpr std::size_t kPage = 80;  // where there is no terminal
  const auto in_service = [](const StreamSummary& each) { return !each.record.service.empty(); };
  const bool services = std::any_of(streams.begin(), streams.end(), in_service);
  using Cells = std::vector<std::string>;
  const auto table_of = [&](std::vector<Column> columns, const std::vector<Cells>& rows) {
    if (!services) std::erase_if(columns, [](const Column& column) { return column.title == "service"; });
    Table table(std::move(columns));
    for (const Cells& row : rows) table.add(row);
    return table;
  };
  const Column service{"service"}, done{"done", true}, p50{"p50", true}, p99{"p99", true};
  const Column slowed{"slowed", true}, goodput{"goodput", true}, resent{"again", true};
  std::vector<Cells> whole;
  std::vector<Cells> became;
  std::vector<Cells> fast;
  std::vector<std::string> told;
  for (const StreamSummary& each : streams) {
    const SimSummary& summary = each.summary;
    const std::string shared = each.record.transport + " " + each.record.service;
    const bool again = std::find(told.begin(), told.end(), shared) != told.end();
    told.push_back(shared);
    const auto time = [&](std::int64_t Quantiles::*which) {
      return summary.completion ? brief(Duration((*summary.completion).*which)) : "-";
    };
    Cells who = {each.record.name, each.record.transport};
    if (services) who.push_back(in_service(each) ? each.record.service : "-");
    const std::string end =
        summary.done == summary.flows ? brief(each.end) : fmt::format("{} of {}", summary.done, summary.flows);
    const Cells speed = {
        time(&Quantiles::p50), time(&Quantiles::p99),
        summary.slowdown ? fmt::format("{:.2f}", static_cast<double>(summary.slowdown->p99) / 1000) : "-",
        brief(Bandwidth(summary.goodput))};
    const std::string copies = summary.unanswered > 0 ? "-"
                               : again                ? "\""
                                                      : grouped(static_cast<std::int64_t>(each.record.data_resent));
    fast.push_back(speed);
    fast.back().insert(fast.back().begin(), each.record.name);
    who.push_back(end);
    became.push_back(who);
    became.back().push_back(copies);
    whole.push_back(who);
    whole.back().insert(whole.back().end(), speed.begin(), speed.end());
    whole.back().push_back(copies);
  }
  const Table one = table_of({{"streams"}, {"over"}, service, done, p50, p99, slowed, goodput, resent}, whole);
  const std::string text = one.width() <= (width > 0 ? width : kPage)
                               ? one.text(width, colour)
                               : table_of({{"streams"}, {"over"}, service, done, resent}, became).text(width, colour) +
                                     "\n" +
                                     table_of({{"streams"}, p50, p99, slowed, goodput}, fast).text(width, colour);
  return "\n" + text + "p50, p99: completion; slowed: p99 in unloaded times; again: packets sent again\n";
}

}  // namespace weft::report
