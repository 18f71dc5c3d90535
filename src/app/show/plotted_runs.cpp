#include "app/show/plotted_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "measured/nccl_tests.hpp"

namespace weft::app {
namespace {

using draw::Curve;
using nlohmann::json;
using spec::Error;

struct Named {
  std::string what;  // beside the name of the run, where it has several curves
  Curve curve;
};

void add_point(std::vector<Named>& curves, const std::string& what, const draw::Point& point, bool measured) {
  auto found = std::find_if(curves.begin(), curves.end(), [&](const Named& each) { return each.what == what; });
  if (found == curves.end()) found = curves.insert(curves.end(), Named{what, {"", {}, measured}});
  found->curve.points.push_back(point);
}

template <class Value>
std::optional<Value> value_of(const json& record, const char* key) {
  const auto found = record.find(key);
  if (found == record.end()) return std::nullopt;
  if constexpr (std::is_same_v<Value, std::string>) {
    if (found->is_string()) return found->get<std::string>();
  } else if (found->is_number()) {
    return found->get<Value>();
  }
  return std::nullopt;
}

// A record a line. Those of other things are passed over. False with an error.
bool read_records(std::uint32_t source, std::vector<Named>& curves, spec::Diagnostics& diagnostics) {
  const std::string& text = diagnostics.sources().text(source);
  std::uint32_t number = 0;
  std::vector<std::pair<std::string, draw::Point>> by_nccl;  // what its algorithm's own curve is called
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const json record = json::parse(line, nullptr, false);
    const auto refuse = [&](const char* what) {
      diagnostics.add(Error::wrong_type, {source, number, 1, 1}, what,
                      "what `weft sim --json` printed, a record a line");
      return false;
    };
    if (!record.is_object()) return refuse("this line is no record");
    if (value_of<std::string>(record, "record") != "collective") continue;
    const auto operation = value_of<std::string>(record, "operation");
    const auto algorithm = value_of<std::string>(record, "algorithm");
    const auto ranks = value_of<std::uint64_t>(record, "ranks");
    const auto bytes = value_of<double>(record, "bytes");
    const auto busbw = value_of<double>(record, "busbw_GBps");
    if (!operation || !algorithm || !ranks || !bytes || !busbw)
      return refuse("a record of a collective that is not whole");
    const bool chosen = value_of<std::string>(record, "chosen_by") == "auto";
    const std::string executor = value_of<std::string>(record, "executor").value_or("message");
    const auto what = [&](const std::string& how) {
      return fmt::format("{} of {} GPUs{}{}", *operation, *ranks, how,
                         executor == "message" ? "" : " by " + executor + "s");
    };
    const std::string own = what(", " + *algorithm);
    add_point(curves, chosen ? what("") : own, {*bytes, *busbw}, false);
    if (chosen) by_nccl.emplace_back(own, draw::Point{*bytes, *busbw});
  }
  // Where algorithms stand side by side, what NCCL chooses is a point of its algorithm, too.
  for (const auto& [own, point] : by_nccl)
    if (std::any_of(curves.begin(), curves.end(), [&](const Named& each) { return each.what == own; }))
      add_point(curves, own, point, false);
  return true;
}

bool read_tables(std::uint32_t source, std::vector<Named>& curves, spec::Diagnostics& diagnostics) {
  const bool own = diagnostics.sources().text(source).starts_with("# weft ");
  const auto benchmark = measured::read_benchmark(source, diagnostics);
  if (!benchmark) return false;
  for (std::size_t i = 0; i < benchmark->tables.size(); ++i) {
    const measured::BenchmarkTable& table = benchmark->tables[i];
    const std::string what = fmt::format("{}{}", table.collective.empty() ? "table" : table.collective,
                                         benchmark->tables.size() > 1 ? fmt::format(" {}", i + 1) : "");
    for (const measured::BenchmarkRow& row : table.rows)
      add_point(curves, what, {static_cast<double>(row.bytes), static_cast<double>(row.best().bus.count()) / 8e9},
                !own);
  }
  return true;
}

}  // namespace

std::vector<Curve> plotted_runs(const std::string& name, std::uint32_t source, spec::Diagnostics& diagnostics) {
  const std::string_view text = diagnostics.sources().text(source);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  std::vector<Named> curves;
  const bool records = first != std::string_view::npos && text[first] == '{';
  if (!(records ? read_records : read_tables)(source, curves, diagnostics)) return {};
  if (curves.empty())
    diagnostics.add(Error::wrong_type, {source, 1, 1, 1}, "no collective in it",
                    "what `weft sim --json` or nccl-tests printed");
  std::vector<Curve> made;
  for (Named& each : curves) {
    each.curve.name = curves.size() == 1 ? name : fmt::format("{}: {}", name, each.what);
    std::stable_sort(each.curve.points.begin(), each.curve.points.end(),
                     [](const draw::Point& a, const draw::Point& b) { return a.x < b.x; });
    made.push_back(std::move(each.curve));
  }
  return made;
}

}  // namespace weft::app
