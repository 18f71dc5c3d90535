#pragma once
// Which flows a simulation runs: a connection matrix from a file, or a pattern.

#include <cstdint>
#include <optional>
#include <string>

#include "app/sim_options.hpp"
#include "spec/diagnostics.hpp"
#include "workload/matrix.hpp"

namespace weft::app {

struct Traffic {
  workload::Matrix matrix;
  std::string name;               // "permutation of 64 nodes, 2MB each", or the file
  std::uint64_t fingerprint = 0;  // of what decided it
  std::uint64_t bytes = 0;        // of all flows
};

// Among `gpus`; nothing when there is something to complain about.
std::optional<Traffic> load_traffic(const TrafficOptions& options, std::uint32_t gpus, std::uint64_t seed,
                                    spec::Diagnostics& diagnostics);

}  // namespace weft::app
