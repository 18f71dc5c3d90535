#pragma once
// From the cluster file to what the packet simulator is told.

#include <cstdint>

#include "app/sim_traffic.hpp"
#include "model/cluster.hpp"
#include "sim/packet_sim.hpp"

namespace weft::app {

// What the file's transport is.
const transport::Description& description_of(model::TransportKind kind);
transport::Op op_of(model::Verb verb);
// Virtual channels of a lossless service: that it has, and without which ports can wait for each other in a circle.
std::uint32_t virtual_channels(const model::Cluster& cluster);
std::uint32_t needed_channels(const model::Cluster& cluster);
// Without what belongs to a single run: seed, threads, samples. `streams`: where there are several.
sim::SimConfig sim_config(const model::Cluster& cluster, const std::vector<TrafficStream>& streams = {});
// What is wrong with who travels in which class.
void check_services(Session& session, const std::vector<TrafficStream>& streams);

}  // namespace weft::app
