#pragma once
// Which algorithm and protocol NCCL would choose: its published model (NCCL src/graph/tuning.cc),
// time = latency + bytes / bandwidth, over all that can do the operation. It is a chooser and not a clock: what the
// choice takes is simulated.

#include <string>
#include <vector>

#include "collective/plan.hpp"

namespace weft::collective {

struct Estimate {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  double latency_us = 0;
  double bandwidth_gbps = 0;  // GB/s of the operation's bytes, before the correction for trees
  double time_us = 0;
};

// Everything NCCL would consider by itself, best first: never empty for ranks that are joined.
std::vector<Estimate> estimates(const Team& team, Operation operation, std::uint64_t bytes, const Stack& stack);

// The protocol that NCCL would use with a given algorithm.
Protocol protocol_for(const Team& team, Operation operation, Algorithm algorithm, std::uint64_t bytes,
                      const Stack& stack);

}  // namespace weft::collective
