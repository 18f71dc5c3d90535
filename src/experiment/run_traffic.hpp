#pragma once
// Traffic as an experiment: its check and its run.

#include "experiment/experiment.hpp"

namespace weft::experiment {

void check_traffic(Design& design, const Traffic& traffic, const Experiment& experiment,
                   const std::vector<Fidelity>& fidelities);
Outcome run_traffic(const Design& design, const Traffic& traffic, const Experiment& experiment,
                    const Observer& observer);

// Faults, ports, classes and buffers of the file, whatever runs on it.
void check_switching(Design& design);

// Whether the network can be simulated with these fidelities and faults, whatever runs on it. `beside`: streams at the
// same time, or nullptr.
void check_network(Design& design, const Traffic* beside, const Experiment& experiment,
                   const std::vector<Fidelity>& fidelities);

}  // namespace weft::experiment
