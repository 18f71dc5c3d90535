#include "report/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.hpp"
#include "report/swept_run.hpp"
#include "report/table.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t end_of(const ComparedRun& run) { return run.end.count(); }

std::string duration(double ps) { return brief(Duration(static_cast<std::int64_t>(ps))); }

std::string flows_done(const Variant& variant) {
  const SimSummary& last = variant.runs.back().summary;
  return fmt::format("{} of {}", grouped(static_cast<std::int64_t>(last.done)),
                     grouped(static_cast<std::int64_t>(last.flows)));
}

// A row of the table: what it is called and its text for one variant.
struct Metric {
  std::string title;
  std::function<std::string(const Variant&)> figure;
  bool of_all = false;  // what those took that got through says nothing of a variant whose others did not

  std::string text(const Variant& variant) const { return of_all && !is_finished(variant) ? "-" : figure(variant); }
};

// The mean over seeds of one of the rows; nothing where a run has not come so far.
std::optional<double> mean_of_row(const Variant& variant, std::size_t row,
                                  const std::function<double(const CollectiveRow&)>& value) {
  double sum = 0;
  for (const ComparedRun& run : variant.runs) {
    if (row >= run.collectives.size()) return std::nullopt;
    sum += value(run.collectives[row]);
  }
  return sum / static_cast<double>(variant.runs.size());
}

// Collectives: busbw size by size, what decides, and how it was done.
std::vector<Metric> collective_metrics(const std::vector<Variant>& variants) {
  const auto most = std::max_element(variants.begin(), variants.end(), [](const Variant& a, const Variant& b) {
    return a.runs[0].collectives.size() < b.runs[0].collectives.size();
  });
  const std::vector<CollectiveRow>& rows = most->runs[0].collectives;
  std::vector<Metric> out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    out.push_back({fmt::format("{} {}", rows[i].operation, exact(Bytes(static_cast<std::int64_t>(rows[i].bytes)))),
                   [i](const Variant& v) {
                     const auto busbw = mean_of_row(v, i, [](const CollectiveRow& row) { return row.bus_bandwidth(); });
                     return busbw ? fmt::format("{:.2f} GB/s", *busbw) : "-";
                   }});
  out.push_back(
      {std::string(title_of(Measure::collective)), [](const Variant& v) { return duration(mean(v, end_of)); }, true});
  out.push_back({"algorithm",
                 [](const Variant& v) {
                   const CollectiveRow& last = v.runs[0].collectives.back();
                   return last.algorithm + " " + last.protocol;
                 },
                 true});
  out.push_back(
      {"level", [](const Variant& v) { return std::string(name(v.runs[0].collectives.back().fidelity)); }, true});
  return out;
}

// Behind what decides, its spread over seeds.
void add_spread(const std::vector<Variant>& variants, std::vector<Metric>& rows) {
  if (variants[0].runs.size() < 2) return;
  const Measure measure = measure_of(variants);
  const auto bound = [measure](Duration Spread::*which) {
    return [measure, which](const Variant& v) { return brief(spread_of(v, measure).*which); };
  };
  auto at =
      std::find_if(rows.begin(), rows.end(), [&](const Metric& row) { return row.title == title_of(measure); }) + 1;
  if (measure == Measure::end) ++at;  // behind how many are
  rows.insert(at, {{"  at best", bound(&Spread::least), true}, {"  at worst", bound(&Spread::most), true}});
}

std::vector<Metric> step_metrics() {
  const auto figure = [](double schedule::TrainingRow::*which, const char* format) {
    return [=](const Variant& v) {
      return fmt::format(fmt::runtime(format), mean(v, [&](const ComparedRun& run) { return (*run.training).*which; }));
    };
  };
  using Row = schedule::TrainingRow;
  return {{std::string(title_of(Measure::step)), [](const Variant& v) { return duration(mean(v, end_of)); }, true},
          {"tokens/s",
           [](const Variant& v) {
             return grouped(static_cast<std::int64_t>(
                 mean(v, [](const ComparedRun& run) { return run.training->tokens_per_second; })));
           },
           true},
          {"TFLOP/s per GPU", figure(&Row::teraflops, "{:.0f}"), true},
          {"MFU", figure(&Row::mfu_percent, "{:.1f}%"), true},
          {"waits for network", figure(&Row::network_percent, "{:.1f}%"), true},
          {"J per token", figure(&Row::joules_per_token, "{:.3g}"), true},
          {"$ per 1M tokens",
           [](const Variant& v) {
             const auto& dollars = v.runs[0].training->dollars_per_million;
             return dollars ? fmt::format("{:.3f}", *dollars) : "-";
           },
           true},
          {"level", [](const Variant& v) { return std::string(name(v.runs[0].training->fidelity)); }, true}};
}

std::vector<Metric> flow_metrics(const std::vector<Variant>& variants) {
  const auto completion = [](std::int64_t Quantiles::*which) {
    return [which](const Variant& variant) { return mean_completion(variant, which); };
  };
  const auto slow = [](std::int64_t Quantiles::*which) {
    return [which](const Variant& variant) {
      return fmt::format("{:.2f}", mean(variant, [&](const ComparedRun& run) {
                                     return run.summary.slowdown ? (*run.summary.slowdown).*which : 0;
                                   }) / 1000);
    };
  };
  const auto packets = [](std::uint64_t ComparedRun::*which) {
    return [which](const Variant& variant) {
      return grouped(static_cast<std::int64_t>(mean(variant, [&](const ComparedRun& run) { return run.*which; })));
    };
  };
  const auto fullest = [](const Variant& v) {
    const double link = mean(v, [](const ComparedRun& run) { return run.fullest_link; });
    return link > 0 ? fmt::format("{:.2f}x", link / 1000) : "-";
  };
  std::vector<Metric> rows = {
      {"all done", [](const Variant& v) { return got_through(v) ? duration(mean(v, end_of)) : "not done"; }},
      {"flows done", flows_done},
      {"completion p50", completion(&Quantiles::p50), true},
      {"completion p99", completion(&Quantiles::p99), true},
      {"completion p99.9", completion(&Quantiles::p999), true},
      {"completion max", completion(&Quantiles::max), true},
      {"slowdown p50", slow(&Quantiles::p50), true},
      {"slowdown p99", slow(&Quantiles::p99), true},
      {"goodput",
       [](const Variant& v) {
         return brief(
             Bandwidth(static_cast<std::int64_t>(mean(v, [](const ComparedRun& run) { return run.summary.goodput; }))));
       }},
      {"fullest link", fullest},
      {"trimmed", packets(&ComparedRun::trimmed)},
      {"sent again", packets(&ComparedRun::resent)},
      {"dropped", packets(&ComparedRun::dropped)},
  };
  add_spread(variants, rows);
  for (std::size_t i = 0; i < variants[0].runs[0].streams.size(); ++i) {
    const std::string name = variants[0].runs[0].streams[i].record.name;
    const auto row = [&](const std::string& title, bool of_all, std::function<std::string(const Variant&)> figure) {
      rows.push_back({name + " " + title, std::move(figure), of_all});
    };
    const auto of_summary = [i](auto value) {
      return [i, value](const Variant& v) {
        return mean(v, [&](const ComparedRun& run) { return value(run.streams[i].summary); });
      };
    };
    const auto p99 = of_summary([](const SimSummary& s) { return s.completion ? s.completion->p99 : 0; });
    const auto slowed = of_summary([](const SimSummary& s) { return s.slowdown ? s.slowdown->p99 : 0; });
    const auto rate = of_summary([](const SimSummary& s) { return s.goodput; });
    row("done", true, [i](const Variant& v) {
      return duration(mean(v, [&](const ComparedRun& run) { return run.streams[i].end.count(); }));
    });
    row("p99", true, [p99](const Variant& v) { return duration(p99(v)); });
    row("slowdown", true, [slowed](const Variant& v) { return fmt::format("{:.2f}", slowed(v) / 1000); });
    row("goodput", false, [rate](const Variant& v) { return brief(Bandwidth(static_cast<std::int64_t>(rate(v)))); });
    row("again", false, [i](const Variant& v) {
      return grouped(static_cast<std::int64_t>(
          mean(v, [&](const ComparedRun& run) { return run.streams[i].record.data_resent; })));
    });
  }
  const auto drop = [&](std::string_view title, bool unwanted) {
    if (unwanted) std::erase_if(rows, [&](const Metric& row) { return row.title == title; });
  };
  drop("flows done", std::all_of(variants.begin(), variants.end(), got_through));
  drop("dropped", std::all_of(variants.begin(), variants.end(), [](const Variant& v) {
         return std::all_of(v.runs.begin(), v.runs.end(), [](const ComparedRun& run) { return run.dropped == 0; });
       }));
  drop("fullest link", std::all_of(variants.begin(), variants.end(), [](const Variant& v) {
         return std::all_of(v.runs.begin(), v.runs.end(), [](const ComparedRun& run) { return run.fullest_link == 0; });
       }));
  return rows;
}

std::vector<Metric> metrics(const std::vector<Variant>& variants) {
  const Measure measure = measure_of(variants);
  const bool flows = measure == Measure::end || measure == Measure::completion;
  std::vector<Metric> rows = flows                      ? flow_metrics(variants)
                             : measure == Measure::step ? step_metrics()
                                                        : collective_metrics(variants);
  if (!flows) add_spread(variants, rows);
  for (CostRow& row : cost_rows(labelled_costs(variants)))
    rows.push_back(
        {std::move(row.first), [figure = std::move(row.second)](const Variant& v) { return figure(v.costs); }});
  return rows;
}

}  // namespace

std::string mean_completion(const Variant& variant, std::int64_t Quantiles::*which) {
  const auto has_none = [](const ComparedRun& run) { return !run.summary.completion; };
  if (std::any_of(variant.runs.begin(), variant.runs.end(), has_none)) return "-";
  return duration(mean(variant, [&](const ComparedRun& run) { return (*run.summary.completion).*which; }));
}

std::vector<LabelledCosts> labelled_costs(const std::vector<Variant>& variants) {
  std::vector<LabelledCosts> out;
  for (const Variant& variant : variants) out.push_back({variant.label, variant.costs});
  return out;
}

std::string comparison_text(const std::vector<Variant>& variants, std::size_t width, bool colour) {
  const std::vector<Metric> rows = metrics(variants);
  std::size_t titles = 0;
  for (const Metric& row : rows) titles = std::max(titles, display_width(row.title));
  const auto column_width = [&](const Variant& variant) {
    std::size_t widest = display_width(variant.label);
    for (const Metric& row : rows) widest = std::max(widest, display_width(row.text(variant)));
    return widest + 2;
  };
  std::string text;
  for (std::size_t first = 0; first < variants.size();) {
    std::vector<Column> columns = {{""}};
    std::size_t used = titles;
    std::size_t end = first;
    for (; end < variants.size() && (end == first || width == 0 || used + column_width(variants[end]) <= width);
         ++end) {
      used += column_width(variants[end]);
      columns.push_back({variants[end].label, true});
    }
    Table table(std::move(columns));
    for (const Metric& row : rows) {
      std::vector<std::string> cells = {row.title};
      for (std::size_t i = first; i < end; ++i) cells.push_back(row.text(variants[i]));
      table.add(std::move(cells));
    }
    text += (first == 0 ? "" : "\n") + table.text(0, colour);
    first = end;
  }
  return text;
}

void write_comparison(const std::vector<Variant>& variants, const Verdict& verdict, std::ostream& out,
                      const std::vector<MeasuredRuns>& measured) {
  Json record = {{"record", "compare"},
                 {"version", 1},
                 {"weft", variants[0].info.version},
                 {"commit", variants[0].info.commit},
                 {"traffic", variants[0].info.traffic}};
  record["variants"] = Json::array();
  for (const Variant& variant : variants) {
    Json row = {{"label", variant.label},
                {"cluster", variant.info.cluster},
                {"configuration", fmt::format("{:016x}", variant.info.configuration)}};
    row.update(costs_json(variant.costs));
    const bool done = is_finished(variant);
    row["trouble"] = done ? Json() : Json(trouble_in(variant));
    row["end_mean_ps"] = done ? Json(static_cast<std::int64_t>(mean(variant, end_of))) : Json();
    row["runs"] = Json::array();
    for (const ComparedRun& run : variant.runs) {
      const auto time = [&](std::int64_t Quantiles::*which) {
        return run.trouble.empty() && run.summary.completion ? Json((*run.summary.completion).*which) : Json();
      };
      const auto slow = [&](std::int64_t Quantiles::*which) {
        return run.trouble.empty() && run.summary.slowdown
                   ? Json(static_cast<double>((*run.summary.slowdown).*which) / 1000)
                   : Json();
      };
      const auto fullest = run.fullest_link > 0 ? Json(static_cast<double>(run.fullest_link) / 1000) : Json();
      row["runs"].push_back({{"seed", run.seed},
                             {"trouble", run.trouble.empty() ? Json() : Json(run.trouble)},
                             {"flows", run.summary.flows},
                             {"flows_done", run.summary.done},
                             {"flows_lost", run.summary.lost},
                             {"end_ps", run.end.count()},
                             {"fct_p50_ps", time(&Quantiles::p50)},
                             {"fct_p99_ps", time(&Quantiles::p99)},
                             {"fct_p999_ps", time(&Quantiles::p999)},
                             {"fct_max_ps", time(&Quantiles::max)},
                             {"slowdown_p50", slow(&Quantiles::p50)},
                             {"slowdown_p99", slow(&Quantiles::p99)},
                             {"goodput_bps", run.summary.goodput},
                             {"fullest_link", fullest},
                             {"trimmed", run.trimmed},
                             {"resent", run.resent},
                             {"dropped", run.dropped},
                             {"digest", fmt::format("{:016x}", run.digest)}});
      if (!run.links.links.empty()) row["runs"].back()["links"] = links_json(run.links);
      for (const CollectiveRow& each : run.collectives)
        row["runs"].back()["collectives"].push_back(collective_json(each));
      for (const StreamSummary& stream : run.streams) {
        const Quantiles fct = stream.summary.completion.value_or(Quantiles{});
        row["runs"].back()["streams"].push_back({{"name", stream.record.name},
                                                 {"end_ps", stream.end.count()},
                                                 {"fct_p50_ps", fct.p50},
                                                 {"fct_p99_ps", fct.p99},
                                                 {"goodput_bps", stream.summary.goodput},
                                                 {"transport_resent", stream.record.data_resent}});
      }
    }
    record["variants"].push_back(std::move(row));
  }
  std::vector<std::string> labels;
  for (const Variant& variant : variants) labels.push_back(variant.label);
  add_verdict(verdict, "winner", labels, record);
  record["tail"] = verdict.tail.empty() ? Json() : Json(verdict.tail);
  record["streams"] = sentences_json(verdict.streams);
  record["costs"] = sentences_json(cost_sentences(labelled_costs(variants)));
  for (const MeasuredRuns& each : measured) record["measured"].push_back(measured_json(each, variants));
  out << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

}  // namespace weft::report
