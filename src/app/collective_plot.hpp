#pragma once
// Rows of collectives as a picture: a curve for each operation and algorithm.

#include <string>
#include <vector>

#include "draw/plot.hpp"
#include "report/collective_table.hpp"

namespace weft::app {

// What NCCL would have chosen, whatever it was at each size, is one curve.
draw::Picture collective_plot(const std::string& cluster, const std::vector<report::CollectiveRow>& rows);

}  // namespace weft::app
