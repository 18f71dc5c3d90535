// Any bytes as a GOAL schedule, text or binary.
#include <cstddef>
#include <cstdint>

#include "fuzz_graph.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::load_goal({reinterpret_cast<const char*>(data), size});
  return 0;
}
