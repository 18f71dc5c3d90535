#include "report/fidelity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "report/table.hpp"

namespace weft::report {
namespace {

struct Figure {
  std::string title;  // of the table's column
  std::string name;   // in the record
  std::int64_t (*value)(const FidelityRun&);
};

const std::vector<Figure>& figures() {
  static const std::vector<Figure> all = {
      {"all done", "end", [](const FidelityRun& run) { return run.end.count(); }},
      {"completion p50", "fct_p50", [](const FidelityRun& run) { return run.completion.value_or(Quantiles{}).p50; }},
      {"completion p99", "fct_p99", [](const FidelityRun& run) { return run.completion.value_or(Quantiles{}).p99; }},
  };
  return all;
}

}  // namespace

double difference(std::int64_t figure, std::int64_t first) {
  return static_cast<double>(figure - first) / static_cast<double>(std::max<std::int64_t>(1, first));
}

std::string difference_text(const std::vector<FidelityRun>& runs, std::size_t width, bool colour) {
  std::vector<Column> columns = {{"fidelity"}};
  for (const Figure& figure : figures()) {
    columns.push_back({figure.title, true});
    columns.push_back({"", true});
  }
  Table table(std::move(columns));
  for (const FidelityRun& run : runs) {
    std::vector<std::string> cells = {std::string(name(run.fidelity))};
    for (const Figure& figure : figures()) {
      cells.push_back(brief(Duration(figure.value(run))));
      cells.push_back(
          &run == &runs[0] ? "" : fmt::format("{:+.1f}%", 100 * difference(figure.value(run), figure.value(runs[0]))));
    }
    table.add(std::move(cells));
  }
  return table.text(width, colour);
}

void write_difference(std::uint64_t seed, const std::vector<FidelityRun>& runs, std::ostream& out) {
  nlohmann::ordered_json record = {
      {"record", "difference"}, {"version", 1}, {"seed", seed}, {"against", name(runs[0].fidelity)}};
  record["runs"] = nlohmann::ordered_json::array();
  for (const FidelityRun& run : runs) {
    nlohmann::ordered_json row = {{"executor", name(run.fidelity)}};
    for (const Figure& figure : figures()) {
      row[figure.name + "_ps"] = figure.value(run);
      if (&run != &runs[0]) row[figure.name + "_difference"] = difference(figure.value(run), figure.value(runs[0]));
    }
    record["runs"].push_back(std::move(row));
  }
  out << record.dump() << "\n";
}

}  // namespace weft::report
