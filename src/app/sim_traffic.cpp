#include "app/sim_traffic.hpp"

#include <fmt/format.h>

#include "app/fingerprint.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "spec/files.hpp"
#include "workload/patterns.hpp"

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
  traffic.name = file;
  traffic.fingerprint = fingerprint_of(diagnostics.sources().text(*source));
  return traffic;
}

Traffic from_pattern(const TrafficOptions& options, std::uint32_t gpus, std::uint64_t seed,
                     spec::Diagnostics& diagnostics) {
  Traffic traffic;
  const auto size = parse<BytesDimension>(options.size);
  if (!size || size->count() == 0)
    diagnostics.add(Complaint::wrong_type, {}, fmt::format("--size cannot be '{}'", options.size),
                    "for example --size 2MB");
  const std::uint32_t nodes = options.nodes == 0 ? gpus : options.nodes;
  traffic.matrix.nodes = nodes;
  if (nodes < 2 && size) diagnostics.add(Complaint::out_of_range, {}, "traffic needs two GPUs", "--nodes 2 or more");
  if (diagnostics.has_errors() || nodes > gpus) return traffic;
  traffic.matrix = workload::make_pattern(options.pattern, nodes, static_cast<std::uint64_t>(size->count()), seed);
  traffic.name = fmt::format("{} of {}, {} each", options.pattern, counted(nodes, "node"), options.size);
  traffic.fingerprint = fingerprint_of(fmt::format("{} {} {}", options.pattern, nodes, size->count()));
  return traffic;
}

}  // namespace

std::optional<Traffic> load_traffic(const TrafficOptions& options, std::uint32_t gpus, std::uint64_t seed,
                                    spec::Diagnostics& diagnostics) {
  Traffic traffic =
      options.matrix.empty() ? from_pattern(options, gpus, seed, diagnostics) : from_file(options.matrix, diagnostics);
  if (traffic.matrix.nodes > gpus)
    diagnostics.add(Complaint::out_of_range, {},
                    fmt::format("the traffic is of {} nodes, the cluster has {} GPUs", grouped(traffic.matrix.nodes),
                                grouped(gpus)),
                    "a larger cluster, or fewer nodes");
  if (diagnostics.has_errors()) return std::nullopt;
  for (const workload::MatrixFlow& flow : traffic.matrix.flows) traffic.bytes += flow.bytes;
  return traffic;
}

}  // namespace weft::app
