#pragma once
// A graph (workload/graph.hpp) as a schedule on a design: its collectives are those of NCCL on the GPUs of its ranks.
//
// To executors that know links they are programs, chunk by chunk. At message level a group meets: when the last of its
// ranks has come, all are done after what the collective takes alone, as `weft sim all_reduce` says.

#include <memory>
#include <optional>
#include <vector>

#include "collective/plan.hpp"
#include "experiment/experiment.hpp"
#include "experiment/network_shares.hpp"
#include "schedule/composed.hpp"
#include "workload/graph.hpp"

namespace weft::experiment {

class GraphWork {
 public:
  // Ranks are the first GPUs of the design. Nothing is wrong with the graph there (check_graph_work).
  GraphWork(const Design& design, const workload::Graph& graph, const Experiment& experiment);

  schedule::Schedule& schedule() { return *schedule_; }
  // Whether a message is one of a collective.
  bool is_together(std::uint64_t tag) const { return schedule::Composed::part_of(tag) < graph_.shared.size(); }
  // By collective of the graph.
  std::vector<TogetherTime> together(const schedule::RunResult& result) const;

 private:
  const workload::Graph& graph_;
  bool meets_;
  std::vector<std::unique_ptr<collective::Team>> teams_;  // by group
  std::optional<NetworkShares> shares_;
  std::vector<std::unique_ptr<collective::Plan>> plans_;  // by collective, for links
  std::vector<Duration> takes_;                           // by collective, at message level
  std::unique_ptr<schedule::Composed> schedule_;
};

// The same without a design: collectives take no time. For whoever only wants to know what there is.
std::unique_ptr<schedule::Schedule> outline_of(const workload::Graph& graph);

// Errors: groups whose GPUs nothing joins, more messages than are simulated.
void check_graph_work(Design& design, const workload::Graph& graph, const std::vector<Fidelity>& fidelities);

}  // namespace weft::experiment
