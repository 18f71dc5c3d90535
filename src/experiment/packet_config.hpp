#pragma once
// From the cluster file to what the packet simulator is told.

#include <cstdint>

#include "experiment/traffic.hpp"
#include "model/cluster.hpp"
#include "sim/packet/packet_sim.hpp"

namespace weft::experiment {

// What the file's transport is.
const transport::Description& description_of(model::TransportKind kind);
transport::Op op_of(model::Verb verb);
// Virtual channels of a lossless service: that it has, and without which ports can wait for each other in a circle.
std::uint32_t virtual_channels(const model::Cluster& cluster);
std::uint32_t needed_channels(const model::Cluster& cluster);
// Without what belongs to a single run: seed, threads, samples. `streams`: where there are several.
sim::SimConfig packet_config(const model::Cluster& cluster, std::span<const TrafficStream> streams = {});
// What is wrong with who travels in which class.
void check_services(Design& design, std::span<const TrafficStream> streams);

}  // namespace weft::experiment
