#pragma once
// Collectives of a cluster: what `run:` in its file or --collective asks for, as nccl-tests would print it.

#include "app/collective_jobs.hpp"
#include "app/collective_run.hpp"
#include "app/session.hpp"
#include "app/sim_options.hpp"
#include "app/watch.hpp"
#include "collective/timing.hpp"

namespace weft::app {

// The command line asks for one, or else the file's `run:` has some and no other traffic is asked for.
bool wants_collectives(const Session& session, const CollectiveOptions& options, const TrafficOptions& traffic);

// Complains about options that only flows have.
void check_collective_options(const RunOptions& run, const SimOutputOptions& output, std::uint32_t seeds,
                              spec::Diagnostics& diagnostics);

struct CollectiveRequest {
  const InputOptions& input;
  const CollectiveOptions& options;
  const RunOptions& run;
  std::uint32_t gpus = 0;                   // 0: all
  const std::string& sizes;                 // empty: 8B..8GiB
  const std::string& trace;                 // a file; empty: none
  const std::vector<std::string>& streams;  // beside them; empty: where the file says what is to run, its own, if any
};
int sim_collectives(Session& session, const CollectiveRequest& request, const Limits& limits, Console& console);

}  // namespace weft::app
