#pragma once
// Small notations of the cluster file: ratios, index ranges, size ranges.

#include <cstdint>
#include <vector>

#include "base/units.hpp"

namespace weft {

// A ratio such as 1, 1.5 or 3:1, kept exact.
struct Ratio {
  std::int64_t over = 1;
  std::int64_t under = 1;
};

// Whole numbers written as 3, [0, 4], 0..7 or 0..3,8..11; ends included, order kept.
struct Indices {
  struct Range {
    std::int64_t first;
    std::int64_t last;
  };
  std::vector<Range> ranges;

  std::int64_t size() const {
    std::int64_t n = 0;
    for (const Range& range : ranges) n += range.last - range.first + 1;
    return n;
  }
  std::int64_t max() const {
    std::int64_t top = -1;
    for (const Range& range : ranges) top = top > range.last ? top : range.last;
    return top;
  }
};

// Sizes written as 1MiB, [1KiB, 1MiB] or 8B..8GiB (doubling).
struct Sizes {
  std::vector<Bytes> values;
};

}  // namespace weft
