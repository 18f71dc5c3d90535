#pragma once
// What was fitted to whole steps, one number for each framework; docs/training.md lists the tables behind them.

#include <cstdint>

#include "base/units.hpp"
#include "model/training.hpp"

namespace weft::training {

// What passes take longer than their kernels do one after another, per mille: gaps that the host, the allocator and
// streams that wait for each other leave. CUDA graphs leave none.
constexpr std::int64_t gaps_of(model::Framework framework) { return framework == model::Framework::pytorch ? 80 : 15; }

// What Megatron's host takes for a layer with experts, for each of its matrices and whatever stands around it (Python,
// Transformer Engine's modules, small kernels for each expert), however many tokens a micro-batch has. It waits for how
// many tokens each expert gets, layer by layer, and so is never ahead of the GPU by more than a layer.
constexpr Duration kExpertHostForward = microseconds(800);
constexpr Duration kExpertHostBackward = microseconds(520);
// Where operands are cast to 8 or 4 bits: per mille of that.
constexpr std::int64_t kExpertHostQuantised = 1'350;

}  // namespace weft::training
