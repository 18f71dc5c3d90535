#pragma once
// Options that would do nothing are refused: whoever gives one believes that it counts.

#include "app/sim/sim_options.hpp"
#include "spec/diagnostics.hpp"

namespace weft::app {

// Flows run. `of_file`: those that the cluster file lists.
void check_flow_options(const TrafficOptions& options, bool of_file, spec::Diagnostics& diagnostics);
// A trace runs that the cluster file names.
void check_trace_options(const TrafficOptions& options, spec::Diagnostics& diagnostics);
void check_no_collective_options(const CollectiveOptions& options, spec::Diagnostics& diagnostics);

// Collectives run, those of --collective or of the file.
void check_no_flow_options(const TrafficOptions& options, const CollectiveOptions& collective,
                           spec::Diagnostics& diagnostics);

}  // namespace weft::app
