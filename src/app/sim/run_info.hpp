#pragma once
// What identifies a result: cluster, workload, version, and a hash of all the user gave.

#include "app/session.hpp"
#include "app/sim/sim_options.hpp"
#include "experiment/experiment.hpp"
#include "report/sim_records.hpp"

namespace weft::app {

report::RunInfo run_info(const Session& session, const InputOptions& input, const RunOptions& options,
                         const experiment::Experiment& experiment);

}  // namespace weft::app
