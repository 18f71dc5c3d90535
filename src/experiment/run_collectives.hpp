#pragma once
// Collectives as an experiment: its check and its run.

#include <memory>
#include <vector>

#include "collective/team.hpp"
#include "experiment/experiment.hpp"
#include "experiment/watch.hpp"

namespace weft::experiment {

// One of the jobs that run at the same time, with its groups of ranks.
struct CollectiveSide {
  const CollectiveJob* job = nullptr;
  const collective::Stack* stack = nullptr;
  std::vector<std::unique_ptr<collective::Team>> teams;  // by group
  std::vector<collective::Conditions> conditions;        // by group
};
std::vector<CollectiveSide> sides_of(const Design& design, const Collectives& work, std::uint64_t seed,
                                     spec::Diagnostics& diagnostics);

// What is wrong with the jobs themselves, at whatever level they run. `by_links`: at one that knows links.
void check_jobs(Design& design, const Collectives& work, const Experiment& experiment, bool by_links);
void check_collectives(Design& design, const Collectives& work, const Experiment& experiment,
                       const std::vector<Fidelity>& fidelities);
Outcome run_collectives(const Design& design, const Collectives& work, const Experiment& experiment,
                        const Observer& observer);

// What every one of several groups does at the same time.
struct TogetherOptions {
  collective::Operation operation = collective::Operation::all_reduce;
  std::uint64_t bytes = 0;
  const collective::Stack* stack = nullptr;
  collective::NetworkLinks* network = nullptr;  // message level
  std::size_t differ = 1;  // so many of the groups are unlike each other: the slowest of them stands for all
  std::vector<collective::Algorithm> algorithms = {};  // the first of these that a group can do; else NCCL's choice
};
// The slowest group's row, as NCCL would choose, at the experiment's level. No time: it never ends, or was stopped.
schedule::CollectiveRow time_groups(const Design& design, const std::vector<const collective::Team*>& teams,
                                    const TogetherOptions& options, const Experiment& experiment, Watch& watch);

// Messages that a level with links has at least until it knows what such groups take.
std::uint64_t least_messages(const std::vector<const collective::Team*>& teams, const TogetherOptions& options);

// One row at message level: the choice, timed.
schedule::CollectiveRow time_collective(const collective::Team& team, const collective::PlanOptions& plan);

}  // namespace weft::experiment
