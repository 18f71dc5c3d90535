#pragma once
// How several streams that ran at once fared: a row for each.
//
// What was sent again is told by transport and service: of streams that share both, the first has it. What does not fit
// side by side comes in two tables: what became of each stream, and how fast it was.

#include <string>
#include <vector>

#include "report/sim_summary.hpp"

namespace weft::report {

// `width`: of the terminal; 0: there is none, and it is a page of 80 columns.
std::string streams_text(const std::vector<StreamSummary>& streams, std::size_t width, bool colour);

}  // namespace weft::report
