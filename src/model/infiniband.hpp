#pragma once
// A network of InfiniBand switches, or of credits, is InfiniBand's in all else that its file leaves open.

#include "model/cluster_file.hpp"
#include "spec/diagnostics.hpp"
#include "spec/node.hpp"

namespace weft::model {

// Sets transport.kind, switching.flow_control and transport.rocev2.control where `root` does not, and complains about
// InfiniBand's transport on links without credits.
void settle_infiniband(ClusterFile& file, const spec::Node& root, spec::Diagnostics& diagnostics);

}  // namespace weft::model
