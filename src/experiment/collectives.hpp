#pragma once
// Collectives that an experiment runs: jobs at the same time, each on its GPUs, one size after the other.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "collective/names.hpp"
#include "collective/plan.hpp"
#include "experiment/traffic.hpp"

namespace weft::experiment {

struct CollectiveJob {
  collective::Operation operation = collective::Operation::all_reduce;
  std::uint32_t gpus = 0;
  std::vector<Bytes> sizes;
  std::string stack;                         // empty: by NIC and transport
  std::uint32_t per_server = 0;              // of each server's GPUs; 0: all
  std::string on = {};                       // which GPUs: 0..63/8; empty: the first `gpus`
  std::string split = {};                    // into groups that run at once: /8 or %8; empty: one
  Duration skew = {};                        // between the first rank that comes and the last
  std::vector<std::string> slow_ranks = {};  // 3=50%
  bool alongside = false;                    // at the same time as the one before it
  KeyPlaces places = {};                     // in the file, where it stands there
};

// What is not left to NCCL.
struct CollectiveChoice {
  std::vector<collective::Algorithm> algorithms;  // empty: the one that NCCL would take; several: side by side
  bool all = false;                               // whatever is possible, side by side
  std::optional<collective::Protocol> protocol;
  std::uint32_t channels = 0;  // 0: as NCCL
  bool pxn = true;

  bool side_by_side() const { return all || algorithms.size() > 1; }
};

struct Collectives {
  std::vector<CollectiveJob> jobs;  // at the same time
  CollectiveChoice choice = {};
  std::optional<Traffic> beside = {};  // flows at the same time
};

// A size of which there are no rows: more messages than are simulated.
struct LeftOut {
  collective::Algorithm algorithm = collective::Algorithm::ring;
  std::uint32_t ranks = 0;
  std::uint64_t bytes = 0;
};

// A message of a run, for a trace.
struct CollectiveMessage {
  std::size_t group = 0;
  std::uint32_t gpu = 0;  // of the cluster; from where the cluster's GPUs end: a switch that reduces
  std::uint32_t peer = 0;
  std::uint32_t channel = 0;
  std::uint64_t bytes = 0;
  Duration start = {};  // after the launch
  Duration end = {};
};

// What the cluster's file asks for; those that run at the same time follow each other, `alongside`.
std::vector<CollectiveJob> collectives_of(const model::Cluster& cluster);
// Says of more GPUs than there are, or than can be simulated.
void check_job(const CollectiveJob& job, const model::Cluster& cluster, spec::Diagnostics& diagnostics);

// The GPUs of every group of a job; all groups have the same number. Empty with an error.
std::vector<std::vector<std::uint32_t>> groups_of(const CollectiveJob& job, const model::Cluster& cluster,
                                                  spec::Diagnostics& diagnostics);

// Late and slow ranks of a group, drawn by the seed. `diagnostics` hears of slow ranks that are none.
collective::Conditions conditions_of(const CollectiveJob& job, std::uint32_t ranks, std::uint64_t seed,
                                     spec::Diagnostics& diagnostics);
// The stack of a job; nothing, and an error, when there is none of that name.
const collective::Stack* stack_of(const CollectiveJob& job, const model::Cluster& cluster,
                                  spec::Diagnostics& diagnostics);

// The choices to be timed for one size, NCCL's own first. `by_links`: only those that executors with links carry out.
std::vector<collective::Choice> choices_for(const collective::Team& team, collective::Operation operation,
                                            std::uint64_t bytes, const CollectiveChoice& wanted,
                                            const collective::Stack& stack, bool by_links);

}  // namespace weft::experiment
