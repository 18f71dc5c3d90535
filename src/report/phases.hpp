#pragma once
// A run during which something went down: how much got through before, while nobody had noticed, by other NICs, after.

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "schedule/result.hpp"

namespace weft::report {

struct Phase {
  enum class What : std::uint8_t { before, down, moved, after };  // moved: down, but parts of messages go round it
  What what;
  Duration from = {};
  Duration to = {};
  std::int64_t goodput = 0;  // bit/s
};

// None where nothing went down during the run, or too often to tell.
std::vector<Phase> phases(const schedule::RunResult& result);

// A table of them and a sentence; nothing where there are none.
std::string phases_text(const schedule::RunResult& result, std::size_t width, bool colour);

}  // namespace weft::report
