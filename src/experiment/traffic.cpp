#include "experiment/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "experiment/fingerprint.hpp"
#include "experiment/graph_work.hpp"
#include "workload/matrix_schedule.hpp"
#include "workload/streams.hpp"

namespace weft::experiment {
namespace {

using spec::Error;

std::uint64_t fingerprint_of(std::string_view text) {
  Fingerprint fingerprint;
  fingerprint.add(text);
  return fingerprint.value();
}

// Flows of a pattern; 0: not known before they are drawn.
std::uint64_t flows_of(const model::TrafficRun& run, std::uint64_t nodes) {
  if (workload::is_open_loop(run)) return 0;
  switch (run.pattern) {
    case model::TrafficPattern::one:
      return 1;
    case model::TrafficPattern::all_to_all:
      return nodes * (nodes - 1);
    case model::TrafficPattern::incast:
    case model::TrafficPattern::outcast:
      return nodes - 1;
    case model::TrafficPattern::ring:
    case model::TrafficPattern::permutation:
    case model::TrafficPattern::poisson:
      break;
  }
  return nodes;
}

std::string name_of(const TrafficStream& stream) {
  const model::TrafficRun& run = stream.run;
  const std::string nodes = counted(std::int64_t{stream.ground.nodes}, "node");
  const std::string_view pattern = enum_name(run.pattern);
  const std::string size = exact(run.size);
  if (!workload::is_open_loop(run)) return fmt::format("{} of {}, {} each", pattern, nodes, size);
  const bool poisson = run.pattern == model::TrafficPattern::poisson;
  const std::string sizes =
      run.sizes == model::FlowSizes::fixed && !poisson ? size + " each" : fmt::format("{} sizes", enum_name(run.sizes));
  return fmt::format("{} of {}, {}{} at {} of the line rate for {}", pattern, nodes, sizes,
                     poisson ? "" : fmt::format(" {}", enum_name(run.arrivals)), exact(run.load), exact(run.duration));
}

// Of what decides the flows, whatever carries them and whoever sends them.
std::uint64_t fingerprint_of(const TrafficStream& stream) {
  const model::TrafficRun& run = stream.run;
  std::string text =
      fmt::format("{} {} {} {}", enum_name(run.pattern), stream.ground.nodes, run.size.count(), run.window);
  if (workload::is_open_loop(run))
    text += fmt::format(" {} {} {} {}", enum_name(run.sizes), run.load.count(), run.duration.count(),
                        enum_name(run.arrivals));
  return fingerprint_of(text);
}

// Where a stream begins and ends among the GPUs has to fit.
bool fits(const model::TrafficRun& run, std::int64_t nodes, const TrafficGround& ground,
          spec::Diagnostics& diagnostics) {
  const auto refuse = [&](std::string what, std::string help) {
    diagnostics.add(Error::out_of_range, run.places.of(run.nodes ? "nodes" : "first"), std::move(what),
                    std::move(help));
    return false;
  };
  const bool inside = run.first + nodes <= ground.gpus;
  if (nodes >= 2 && inside) return true;
  if (!run.name.empty())
    return refuse(fmt::format("stream '{}' is of {} from GPU {} on, the cluster has {}", run.name,
                              counted(std::max<std::int64_t>(0, nodes), "GPU"), run.first, grouped(ground.gpus)),
                  "a smaller 'first' or 'nodes', at least two GPUs");
  if (nodes < 2) return refuse("traffic needs two GPUs", "--gpus 2 or more");
  return refuse(
      fmt::format("the traffic is of {} nodes, the cluster has {} GPUs", grouped(nodes), grouped(ground.gpus)),
      "a larger cluster, or fewer nodes");
}

std::optional<TrafficStream> stream_of(const model::TrafficRun& run, const TrafficGround& ground, std::uint32_t number,
                                       spec::Diagnostics& diagnostics) {
  const std::int64_t nodes = run.nodes.value_or(std::int64_t{ground.gpus} - run.first);
  if (!fits(run, nodes, ground, diagnostics)) return std::nullopt;
  // Streams that look alike are still drawn each for itself; the first one as it would be alone.
  const std::uint64_t seed = number == 0 ? ground.seed : mix64(ground.seed + number);
  TrafficStream stream{run, {.nodes = static_cast<std::uint32_t>(nodes), .line_rate = ground.line_rate, .seed = seed}};
  stream.flows = flows_of(run, stream.ground.nodes);
  return workload::make_traffic(run, stream.ground, diagnostics) ? std::optional(std::move(stream)) : std::nullopt;
}

// What is equal for equal flows, whatever carries them.
std::uint64_t fingerprint_of(const std::vector<TrafficStream>& streams, Bandwidth line_rate) {
  const auto verb = [](const TrafficStream& stream) { return stream.run.verb; };
  if (streams[0].run.name.empty())
    return fingerprint_of(streams[0]) ^
           (verb(streams[0]) == model::Verb::send ? 0 : fingerprint_of(enum_name(verb(streams[0]))));
  Fingerprint fingerprint;
  for (const TrafficStream& stream : streams) {
    fingerprint.add(stream.run.name);
    fingerprint.add(fingerprint_of(stream));
    fingerprint.add(static_cast<std::uint64_t>(stream.run.first));
    if (workload::is_open_loop(stream.run)) fingerprint.add(static_cast<std::uint64_t>(line_rate.count()));
    if (verb(stream) != model::Verb::send) fingerprint.add(enum_name(verb(stream)));
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
    diagnostics.add(Error::out_of_range, {},
                    fmt::format("the traffic is of {} nodes, the cluster has {} GPUs", grouped(traffic.nodes),
                                grouped(ground.gpus)),
                    "a larger cluster, or fewer nodes");
  if (diagnostics.has_errors()) return std::nullopt;
  return traffic;
}

std::optional<Traffic> graph_traffic(workload::Graph graph, std::string name, std::uint64_t fingerprint,
                                     const spec::Place& place, const TrafficGround& ground,
                                     spec::Diagnostics& diagnostics) {
  using Kind = workload::Task::Kind;
  Traffic traffic;
  traffic.nodes = static_cast<std::uint32_t>(graph.ranks.size());
  traffic.name = std::move(name);
  traffic.fingerprint = fingerprint;
  if (traffic.nodes > ground.gpus)
    diagnostics.add(Error::out_of_range, place,
                    fmt::format("{} is of {} ranks, the cluster has {} GPUs", traffic.name, grouped(traffic.nodes),
                                grouped(ground.gpus)),
                    "a larger cluster");
  for (std::uint32_t rank = 0; rank < traffic.nodes; ++rank)
    for (std::uint32_t task = graph.ranks[rank].first; task < graph.ranks[rank].end; ++task) {
      const workload::Task& each = graph.tasks[task];
      if (each.kind == Kind::send && each.peer != rank) ++traffic.flows;
      if (each.kind == Kind::send || each.kind == Kind::together) traffic.bytes += each.amount;
    }
  if (!graph.shared.empty()) traffic.flows = 0;
  traffic.bytes = std::max<std::uint64_t>(1, traffic.bytes);
  traffic.graph = std::make_shared<const workload::Graph>(std::move(graph));
  if (diagnostics.has_errors()) return std::nullopt;
  return traffic;
}

std::optional<Traffic> make_traffic(const std::vector<model::TrafficRun>& runs, const TrafficGround& ground,
                                    spec::Diagnostics& diagnostics) {
  Traffic traffic;
  if (runs.size() > workload::kMostStreams)
    diagnostics.add(Error::out_of_range, runs[workload::kMostStreams].places.of("name"),
                    fmt::format("there are {} streams", runs.size()),
                    fmt::format("at most {}", workload::kMostStreams));
  bool counted_all = true;
  for (const model::TrafficRun& run : runs) {
    if (diagnostics.has_errors()) return std::nullopt;
    auto stream = stream_of(run, ground, static_cast<std::uint32_t>(traffic.streams.size()), diagnostics);
    if (!stream) return std::nullopt;
    for (const TrafficStream& other : traffic.streams)
      if (other.run.name == run.name)
        diagnostics.add(Error::contradiction, run.places.of("name"),
                        fmt::format("two streams are called '{}'", run.name), "a name for each");
    traffic.nodes = std::max(traffic.nodes, static_cast<std::uint32_t>(run.first) + stream->ground.nodes);
    counted_all = counted_all && stream->flows > 0;
    traffic.flows += stream->flows;
    traffic.bytes += stream->flows * static_cast<std::uint64_t>(run.size.count());
    if (!run.name.empty()) traffic.name += fmt::format("{}{}: ", traffic.name.empty() ? "" : "; ", run.name);
    traffic.name += name_of(*stream);
    traffic.streams.push_back(std::move(*stream));
  }
  if (diagnostics.has_errors()) return std::nullopt;
  if (!counted_all) traffic.flows = traffic.bytes = 0;
  traffic.fingerprint = fingerprint_of(traffic.streams, ground.line_rate);
  return traffic;
}

std::span<const TrafficStream> Traffic::named() const {
  if (streams.size() == 1 && streams[0].run.name.empty()) return {};
  return streams;
}

std::unique_ptr<schedule::Schedule> Traffic::make() const {
  if (matrix) return std::make_unique<workload::MatrixSchedule>(*matrix);
  if (graph) return outline_of(*graph);
  spec::Diagnostics nothing;  // it was made once before
  if (named().empty()) return workload::make_traffic(streams[0].run, streams[0].ground, nothing);
  std::vector<workload::Streams::Part> parts;
  for (const TrafficStream& stream : streams)
    parts.push_back(
        {workload::make_traffic(stream.run, stream.ground, nothing), static_cast<std::uint32_t>(stream.run.first)});
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
  return !matrix && !graph && std::all_of(streams.begin(), streams.end(), [](const TrafficStream& each) {
    return workload::is_open_loop(each.run);
  });
}

Bandwidth Traffic::load_of() const {
  for (const TrafficStream& each : streams)
    if (workload::is_open_loop(each.run)) return each.ground.line_rate;
  return {};
}

std::vector<model::TrafficRun> streams_of(const model::Cluster& cluster) {
  std::vector<model::TrafficRun> streams;
  for (const model::RunSpec& run : cluster.file.run)
    if (run.traffic) streams.push_back(*run.traffic);
  return streams;
}

}  // namespace weft::experiment
