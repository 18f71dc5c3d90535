#pragma once
// What is allowed but will be regretted.

#include <vector>

#include "experiment/design.hpp"
#include "experiment/experiment.hpp"
#include "fabric/summary.hpp"

namespace weft::experiment {

void add_warnings(Design& design, const fabric::Summary& summary);
// What is not known of collectives on these accelerators, where NCCL does not run; empty: NCCL does.
std::vector<spec::Diagnostic> collective_warnings(Design& design);
// Those of them that a run by these fidelities will meet.
std::vector<spec::Diagnostic> warnings_of(Design& design, const Experiment& experiment,
                                          const std::vector<Fidelity>& fidelities);

}  // namespace weft::experiment
