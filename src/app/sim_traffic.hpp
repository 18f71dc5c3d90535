#pragma once
// Which flows a simulation runs: a connection matrix from a file, or a pattern.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "app/sim_options.hpp"
#include "base/units.hpp"
#include "schedule/schedule.hpp"
#include "spec/diagnostics.hpp"
#include "workload/matrix.hpp"
#include "workload/patterns.hpp"

namespace weft::app {

struct Traffic {
  std::optional<workload::Matrix> matrix;  // else a pattern:
  workload::PatternOptions pattern;
  std::uint32_t nodes = 0;
  std::string name;               // "permutation of 64 nodes, 2MB each", or the file
  std::uint64_t fingerprint = 0;  // of what decided it
  std::uint64_t bytes = 0;        // of all flows; 0: not known before they are drawn
  std::uint64_t flows = 0;        // likewise

  // Anew for every run: a schedule is used up. The traffic must outlive it.
  std::unique_ptr<schedule::Schedule> make() const;
};

// What the traffic is drawn for.
struct TrafficGround {
  std::uint32_t gpus = 0;
  Bandwidth line_rate;  // of one GPU into the network
  std::uint64_t seed = 1;
};

// Nothing when there is something to complain about.
std::optional<Traffic> load_traffic(const TrafficOptions& options, const TrafficGround& ground,
                                    spec::Diagnostics& diagnostics);

}  // namespace weft::app
