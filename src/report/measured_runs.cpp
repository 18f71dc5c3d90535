#include "report/measured_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.hpp"
#include "report/table.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostRate = 1e18;                            // bit/s, beyond which a file is no measurement
constexpr std::uint64_t kMostCount = std::uint64_t{1} << 62;  // so that sums and differences hold

// A "run" record's values; remembers when one was not of its type.
struct Record {
  const Json& record;
  bool good = true;

  std::uint64_t count(const char* key) {
    const auto found = record.find(key);
    good = good && found != record.end() && found->is_number_unsigned() && found->get<std::uint64_t>() <= kMostCount;
    return good ? found->get<std::uint64_t>() : 0;
  }
  std::int64_t time(const char* key) { return static_cast<std::int64_t>(count(key)); }
  double rate(const char* key) {
    const auto found = record.find(key);
    good = good && found != record.end() && found->is_number();
    const double value = good ? found->get<double>() : 0;
    good = good && value >= 0 && value <= kMostRate;
    return value;
  }
  std::string text(const char* key) {
    const auto found = record.find(key);
    good = good && found != record.end() && found->is_string();
    return good ? found->get<std::string>() : "";
  }
};

bool same_traffic(const MeasuredRuns& a, const MeasuredRuns& b) {
  return a.transport == b.transport && a.requests == b.requests && a.size == b.size && a.senders == b.senders;
}

std::string rate_text(double rate) { return brief(Bandwidth(static_cast<std::int64_t>(rate))); }
std::string time_text(double time) { return brief(Duration(static_cast<std::int64_t>(time))); }
std::string share_text(double share) { return fmt::format("{:.2f} %", 100 * share); }

double mean_of(const MeasuredRuns& measured, const std::function<double(const MeasuredRun&)>& value) {
  double sum = 0;
  for (const MeasuredRun& run : measured.runs) sum += value(run);
  return sum / static_cast<double>(measured.runs.size());
}

double share(std::uint64_t part, std::uint64_t all) {
  return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(1, all));
}

// What both know: measured, and of a variant, nothing where that has none.
struct Figure {
  const char* title;
  const char* key;
  bool in_parts;  // how much more the variant says is a part of what was measured; else the difference
  std::function<double(const MeasuredRun&)> measured;
  std::function<std::optional<double>(const ComparedRun&)> simulated;
  std::string (*text)(double);
};

std::vector<Figure> figures_of(const MeasuredRuns& measured) {
  std::vector<Figure> out;
  if (measured.requests) {
    struct Named {
      const char* title;
      const char* key;
      std::int64_t Quantiles::*which;
    };
    for (const Named& each :
         {Named{"median", "p50_ps", &Quantiles::p50}, Named{"p99", "p99_ps", &Quantiles::p99},
          Named{"p99.9", "p999_ps", &Quantiles::p999}, Named{"longest", "longest_ps", &Quantiles::max}})
      out.push_back({each.title, each.key, true,
                     [=](const MeasuredRun& run) { return static_cast<double>(run.round_trips.*each.which); },
                     [=](const ComparedRun& run) -> std::optional<double> {
                       if (!run.summary.completion) return std::nullopt;
                       return static_cast<double>((*run.summary.completion).*each.which);
                     },
                     time_text});
  } else {
    out.push_back({"goodput", "goodput_bps", true, [](const MeasuredRun& run) { return run.goodput; },
                   [](const ComparedRun& run) -> std::optional<double> {
                     if (run.summary.done == 0) return std::nullopt;
                     return static_cast<double>(run.summary.goodput);
                   },
                   rate_text});
  }
  out.push_back({"sent again", "resent_share", false,
                 [](const MeasuredRun& run) { return share(run.resent, run.packets); },
                 [](const ComparedRun& run) -> std::optional<double> {
                   if (run.sent == 0) return std::nullopt;  // no packets at this level
                   return share(run.resent, run.sent);
                 },
                 share_text});
  return out;
}

// The mean over the variant's runs; nothing where one did not finish or does not know.
std::optional<double> simulated_mean(const Figure& figure, const Variant& variant) {
  if (!is_finished(variant)) return std::nullopt;
  double sum = 0;
  for (const ComparedRun& run : variant.runs) {
    const std::optional<double> value = figure.simulated(run);
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum / static_cast<double>(variant.runs.size());
}

std::optional<double> percent_more(double measured, double simulated) {
  if (measured <= 0) return std::nullopt;
  return 100 * (simulated / measured - 1);
}

}  // namespace

std::string MeasuredRuns::traffic() const {
  const std::string bytes = exact(Bytes(static_cast<std::int64_t>(size)));
  const std::string what = requests ? fmt::format("requests of {}", bytes) : fmt::format("messages of {}", bytes);
  const std::string who = senders == 1 ? "" : fmt::format(" from {} senders", senders);
  return fmt::format("{}{} by {}, {}", what, who, transport, counted(static_cast<std::int64_t>(runs.size()), "run"));
}

Result<MeasuredRuns, std::string> read_measured_runs(std::string_view text, std::string label) {
  MeasuredRuns out;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto wrong = [&](const std::string& why) {
      return Failure<std::string>(fmt::format("line {}: {}", number, why));
    };
    const Json parsed = Json::parse(line, nullptr, false);
    if (!parsed.is_object()) return wrong("not a record of JSON, as weft run client --json prints it");
    if (parsed.value("record", Json()) != "run") continue;
    Record record{parsed};
    MeasuredRuns one;
    one.transport = record.text("transport");
    const std::string pattern = record.text("pattern");
    one.requests = pattern == "requests";
    one.size = record.count("size");
    one.senders = record.count("endpoints");
    MeasuredRun run{record.rate("goodput_bps"),
                    record.count("bytes"),
                    record.count("packets"),
                    record.count("retransmitted"),
                    {record.time("p50_ps"), record.time("p99_ps"), record.time("p999_ps"), record.time("longest_ps")}};
    if (!record.good || one.size == 0 || one.senders == 0)
      return wrong("a run record that lacks what weft run client --json writes");
    if (const auto failure = parsed.find("failure"); failure != parsed.end() && failure->is_string())
      return wrong("the run ended early: " + failure->get<std::string>());
    if (!out.runs.empty() && !same_traffic(out, one)) return wrong("other traffic than in the runs before it");
    one.runs = std::move(out.runs);
    one.runs.push_back(run);
    out = std::move(one);
  }
  if (out.runs.empty()) return Failure<std::string>("no run record in it: weft run client HOST --json prints one");
  out.label = std::move(label);
  return out;
}

std::string traffic_differs(const MeasuredRuns& measured, const Variant& variant) {
  const SimSummary& summary = variant.runs[0].summary;
  if (summary.done == 0) return "";
  const std::uint64_t each = summary.bytes / summary.done;
  if (measured.requests && each != measured.size)
    return fmt::format("{} has flows of {}, and requests of {} were measured", variant.label,
                       exact(Bytes(static_cast<std::int64_t>(each))),
                       exact(Bytes(static_cast<std::int64_t>(measured.size))));
  if (!measured.requests && measured.senders > 1 && summary.flows != measured.senders)
    return fmt::format("{} has {}, and {} senders were measured", variant.label,
                       counted(static_cast<std::int64_t>(summary.flows), "flow"), measured.senders);
  return "";
}

std::string measured_text(const MeasuredRuns& measured, const std::vector<Variant>& variants, std::size_t width,
                          bool colour) {
  std::vector<Column> columns = {{measured.label}, {"measured", true}};
  for (const Variant& variant : variants) columns.push_back({variant.label, true});
  Table table(std::move(columns));
  for (const Figure& figure : figures_of(measured)) {
    const double real = mean_of(measured, figure.measured);
    std::vector<std::string> cells = {figure.title, figure.text(real)};
    for (const Variant& variant : variants) {
      const auto value = simulated_mean(figure, variant);
      const auto more = value && figure.in_parts ? percent_more(real, *value) : std::nullopt;
      cells.push_back((value ? figure.text(*value) : "-") + (more ? fmt::format(" ({:+.1f} %)", *more) : ""));
    }
    table.add(std::move(cells));
  }
  return table.text(width, colour);
}

Json measured_json(const MeasuredRuns& measured, const std::vector<Variant>& variants) {
  Json record = {{"label", measured.label},
                 {"transport", measured.transport},
                 {"pattern", measured.requests ? "requests" : "stream"},
                 {"size", measured.size},
                 {"endpoints", measured.senders},
                 {"runs", measured.runs.size()}};
  const std::vector<Figure> figures = figures_of(measured);
  for (const Figure& figure : figures) record[figure.key] = mean_of(measured, figure.measured);
  record["simulated"] = Json::array();
  for (const Variant& variant : variants) {
    Json row = {{"label", variant.label}};
    for (const Figure& figure : figures) {
      const auto value = simulated_mean(figure, variant);
      row[figure.key] = value ? Json(*value) : Json();
      if (!figure.in_parts) continue;
      const auto more = value ? percent_more(mean_of(measured, figure.measured), *value) : std::nullopt;
      row[std::string(figure.key) + "_more_percent"] = more ? Json(*more) : Json();
    }
    const std::string differs = traffic_differs(measured, variant);
    row["traffic_differs"] = differs.empty() ? Json() : Json(differs);
    record["simulated"].push_back(std::move(row));
  }
  return record;
}

}  // namespace weft::report
