#pragma once
// What a GPU does within itself: a copy reads and writes every byte once, a reduction reads twice and writes once.
// Switches of scale-up domains do so at once.

#include <cstdint>

#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/schedule.hpp"

namespace weft::sim {

inline Duration local_time(const fabric::Fabric& fabric, std::uint32_t rank, schedule::Instruction::Kind kind,
                           std::uint64_t bytes) {
  if (rank >= fabric.cluster().gpus) return Duration(0);
  const auto& memory = fabric.cluster().groups[fabric.describe(fabric.gpu(rank)).group].spec.gpu.memory_bandwidth;
  const std::int64_t passes = kind == schedule::Instruction::Kind::reduce ? 3 : 2;
  return memory ? transfer_time(Bytes(static_cast<std::int64_t>(bytes)), *memory / passes) : Duration(0);
}

}  // namespace weft::sim
