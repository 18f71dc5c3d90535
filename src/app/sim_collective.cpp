#include "app/sim_collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "app/collective_choice.hpp"
#include "app/collective_plot.hpp"
#include "app/collective_runs.hpp"
#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/sim_run.hpp"
#include "app/sim_traffic.hpp"
#include "app/warnings.hpp"

namespace weft::app {

using report::CollectiveRow;
using spec::Complaint;

bool wants_collectives(const Session& session, const CollectiveOptions& options, const TrafficOptions& traffic) {
  if (!options.operation.empty()) return true;
  return !asks_for_traffic(traffic) && !collectives_of(session.cluster()).empty();
}

void check_collective_options(const RunOptions& run, const SimOutputOptions& output, std::uint32_t seeds,
                              spec::Diagnostics& diagnostics) {
  const auto forbid = [&](bool given, std::string_view option) {
    if (given)
      diagnostics.add(Complaint::contradiction, {}, fmt::format("{} is of flows, not of collectives", option),
                      "without it, or --pattern for flows");
  };
  forbid(!run.sample.empty(), "--sample");
  forbid(!run.capture.empty() || !output.pcap.empty(), "--pcap");
  forbid(!output.csv.empty(), "--csv");
  forbid(output.links.has_value() || output.flows || output.samples, "--links, --flows or --samples");
  forbid(seeds > 1, "--seeds");
}

namespace {

// Streams of the command line, else of the file, that run at the same time.
std::optional<Traffic> traffic_beside(Session& session, const CollectiveRequest& request) {
  const TrafficGround ground = ground_of(session, request.run.seed);
  const bool of_the_file = request.options.operation.empty() && !ground.streams.empty();
  if (request.streams.empty() && !of_the_file) return std::nullopt;
  TrafficOptions options;
  options.streams = request.streams;
  return load_traffic(options, ground, session.diagnostics());
}

// As messages, a lane is computed as far as it goes before the next: nothing happens in the order of time.
void check_limits(const Limits& limits, const std::vector<std::string>& fidelities, spec::Diagnostics& diagnostics) {
  if (std::find(fidelities.begin(), fidelities.end(), "message") == fidelities.end()) return;
  for (const Limit& limit : limits)
    if (limit.kind == Limit::Kind::time || limit.kind == Limit::Kind::events)
      diagnostics.add(
          Complaint::contradiction, {},
          fmt::format("--limit {}: the messages of a collective do not run in the order of time", limit.text),
          "--fidelity packet or flow, or --limit wall=60s");
}

}  // namespace

int sim_collectives(Session& session, const CollectiveRequest& request, const Limits& limits, Console& console) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  const CollectiveOptions& options = request.options;
  const std::vector<CollectiveJob> jobs = jobs_of(session.cluster(), options, request.gpus, request.sizes, diagnostics);
  for (const CollectiveJob& job : jobs) {
    check_job(job, session.cluster(), diagnostics);
    stack_of(job, options.stack, session.cluster(), diagnostics);
  }
  const Wanted wanted = read_options(options, diagnostics);
  const std::optional<Traffic> beside = traffic_beside(session, request);
  const std::vector<std::string> fidelities =
      options.fidelity_given || beside ? parse_fidelities(request.run.fidelity) : std::vector<std::string>{"message"};
  check_limits(limits, fidelities, diagnostics);
  if (const std::string why = why_not_write(options.plot, session.file()); !options.plot.empty() && !why.empty())
    diagnostics.add(Complaint::contradiction, {}, fmt::format("--plot {}: {}", options.plot, why), "another name");
  if (!request.trace.empty())
    if (const std::string why = why_not_write(request.trace, session.file()); !why.empty())
      diagnostics.add(Complaint::contradiction, {}, why, "another name for --trace");
  if (app::report(diagnostics, request.input, console)) return kYourInput;
  warn_of_run(session, beside ? beside->streams : std::vector<TrafficStream>{}, fidelities, console);
  const CtrlC ctrl_c;
  std::vector<std::pair<std::string, CollectiveRow>> last;
  std::vector<CollectiveRow> rows;
  for (std::size_t first = 0; first < jobs.size();) {
    std::size_t end = first + 1;
    while (end < jobs.size() && jobs[end].alongside) ++end;
    // Beside traffic it says little how long it takes, unless it is known what it takes alone.
    for (const Traffic* with :
         beside ? std::vector<const Traffic*>{nullptr, &*beside} : std::vector<const Traffic*>{nullptr}) {
      if (with != nullptr && !request.input.json) console.out << fmt::format("# beside {}\n", with->name);
      CollectiveRuns runs(session, request, wanted, fidelities, with, limits, console);
      if (const int code = runs.run(std::span(jobs).subspan(first, end - first)); code != kFine) return code;
      last.insert(last.end(), runs.last().begin(), runs.last().end());
      rows.insert(rows.end(), runs.rows().begin(), runs.rows().end());
    }
    first = end;
  }
  const auto same = [&](const auto& each) {
    return each.second.operation == last[0].second.operation && each.second.bytes == last[0].second.bytes;
  };
  if (!request.input.json && last.size() > 1 && std::all_of(last.begin(), last.end(), same))
    report::write_collective_verdict(last, console.out);
  if (options.plot.empty()) return kFine;
  return write_output(options.plot, console,
                      [&](std::ostream& out) { out << draw::to_svg(collective_plot(session.cluster().name, rows)); });
}

}  // namespace weft::app
