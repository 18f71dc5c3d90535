#include "sim/flow/flow_ends.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace weft::sim {
namespace {

RC_GTEST_PROP(FlowEnds, TheFirstIsAlwaysAtHand, (const std::vector<std::pair<std::uint8_t, std::uint8_t>>& steps)) {
  FlowEnds ends;
  std::map<std::uint32_t, std::int64_t> times;
  for (const auto& [what, time] : steps) {
    const std::uint32_t flow = what % 32;
    if (what >= 128 && times.contains(flow)) {
      ends.remove(flow);
      times.erase(flow);
    } else {
      ends.set(flow, time);
      times[flow] = time;
    }
    RC_ASSERT(ends.empty() == times.empty());
    if (times.empty()) continue;
    auto first = times.begin();  // flows that end together come by number
    for (auto at = times.begin(); at != times.end(); ++at)
      if (at->second < first->second) first = at;
    RC_ASSERT(ends.flow() == first->first);
    RC_ASSERT(ends.time() == first->second);
  }
}

}  // namespace
}  // namespace weft::sim
