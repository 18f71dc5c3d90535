#pragma once
// A server of a cluster as a NCCL topology file: what NCCL_TOPO_FILE can read, with the attributes that
// NCCL's graph/topo.cc asks for.

#include <optional>
#include <string>

#include "model/cluster.hpp"
#include "spec/diagnostics.hpp"

namespace weft::measured {

// Servers that share one NVLink domain (a rack) are one file, as NCCL writes it there. Complains about
// servers that NCCL does not run on.
std::optional<std::string> write_topology(const model::Group& group, spec::Diagnostics& diagnostics);

}  // namespace weft::measured
