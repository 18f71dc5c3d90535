#pragma once
// What collectives the user asks for: on which GPUs, in which groups, and what is not as it should be.

#include <cstdint>
#include <string>
#include <vector>

#include "app/session.hpp"
#include "app/sim_options.hpp"
#include "collective/names.hpp"
#include "collective/plan.hpp"

namespace weft::app {

struct CollectiveJob {
  collective::Operation operation = collective::Operation::all_reduce;
  std::uint32_t gpus = 0;
  std::vector<Bytes> sizes;
  std::string stack;                         // empty: by network card and transport
  std::uint32_t per_server = 0;              // of each server's GPUs; 0: all
  std::string on = {};                       // which GPUs: 0..63/8; empty: the first `gpus`
  std::string split = {};                    // into groups that run at once: /8 or %8; empty: one
  Duration skew = {};                        // between the first rank that comes and the last
  std::vector<std::string> slow_ranks = {};  // 3=50%
  bool alongside = false;                    // at the same time as the one before it
};

// What the cluster's file asks for.
std::vector<CollectiveJob> collectives_of(const model::Cluster& cluster);
// Complains about more GPUs than there are, or than can be simulated.
void check_job(const CollectiveJob& job, const model::Cluster& cluster, spec::Diagnostics& diagnostics);
// What the command line says of jobs: each of them on every list of --on, and beside the first those of --beside.
std::vector<CollectiveJob> take_options(const CollectiveOptions& options, std::vector<CollectiveJob> jobs,
                                        spec::Diagnostics& diagnostics);

// "8..4GiB" as "8B..4GiB": nccl-tests' sizes are bytes where they have no unit.
std::string bare_as_bytes(const std::string& sizes);

// The GPUs of every group of a job; all groups have the same number. Empty with a complaint.
std::vector<std::vector<std::uint32_t>> groups_of(const CollectiveJob& job, const model::Cluster& cluster,
                                                  spec::Diagnostics& diagnostics);

// Late and slow ranks of a group, drawn by the seed; slow NICs are those that faults name. `diagnostics` hears of slow
// ranks that are none.
collective::Conditions conditions_of(const CollectiveJob& job, std::uint32_t ranks, std::uint64_t seed,
                                     spec::Diagnostics& diagnostics);
// Adds NICs that are slow from the start and for good; false when there are other faults, which messages do not know.
bool add_slow_nics(const std::vector<model::FaultSpec>& faults, const fabric::Fabric& fabric,
                   collective::Conditions& conditions);

}  // namespace weft::app
