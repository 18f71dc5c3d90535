#pragma once
// What is allowed but will be regretted.

#include <string>
#include <vector>

#include "app/session.hpp"
#include "app/sim_traffic.hpp"
#include "fabric/summary.hpp"

namespace weft::app {

void add_warnings(Session& session, const fabric::Summary& summary);
// Those of them that a run by these fidelities will meet, a line each.
void warn_of_run(const Session& session, const std::vector<TrafficStream>& streams,
                 const std::vector<std::string>& fidelities, Console& console);

}  // namespace weft::app
