#include "experiment/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "experiment/fingerprint.hpp"
#include "workload/matrix_schedule.hpp"
#include "workload/streams.hpp"

namespace weft::experiment {
namespace {

using spec::Complaint;

std::uint64_t fingerprint_of(std::string_view text) {
  Fingerprint fingerprint;
  fingerprint.add(text);
  return fingerprint.value();
}

// Flows of a pattern; 0: not known before they are drawn.
std::uint64_t flows_of(const workload::PatternOptions& pattern) {
  const std::uint64_t nodes = pattern.nodes;
  if (workload::is_open_loop(pattern)) return 0;
  if (pattern.name == "one") return 1;
  if (pattern.name == "all-to-all") return nodes * (nodes - 1);
  return pattern.name == "incast" || pattern.name == "outcast" ? nodes - 1 : nodes;
}

std::string name_of(const workload::PatternOptions& pattern, const model::TrafficRun& run) {
  const std::string nodes = counted(std::int64_t{pattern.nodes}, "node");
  const std::string size = exact(run.size);
  if (!workload::is_open_loop(pattern)) return fmt::format("{} of {}, {} each", pattern.name, nodes, size);
  const std::string sizes =
      pattern.sizes == "fixed" && pattern.name != "poisson" ? size + " each" : pattern.sizes + " sizes";
  const std::string when = pattern.name == "poisson" ? "" : " " + pattern.arrivals;
  return fmt::format("{} of {}, {}{} at {} of the line rate for {}", pattern.name, nodes, sizes, when, exact(run.load),
                     exact(run.duration));
}

std::uint64_t fingerprint_of(const workload::PatternOptions& pattern) {
  std::string text = fmt::format("{} {} {} {} {} {} {}", pattern.name, pattern.nodes, pattern.bytes, pattern.window,
                                 pattern.sizes, pattern.load_per_mille, pattern.duration.count());
  if (pattern.arrivals != "at-once") text += " " + pattern.arrivals;
  return fingerprint_of(text);
}

// Where a stream begins and ends among the GPUs has to fit.
bool fits(const model::TrafficRun& run, std::int64_t nodes, const TrafficGround& ground,
          spec::Diagnostics& diagnostics) {
  const auto refuse = [&](std::string what, std::string help) {
    diagnostics.add(Complaint::out_of_range, {}, std::move(what), std::move(help));
    return false;
  };
  const bool inside = run.first + nodes <= ground.gpus;
  if (nodes >= 2 && inside) return true;
  if (!run.name.empty())
    return refuse(fmt::format("stream '{}' is of {} from GPU {} on, the cluster has {}", run.name,
                              counted(std::max<std::int64_t>(0, nodes), "GPU"), run.first, grouped(ground.gpus)),
                  "a smaller 'first' or 'nodes', at least two GPUs");
  if (nodes < 2) return refuse("traffic needs two GPUs", "--nodes 2 or more");
  return refuse(
      fmt::format("the traffic is of {} nodes, the cluster has {} GPUs", grouped(nodes), grouped(ground.gpus)),
      "a larger cluster, or fewer nodes");
}

std::optional<TrafficStream> stream_of(const model::TrafficRun& run, const TrafficGround& ground, std::uint32_t number,
                                       spec::Diagnostics& diagnostics) {
  const std::int64_t nodes = run.nodes.value_or(std::int64_t{ground.gpus} - run.first);
  if (!fits(run, nodes, ground, diagnostics)) return std::nullopt;
  TrafficStream stream{run.name, {}, static_cast<std::uint32_t>(run.first), run.transport, run.service, run.verb};
  workload::PatternOptions& pattern = stream.pattern;
  pattern.name = enum_name(run.pattern);
  pattern.nodes = static_cast<std::uint32_t>(nodes);
  pattern.bytes = static_cast<std::uint64_t>(run.size.count());
  // Streams that look alike are still drawn each for itself; the first one as it would be alone.
  pattern.seed = number == 0 ? ground.seed : mix64(ground.seed + number);
  pattern.window = static_cast<std::uint32_t>(run.window);
  pattern.sizes = enum_name(run.sizes);
  pattern.arrivals = enum_name(run.arrivals);
  pattern.load_per_mille = static_cast<std::uint32_t>(run.load.count() / 1000);
  pattern.line_rate = ground.line_rate;
  pattern.duration = run.duration;
  stream.flows = flows_of(pattern);
  return workload::make_traffic(pattern, diagnostics) ? std::optional(std::move(stream)) : std::nullopt;
}

// What is equal for equal flows, whatever carries them.
std::uint64_t fingerprint_of(const std::vector<TrafficStream>& streams, Bandwidth line_rate) {
  if (streams[0].name.empty()) {
    const TrafficStream& only = streams[0];
    return fingerprint_of(only.pattern) ^ (only.verb == model::Verb::send ? 0 : fingerprint_of(enum_name(only.verb)));
  }
  Fingerprint fingerprint;
  for (const TrafficStream& stream : streams) {
    fingerprint.add(stream.name);
    fingerprint.add(fingerprint_of(stream.pattern));
    fingerprint.add(stream.first);
    if (workload::is_open_loop(stream.pattern)) fingerprint.add(static_cast<std::uint64_t>(line_rate.count()));
    if (stream.verb != model::Verb::send) fingerprint.add(enum_name(stream.verb));
  }
  return fingerprint.value();
}

}  // namespace

TrafficGround ground_of(const Design& design, std::uint64_t seed) {
  const model::Cluster& cluster = design.cluster();
  const model::Group& group = cluster.groups[0];
  return {cluster.gpus, group.spec.nic.rate * group.spec.nics / std::max<std::int64_t>(1, group.spec.gpus), seed};
}

std::optional<Traffic> read_matrix(std::uint32_t source, const TrafficGround& ground, spec::Diagnostics& diagnostics) {
  Traffic traffic;
  traffic.matrix = workload::read_matrix(source, diagnostics);
  traffic.nodes = traffic.matrix->nodes;
  traffic.flows = traffic.matrix->flows.size();
  for (const workload::MatrixFlow& flow : traffic.matrix->flows) traffic.bytes += flow.bytes;
  traffic.name = diagnostics.sources().name(source);
  traffic.fingerprint = fingerprint_of(diagnostics.sources().text(source));
  if (traffic.nodes > ground.gpus)
    diagnostics.add(Complaint::out_of_range, {},
                    fmt::format("the traffic is of {} nodes, the cluster has {} GPUs", grouped(traffic.nodes),
                                grouped(ground.gpus)),
                    "a larger cluster, or fewer nodes");
  if (diagnostics.has_errors()) return std::nullopt;
  return traffic;
}

std::optional<Traffic> make_traffic(const std::vector<model::TrafficRun>& runs, const TrafficGround& ground,
                                    spec::Diagnostics& diagnostics) {
  Traffic traffic;
  if (runs.size() > workload::kMostStreams)
    diagnostics.add(Complaint::out_of_range, {}, fmt::format("there are {} streams", runs.size()),
                    fmt::format("at most {}", workload::kMostStreams));
  bool counted_all = true;
  for (const model::TrafficRun& run : runs) {
    if (diagnostics.has_errors()) return std::nullopt;
    auto stream = stream_of(run, ground, static_cast<std::uint32_t>(traffic.streams.size()), diagnostics);
    if (!stream) return std::nullopt;
    for (const TrafficStream& other : traffic.streams)
      if (other.name == run.name)
        diagnostics.add(Complaint::contradiction, {}, fmt::format("two streams are called '{}'", run.name),
                        "a name for each");
    traffic.nodes = std::max(traffic.nodes, stream->first + stream->pattern.nodes);
    counted_all = counted_all && stream->flows > 0;
    traffic.flows += stream->flows;
    traffic.bytes += stream->flows * stream->pattern.bytes;
    if (!run.name.empty()) traffic.name += fmt::format("{}{}: ", traffic.name.empty() ? "" : "; ", run.name);
    traffic.name += name_of(stream->pattern, run);
    traffic.streams.push_back(std::move(*stream));
  }
  if (diagnostics.has_errors()) return std::nullopt;
  if (!counted_all) traffic.flows = traffic.bytes = 0;
  traffic.fingerprint = fingerprint_of(traffic.streams, ground.line_rate);
  return traffic;
}

std::span<const TrafficStream> Traffic::named() const {
  if (streams.size() == 1 && streams[0].name.empty()) return {};
  return streams;
}

std::unique_ptr<schedule::Schedule> Traffic::make() const {
  if (matrix) return std::make_unique<workload::MatrixSchedule>(*matrix);
  spec::Diagnostics nothing;  // it was made once before
  if (named().empty()) return workload::make_traffic(streams[0].pattern, nothing);
  std::vector<workload::Streams::Part> parts;
  for (const TrafficStream& stream : streams)
    parts.push_back({workload::make_traffic(stream.pattern, nothing), stream.first});
  return std::make_unique<workload::Streams>(std::move(parts));
}

std::uint64_t Traffic::total_bytes() const {
  if (bytes > 0) return bytes;
  const auto schedule = make();
  std::uint64_t total = 0;
  schedule::Instruction each;
  for (std::uint32_t rank = 0; rank < schedule->ranks(); ++rank)
    for (std::uint32_t lane = 0; lane < schedule->lanes(rank); ++lane)
      while (schedule->next(rank, lane, each))
        if (each.kind == schedule::Instruction::Kind::send) total += each.bytes;
  return total;
}

bool Traffic::is_open_loop() const {
  return !matrix && std::all_of(streams.begin(), streams.end(),
                                [](const TrafficStream& each) { return workload::is_open_loop(each.pattern); });
}

Bandwidth Traffic::load_of() const {
  for (const TrafficStream& each : streams)
    if (workload::is_open_loop(each.pattern)) return each.pattern.line_rate;
  return {};
}

std::vector<model::TrafficRun> streams_of(const model::Cluster& cluster) {
  std::vector<model::TrafficRun> streams;
  for (const model::RunSpec& run : cluster.file.run)
    if (run.traffic) streams.push_back(*run.traffic);
  return streams;
}

}  // namespace weft::experiment
