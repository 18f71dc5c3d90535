#pragma once
// What only the whole cluster can say about its `run:`: whether the GPUs that collectives name are there.

#include "model/cluster.hpp"
#include "spec/diagnostics.hpp"
#include "spec/node.hpp"

namespace weft::model {

// `root` is the file that the cluster was read from, for places.
void check_run(const Cluster& cluster, const spec::Node& root, spec::Diagnostics& diagnostics);

}  // namespace weft::model
