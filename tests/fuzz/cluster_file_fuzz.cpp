// Any bytes as a cluster file.
#include <cstddef>
#include <cstdint>

#include "fuzz_one.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::load_text("fuzz.weft.yaml", {reinterpret_cast<const char*>(data), size});
  return 0;
}
