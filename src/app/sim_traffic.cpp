#include "app/sim_traffic.hpp"

#include <fmt/format.h>

#include "app/fingerprint.hpp"
#include "base/text.hpp"
#include "spec/files.hpp"
#include "workload/matrix_schedule.hpp"

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

Traffic from_pattern(const TrafficOptions& options, const TrafficGround& ground, spec::Diagnostics& diagnostics) {
  Traffic traffic;
  workload::PatternOptions& pattern = traffic.pattern;
  pattern.name = options.pattern.empty() ? "permutation" : options.pattern;
  pattern.nodes = traffic.nodes = options.nodes == 0 ? ground.gpus : options.nodes;
  pattern.bytes = static_cast<std::uint64_t>(read<BytesDimension>(options.size, "--size", "2MB", diagnostics).count());
  pattern.seed = ground.seed;
  pattern.window = options.window;
  const bool random = pattern.name == "poisson";
  if (random) {
    if (!options.sizes.empty()) pattern.sizes = options.sizes;
    pattern.load_per_mille =
        static_cast<std::uint32_t>(read<ShareDimension>(options.load, "--load", "50%", diagnostics).count() / 1000);
    pattern.line_rate = ground.line_rate;
    pattern.duration = read<DurationDimension>(options.duration, "--duration", "1ms", diagnostics);
  }
  if (pattern.nodes < 2) diagnostics.add(Complaint::out_of_range, {}, "traffic needs two GPUs", "--nodes 2 or more");
  if (diagnostics.has_errors() || pattern.nodes > ground.gpus) return traffic;
  if (!workload::make_traffic(pattern, diagnostics)) return traffic;
  const std::uint64_t nodes = pattern.nodes;
  if (!random) {
    traffic.flows = pattern.name == "one"                                            ? 1
                    : pattern.name == "all-to-all"                                   ? nodes * (nodes - 1)
                    : pattern.name == "incast" || pattern.name == "outcast" ? nodes - 1
                                                                                     : nodes;
    traffic.bytes = traffic.flows * pattern.bytes;
  }
  traffic.name = random ? fmt::format("poisson of {}, {} sizes at {} of the line rate for {}", counted(nodes, "node"),
                                      pattern.sizes, options.load, options.duration)
                        : fmt::format("{} of {}, {} each", pattern.name, counted(nodes, "node"), options.size);
  traffic.fingerprint = fingerprint_of(fmt::format("{} {} {} {} {} {} {}", pattern.name, nodes, pattern.bytes,
                                                   pattern.window, pattern.sizes, pattern.load_per_mille,
                                                   pattern.duration.count()));
  return traffic;
}

}  // namespace

std::unique_ptr<schedule::Schedule> Traffic::make() const {
  if (matrix) return std::make_unique<workload::MatrixSchedule>(*matrix);
  spec::Diagnostics nothing;  // it was made once before
  return workload::make_traffic(pattern, nothing);
}

std::optional<Traffic> load_traffic(const TrafficOptions& options, const TrafficGround& ground,
                                    spec::Diagnostics& diagnostics) {
  Traffic traffic =
      options.matrix.empty() ? from_pattern(options, ground, diagnostics) : from_file(options.matrix, diagnostics);
  if (traffic.nodes > ground.gpus)
    diagnostics.add(Complaint::out_of_range, {},
                    fmt::format("the traffic is of {} nodes, the cluster has {} GPUs", grouped(traffic.nodes),
                                grouped(ground.gpus)),
                    "a larger cluster, or fewer nodes");
  if (diagnostics.has_errors()) return std::nullopt;
  return traffic;
}

}  // namespace weft::app
