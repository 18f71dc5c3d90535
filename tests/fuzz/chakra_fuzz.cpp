// Any bytes as a Chakra trace.
#include <cstddef>
#include <cstdint>

#include "fuzz_graph.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::load_chakra({reinterpret_cast<const char*>(data), size});
  return 0;
}
