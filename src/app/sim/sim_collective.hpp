#pragma once
// Collectives of a cluster: what `run:` in its file or --collective asks for, as nccl-tests would print it.

#include <vector>

#include "app/commands.hpp"
#include "app/session.hpp"
#include "experiment/experiment.hpp"

namespace weft::app {

// One experiment after the other; the exit code.
int sim_collectives(Session& session, const SimOptions& options, std::vector<experiment::Experiment> experiments,
                    Console& console);

}  // namespace weft::app
