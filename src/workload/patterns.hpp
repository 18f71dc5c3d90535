#pragma once
// Traffic that needs no file, as schedules: one-sided messages between ranks.

#include <cstdint>
#include <memory>

#include "base/units.hpp"
#include "model/cluster_file.hpp"
#include "schedule/schedule.hpp"
#include "spec/diagnostics.hpp"

namespace weft::workload {

// Among whom a pattern of the file or of the command line is drawn.
struct PatternGround {
  std::uint32_t nodes = 0;  // that take part; `run.nodes` and `run.first` are the caller's business
  Bandwidth line_rate{};    // of a node: what loads are shares of
  std::uint64_t seed = 1;
  std::uint64_t flows = 0;  // open loop: in all; 0: as many as begin within the run's duration
};

// Whether flows begin at their times, however the network fares.
bool is_open_loop(const model::TrafficRun& run);

// The schedule, or null and an error that names the option to blame.
std::unique_ptr<schedule::Schedule> make_traffic(const model::TrafficRun& run, const PatternGround& ground,
                                                 spec::Diagnostics& diagnostics);

}  // namespace weft::workload
