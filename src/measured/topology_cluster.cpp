#include "measured/topology_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "measured/smi_matrix.hpp"
#include "measured/text_lines.hpp"
#include "spec/files.hpp"

namespace weft::measured {
namespace {

std::optional<ServerOutline> read_server(std::uint32_t source, const std::string& gpu_name,
                                         const model::Catalog& catalog, spec::Diagnostics& diagnostics) {
  if (diagnostics.sources().text(source).find('<') != std::string::npos) {
    const auto topology = read_topology(source, diagnostics);
    return topology ? outline_of(*topology, catalog, diagnostics) : std::nullopt;
  }
  const auto matrix = read_smi_matrix(source, diagnostics);
  return matrix ? outline_of(*matrix, gpu_name, catalog, diagnostics) : std::nullopt;
}

// The switch between the servers is as large as --set makes the cluster.
std::int64_t wanted_nodes(std::int64_t nodes, const std::vector<std::string>& set) {
  constexpr std::string_view kCount = "servers.count=";
  for (const std::string& assignment : set)
    if (const auto count =
            assignment.starts_with(kCount) ? whole_number(assignment.substr(kCount.size())) : std::nullopt;
        count && *count > 0)
      nodes = std::min<std::int64_t>(*count, 1'000'000);
  return nodes;
}

std::string bare_name(const std::string& path) { return std::filesystem::path(path).stem().string(); }

}  // namespace

bool is_topology(const std::filesystem::path& path) { return path.extension() == ".xml"; }

std::optional<TopologyCluster> load_topology_cluster(std::uint32_t source, std::int64_t nodes,
                                                     const model::LoadOptions& options, const model::Catalog& catalog,
                                                     spec::Diagnostics& diagnostics, const std::string& gpu_name) {
  auto server = read_server(source, gpu_name, catalog, diagnostics);
  if (!server || diagnostics.has_errors()) return std::nullopt;
  nodes = std::max(wanted_nodes(nodes, options.set), server->hosts);
  if (nodes > most_servers(*server)) {
    diagnostics.add(
        spec::Error::out_of_range, {source, 0, 0, 1},
        fmt::format("{} servers with {} each: too many for one network", grouped(nodes),
                    brief(server->nic_rate * server->nics)),
        fmt::format("at most {} of these; a cluster file describes larger ones", grouped(most_servers(*server))));
    return std::nullopt;
  }
  const std::string file = diagnostics.sources().name(source);
  if (nodes > server->hosts && server->nics > 0)
    diagnostics.add(spec::Error::open_topology, {source, 0, 0, 1},
                    "a topology says nothing of the network between servers",
                    "one that is never in the way was taken; a cluster file describes a real one");
  const std::uint32_t text =
      diagnostics.sources().add(file + " as a cluster file", cluster_text(*server, nodes, catalog, diagnostics));
  auto cluster = model::load_cluster(text, bare_name(file), options, catalog, diagnostics);
  if (!cluster) return std::nullopt;
  // A network that nobody described takes no power that is known.
  const bool described = std::any_of(options.set.begin(), options.set.end(),
                                     [](const std::string& each) { return each.starts_with("fabric"); });
  if (!described)
    for (model::SwitchKind& each : cluster->shape.switches) each.power.reset();
  cluster->groups[0].spec.kind = cluster->file.servers[0].kind = bare_name(file);
  return TopologyCluster{std::move(*cluster), std::move(*server), text};
}

std::optional<TopologyCluster> load_topology_cluster(const std::filesystem::path& path, std::int64_t nodes,
                                                     const model::LoadOptions& options, const model::Catalog& catalog,
                                                     spec::Diagnostics& diagnostics, const std::string& gpu_name) {
  const auto source = spec::load_file(path, diagnostics);
  if (!source) return std::nullopt;
  return load_topology_cluster(*source, nodes, options, catalog, diagnostics, gpu_name);
}

}  // namespace weft::measured
