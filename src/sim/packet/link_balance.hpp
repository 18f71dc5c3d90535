#pragma once
// How evenly the links between switches were used.

#include <cstdint>

#include "sim/packet/packet_sim.hpp"

namespace weft::sim {

// How long the link between switches that was busy longest was so, in thousandths of what such links were on average:
// 1000 where packets were spread evenly. Those that carried nothing count; 0 where none carried anything.
std::int64_t fullest_link(const PacketSim& sim);

}  // namespace weft::sim
