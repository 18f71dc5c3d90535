#pragma once
// A topology file, or a matrix where there is none, in the place of a cluster file: `nodes` equal servers.

#include <filesystem>
#include <optional>

#include "measured/server_outline.hpp"
#include "model/load.hpp"

namespace weft::measured {

// Whether a path is such a file and not a cluster file, by its name. A matrix has no name of its own.
bool is_topology(const std::filesystem::path& path);

struct TopologyCluster {
  model::Cluster cluster;
  ServerOutline server;
  std::uint32_t text_source = 0;  // the cluster file that was made of it
};

// `gpu_name` is what another output calls the GPUs, for matrices, which do not say it.
std::optional<TopologyCluster> load_topology_cluster(const std::filesystem::path& path, std::int64_t nodes,
                                                     const model::LoadOptions& options, const model::Catalog& catalog,
                                                     spec::Diagnostics& diagnostics, const std::string& gpu_name = "");

// The same from a text that is already a source.
std::optional<TopologyCluster> load_topology_cluster(std::uint32_t source, std::int64_t nodes,
                                                     const model::LoadOptions& options, const model::Catalog& catalog,
                                                     spec::Diagnostics& diagnostics, const std::string& gpu_name = "");

}  // namespace weft::measured
