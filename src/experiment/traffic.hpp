#pragma once
// Flows that an experiment runs: a connection matrix, a graph of what ranks do, a pattern, or several streams of
// patterns at once.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "experiment/design.hpp"
#include "schedule/schedule.hpp"
#include "spec/diagnostics.hpp"
#include "workload/graph.hpp"
#include "workload/matrix.hpp"
#include "workload/patterns.hpp"

namespace weft::experiment {

// A pattern of the file or of the command line, and what it is drawn for.
struct TrafficStream {
  model::TrafficRun run;  // without a name: the only one, which needs none
  workload::PatternGround ground;
  std::uint64_t flows = 0;  // 0: not known before they are drawn
};

struct Traffic {
  std::optional<workload::Matrix> matrix;        // else
  std::shared_ptr<const workload::Graph> graph;  // else
  std::vector<TrafficStream> streams;
  std::uint32_t nodes = 0;
  std::string name;               // "permutation of 64 nodes, 2MB each", or the file
  std::uint64_t fingerprint = 0;  // of what decided it
  std::uint64_t flows = 0;        // 0: not known before they are drawn
  std::uint64_t bytes = 0;        // of all flows, likewise
  bool hosts = true;              // false: from NIC to NIC, whatever servers are like inside

  // Streams that results tell apart.
  std::span<const TrafficStream> named() const;
  // Anew for every run: a schedule is used up. The traffic must outlive it.
  std::unique_ptr<schedule::Schedule> make() const;
  // Of all flows. Those that are not known are drawn for it, as a run will draw them.
  std::uint64_t total_bytes() const;
  // Every flow begins at its time, however the network fares.
  bool is_open_loop() const;
  // The line rate that loads are shares of; 0: there are none.
  Bandwidth load_of() const;
};

// What traffic is drawn for.
struct TrafficGround {
  std::uint32_t gpus = 0;
  Bandwidth line_rate;  // of one GPU into the network
  std::uint64_t seed = 1;
};
TrafficGround ground_of(const Design& design, std::uint64_t seed);

// Streams of the file's `run:`.
std::vector<model::TrafficRun> streams_of(const model::Cluster& cluster);

// Nothing when there is something wrong, which is then in `diagnostics`. Several streams have names, one alone may have
// none.
std::optional<Traffic> make_traffic(const std::vector<model::TrafficRun>& runs, const TrafficGround& ground,
                                    spec::Diagnostics& diagnostics);
// The same of a connection matrix, a source of `diagnostics`.
std::optional<Traffic> read_matrix(std::uint32_t source, const TrafficGround& ground, spec::Diagnostics& diagnostics);
// The same of a graph that was read; `name` is of its file or files, `fingerprint` of what is in them, `place` of the
// word in the cluster file that names them, if one does.
std::optional<Traffic> graph_traffic(workload::Graph graph, std::string name, std::uint64_t fingerprint,
                                     const spec::Place& place, const TrafficGround& ground,
                                     spec::Diagnostics& diagnostics);

}  // namespace weft::experiment
