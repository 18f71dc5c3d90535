#pragma once
// The cable between two ports, as the cluster file describes it.

#include "fabric/network.hpp"
#include "model/cluster_file.hpp"

namespace weft::fabric {

// What the file says of the cables of a tier; nullptr between sites, and in a .topo file, which give a latency instead.
const model::LinkSpec* cable_spec(LinkTier tier, const model::FabricSpec& spec);

// Its length, or what a latency amounts to where the file gives one in its place.
Length cable_length(LinkTier tier, Duration latency, const model::FabricSpec& spec);

}  // namespace weft::fabric
