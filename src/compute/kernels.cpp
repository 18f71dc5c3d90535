#include "compute/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/wide.hpp"

namespace weft::compute {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000'000;  // in ps

std::int64_t divided_up(Wide amount, Wide parts) { return static_cast<std::int64_t>((amount + parts - 1) / parts); }

// Rounded up: no kernel beats its roofline.
Duration time_of(std::int64_t work, std::int64_t per_second, std::int64_t per_mille) {
  return Duration(divided_up(Wide{work} * kSecond * 1000, Wide{per_second} * per_mille));
}

std::int64_t bits_of(Precision precision) {
  return precision == Precision::bf16 ? 16 : precision == Precision::nvfp4 ? 4 : 8;
}

// Keys that all queries of a head see together.
std::int64_t seen(const Attention& each) {
  const std::int64_t most = each.window > 0 ? std::min(each.window, each.keys) : each.keys;
  if (!each.causal) return each.queries * most;
  // The last query sees `keys`, the first `keys - queries + 1`; those before the window is full make a triangle.
  const std::int64_t first = std::max<std::int64_t>(0, each.keys - each.queries + 1);
  const std::int64_t growing = std::clamp<std::int64_t>(most - first, 0, each.queries);
  const std::int64_t triangle = growing * (first + first + growing - 1) / 2;
  return triangle + (each.queries - growing) * most;
}

}  // namespace

Bytes bytes_of(const Gemm& gemm) {
  const std::int64_t read = (gemm.m + gemm.n) * gemm.k * bits_of(gemm.precision) / 8;
  return Bytes(gemm.groups * (read + 2 * gemm.m * gemm.n));
}

Bytes bytes_of(const OptimizerStep& step) {
  // Parameter and moments are read and written in 32 bits. LAMB reads both again for the norms of its layers.
  const std::int64_t state = step.kind == Optimizer::sgd ? 8 : step.kind == Optimizer::adam ? 24 : 36;
  return Bytes(step.parameters * (state + step.gradient_bytes + step.copy_bytes));
}

std::int64_t flops_of(const Gemm& gemm) { return 2 * gemm.m * gemm.n * gemm.k * gemm.groups; }

std::int64_t forward_flops_of(const Attention& attention) {
  return 2 * attention.batch * attention.heads * seen(attention) * (attention.head_dim + attention.value_dim);
}

Kernels::Kernels(const model::GpuKind& gpu, const Constants& constants)
    : generation_(generation_of(gpu.kind, constants)),
      bf16_(gpu.fp16_dense.value_or(Compute(1'000'000'000'000))),
      fp8_(gpu.fp8_dense.value_or(bf16_)),
      fp4_(gpu.fp4_dense.value_or(fp8_)),
      memory_(gpu.memory_bandwidth.value_or(gigabits_per_second(8'000))),
      multiprocessors_(gpu.multiprocessors.value_or(100)) {
  basis_ = generation_.scaled.empty() ? fmt::format("kernels of {} GPUs were measured", generation_.name)
                                      : fmt::format("kernels are scaled from {}'s", generation_.scaled);
}

Compute Kernels::peak(Precision precision) const {
  return precision == Precision::bf16 ? bf16_ : precision == Precision::nvfp4 ? fp4_ : fp8_;
}

Duration Kernels::memory_bound(Bytes moved) const {
  return nanoseconds(generation_.kernel_ns) + time_of(moved.count() * 8, memory_.count(), generation_.memory_share);
}

Duration Kernels::gemm(const Gemm& gemm) const {
  const Duration products = time_of(flops_of(gemm), peak(gemm.precision).count(), generation_.matrix_share);
  return std::max(nanoseconds(generation_.kernel_ns) + products, memory_bound(compute::bytes_of(gemm)));
}

Duration Kernels::attention_forward(const Attention& attention) const {
  return nanoseconds(generation_.kernel_ns) +
         time_of(forward_flops_of(attention), peak(attention.precision).count(), generation_.attention_share);
}

Duration Kernels::attention_backward(const Attention& attention) const {
  // Scores are computed again: five products instead of two.
  return nanoseconds(generation_.kernel_ns) +
         time_of(forward_flops_of(attention) * 5 / 2, peak(attention.precision).count(), generation_.backward_share);
}

Duration Kernels::optimizer(const OptimizerStep& step) const { return memory_bound(compute::bytes_of(step)); }

Duration Kernels::launch() const { return nanoseconds(generation_.launch_ns); }

Duration Kernels::paced(Duration busy, std::int64_t kernels) const { return std::max(busy, launch() * kernels); }

Kernels Kernels::beside(std::int64_t multiprocessors, Bandwidth memory) const {
  Kernels rest = *this;
  rest.multiprocessors_ = std::max<std::int64_t>(1, multiprocessors_ - multiprocessors);
  const auto left = [&](Compute all) {
    return Compute(static_cast<std::int64_t>(Wide{all.count()} * rest.multiprocessors_ / multiprocessors_));
  };
  rest.bf16_ = left(bf16_);
  rest.fp8_ = left(fp8_);
  rest.fp4_ = left(fp4_);
  rest.memory_ = std::max(memory_ - memory, memory_ / 10);
  return rest;
}

}  // namespace weft::compute
