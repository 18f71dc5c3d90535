#pragma once
// What a transfer between two GPUs costs when nothing else is on the way.

#include <cstdint>
#include <optional>

#include "fabric/fabric.hpp"
#include "sim/message_sim.hpp"

namespace weft::sim {

// Latency of cables and switches, and the rate of the slowest link. Data that a relay stores and forwards
// is sent twice, one after the other: the rate that remains is that of both in a row. nullopt when nothing
// joins the two.
std::optional<TransferCost> unloaded_cost(const fabric::Fabric& fabric, std::uint32_t from_gpu, std::uint32_t to_gpu);

}  // namespace weft::sim
