#pragma once
// What a GPU does for one micro-batch in one piece of the model: kernels, and what it exchanges with whom.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "collective/names.hpp"
#include "compute/kernels.hpp"
#include "training/layout.hpp"

namespace weft::training {

// Kinds of kernels.
enum class Part : std::uint8_t { matrices, experts, attention, elementwise, output, recompute, optimizer };
constexpr auto names_of(Part) {
  using enum Part;
  return std::to_array<EnumName<Part>>({{matrices, "matrices"},
                                        {experts, "experts"},
                                        {attention, "attention"},
                                        {elementwise, "norms and element-wise"},
                                        {output, "embedding and output layer"},
                                        {recompute, "recomputing"},
                                        {optimizer, "optimizer"}});
}
inline constexpr std::size_t kParts = 7;

// One collective of every group of a kind at the same time, so many times one after another.
struct Transfer {
  Group group = Group::tensor;
  collective::Operation operation = collective::Operation::all_gather;
  std::uint64_t bytes = 0;  // as nccl-tests counts them
  Duration beside = {};     // computing that can go on at the same time
  std::int64_t times = 1;
};

struct Pass {
  std::array<Duration, kParts> busy = {};
  Duration tensor = {};  // of it, on tensor cores
  std::int64_t kernels = 0;
  std::int64_t host_bytes = 0;  // that go from or to host memory beside it
  Duration host = {};           // what the host takes for layers whose experts it waits for
  std::vector<Transfer> transfers = {};

  Duration computing() const;
  void add(Part part, Duration time, std::int64_t count = 1) {
    busy[static_cast<std::size_t>(part)] += time;
    kernels += count;
  }
  void product(Part part, Duration time) {
    add(part, time);
    tensor += time;
  }
  void add(const Pass& other, std::int64_t times = 1);
};

// The backward pass is of two halves: gradients of what came in, which the stage before waits for, and of parameters,
// for which nobody waits before the optimizer.
struct Passes {
  Pass forward;
  Pass backward;
  Pass weights;

  void add(const Passes& other, std::int64_t times = 1);
};

// Bytes of a gradient, an activation and a parameter that are sent.
inline constexpr std::int64_t kActivation = 2;
inline constexpr std::int64_t kParameter = 2;
// Of a parameter that is kept in host memory.
inline constexpr std::int64_t kHostParameter = 4;

inline compute::Precision precision_of(model::TrainingPrecision precision) {
  using enum model::TrainingPrecision;
  if (precision == fp16) return compute::Precision::bf16;
  return precision == fp8_rowwise ? compute::Precision::fp8 : static_cast<compute::Precision>(precision);
}

// A part of a layer by itself.
inline bool computed_again(const model::TrainingRun& run, model::RecomputeModule module) {
  return std::find(run.recompute_modules.begin(), run.recompute_modules.end(), module) != run.recompute_modules.end();
}

class Work {
 public:
  Work(const model::TrainingRun& run, const Layout& layout, const compute::Kernels& kernels);

  // Of one piece, for one micro-batch.
  Passes chunk(const Chunk& chunk) const;
  // Parameters of a piece that one GPU keeps where they are not sharded: those that all copies share, and experts.
  std::int64_t shared_parameters(const Chunk& chunk) const;
  std::int64_t expert_parameters(const Chunk& chunk) const;
  // What goes to the next stage for a micro-batch, from one GPU.
  std::uint64_t boundary_bytes() const;

 private:
  Passes attention_block(std::int64_t layer) const;
  void project(Passes& out, std::int64_t in, std::int64_t width, Part part) const;
  void gather(Passes& out, Duration forward, Duration backward, Duration weights) const;
  void scatter(Passes& out, Duration forward, Duration backward) const;
  Passes feed_forward(std::int64_t width) const;
  Passes expert_block() const;
  Passes norm() const;
  Passes output_layer() const;
  Passes embedding() const;
  Passes layer(std::int64_t index) const;
  void recompute(Passes& layer, const Passes& core) const;
  void recompute_operators(Passes& layer) const;
  void shard(Passes& layer, std::int64_t parameters) const;

  compute::Gemm gradient(compute::Gemm gemm) const;
  compute::Gemm gemm(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t groups = 1) const;
  Duration quantise(std::int64_t elements) const;
  Duration elementwise(std::int64_t elements, std::int64_t bytes,
                       compute::Access access = compute::Access::streaming) const {
    return kernels_.memory_bound(Bytes(elements * bytes), access);
  }
  // One kernel of a pass, bound by memory.
  void moves(Pass& pass, std::int64_t elements, std::int64_t bytes,
             compute::Access access = compute::Access::streaming) const {
    pass.add(Part::elementwise, elementwise(elements, bytes, access));
  }
  bool again(model::RecomputeModule module) const { return computed_again(run_, module); }
  void launch(Passes& out) const;
  // PyTorch launches a kernel for each operator.
  bool eager() const { return run_.framework == model::Framework::pytorch && !run_.compile; }
  void activation(Passes& out, std::int64_t elements) const;
  void rotary(Passes& out, std::int64_t elements) const;
  void dispatch(Passes& out) const;
  void meet(Passes& core, const compute::Attention& attention) const;

  const model::TrainingRun& run_;
  const Layout& layout_;
  const compute::Kernels& kernels_;
  std::int64_t tokens_ = 0;    // of a micro-batch, that a tensor group has
  std::int64_t resident_ = 0;  // of those, in norms and residuals of one GPU
};

}  // namespace weft::training
