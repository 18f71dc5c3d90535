#pragma once
// What a transfer between two GPUs costs when nothing else is on the way.

#include <cstdint>
#include <optional>

#include "fabric/fabric.hpp"
#include "sim/run/message_sim.hpp"

namespace weft::sim {

// Latency of cables, NICs and switches, and the rate of the slowest part when a message is striped over
// all NICs near the GPU. A relay passes data on chunk by chunk, so it costs latency and no rate. Nobody
// acknowledges what stays inside a scale-up domain. nullopt when nothing joins the two.
std::optional<TransferCost> unloaded_cost(const fabric::Fabric& fabric, std::uint32_t from_gpu, std::uint32_t to_gpu);

}  // namespace weft::sim
