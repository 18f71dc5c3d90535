#include "app/sim_traffic.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/fingerprint.hpp"
#include "app/traffic_options.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "spec/files.hpp"
#include "workload/matrix_schedule.hpp"
#include "workload/streams.hpp"

namespace weft::app {
namespace {

using spec::Complaint;

constexpr std::size_t kMostMatrixBytes = std::size_t{256} << 20;

std::uint64_t fingerprint_of(std::string_view text) {
  Fingerprint fingerprint;
  fingerprint.add(text);
  return fingerprint.value();
}

Traffic from_file(const std::string& file, spec::Diagnostics& diagnostics) {
  Traffic traffic;
  const auto source = spec::load_file(file, diagnostics, kMostMatrixBytes);
  if (!source) return traffic;
  traffic.matrix = workload::read_matrix(*source, diagnostics);
  traffic.nodes = traffic.matrix->nodes;
  traffic.flows = traffic.matrix->flows.size();
  for (const workload::MatrixFlow& flow : traffic.matrix->flows) traffic.bytes += flow.bytes;
  traffic.name = file;
  traffic.fingerprint = fingerprint_of(diagnostics.sources().text(*source));
  return traffic;
}

template <class Dimension>
Quantity<Dimension> read(const std::string& text, std::string_view option, std::string_view example,
                         spec::Diagnostics& diagnostics) {
  const auto value = parse<Dimension>(text);
  if (value && value->count() > 0) return *value;
  diagnostics.add(Complaint::wrong_type, {}, fmt::format("{} cannot be '{}'", option, text),
                  fmt::format("for example {} {}", option, example));
  return Quantity<Dimension>(1);
}

// Flows of a pattern; 0: not known before they are drawn.
std::uint64_t flows_of(const workload::PatternOptions& pattern) {
  const std::uint64_t nodes = pattern.nodes;
  if (workload::is_open_loop(pattern)) return 0;
  if (pattern.name == "one") return 1;
  if (pattern.name == "all-to-all") return nodes * (nodes - 1);
  return pattern.name == "incast" || pattern.name == "outcast" ? nodes - 1 : nodes;
}

std::string name_of(const workload::PatternOptions& pattern, const std::string& size, const std::string& load,
                    const std::string& duration) {
  const std::string nodes = counted(std::int64_t{pattern.nodes}, "node");
  if (!workload::is_open_loop(pattern)) return fmt::format("{} of {}, {} each", pattern.name, nodes, size);
  const std::string sizes =
      pattern.sizes == "fixed" && pattern.name != "poisson" ? size + " each" : pattern.sizes + " sizes";
  const std::string when = pattern.name == "poisson" ? "" : " " + pattern.arrivals;
  return fmt::format("{} of {}, {}{} at {} of the line rate for {}", pattern.name, nodes, sizes, when, load, duration);
}

std::uint64_t fingerprint_of(const workload::PatternOptions& pattern) {
  std::string text = fmt::format("{} {} {} {} {} {} {}", pattern.name, pattern.nodes, pattern.bytes, pattern.window,
                                 pattern.sizes, pattern.load_per_mille, pattern.duration.count());
  if (pattern.arrivals != "at-once") text += " " + pattern.arrivals;
  return fingerprint_of(text);
}

Traffic from_pattern(const TrafficOptions& options, const TrafficGround& ground, spec::Diagnostics& diagnostics) {
  Traffic traffic;
  workload::PatternOptions& pattern = traffic.pattern;
  pattern.name = options.pattern.empty() ? "permutation" : options.pattern;
  pattern.nodes = traffic.nodes = options.nodes == 0 ? ground.gpus : options.nodes;
  pattern.bytes = static_cast<std::uint64_t>(read<BytesDimension>(options.size, "--size", "2MB", diagnostics).count());
  pattern.seed = ground.seed;
  pattern.window = options.window;
  if (!options.arrivals.empty()) pattern.arrivals = options.arrivals;
  if (const auto verb = parse_enum<model::Verb>(options.verb)) {
    traffic.verb = *verb;
  } else if (!options.verb.empty()) {
    diagnostics.add(Complaint::not_a_choice, {}, fmt::format("--verb cannot be '{}'", options.verb),
                    fmt::format("one of {}", either(enum_names<model::Verb>())));
  }
  if (workload::is_open_loop(pattern)) {
    if (!options.sizes.empty()) pattern.sizes = options.sizes;
    pattern.load_per_mille =
        static_cast<std::uint32_t>(read<ShareDimension>(options.load, "--load", "50%", diagnostics).count() / 1000);
    pattern.line_rate = ground.line_rate;
    pattern.duration = read<DurationDimension>(options.duration, "--duration", "1ms", diagnostics);
  }
  if (pattern.nodes < 2) diagnostics.add(Complaint::out_of_range, {}, "traffic needs two GPUs", "--nodes 2 or more");
  if (diagnostics.has_errors() || pattern.nodes > ground.gpus) return traffic;
  if (!workload::make_traffic(pattern, diagnostics)) return traffic;
  traffic.flows = flows_of(pattern);
  traffic.bytes = traffic.flows * pattern.bytes;
  traffic.name = name_of(pattern, options.size, options.load, options.duration);
  traffic.fingerprint =
      fingerprint_of(pattern) ^ (traffic.verb == model::Verb::send ? 0 : fingerprint_of(enum_name(traffic.verb)));
  return traffic;
}

// Where each begins and ends among the GPUs; the rest is what a pattern alone would be.
std::optional<TrafficStream> stream_of(const model::TrafficRun& run, const TrafficGround& ground, std::uint32_t number,
                                       spec::Diagnostics& diagnostics) {
  const std::int64_t nodes = run.nodes.value_or(std::int64_t{ground.gpus} - run.first);
  if (nodes < 2 || run.first + nodes > ground.gpus) {
    diagnostics.add(Complaint::out_of_range, {},
                    fmt::format("stream '{}' is of {} from GPU {} on, the cluster has {}", run.name,
                                counted(std::max<std::int64_t>(0, nodes), "GPU"), run.first, grouped(ground.gpus)),
                    "a smaller 'first' or 'nodes', at least two GPUs");
    return std::nullopt;
  }
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

Traffic from_streams(const std::vector<model::TrafficRun>& runs, const TrafficGround& ground,
                     spec::Diagnostics& diagnostics) {
  Traffic traffic;
  if (runs.size() > workload::kMostStreams)
    diagnostics.add(Complaint::out_of_range, {}, fmt::format("there are {} streams", runs.size()),
                    fmt::format("at most {}", workload::kMostStreams));
  Fingerprint fingerprint;
  bool counted_all = true;
  for (const model::TrafficRun& run : runs) {
    if (diagnostics.has_errors()) return traffic;
    const auto stream = stream_of(run, ground, static_cast<std::uint32_t>(traffic.streams.size()), diagnostics);
    if (!stream) return traffic;
    for (const TrafficStream& other : traffic.streams)
      if (other.name == run.name)
        diagnostics.add(Complaint::contradiction, {}, fmt::format("two streams are called '{}'", run.name),
                        "a name for each");
    const workload::PatternOptions& pattern = stream->pattern;
    traffic.nodes = std::max(traffic.nodes, stream->first + pattern.nodes);
    counted_all = counted_all && flows_of(pattern) > 0;
    traffic.flows += flows_of(pattern);
    traffic.bytes += flows_of(pattern) * pattern.bytes;
    traffic.name += fmt::format("{}{}: {}", traffic.name.empty() ? "" : "; ", run.name,
                                name_of(pattern, exact(run.size), exact(run.load), exact(run.duration)));
    fingerprint.add(run.name);
    fingerprint.add(fingerprint_of(pattern));
    fingerprint.add(stream->first);
    if (workload::is_open_loop(pattern)) fingerprint.add(static_cast<std::uint64_t>(ground.line_rate.count()));
    if (stream->verb != model::Verb::send) fingerprint.add(enum_name(stream->verb));
    traffic.streams.push_back(*stream);
  }
  if (!counted_all) traffic.flows = traffic.bytes = 0;
  traffic.fingerprint = fingerprint.value();
  return traffic;
}

}  // namespace

std::unique_ptr<schedule::Schedule> Traffic::make() const {
  if (matrix) return std::make_unique<workload::MatrixSchedule>(*matrix);
  spec::Diagnostics nothing;  // it was made once before
  if (!streams.empty()) {
    std::vector<workload::Streams::Part> parts;
    for (const TrafficStream& stream : streams)
      parts.push_back({workload::make_traffic(stream.pattern, nothing), stream.first});
    return std::make_unique<workload::Streams>(std::move(parts));
  }
  return workload::make_traffic(pattern, nothing);
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
  if (matrix) return false;
  if (streams.empty()) return workload::is_open_loop(pattern);
  return std::all_of(streams.begin(), streams.end(),
                     [](const TrafficStream& each) { return workload::is_open_loop(each.pattern); });
}

Bandwidth Traffic::load_of() const {
  for (const TrafficStream& each : streams)
    if (workload::is_open_loop(each.pattern)) return each.pattern.line_rate;
  return pattern.line_rate;  // where it is an open loop
}

std::vector<model::TrafficRun> streams_of(const model::Cluster& cluster) {
  std::vector<model::TrafficRun> streams;
  for (const model::RunSpec& run : cluster.file.run)
    if (run.traffic) streams.push_back(*run.traffic);
  return streams;
}

std::vector<model::TrafficRun> read_streams(const std::vector<std::string>& texts, spec::Diagnostics& diagnostics) {
  std::vector<model::TrafficRun> streams;
  if (texts.empty()) return streams;
  const model::Catalog catalog = load_catalog({}, diagnostics);
  for (const std::string& text : texts) streams.push_back(model::read_traffic(text, catalog, diagnostics));
  return streams;
}

bool asks_for_traffic(const TrafficOptions& options) {
  return !options.matrix.empty() || !options.pattern.empty() || !options.streams.empty();
}

std::optional<Traffic> load_traffic(const TrafficOptions& options, const TrafficGround& ground,
                                    spec::Diagnostics& diagnostics) {
  check_flow_options(options, !asks_for_traffic(options) && !ground.streams.empty(), diagnostics);
  if (!options.streams.empty() && (!options.matrix.empty() || !options.pattern.empty()))
    diagnostics.add(Complaint::contradiction, {}, "--stream has a pattern of its own",
                    "--stream NAME,pattern=... instead of --pattern or --matrix");
  const std::vector<model::TrafficRun> streams =
      asks_for_traffic(options) ? read_streams(options.streams, diagnostics) : ground.streams;
  if (diagnostics.has_errors()) return std::nullopt;
  Traffic traffic = !streams.empty()         ? from_streams(streams, ground, diagnostics)
                    : options.matrix.empty() ? from_pattern(options, ground, diagnostics)
                                             : from_file(options.matrix, diagnostics);
  if (traffic.nodes > ground.gpus)
    diagnostics.add(Complaint::out_of_range, {},
                    fmt::format("the traffic is of {} nodes, the cluster has {} GPUs", grouped(traffic.nodes),
                                grouped(ground.gpus)),
                    "a larger cluster, or fewer nodes");
  if (diagnostics.has_errors()) return std::nullopt;
  return traffic;
}

}  // namespace weft::app
