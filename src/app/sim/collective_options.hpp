#pragma once
// What the command line says of collectives, in types: operation, sizes, GPUs, algorithms, protocol and stack.

#include <string>
#include <vector>

#include "app/sim/sim_options.hpp"
#include "experiment/collectives.hpp"

namespace weft::app {

// "8..4G" as "8B..4GiB": nccl-tests' sizes are bytes where they have no unit, and its K, M, G and T are binary.
std::string with_units(const std::string& sizes);

// 1MiB, 8B..8GiB (doubling), or several of them with commas; empty with an error.
std::vector<Bytes> parse_sizes(const std::string& given, spec::Diagnostics& diagnostics);
std::vector<Bytes> parse_sizes_quietly(const std::string& text);

// What the file's `run:` or the command line asks for, and the latter's words where both say something.
std::vector<experiment::CollectiveJob> jobs_of(const model::Cluster& cluster, const CollectiveOptions& options,
                                               std::uint32_t gpus, const std::string& sizes,
                                               spec::Diagnostics& diagnostics);

// --nodes in GPUs: all of the first so many servers, or where --gpus says how many in all, as many of each. `flows` go
// between the first GPUs, whichever servers these are of.
void take_servers(const model::Cluster& cluster, std::uint32_t servers, bool flows, std::uint32_t& gpus,
                  std::uint32_t& per_server, spec::Diagnostics& diagnostics);

experiment::CollectiveChoice choice_of(const CollectiveOptions& options, spec::Diagnostics& diagnostics);

}  // namespace weft::app
