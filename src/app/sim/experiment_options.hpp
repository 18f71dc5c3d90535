#pragma once
// From the words of the command line and of the file's `run:` to experiments.

#include <optional>
#include <string>
#include <vector>

#include "app/output.hpp"
#include "app/sim/sim_options.hpp"
#include "experiment/experiment.hpp"

namespace weft::app {

// What --fidelity names: "packet", several as "packet,flow", or "all". Empty when it names something else.
std::vector<experiment::Fidelity> parse_fidelities(const std::string& text);

// The file that the command line names as what is sent; of Chakra's traces the first.
NamedFile file_of(const TrafficOptions& options);
// The same, or what the file's own trace names where that is what runs.
NamedFile file_of(const WorkOptions& options, const experiment::Design& design);
// Whether the command line says which flows are to be sent.
bool asks_for_traffic(const TrafficOptions& options);
// The file names a trace, and the command line nothing else.
bool wants_trace(const model::Cluster& cluster, const WorkOptions& options);
// The file asks for training, and the command line for nothing else.
bool wants_training(const model::Cluster& cluster, const WorkOptions& options);
// The command line asks for collectives, or else the file does and no other traffic is asked for.
bool wants_collectives(const model::Cluster& cluster, const WorkOptions& options);

// Flows of the command line, else of the file, else a permutation. Nothing with an error in `diagnostics`.
std::optional<experiment::Traffic> load_traffic(const TrafficOptions& options, const experiment::TrafficGround& ground,
                                                const experiment::Design& design, spec::Diagnostics& diagnostics);

// What runs one after the other: flows, or collectives as they run at the same time, where there is traffic beside them
// first without it. Errors go to the design's diagnostics; then it may be empty.
std::vector<experiment::Workload> load_work(const WorkOptions& options, const experiment::TrafficGround& ground,
                                            experiment::Design& design);

// With all that RunOptions say; `fidelity` is the first of those that they name, or where they name none what is usual:
// messages for training and collectives alone, packets for all else.
std::vector<experiment::Experiment> make_experiments(std::vector<experiment::Workload> work, const RunOptions& run,
                                                     const experiment::Limits& limits, experiment::Design& design);
// All fidelities that the experiments are to be run with.
std::vector<experiment::Fidelity> fidelities_of(const RunOptions& run,
                                                const std::vector<experiment::Experiment>& experiments);
// Of collectives, links are known where something goes over them one by one.
void check_links(bool wanted, const std::vector<experiment::Experiment>& experiments,
                 const std::vector<experiment::Fidelity>& fidelities, spec::Diagnostics& diagnostics);

}  // namespace weft::app
