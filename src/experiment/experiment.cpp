#include "experiment/experiment.hpp"

#include "experiment/run_collectives.hpp"
#include "experiment/run_traffic.hpp"
#include "experiment/run_training.hpp"

namespace weft::experiment {
void check(Design& design, const Experiment& experiment, const std::vector<Fidelity>& fidelities) {
  std::visit(Match{[&](const Traffic& traffic) { check_traffic(design, traffic, experiment, fidelities); },
                   [&](const Collectives& work) { check_collectives(design, work, experiment, fidelities); },
                   [&](const Training& work) { check_training(design, work, experiment, fidelities); }},
             *experiment.workload);
}

Outcome run(const Design& design, const Experiment& experiment, const Observer& observer) {
  return std::visit(Match{[&](const Traffic& traffic) { return run_traffic(design, traffic, experiment, observer); },
                          [&](const Collectives& work) { return run_collectives(design, work, experiment, observer); },
                          [&](const Training& work) { return run_training(design, work, experiment, observer); }},
                    *experiment.workload);
}

}  // namespace weft::experiment
