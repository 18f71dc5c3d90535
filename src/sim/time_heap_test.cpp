#include "sim/time_heap.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace weft::sim {
namespace {

RC_GTEST_PROP(TimeHeap, TheFirstIsAlwaysAtHand, (const std::vector<std::pair<std::uint8_t, std::uint8_t>>& steps)) {
  TimeHeap heap;
  std::map<std::uint32_t, std::int64_t> times;
  for (const auto& [what, time] : steps) {
    const std::uint32_t number = what % 32;
    if (what >= 128 && times.contains(number)) {
      heap.remove(number);
      times.erase(number);
    } else {
      heap.set(number, time);
      times[number] = time;
    }
    RC_ASSERT(heap.empty() == times.empty());
    if (times.empty()) continue;
    auto first = times.begin();  // equal times come by number
    for (auto at = times.begin(); at != times.end(); ++at)
      if (at->second < first->second) first = at;
    RC_ASSERT(heap.number() == first->first);
    RC_ASSERT(heap.time() == first->second);
  }
}

}  // namespace
}  // namespace weft::sim
