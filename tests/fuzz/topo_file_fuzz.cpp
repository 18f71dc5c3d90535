// Any bytes as a .topo file.
#include <cstddef>
#include <cstdint>

#include "fuzz_one.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::load_text("fuzz.topo", {reinterpret_cast<const char*>(data), size});
  return 0;
}
