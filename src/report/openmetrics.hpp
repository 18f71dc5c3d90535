#pragma once
// Samples of a simulation as OpenMetrics, by the names that a lab and a real cluster are watched by, so that one
// dashboard shows them all (promtool tsdb create-blocks-from openmetrics).
//
// Prometheus counts in milliseconds, a simulation in less: an interval of --sample is a second here, from 0 on, and
// weft_sim_interval_seconds says how long it really was. An interface is named by the link's other end.

#include <ostream>

#include "report/sim_records.hpp"

namespace weft::report {

void write_openmetrics(const RunInfo& info, const schedule::RunResult& result, std::ostream& out);

}  // namespace weft::report
