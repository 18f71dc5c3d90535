#pragma once
// What is allowed but will be regretted.

#include "app/session.hpp"
#include "fabric/summary.hpp"

namespace weft::app {

void add_warnings(Session& session, const fabric::Summary& summary);

}  // namespace weft::app
