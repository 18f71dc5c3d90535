#pragma once
// GOAL schedules, which LogGOPSim and ATLAHS carry out: text, or the binary form that LogGOPSim's txt2bin makes of it.
//
//   num_ranks 2
//   rank 0 {
//     l1: calc 100 cpu 1               (nanoseconds; a CPU does one at a time)
//     l2: send 4096b to 1 tag 7 nic 0
//     l2 requires l1                   (l1 is over; irequires: it has begun)
//   }
//   rank 1 { ... recv 4096b from 0 tag 7 }
//
// How many NICs a rank has is the cluster's: `nic` is read and says nothing. Receives from anybody (-1) are refused.

#include "workload/graph.hpp"

namespace weft::workload {

Graph read_goal(std::uint32_t source, spec::Diagnostics& diagnostics);

}  // namespace weft::workload
