#pragma once
// Rows of collectives as a picture: a curve for each operation and algorithm.

#include <string>
#include <vector>

#include "draw/plot.hpp"
#include "report/collective_table.hpp"

namespace weft::app {

// What NCCL would have chosen, whatever it was at each size, is one curve; where algorithms stand side by side, each
// point of it is its algorithm's, too.
std::vector<draw::Curve> collective_curves(const std::vector<report::CollectiveRow>& rows);
draw::Picture collective_plot(const std::string& cluster, const std::vector<report::CollectiveRow>& rows);

}  // namespace weft::app
