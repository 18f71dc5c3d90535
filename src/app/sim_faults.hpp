#pragma once
// What breaks during a run: from the cluster file, from --fault and from a connection matrix.

#include <string>
#include <vector>

#include "app/session.hpp"
#include "sim/packet_sim.hpp"
#include "workload/matrix.hpp"

namespace weft::app {

// "spine0,kind=blackhole,at=50us": a part, then keys of the cluster file's `faults`.
std::vector<model::FaultSpec> read_faults(const std::vector<std::string>& texts, const InputOptions& input,
                                          spec::Diagnostics& diagnostics);

// Complains about parts that are not there and keys that do not fit the kind.
void add_faults(const std::vector<model::FaultSpec>& faults, sim::PacketSim& engine, spec::Diagnostics& diagnostics);

// Links that are gone from the start, and that routing knows of.
void add_failures(const workload::Matrix& matrix, sim::PacketSim& engine, spec::Diagnostics& diagnostics);

}  // namespace weft::app
