#pragma once
// One simulation: traffic on the fabric of a session, and what came of it.

#include "app/session.hpp"
#include "app/sim_traffic.hpp"
#include "app/watch.hpp"
#include "report/sim_records.hpp"
#include "schedule/result.hpp"

namespace weft::app {

// What the simulator does not cover yet is said before it starts: adds complaints to the session's.
void check_coverage(Session& session, const Traffic& traffic);

// Runs until everything is done or `watch` stops it. Flows are in the order of the traffic's.
schedule::RunResult run_packets(const Session& session, const Traffic& traffic, std::uint64_t seed, Watch& watch);

// What identifies the result: cluster, traffic, version, and a hash of all the user gave.
report::RunInfo run_info(Session& session, const InputOptions& input, const Traffic& traffic);

}  // namespace weft::app
