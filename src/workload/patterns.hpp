#pragma once
// Traffic that needs no file, as schedules: one-sided messages between ranks.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "schedule/schedule.hpp"
#include "spec/diagnostics.hpp"
#include "workload/matrix.hpp"

namespace weft::workload {

struct PatternOptions {
  std::string name = "permutation";
  std::uint32_t nodes = 0;  // that take part
  std::uint64_t bytes = 0;  // of a flow
  std::uint64_t seed = 1;
  std::uint32_t window = 8;  // all-to-all: flows that a node has unfinished, at most 64; 0: all at once
  // When flows begin: at-once, or open loop: paced or poisson, until `duration` is over. The pattern poisson is so
  // always.
  std::string arrivals = "at-once";
  // Open loop:
  std::string sizes = "fixed";         // fixed, uniform (on average `bytes`), or a published distribution
  std::uint32_t load_per_mille = 500;  // of the line rate, offered by every node
  Bandwidth line_rate{};               // of a node
  std::uint64_t flows = 0;             // in all; 0: as many as begin within `duration`
  Duration duration{};                 // 0: until there were `flows`
};

struct PatternName {
  std::string_view name;
  std::string_view text;
};
// The names that `make_traffic` knows, with a line about each.
const std::vector<PatternName>& traffic_patterns();
const std::vector<std::string>& pattern_names();
// The names that stand for a size distribution, and for when flows begin.
const std::vector<std::string>& size_names();
const std::vector<std::string>& arrival_names();

// Whether flows begin at their times, however the network fares.
bool is_open_loop(const PatternOptions& options);

// The schedule, or null and a complaint that names the option to blame.
std::unique_ptr<schedule::Schedule> make_traffic(const PatternOptions& options, spec::Diagnostics& diagnostics);

}  // namespace weft::workload
