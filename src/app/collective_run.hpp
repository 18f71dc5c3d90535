#pragma once
// Collectives that run at once, timed by one executor or another.

#include <functional>
#include <string>
#include <vector>

#include "app/session.hpp"
#include "app/sim_options.hpp"
#include "app/sim_traffic.hpp"
#include "app/watch.hpp"
#include "collective/plan.hpp"
#include "report/collective_table.hpp"
#include "schedule/result.hpp"

namespace weft::app {

// One group of one job, with what it is to do.
struct CollectiveGroup {
  const collective::Team* team = nullptr;
  collective::PlanOptions plan;
};

// A message of a run, for a trace.
struct CollectiveMessage {
  std::size_t group = 0;
  std::uint32_t gpu = 0;  // of the cluster; from where the cluster's GPUs end: a switch that reduces
  std::uint32_t peer = 0;
  std::uint32_t channel = 0;
  std::uint64_t bytes = 0;
  std::int64_t start = 0;  // ps, after the launch
  std::int64_t end = 0;
};

struct CollectiveTimes {
  std::vector<report::CollectiveRow> rows;  // by group; empty: stopped, or more messages than are simulated
  std::vector<CollectiveMessage> messages;  // of the last run, as many as were wanted
  bool more_messages = false;               // there were more
  bool too_many = false;                    // it was not begun: more messages than are simulated
  bool stuck = false;                       // somebody waits for what never comes
};

// All groups at once. `run.fidelity` is one. At message level they know of each other by what they load links with.
// Keeps at most `messages` for a trace. `beside`: streams at the same time, which messages do not know; or nullptr.
CollectiveTimes run_collectives(const Session& session, const std::vector<CollectiveGroup>& groups,
                                const Traffic* beside, const RunOptions& run, std::size_t messages, Watch& watch);

// One row at message level: the choice, timed. `keep_going` as in sim::LaneConfig.
report::CollectiveRow time_collective(
    const collective::Team& team, const collective::PlanOptions& plan,
    const std::function<bool(std::int64_t, std::uint64_t, std::uint64_t)>& keep_going);

}  // namespace weft::app
