#pragma once
// The flow executor: a message is a fluid that moves at the max-min fair rate of its path, so something happens only
// when one starts or ends. It takes the time to move its bytes, headers included, and then the latency of the way; the
// sender knows when an acknowledgement has come back. Alone that is what the packet simulator takes. Flows whose
// packets are spread at random pay for that where links are full (flow_scatter.hpp). There are no other queues, no
// windows and no losses: it is what a perfect transport would do on these paths.
//
// With many flows at once, finding all rates anew whenever one comes or goes would cost the square of their number;
// there they are found for several at a time, which moves ends by a few thousandths (flow_sim.cpp, kPatience).

#include <cstddef>
#include <cstdint>
#include <functional>

#include "schedule/horizon.hpp"
#include "schedule/progress.hpp"
#include "schedule/result.hpp"
#include "schedule/schedule.hpp"
#include "sim/flow/flow_routes.hpp"

namespace weft::sim {

struct FlowOptions {
  bool with_links = false;  // what links carried, busiest first
  // Asked now and then; false stops the run, and the result is partial.
  std::function<bool(const schedule::Progress&)> keep_going;
  schedule::Horizon horizon = {};  // it is asked there in any case
  // From so many flows at once on, rates are not found anew for every one that comes or goes.
  std::uint32_t many = 1024;
};

// Rank i on GPU i. `routes` is of this one run.
schedule::RunResult run_flows(schedule::Schedule& schedule, FlowRoutes& routes, const FlowOptions& options = {});

}  // namespace weft::sim
