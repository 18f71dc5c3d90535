#pragma once
// A run as a trace that ui.perfetto.dev and chrome://tracing open: Chrome's trace-event JSON.
//
//   process "flows"   a track per sending GPU, a slice per flow (bytes, peer, slowdown); flows of one GPU that
//                     overlap lie on further tracks of it
//   process "links"   two counters per sampled link (longest queue, utilisation), an instant where packets
//                     were dropped
//
// Written event by event: memory is a few bytes per flow and per link, whatever the length of the trace.

#include <functional>
#include <ostream>

#include "report/sim_records.hpp"

namespace weft::report {

void write_trace(const RunInfo& info, const schedule::RunResult& result,
                 const std::function<std::string(std::uint32_t rank)>& rank_name, std::ostream& out);

}  // namespace weft::report
