#pragma once
// One simulation: traffic on the fabric of a session, and what came of it.

#include "app/session.hpp"
#include "app/sim_options.hpp"
#include "app/sim_traffic.hpp"
#include "app/watch.hpp"
#include "report/frames.hpp"
#include "report/sim_records.hpp"
#include "schedule/result.hpp"
#include "sim/host/host_route.hpp"
#include "transport/capture.hpp"

namespace weft::app {

struct Run {
  schedule::RunResult result;               // flows in the order of the traffic's
  std::vector<std::string> captured_links;  // what a captured packet's `link` counts
  std::vector<transport::Captured> captured;
  report::WireNumbers wire_numbers;  // what their frames depend on
  std::int64_t fullest_link = 0;     // see sim/link_balance.hpp; 0 also where there are no packets
};

// What random traffic is drawn for.
TrafficGround ground_of(const Session& session, std::uint64_t seed);

// What cannot be run is said before it starts: adds complaints to the session's.
void check_run(Session& session, const Traffic& traffic, const RunOptions& options);

// Runs with one fidelity until everything is done or `watch` stops it; check_run() had no complaint. `with_links`: what
// links carried is wanted, which takes a moment and some memory where there are many; else there is the one with the
// longest queue.
Run run_traffic(const Session& session, const Traffic& traffic, const RunOptions& options, bool with_links,
                Watch& watch);

// The same for any schedule, with what kernels get of the links inside servers. First: can the network be simulated
// with these fidelities, and with these faults? `beside`: streams that run at the same time and end with it; what comes
// back is of the schedule alone.
void check_network(Session& session, const std::vector<std::string>& fidelities, const Traffic* beside,
                   const RunOptions& options);
schedule::RunResult run_schedule(const Session& session, schedule::Schedule& schedule, const Traffic* beside,
                                 const RunOptions& options, const sim::HostRates& rates, Watch& watch);
// Of the file and of --fault.
std::vector<model::FaultSpec> all_faults(const Session& session, const RunOptions& options,
                                         spec::Diagnostics& diagnostics);

// What identifies the result: cluster, traffic, version, and a hash of all the user gave.
report::RunInfo run_info(Session& session, const InputOptions& input, const Traffic& traffic,
                         const RunOptions& options);

}  // namespace weft::app
