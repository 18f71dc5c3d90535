#pragma once
// How far a run has come. An executor that offers
//   std::function<bool(const Progress&)> on_progress
// calls it about once per window, from one thread; false means stop and hand over what there is.

#include <cstdint>

namespace weft::schedule {

struct Progress {
  std::int64_t now = 0;  // ps
  std::uint64_t events = 0;
  std::uint64_t delivered_bytes = 0;  // of flows that are done
};

}  // namespace weft::schedule
