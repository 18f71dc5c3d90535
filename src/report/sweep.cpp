#include "report/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "base/text.hpp"
#include "report/comparison.hpp"
#include "report/swept_run.hpp"
#include "report/table.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> short_keys(const std::vector<std::string>& keys) {
  std::vector<std::string> last;
  for (const std::string& key : keys) last.push_back(key.substr(key.rfind('.') + 1));
  return std::set(last.begin(), last.end()).size() == last.size() ? last : keys;
}

std::vector<std::size_t> ranked_points(const Sweep& sweep) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < sweep.points.size(); ++i)
    if (sweep.points[i].trouble.empty()) out.push_back(i);
  return out;
}

// A key of the traffic itself: there the points are meant to differ in it.
bool changes_traffic(const std::string& key) { return key.starts_with("run"); }

bool have_one_traffic(const std::vector<Variant>& variants) {
  return std::all_of(variants.begin(), variants.end(),
                     [&](const Variant& v) { return v.info.offered.hash == variants[0].info.offered.hash; });
}

// What is rare is not nothing.
std::string packets(double mean) {
  return grouped(mean > 0 ? std::max<std::int64_t>(1, static_cast<std::int64_t>(mean)) : 0);
}

std::string all_done(const Variant& variant) {
  const auto lost = mean(variant, [](const ComparedRun& run) { return run.summary.lost; });
  if (lost > 0) return packets(lost) + " lost";
  return brief(
      Duration(static_cast<std::int64_t>(mean(variant, [](const ComparedRun& run) { return run.end.count(); }))));
}

std::string goodput(const Variant& variant) {
  const auto value = [](const ComparedRun& run) { return run.summary.goodput; };
  return brief(Bandwidth(static_cast<std::int64_t>(mean(variant, value))));
}

std::string slowest(const Variant& variant) {
  const auto value = [](const ComparedRun& run) { return run.summary.slowdown ? run.summary.slowdown->max : 0; };
  return fmt::format("{:.2f}", mean(variant, value) / 1000);
}

// A column behind the keys.
struct Figure {
  std::string title;
  std::function<std::string(const Variant&)> cell;
  bool measured = true;  // else it is known without a run, too, of a cluster that there is
};

// Collectives: what the largest sizes take, and the bus bandwidth of each size.
std::vector<Figure> collective_figures(const std::vector<CollectiveRow>& rows) {
  std::vector<Figure> out = {{"all done", all_done}};
  for (std::size_t i = 0; i < rows.size(); ++i)
    out.push_back({fmt::format("{} {}", rows[i].operation, exact(Bytes(static_cast<std::int64_t>(rows[i].bytes)))),
                   [i](const Variant& v) {
                     return fmt::format("{:.2f}", mean(v, [i](const ComparedRun& run) {
                                          return i < run.collectives.size() ? run.collectives[i].bus_bandwidth() : 0;
                                        }));
                   }});
  return out;
}

std::vector<Figure> step_figures() {
  const auto figure = [](double schedule::TrainingRow::*which, const char* format) {
    return [=](const Variant& v) {
      return fmt::format(fmt::runtime(format),
                         mean(v, [&](const ComparedRun& run) { return run.training ? (*run.training).*which : 0; }));
    };
  };
  using Row = schedule::TrainingRow;
  return {{"step", all_done},
          {"tokens/s", figure(&Row::tokens_per_second, "{:.0f}")},
          {"MFU %", figure(&Row::mfu_percent, "{:.1f}")},
          {"network %", figure(&Row::network_percent, "{:.1f}")},
          {"J/token", figure(&Row::joules_per_token, "{:.3g}")}};
}

std::vector<Figure> flow_figures() {
  return {
      {"all done", all_done},
      {"p50", [](const Variant& v) { return mean_completion(v, &Quantiles::p50); }},
      {"p99", [](const Variant& v) { return mean_completion(v, &Quantiles::p99); }},
      {"goodput", goodput},
      {"max slow", slowest},
  };
}

// The first point with rows of collectives; the end where flows were run.
auto find_collectives(const Sweep& sweep) {
  return std::find_if(sweep.points.begin(), sweep.points.end(), [](const SweptPoint& point) {
    return !point.variant.runs.empty() && !point.variant.runs[0].collectives.empty();
  });
}
bool runs_collectives(const Sweep& sweep) { return find_collectives(sweep) != sweep.points.end(); }

bool runs_training(const Sweep& sweep) {
  return std::any_of(sweep.points.begin(), sweep.points.end(), [](const SweptPoint& point) {
    return !point.variant.runs.empty() && point.variant.runs[0].training;
  });
}

// "all done" first. What no point has is left out.
std::vector<Figure> figures(const Sweep& sweep) {
  std::vector<Figure> out = runs_training(sweep) ? step_figures()
                            : runs_collectives(sweep)
                                ? collective_figures(find_collectives(sweep)->variant.runs[0].collectives)
                                : flow_figures();
  const auto any = [&](const auto& has) {
    return std::any_of(sweep.points.begin(), sweep.points.end(), [&](const SweptPoint& p) { return has(p.variant); });
  };
  const auto add_packets = [&](const std::string& title, std::uint64_t ComparedRun::*which) {
    const auto of = [which](const ComparedRun& run) { return run.*which; };
    if (any([&](const Variant& v) { return std::any_of(v.runs.begin(), v.runs.end(), of); }))
      out.push_back({title, [of](const Variant& v) { return packets(mean(v, of)); }});
  };
  add_packets("again", &ComparedRun::resent);
  add_packets("dropped", &ComparedRun::dropped);
  for (CostRow& column : cost_columns(labelled_costs(sweep)))
    out.push_back({std::move(column.first),
                   [text = std::move(column.second)](const Variant& v) { return text(v.costs); }, false});
  return out;
}

// The keys and some of the figures. A point in trouble has its trouble where "all done" would be.
Table table_of(const Sweep& sweep, std::span<const Figure> some) {
  std::vector<Column> columns;
  for (const std::string& key : short_keys(sweep.keys)) columns.push_back({key, true});
  for (const Figure& figure : some) columns.push_back({figure.title, true});
  Table table(std::move(columns));
  for (const SweptPoint& point : sweep.points) {
    std::vector<std::string> cells = point.values;
    for (const Figure& figure : some) {
      const bool has = point.trouble.empty() || (!figure.measured && point.trouble != kCannotRun);
      cells.push_back(has ? figure.cell(point.variant) : figure.title == "all done" ? point.trouble : "-");
    }
    table.add(std::move(cells));
  }
  return table;
}

std::string csv_cell(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_array()) return csv_cell(fmt::format("{}", fmt::join(value.get<std::vector<std::string>>(), "; ")));
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace

std::string point_label(const std::vector<std::string>& keys, const std::vector<std::string>& values) {
  const std::vector<std::string> names = short_keys(keys);
  std::string label;
  for (std::size_t i = 0; i < keys.size(); ++i) label += fmt::format("{}{}={}", i == 0 ? "" : " ", names[i], values[i]);
  return label;
}

Verdict judge_sweep(const Sweep& sweep) {
  const std::vector<std::size_t> ranked = ranked_points(sweep);
  const auto not_run = std::count_if(sweep.points.begin(), sweep.points.end(),
                                     [](const SweptPoint& point) { return point.trouble == kNotRun; });
  Verdict verdict;
  if (not_run > 0) {
    verdict.sentence = fmt::format("none is best yet: {} of {} points were not run", not_run, sweep.points.size());
    return verdict;
  }
  if (ranked.empty()) {
    verdict.sentence =
        fmt::format("none of {} is done", counted(static_cast<std::int64_t>(sweep.points.size()), "point"));
    return verdict;
  }
  std::vector<Variant> variants;
  for (const std::size_t point : ranked) variants.push_back(sweep.points[point].variant);
  verdict = judge(variants);
  const auto own = std::find_if(sweep.keys.begin(), sweep.keys.end(), changes_traffic);
  if (own != sweep.keys.end() && !have_one_traffic(variants))
    verdict.sentence = fmt::format("none is best, for {} changes what there is to do", *own);
  if (verdict.winner) verdict.winner = ranked[*verdict.winner];
  if (verdict.next) verdict.next = ranked[*verdict.next];
  for (std::size_t& each : verdict.tied) each = ranked[each];
  return verdict;
}

std::vector<LabelledCosts> labelled_costs(const Sweep& sweep) {
  std::vector<LabelledCosts> out;
  for (const SweptPoint& point : sweep.points)
    if (point.trouble != kCannotRun) out.push_back({point.variant.label, point.variant.costs});
  return out;
}

std::string sweep_text(const Sweep& sweep, std::size_t width, bool colour) {
  const std::vector<Figure> all = figures(sweep);
  std::span<const Figure> rest = all;
  std::string text;
  while (!rest.empty()) {
    std::size_t some = 1;
    while (some < rest.size() && (width == 0 || table_of(sweep, rest.first(some + 1)).width() <= width)) ++some;
    text += (text.empty() ? "" : "\n") + table_of(sweep, rest.first(some)).text(width, colour);
    rest = rest.subspan(some);
  }
  if (runs_training(sweep)) return text;
  return text + (runs_collectives(sweep) ? "all done: what the largest sizes take; then busbw in GB/s, size by size\n"
                                         : "p50, p99: completion; max slow: of the slowest flow, in unloaded times\n");
}

std::vector<std::pair<std::string, std::string>> trouble_lines(const Sweep& sweep) {
  constexpr std::size_t kNamed = 8;
  std::vector<std::pair<std::string, std::string>> lines;
  std::size_t more = 0;
  for (const SweptPoint& point : sweep.points) {
    if (point.detail.empty()) continue;
    if (lines.size() == kNamed) {
      ++more;
    } else {
      lines.emplace_back(point.trouble == kCannotRun ? point.trouble : "not done",
                         point.variant.label + ": " + point.detail);
    }
  }
  if (more > 0)
    lines.emplace_back("", fmt::format("and {}; --json has all", counted(static_cast<std::int64_t>(more), "point")));
  return lines;
}

void write_sweep(const Sweep& sweep, const Verdict& verdict, std::ostream& out) {
  const RunInfo& info = sweep.points[0].variant.info;
  Json record = {
      {"record", "sweep"}, {"version", 1}, {"weft", info.version}, {"commit", info.commit}, {"keys", sweep.keys}};
  record["points"] = Json::array();
  for (const SweptPoint& point : sweep.points) {
    const Variant& variant = point.variant;
    Json row = {{"values", point.values},
                {"label", variant.label},
                {"cluster", variant.info.cluster},
                {"traffic", variant.info.traffic},
                {"configuration", fmt::format("{:016x}", variant.info.configuration)},
                {"trouble", point.trouble.empty() ? Json() : Json(point.trouble)},
                {"detail", point.detail.empty() ? Json() : Json(point.detail)}};
    row.update(costs_json(variant.costs));
    row["runs"] = Json::array();
    for (const ComparedRun& run : variant.runs) {
      row["runs"].push_back(run_json(run));
      if (!run.links.links.empty()) row["runs"].back()["links"] = links_json(run.links);
    }
    record["points"].push_back(std::move(row));
  }
  std::vector<std::string> labels;
  for (const SweptPoint& point : sweep.points) labels.push_back(point.variant.label);
  add_verdict(verdict, "best", labels, record);
  record["costs"] = sentences_json(cost_sentences(labelled_costs(sweep)));
  out << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

void write_sweep_csv(const Sweep& sweep, std::ostream& out) {
  // A line is of a run, or of a row of its collectives.
  const auto lines_of = [&](const ComparedRun& run) {
    std::vector<Json> lines;
    for (const CollectiveRow& row : run.collectives) {
      Json line = {{"seed", run.seed}};
      line.update(collective_json(row));
      lines.push_back(std::move(line));
    }
    return runs_collectives(sweep) ? lines : std::vector<Json>{run_json(run)};
  };
  const auto write = [&](std::vector<std::string> cells, const Json& run, const Json& costs, bool names) {
    for (const Json* part : {&run, &costs})
      for (const auto& [name, value] : part->items()) cells.push_back(names ? name : csv_cell(value));
    out << fmt::format("{}\n", fmt::join(cells, ","));
  };
  std::vector<std::string> keys;
  for (const std::string& key : sweep.keys) keys.push_back(csv_cell(key));
  ComparedRun empty;
  if (runs_collectives(sweep)) empty.collectives.emplace_back();
  write(keys, lines_of(empty)[0], costs_json({}), true);
  for (const SweptPoint& point : sweep.points) {
    std::vector<std::string> values;
    for (const std::string& value : point.values) values.push_back(csv_cell(value));
    for (const ComparedRun& run : point.variant.runs)
      for (const Json& line : lines_of(run)) write(values, line, costs_json(point.variant.costs), false);
  }
}

}  // namespace weft::report
