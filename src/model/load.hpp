#pragma once
// From a cluster file to a checked cluster.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/catalog.hpp"
#include "model/cluster.hpp"

namespace weft::model {

struct LoadOptions {
  std::vector<std::string> set;  // --set path=value, in order
};

// Reads, expands and checks. nullopt when there were errors; warnings may be there either way.
std::optional<Cluster> load_cluster(const std::filesystem::path& path, const LoadOptions& options,
                                    const Catalog& catalog, spec::Diagnostics& diagnostics);

// The same from a text that is already a source; `name` is what the cluster is called by default.
std::optional<Cluster> load_cluster(std::uint32_t source, const std::string& name, const LoadOptions& options,
                                    const Catalog& catalog, spec::Diagnostics& diagnostics);

// The *.weft.yaml of the current directory.
std::optional<std::filesystem::path> find_cluster_file(const std::filesystem::path& directory,
                                                       spec::Diagnostics& diagnostics);

// One fault as it is written on a command line: a part, then keys with values, "spine0,at=50us".
FaultSpec read_fault(const std::string& text, const Catalog& catalog, spec::Diagnostics& diagnostics);
// A stream of traffic likewise, by its name: "storage,pattern=poisson,transport=tcp".
TrafficRun read_traffic(const std::string& text, const Catalog& catalog, spec::Diagnostics& diagnostics);

}  // namespace weft::model
