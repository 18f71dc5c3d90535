#pragma once
// Which flows a simulation runs: a connection matrix from a file, a pattern, or several streams of patterns at once.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session.hpp"
#include "app/sim_options.hpp"
#include "base/units.hpp"
#include "schedule/schedule.hpp"
#include "spec/diagnostics.hpp"
#include "workload/matrix.hpp"
#include "workload/patterns.hpp"

namespace weft::app {

struct TrafficStream {
  std::string name;
  workload::PatternOptions pattern;
  std::uint32_t first = 0;                        // GPU that is the pattern's first
  std::optional<model::TransportKind> transport;  // nothing: the file's
  std::optional<std::string> service;             // nothing: the first
  model::Verb verb = model::Verb::send;
  std::uint64_t flows = 0;  // 0: not known before they are drawn
};

struct Traffic {
  std::optional<workload::Matrix> matrix;  // else
  std::vector<TrafficStream> streams;      // several patterns; empty: one
  workload::PatternOptions pattern;
  model::Verb verb = model::Verb::send;  // of the pattern
  std::uint32_t nodes = 0;
  std::string name;               // "permutation of 64 nodes, 2MB each", or the file
  std::uint64_t fingerprint = 0;  // of what decided it
  std::uint64_t flows = 0;        // 0: not known before they are drawn
  std::uint64_t bytes = 0;        // of all flows, likewise
  bool hosts = true;              // false: from NIC to NIC, whatever servers are like inside

  // Anew for every run: a schedule is used up. The traffic must outlive it.
  std::unique_ptr<schedule::Schedule> make() const;
  // Of all flows. Those that are not known are drawn for it, as a run will draw them.
  std::uint64_t total_bytes() const;
  // Every flow begins at its time, however the network fares.
  bool is_open_loop() const;
  // The line rate that loads are shares of; 0: there are none.
  Bandwidth load_of() const;
};

// What the traffic is drawn for.
struct TrafficGround {
  std::uint32_t gpus = 0;
  Bandwidth line_rate;  // of one GPU into the network
  std::uint64_t seed = 1;
  std::vector<model::TrafficRun> streams = {};  // of the file; they count where the command line asks for nothing
};

std::vector<model::TrafficRun> streams_of(const model::Cluster& cluster);
// "storage,pattern=poisson,load=30%": a name, then keys of the file's `run: - traffic:`.
std::vector<model::TrafficRun> read_streams(const std::vector<std::string>& texts, spec::Diagnostics& diagnostics);
// Whether the command line says what is to be sent.
bool asks_for_traffic(const TrafficOptions& options);

// Nothing when there is something to complain about.
std::optional<Traffic> load_traffic(const TrafficOptions& options, const TrafficGround& ground,
                                    spec::Diagnostics& diagnostics);

}  // namespace weft::app
