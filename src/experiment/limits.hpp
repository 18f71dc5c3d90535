#pragma once
// What a run may take at most: --limit time=10ms,events=1e9,memory=4GiB,wall=60s

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spec/diagnostics.hpp"

namespace weft::experiment {

struct Limit {
  enum class Kind : std::uint8_t { time, events, memory, wall };
  Kind kind;
  std::int64_t most;  // of what its kind counts: picoseconds, events, bytes, picoseconds
  std::string text;   // as it was written: "time=10ms"
};
using Limits = std::vector<Limit>;

// What stopped a run where no limit did: its observer.
inline constexpr std::string_view kStoppedByObserver = "ctrl-c";

// Complains about what it does not understand, all of it at once. An empty text is no limit.
Limits parse_limits(const std::string& text, spec::Diagnostics& diagnostics);

}  // namespace weft::experiment
