#pragma once
// How long a GPU takes for a kernel, from the kernel's shape: a roofline with what measurements show between it and the
// clock. Times are what the GPU is busy; what the host takes to launch is `launch`. docs/compute.md says the laws, the
// constants and how far both are off.

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/units.hpp"
#include "compute/constants.hpp"
#include "model/kinds.hpp"

namespace weft::compute {

// Of operands; products are summed up in 32 bits and written in 16.
enum class Precision : std::uint8_t { bf16, fp8, mxfp8, nvfp4 };

// C = A B with m x k and k x n. Several groups: as many products of this shape by one kernel, as of experts, whose
// addresses are in tables; `batched` where they lie in memory at equal distances, as heads of attention do.
struct Gemm {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t groups = 1;
  Precision precision = Precision::bf16;
  bool batched = false;
  std::int64_t result_bytes = 2;  // that are moved for an element of C: more where it is added to what is there

  auto operator<=>(const Gemm&) const = default;
};

enum class AttentionKernel : std::uint8_t { unfused, flash2, flash3, cudnn, triton };

struct Attention {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t head_dim = 128;   // of queries and keys
  std::int64_t value_dim = 128;  // of values; MLA's differ
  bool causal = true;            // the last query sees all keys, each before it one less
  std::int64_t window = 0;       // keys that a query sees at most; 0: all
  AttentionKernel kernel = AttentionKernel::flash2;
  Precision precision = Precision::bf16;
  // Bytes that are moved for a score between the products of attention that is not fused.
  std::int64_t score_bytes = 4;
  std::int64_t score_backward_bytes = 6;
};

// How a kernel that is bound by memory goes through it: what it gets of the bandwidth that copying has.
enum class Access : std::uint8_t {
  streaming,      // element-wise on contiguous tensors; well made norms and activations of fused libraries
  activation,     // with exponentials or random numbers: GELU, dropout, casts to 8 bits
  norm,           // PyTorch's norms, forward
  norm_backward,  // and backward, with the gradients of their parameters
  softmax,
  widening,            // casts to 32 bits
  permutation,         // of rows
  strided,             // element-wise on slices: nothing is loaded in wide words
  slices,              // put together, as rotary embeddings do
  quantisation,        // by rows: two passes
  block_quantisation,  // by blocks of 32
  many_tensors,        // one after another in a kernel: optimizers
};

enum class Optimizer : std::uint8_t { adam, sgd, lamb };

// Bytes that a step of the optimizer reads and writes for a parameter: gradient, 32-bit parameter and moments (read and
// written), and the 16-bit copy of the parameter where there is one.
struct OptimizerStep {
  std::int64_t parameters = 0;
  Optimizer kind = Optimizer::adam;
  std::int64_t gradient_bytes = 4;
  std::int64_t copy_bytes = 2;  // 0: the model computes with what the optimizer updates
};
// Floating-point operations, two for a product that is added, of what a causal mask or a window leaves.
std::int64_t flops_of(const Gemm& gemm);
std::int64_t forward_flops_of(const Attention& attention);
// The fewest bytes that must be read and written.
Bytes bytes_of(const Gemm& gemm);
Bytes bytes_of(const OptimizerStep& step);

// Clocks fall when tensor cores work long enough, because power is the limit: little in a training step, where other
// kernels come between, and much where matrix products follow each other. After a pause they do not.
enum class Load : std::uint8_t { training, steady, rested };

class Kernels {
 public:
  explicit Kernels(const model::GpuKind& gpu, Load load = Load::training,
                   const Constants& constants = compute::constants());

  Duration gemm(const Gemm& gemm) const;
  Duration attention_forward(const Attention& attention) const;
  Duration attention_backward(const Attention& attention) const;
  // Norms, element-wise operations, permutations, quantisation: all bytes that are read or written.
  Duration memory_bound(Bytes moved, Access access = Access::streaming) const;
  Duration optimizer(const OptimizerStep& step) const;

  // What the host takes to launch a kernel of a framework that runs eagerly.
  Duration launch() const;
  // How long `kernels` that take `busy` together last when the host launches each: it may be too slow for them.
  Duration paced(Duration busy, std::int64_t kernels) const;

  // The same GPU when tensor cores work in so many per mille of the time, where that is known.
  Kernels under(std::int64_t tensor_share) const;
  // The same, kept: who asks for the same clocks again finds what was timed with them.
  const Kernels& loaded(std::int64_t tensor_share) const;
  // The same GPU while communication beside it has so many of its multiprocessors and so much of its memory's
  // bandwidth.
  Kernels beside(std::int64_t multiprocessors, Bandwidth memory) const;

  Compute peak(Precision precision) const;
  // Whether its numbers were measured or follow from another GPU's, in words for a result.
  const std::string& basis() const { return basis_; }

 private:
  Duration untimed(const Gemm& gemm) const;
  Duration tiled(const Gemm& gemm, Tile tile, std::int64_t split) const;
  Duration fused(const Attention& attention, bool backward) const;
  Duration unfused(const Attention& attention, bool backward) const;

  Generation generation_;
  Common common_;
  std::int64_t power_;   // its limit, per mille of what the GPU that was measured has for the same rate
  std::int64_t clocks_;  // per mille of the highest, for tensor cores
  Compute bf16_;
  Compute fp8_;
  Compute fp4_;
  Bandwidth memory_;
  std::int64_t multiprocessors_;
  std::string basis_;

  // Layers are alike, and so are layouts of a search. A copy has its own, which is empty; one object is one thread's.
  struct Kept {
    std::map<Gemm, Duration> products;
    std::map<std::int64_t, std::shared_ptr<const Kernels>> loaded;  // by clocks

    Kept() = default;
    Kept(const Kept&) {}
    Kept& operator=(const Kept&) {
      products.clear();
      loaded.clear();
      return *this;
    }
  };
  mutable Kept kept_;
};

}  // namespace weft::compute
