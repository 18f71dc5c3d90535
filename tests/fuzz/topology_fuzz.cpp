// Any bytes as a NCCL topology file, or as a matrix of nvidia-smi.
#include <cstddef>
#include <cstdint>

#include "fuzz_measured.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::load_topology({reinterpret_cast<const char*>(data), size});
  return 0;
}
