#include "report/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.hpp"
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

std::string mean_time(const Variant& variant, std::int64_t Quantiles::*which) {
  const auto value = [&](const ComparedRun& run) {
    return run.summary.completion ? (*run.summary.completion).*which : 0;
  };
  return brief(Duration(static_cast<std::int64_t>(mean(variant, value))));
}

// What a point was measured to be; "all done" first.
std::vector<std::string> figures(const SweptPoint& point) {
  if (!point.trouble.empty()) return {point.trouble, "-", "-", "-", "-"};
  const Variant& variant = point.variant;
  const auto end = mean(variant, [](const ComparedRun& run) { return run.end; });
  const auto goodput = mean(variant, [](const ComparedRun& run) { return run.summary.goodput; });
  const auto slow =
      mean(variant, [](const ComparedRun& run) { return run.summary.slowdown ? run.summary.slowdown->max : 0; });
  return {brief(Duration(static_cast<std::int64_t>(end))), mean_time(variant, &Quantiles::p50),
          mean_time(variant, &Quantiles::p99), brief(Bandwidth(static_cast<std::int64_t>(goodput))),
          fmt::format("{:.2f}", slow / 1000)};
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

SweepVerdict judge_sweep(const Sweep& sweep) {
  SweepVerdict out;
  const std::vector<std::size_t> ranked = ranked_points(sweep);
  if (!sweep.same_traffic) {
    out.sentence = "none is best: the points differ in their traffic, which --nodes and --pattern can make the same";
    return out;
  }
  const auto not_run = std::count_if(sweep.points.begin(), sweep.points.end(),
                                     [](const SweptPoint& point) { return point.trouble == kNotRun; });
  if (not_run > 0) {
    out.sentence = fmt::format("none is best yet: {} of {} points were not run", not_run, sweep.points.size());
    return out;
  }
  if (ranked.size() < 2) {
    out.sentence = fmt::format("none is best: of {} points {} is done", sweep.points.size(),
                               ranked.empty() ? "none" : "only " + sweep.points[ranked[0]].variant.label);
    return out;
  }
  std::vector<Variant> variants;
  for (const std::size_t point : ranked) variants.push_back(sweep.points[point].variant);
  const Verdict verdict = judge(variants);
  out.best = ranked[*verdict.winner];
  out.lead = verdict.lead;
  out.outside_spread = verdict.outside_spread;
  out.sentence = verdict.sentence;
  return out;
}

std::vector<LabelledCosts> labelled_costs(const Sweep& sweep) {
  std::vector<LabelledCosts> out;
  for (const SweptPoint& point : sweep.points)
    if (point.trouble != kCannotRun) out.push_back({point.variant.label, point.variant.costs});
  return out;
}

std::string sweep_text(const Sweep& sweep, std::size_t width, bool colour) {
  const std::vector<CostRow> costs = cost_columns(labelled_costs(sweep));
  std::vector<Column> columns;
  for (const std::string& key : short_keys(sweep.keys)) columns.push_back({key, true});
  for (const std::string title : {"all done", "p50", "p99", "goodput", "max slow"}) columns.push_back({title, true});
  for (const auto& [title, text] : costs) columns.push_back({title, true});
  Table table(std::move(columns));
  for (const SweptPoint& point : sweep.points) {
    std::vector<std::string> cells = point.values;
    for (std::string& figure : figures(point)) cells.push_back(std::move(figure));
    const bool built = point.trouble != kCannotRun;
    for (const auto& [title, text] : costs) cells.push_back(built ? text(point.variant.costs) : "-");
    table.add(std::move(cells));
  }
  return table.text(width, colour);
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

void write_sweep(const Sweep& sweep, const SweepVerdict& verdict, std::ostream& out) {
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
    for (const ComparedRun& run : variant.runs) row["runs"].push_back(run_json(run));
    record["points"].push_back(std::move(row));
  }
  record["best"] = verdict.best ? Json(sweep.points[*verdict.best].variant.label) : Json();
  record["lead"] = verdict.best ? Json(verdict.lead) : Json();
  record["outside_spread"] = verdict.outside_spread;
  record["sentence"] = verdict.sentence;
  out << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

void write_sweep_csv(const Sweep& sweep, std::ostream& out) {
  for (const std::string& key : sweep.keys) out << csv_cell(key) << ',';
  const Json names = run_json({});
  for (const auto& [name, value] : names.items()) out << name << ',';
  std::vector<std::string> last_names;
  const Json costs = costs_json({});
  for (const auto& [name, value] : costs.items()) last_names.push_back(name);
  out << fmt::format("{}\n", fmt::join(last_names, ","));
  for (const SweptPoint& point : sweep.points)
    for (const ComparedRun& run : point.variant.runs) {
      for (const std::string& value : point.values) out << csv_cell(value) << ',';
      const Json row = run_json(run);
      for (const auto& [name, value] : row.items()) out << csv_cell(value) << ',';
      const Json costs_row = costs_json(point.variant.costs);
      std::vector<std::string> cells;
      for (const auto& [name, value] : costs_row.items()) cells.push_back(csv_cell(value));
      out << fmt::format("{}\n", fmt::join(cells, ","));
    }
}

}  // namespace weft::report
