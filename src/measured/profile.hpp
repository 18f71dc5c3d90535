#pragma once
// A step of training as PyTorch's profiler saw it on one GPU (Kineto's trace, Chrome's trace-event JSON, perhaps
// gzipped): kernels by kind, NCCL's operations, and how much of them computing hides.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/names.hpp"
#include "base/result.hpp"

namespace weft::measured {

enum class KernelKind : std::uint8_t { matrices, attention, elementwise, optimizer, copies, communication };
constexpr auto names_of(KernelKind) {
  using enum KernelKind;
  return std::to_array<EnumName<KernelKind>>({{matrices, "matrices"},
                                              {attention, "attention"},
                                              {elementwise, "norms and element-wise"},
                                              {optimizer, "optimizer"},
                                              {copies, "copies"},
                                              {communication, "communication"}});
}
inline constexpr std::size_t kKernelKinds = 6;

// By what kernels of PyTorch, cuBLAS, cuDNN, FlashAttention, Apex and NCCL are called.
KernelKind kind_of(std::string_view kernel);

// Operations of one kind and size.
struct ProfiledOperation {
  std::int64_t count = 0;
  double us = 0;  // all together
  std::uint64_t bytes = 0;
};

struct Profile {
  std::string gpu;  // as its driver calls it; empty: not said
  std::int64_t rank = 0;
  std::int64_t ranks = 0;    // 0: not said
  std::int64_t steps = 0;    // that the profiler marked; 0: none, and the trace is taken as one
  std::int64_t kernels = 0;  // of all steps
  // Microseconds of one step, on average.
  double step = 0;
  std::array<double, kKernelKinds> busy = {};           // sums, whatever runs beside
  double computing = 0;                                 // some kernel that is no communication runs
  double communicating = 0;                             // some NCCL kernel runs
  double exposed = 0;                                   // and nothing computes meanwhile
  double idle = 0;                                      // the GPU does nothing
  std::map<std::string, ProfiledOperation> operations;  // NCCL's, by name; of all steps
};

// What is wrong with it, in words, where it cannot be used. `bytes` is the file as it is, gzipped or not.
Result<Profile, std::string> read_profile(const std::string& bytes);

}  // namespace weft::measured
