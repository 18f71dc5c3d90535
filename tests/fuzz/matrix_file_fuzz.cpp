// Any bytes as a .cm file.
#include <cstddef>
#include <cstdint>

#include "fuzz_matrix.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::load_matrix({reinterpret_cast<const char*>(data), size});
  return 0;
}
