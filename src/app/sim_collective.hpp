#pragma once
// Collectives of a cluster: what `run:` in its file or --collective asks for, as nccl-tests would print it.

#include <functional>
#include <optional>

#include "app/session.hpp"
#include "app/sim_options.hpp"
#include "app/watch.hpp"
#include "collective/names.hpp"
#include "collective/timing.hpp"
#include "report/collective_table.hpp"

namespace weft::app {

struct CollectiveJob {
  collective::Operation operation = collective::Operation::all_reduce;
  std::uint32_t gpus = 0;
  std::vector<Bytes> sizes;
  std::string stack;  // empty: by network card and transport
};

// What the cluster's file asks for.
std::vector<CollectiveJob> collectives_of(const model::Cluster& cluster);
// Complains about more GPUs than there are, or than can be simulated.
void check_job(const CollectiveJob& job, const model::Cluster& cluster, spec::Diagnostics& diagnostics);
// The stack of a job, unless another is given; nothing, and a complaint, when there is none of that name.
const collective::Stack* stack_of(const CollectiveJob& job, const std::string& given, const model::Cluster& cluster,
                                  spec::Diagnostics& diagnostics);

// The command line asks for one, or else the file's `run:` has some and no other traffic is asked for.
bool wants_collectives(const Session& session, const CollectiveOptions& options, const TrafficOptions& traffic);

// Complains about options that only flows have.
void check_collective_options(const RunOptions& run, const SimOutputOptions& output, std::uint32_t seeds,
                              spec::Diagnostics& diagnostics);

int sim_collectives(Session& session, const InputOptions& input, const CollectiveOptions& options, std::uint32_t gpus,
                    const std::string& sizes, const Limits& limits, Console& console);

// One row: the choice, timed. `keep_going` as in sim::LaneConfig.
report::CollectiveRow time_collective(
    const collective::Team& team, const collective::PlanOptions& plan,
    const std::function<bool(std::int64_t, std::uint64_t, std::uint64_t)>& keep_going);

}  // namespace weft::app
