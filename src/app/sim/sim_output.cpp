#include "app/sim/sim_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/output.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "report/openmetrics.hpp"
#include "report/pcapng.hpp"
#include "report/trace.hpp"

namespace weft::app {
namespace {

using schedule::RunResult;
using spec::Error;

constexpr std::size_t kLinksShown = 10;

enum class CsvKind { flows, links, samples };
constexpr auto names_of(CsvKind) {
  using enum CsvKind;
  return std::to_array<EnumName<CsvKind>>({{flows, "flows"}, {links, "links"}, {samples, "samples"}});
}

struct CsvFile {
  CsvKind kind;
  std::string path;
};

// A directory gets all kinds; samples only when there are any. What names no kind is none; check_csv complains of it.
std::vector<CsvFile> csv_files(const std::vector<std::string>& csv, bool sampled) {
  std::vector<CsvFile> files;
  for (const std::string& item : csv) {
    if (const std::size_t equals = item.find('='); equals != std::string::npos) {
      if (const auto kind = parse_enum<CsvKind>(item.substr(0, equals)))
        files.push_back({*kind, item.substr(equals + 1)});
      continue;
    }
    for (const auto& [kind, name] : names_of(CsvKind{}))
      if (kind != CsvKind::samples || sampled)
        files.push_back({kind, (std::filesystem::path(item) / fmt::format("{}.csv", name)).string()});
  }
  return files;
}

void check_csv(const std::string& item, spec::Diagnostics& diagnostics) {
  const std::size_t equals = item.find('=');
  const std::string kind = item.substr(0, equals);
  const bool known = parse_enum<CsvKind>(kind).has_value();
  if (equals == std::string::npos || (known && equals + 1 < item.size())) return;
  if (known) {
    diagnostics.add(Error::wrong_type, {}, fmt::format("--csv {} names no file", item),
                    fmt::format("for example --csv {}=out.csv", kind));
    return;
  }
  const auto guess = did_you_mean(kind, enum_names<CsvKind>());
  diagnostics.add(
      Error::unknown_key, {}, fmt::format("--csv has no '{}'", kind),
      guess ? fmt::format("did you mean {}=FILE?", *guess) : "a directory, or flows=FILE, links=FILE, samples=FILE");
}

auto rank_names(const Session& session) {
  return [&fabric = session.fabric()](std::uint32_t rank) { return fabric.name(fabric.gpu(rank)); };
}

int write_csv_file(const CsvFile& file, const report::RunInfo& info, const RunResult& result, Console& console) {
  return write_output(file.path, console, [&](std::ostream& out) {
    switch (file.kind) {
      case CsvKind::flows:
        return report::write_flows_csv(result, out);
      case CsvKind::links:
        return report::write_links_csv(result, out);
      case CsvKind::samples:
        return report::write_samples_csv(info, result, out);
    }
  });
}

}  // namespace

bool outputs_can_be_written(const SimOutputOptions& options, Console& console) {
  std::vector<std::string> paths = {options.trace, options.pcap, options.metrics};
  for (const std::string& item : options.csv) {
    const std::size_t equals = item.find('=');
    std::filesystem::path path = equals == std::string::npos ? std::filesystem::path(item) / "flows.csv"
                                                             : std::filesystem::path(item.substr(equals + 1));
    // Folders of a directory are made when they are needed.
    std::error_code fault;
    while (equals == std::string::npos && path.has_parent_path() && !std::filesystem::exists(path.parent_path(), fault))
      path = path.parent_path();
    paths.push_back(path.string());
  }
  return can_be_written(paths, console);
}

void check_outputs(const SimOutputOptions& options, const InputOptions& input, const RunOptions& run,
                   std::uint32_t seeds, const NamedFile& traffic, Session& session) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  for (const std::string& item : options.csv) check_csv(item, diagnostics);
  const std::vector<CsvFile> tables = csv_files(options.csv, !run.sample.empty());
  std::vector<NamedFile> outputs = {
      {"--trace", options.trace}, {"--pcap", options.pcap}, {"--metrics", options.metrics}};
  for (const CsvFile& file : tables) outputs.push_back({fmt::format("--csv {} in", enum_name(file.kind)), file.path});
  for (const std::string& why : file_conflicts({{"", session.file()}, traffic}, outputs))
    diagnostics.add(Error::contradiction, {}, why, "another name");
  if (seeds > 1 && (!tables.empty() || !options.trace.empty() || !options.pcap.empty() || !options.metrics.empty()))
    diagnostics.add(Error::contradiction, {},
                    "--csv, --trace, --pcap and --metrics are of one run, --seeds makes several",
                    "one run per file: --seed N");
  if (!input.json && (options.flows || options.samples))
    diagnostics.add(Error::contradiction, {},
                    fmt::format("--{} chooses records of --json", options.flows ? "flows" : "samples"),
                    fmt::format("add --json, or --csv {}=FILE for a table", options.flows ? "flows" : "samples"));
  if (input.json && options.slowest > 0)
    diagnostics.add(Error::contradiction, {}, "--slowest is a table for people", "--json --flows has every flow");
  const bool wants_samples =
      options.samples || !options.metrics.empty() ||
      std::any_of(tables.begin(), tables.end(), [](const CsvFile& file) { return file.kind == CsvKind::samples; });
  if (wants_samples && run.sample.empty())
    diagnostics.add(Error::contradiction, {}, "samples are wanted, but nothing is sampled", "add --sample 1us");
  if (options.pcap.empty() != run.capture.empty())
    diagnostics.add(Error::contradiction, {}, options.pcap.empty() ? "--capture needs a file" : "--pcap needs links",
                    "for example --pcap leaf.pcapng --capture leaf0:spine1");
}

bool wants_links(const SimOutputOptions& options, const InputOptions& input) {
  return !input.json || options.links || options.samples || !options.csv.empty() || !options.trace.empty() ||
         !options.metrics.empty();
}

void print_result(const SimOutputOptions& options, const InputOptions& input, const report::RunInfo& info,
                  const RunResult& result, const Session& session, Console& console) {
  const report::SimSummary summary = report::summarise(result);
  if (!input.json) {
    console.out << report::summary_text(result, summary, options.links.value_or(kLinksShown), console.width,
                                        console.colour_out);
    if (options.slowest > 0)
      console.out << report::slowest_text(result, options.slowest, rank_names(session), console.width,
                                          console.colour_out);
    return;
  }
  report::write_sim_record(info, result, summary, console.out);
  report::write_stream_records(result, console.out);
  if (options.flows) report::write_flow_records(result, console.out);
  if (options.links) report::write_link_records(result, *options.links, console.out);
  if (options.samples) report::write_sample_records(info, result, console.out);
}

int write_files(const SimOutputOptions& options, const report::RunInfo& info, const experiment::Outcome& run,
                const Session& session, Console& console) {
  for (const std::string& item : options.csv) {
    std::error_code fault;  // a directory that could not be made is noticed when its files are written
    if (item.find('=') == std::string::npos) std::filesystem::create_directories(item, fault);
  }
  int code = kFine;
  for (const CsvFile& file : csv_files(options.csv, info.sample_interval > Duration(0)))
    code = std::max(code, write_csv_file(file, info, run.result, console));
  if (!options.metrics.empty()) {
    const auto write = [&](std::ostream& out) { report::write_openmetrics(info, run.result, out); };
    code = std::max(code, write_output(options.metrics, console, write));
  }
  if (!options.trace.empty()) {
    const auto write = [&](std::ostream& out) { report::write_trace(info, run.result, rank_names(session), out); };
    code = std::max(code, write_output(options.trace, console, write));
  }
  if (!options.pcap.empty()) {
    const auto write = [&](std::ostream& out) {
      const experiment::Capture& capture = run.capture;
      report::PcapngWriter writer(out, capture.links, report::FrameMaker(capture.stack, capture.packets));
      for (const transport::Captured& packet : capture.packets) writer.add(packet);
    };
    code = std::max(code, write_output(options.pcap, console, write));
  }
  return code;
}

}  // namespace weft::app
