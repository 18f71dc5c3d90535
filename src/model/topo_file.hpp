#pragma once
// uet-htsim's .topo files: fat trees of two or three tiers, read as clusters of one-GPU servers.

#include <optional>
#include <string>
#include <vector>

#include "model/catalog.hpp"
#include "model/cluster.hpp"

namespace weft::model {

std::optional<Cluster> load_topo(std::uint32_t source, const std::string& name, const std::vector<std::string>& set,
                                 const Catalog& catalog, spec::Diagnostics& diagnostics);

}  // namespace weft::model
