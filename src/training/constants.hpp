#pragma once
// What was fitted to whole steps, one number for each framework; docs/training.md lists the tables behind them.

#include <cstdint>

#include "model/training.hpp"

namespace weft::training {

// What passes take longer than their kernels do one after another, per mille: gaps that the host, the allocator and
// streams that wait for each other leave. CUDA graphs leave none.
constexpr std::int64_t gaps_of(model::Framework framework) { return framework == model::Framework::pytorch ? 80 : 15; }

}  // namespace weft::training
