// Busbw against size of runs that are there already, over each other.

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/session.hpp"
#include "app/show/plotted_runs.hpp"
#include "spec/files.hpp"

namespace weft::app {
namespace {

using spec::Error;

constexpr std::size_t kMostText = std::size_t{16} << 20;
constexpr std::size_t kMostCurves = 24;  // that an eye tells apart

// NAME=FILE, unless a file is called so.
std::pair<std::string, std::filesystem::path> named(const std::string& word) {
  std::error_code fault;
  const std::size_t equals = word.find('=');
  if (equals != std::string::npos && equals > 0 && !std::filesystem::exists(word, fault))
    return {word.substr(0, equals), word.substr(equals + 1)};
  return {std::filesystem::path(word).stem().string(), word};
}

void write_records(const std::vector<draw::Curve>& curves, std::ostream& out) {
  for (const draw::Curve& curve : curves) {
    nlohmann::ordered_json record = {
        {"record", "curve"}, {"version", 1}, {"name", curve.name}, {"measured", curve.measured}};
    record["points"] = nlohmann::ordered_json::array();
    for (const draw::Point& point : curve.points)
      record["points"].push_back({{"bytes", static_cast<std::uint64_t>(point.x)}, {"busbw_GBps", point.y}});
    out << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  }
}

}  // namespace

int plot(const PlotOptions& options, Console& console) {
  spec::Diagnostics diagnostics;
  draw::Plot drawn{options.title.empty() ? "collectives" : options.title, {}, "busbw in GB/s", {}};
  for (const std::string& word : options.files) {
    const auto [name, file] = named(word);
    for (const std::string& why : file_conflicts({{"", file}}, {{"-o", options.output}}))
      diagnostics.add(Error::contradiction, {}, why, "another name");
    const auto source = spec::load_file(file, diagnostics, kMostText);
    if (!source) continue;
    if (diagnostics.sources().text(*source).size() > kMostText) {
      diagnostics.add(Error::out_of_range, {*source, 1, 1, 1}, "larger than 16 MiB", "one sweep of sizes");
      continue;
    }
    for (draw::Curve& curve : plotted_runs(name, *source, diagnostics)) drawn.curves.push_back(std::move(curve));
  }
  if (drawn.curves.size() > kMostCurves)
    diagnostics.add(Error::out_of_range, {}, fmt::format("{} curves", drawn.curves.size()),
                    fmt::format("at most {}, which can be told apart", kMostCurves));
  InputOptions input;
  input.json = options.json;
  if (report(diagnostics, input, console)) return kYourInput;
  return write_output(options.output, console, [&](std::ostream& out) {
    if (options.json)
      write_records(drawn.curves, out);
    else
      out << draw::to_svg(draw::plot(drawn));
  });
}

}  // namespace weft::app
