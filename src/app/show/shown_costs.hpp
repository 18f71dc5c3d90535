#pragma once
// What a cluster costs, as comparisons and sweeps show it.

#include "app/session.hpp"
#include "fabric/costs.hpp"
#include "report/costs.hpp"

namespace weft::app {

report::Costs shown_costs(const Session& session);

// "servers", "some switches": what is in no sum of money.
std::vector<std::string> not_priced(const fabric::Costs& costs);

}  // namespace weft::app
