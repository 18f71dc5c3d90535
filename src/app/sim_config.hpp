#pragma once
// From the cluster file to what the packet simulator is told.

#include <cstdint>

#include "model/cluster.hpp"
#include "sim/packet_sim.hpp"

namespace weft::app {

transport::Protocol protocol_of(const model::TransportSpec& transport);
// Without what belongs to a single run: seed, threads, samples.
sim::SimConfig sim_config(const model::Cluster& cluster);

}  // namespace weft::app
