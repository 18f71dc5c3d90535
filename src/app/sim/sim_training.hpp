#pragma once
// Training jobs of a cluster's file: how long a step takes, and where the time goes.

#include <vector>

#include "app/commands.hpp"
#include "app/session.hpp"
#include "experiment/experiment.hpp"

namespace weft::app {

// One experiment after the other; the exit code.
int sim_training(Session& session, const SimOptions& options, std::vector<experiment::Experiment> experiments,
                 Console& console);

}  // namespace weft::app
