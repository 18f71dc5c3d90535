#pragma once
// From the cluster file to what the packet simulator is told.

#include <cstdint>

#include "experiment/traffic.hpp"
#include "model/cluster.hpp"
#include "sim/packet_sim.hpp"

namespace weft::experiment {

// By its name in the file, `transport.kind`.
transport::Protocol protocol_named(const std::string& kind);
// By its name in the file, `verb` of a stream.
transport::Op verb_named(const std::string& verb);
// Virtual channels of a lossless service: that it has, and without which ports can wait for each other in a circle.
std::uint32_t virtual_channels(const model::Cluster& cluster);
std::uint32_t needed_channels(const model::Cluster& cluster);
// Without what belongs to a single run: seed, threads, samples. `streams`: where there are several.
sim::SimConfig packet_config(const model::Cluster& cluster, std::span<const TrafficStream> streams = {});
// What is wrong with who travels in which class.
void check_services(Design& design, std::span<const TrafficStream> streams);

}  // namespace weft::experiment
