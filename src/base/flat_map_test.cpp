#include "base/flat_map.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace weft {
namespace {

RC_GTEST_PROP(FlatMap, FindsWhatWasInsertedAndNothingElse, (const std::map<std::uint64_t, std::uint16_t>& entries)) {
  FlatMap map;
  for (const auto& [key, value] : entries) map.insert(key, value);
  for (const auto& [key, value] : entries) {
    RC_ASSERT(map.find(key) == value);
    if (!entries.contains(key + 1)) RC_ASSERT(map.find(key + 1) == FlatMap::kNone);
  }
}

}  // namespace
}  // namespace weft
