#pragma once
// What is allowed but will be regretted.

#include <string>

#include "app/session.hpp"
#include "fabric/summary.hpp"

namespace weft::app {

void add_warnings(Session& session, const fabric::Summary& summary);
// Why a run may end in a circle of ports that wait for each other; empty: none of which is known.
std::string deadlock_risk(const Session& session);

}  // namespace weft::app
