#pragma once
// A graph as steps of a composed schedule (schedule/composed.hpp). Tasks that follow each other are a track; what a
// task needs of another track is an event. A group's collectives are one track on each of its ranks, in the order in
// which they stand, as NCCL carries out those of a communicator. Switches that reduce run a part as often as the GPUs
// do.
//
// Where it all comes from is the graph, which outlives the steps; what is kept beside it are some words for a task.

#include <cstdint>
#include <vector>

#include "schedule/composed.hpp"
#include "workload/graph.hpp"

namespace weft::workload {

class GraphSteps final : public schedule::Steps {
 public:
  // `places`: of every collective of the graph the ranks that carry it out, switches behind GPUs. `ranks`: all of them.
  GraphSteps(const Graph& graph, std::uint32_t ranks, const std::vector<std::vector<std::uint32_t>>& places);

  std::uint32_t tracks(std::uint32_t rank) const override { return first_track_[rank + 1] - first_track_[rank]; }
  bool next(std::uint32_t rank, std::uint32_t track, schedule::Step& out) override;
  bool runs(std::uint32_t rank, std::uint32_t track, std::uint32_t part) const override;

 private:
  struct Track {
    std::uint32_t first = 0;  // into order_
    std::uint32_t end = 0;
    std::uint32_t at = 0;                          // task that is next
    std::uint32_t before = 0;                      // of its steps, how many were taken
    std::uint32_t part = schedule::Step::kNoPart;  // of a switch: that it runs
    std::uint32_t times = 0;                       //   so often
  };
  void add_rank(std::uint32_t rank);
  void add_switch(std::uint32_t part, std::uint32_t times);
  schedule::Step step_of(const Task& task) const;

  const Graph& graph_;
  std::vector<Track> tracks_;               // of all ranks
  std::vector<std::uint32_t> first_track_;  // by rank, and one behind the last
  std::vector<std::uint32_t> order_;        // tasks, track by track
  // Needs that cross tracks are events, numbered as the graph has them. By task those that it waits for, ...
  std::vector<bool> crosses_;  // by need
  // ... and those that wait for it, first where it has begun and then where it is over.
  std::vector<std::uint32_t> fed_;        // needs
  std::vector<std::uint32_t> first_fed_;  // by task, and one behind the last
};

}  // namespace weft::workload
