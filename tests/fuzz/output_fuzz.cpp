// Any bytes as what nvidia-smi, nccl-tests and NCCL print.
#include <cstddef>
#include <cstdint>

#include "fuzz_measured.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::read_outputs({reinterpret_cast<const char*>(data), size});
  return 0;
}
