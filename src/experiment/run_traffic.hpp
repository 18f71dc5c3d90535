#pragma once
// Traffic as an experiment: its check and its run.

#include "experiment/experiment.hpp"

namespace weft::experiment {

// Time is counted in picoseconds, in 64 bits; an eighth of what they hold is left to the work itself.
inline constexpr std::int64_t kLongestRun = INT64_MAX / 8;
inline constexpr std::int64_t kLongestDays = kLongestRun / 1'000'000'000'000 / 86'400;

void check_traffic(Design& design, const Traffic& traffic, const Experiment& experiment,
                   const std::vector<Fidelity>& fidelities);
Outcome run_traffic(const Design& design, const Traffic& traffic, const Experiment& experiment,
                    const Observer& observer);

// Why a transport carries nothing between two kinds of servers.
struct KeptApart {
  spec::Error error;
  std::string what;  // "from one site to another, where SRD is not routed"
  std::string help;  // "of one site, or ..."
};
std::optional<KeptApart> kept_apart(model::TransportKind kind, const model::Group& a, const model::Group& b);

// Faults, ports, classes and buffers of the file, whatever runs on it.
void check_switching(Design& design);

// Whether the network can be simulated with these fidelities and faults, whatever runs on it. `beside`: streams at the
// same time, or nullptr.
void check_network(Design& design, const Traffic* beside, const Experiment& experiment,
                   const std::vector<Fidelity>& fidelities);

}  // namespace weft::experiment
