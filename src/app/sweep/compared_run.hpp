#pragma once
// An outcome as comparisons and sweeps keep it.

#include <cstddef>
#include <string>

#include "experiment/experiment.hpp"
#include "report/verdict.hpp"

namespace weft::app {

// Whether a design can run all of it; errors go to its diagnostics.
void check_experiments(const std::vector<experiment::Experiment>& experiments, experiment::Design& design);

// Of one experiment, or of several that belong together: a cluster's collectives, one after the other.
report::ComparedRun compared_run(std::uint64_t seed, const experiment::Workload& work,
                                 const std::vector<experiment::Outcome>& outcomes);

// Nothing of a run but its links, at most so many; 0: all.
schedule::RunResult busiest_links(const schedule::RunResult& run, std::size_t most);

}  // namespace weft::app
