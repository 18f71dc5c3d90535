#pragma once
// What the command line says of collectives: operation, sizes, algorithms, protocol and stack.

#include <optional>
#include <string>
#include <vector>

#include "app/collective_jobs.hpp"
#include "app/sim_options.hpp"
#include "collective/constants.hpp"
#include "collective/plan.hpp"

namespace weft::app {

// 1MiB, 8B..8GiB (doubling), or several of them with commas; empty with a complaint.
std::vector<Bytes> parse_sizes(const std::string& given, spec::Diagnostics& diagnostics);

// What the file's `run:` or the command line asks for, and the latter's words where both say something.
std::vector<CollectiveJob> jobs_of(const model::Cluster& cluster, const CollectiveOptions& options, std::uint32_t gpus,
                                   const std::string& sizes, spec::Diagnostics& diagnostics);

// The stack of a job, unless another is given; nothing, and a complaint, when there is none of that name.
const collective::Stack* stack_of(const CollectiveJob& job, const std::string& given, const model::Cluster& cluster,
                                  spec::Diagnostics& diagnostics);

// What the command line leaves open.
struct Wanted {
  std::vector<collective::Algorithm> algorithms;  // empty: the one that NCCL would take
  bool all = false;                               // whatever is possible
  std::optional<collective::Protocol> protocol;
};

Wanted read_options(const CollectiveOptions& options, spec::Diagnostics& diagnostics);

// The choices to be timed for one size, NCCL's own first. `by_links`: only those that executors with links carry out.
std::vector<collective::Choice> choices_for(const collective::Team& team, collective::Operation operation,
                                            std::uint64_t bytes, const Wanted& wanted, const collective::Stack& stack,
                                            std::uint32_t channels, bool by_links);

}  // namespace weft::app
