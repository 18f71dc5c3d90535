#pragma once
// Traffic that needs no file: who sends to whom, all at once.

#include <cstdint>
#include <string>
#include <vector>

#include "workload/matrix.hpp"

namespace weft::workload {

// The names `make_pattern` knows.
const std::vector<std::string>& pattern_names();

// permutation: everybody to somebody else, everybody from one; incast: all to node 0; outcast: node 0
// to all; ring: each to the next. `nodes` take part, `bytes` per flow.
Matrix make_pattern(const std::string& name, std::uint32_t nodes, std::uint64_t bytes, std::uint64_t seed);

}  // namespace weft::workload
