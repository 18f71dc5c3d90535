#include "base/flat_map.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <utility>
#include <vector>

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

RC_GTEST_PROP(FlatMap, WhatIsErasedIsGoneAndAllElseIsThere, (const std::vector<std::pair<std::uint8_t, bool>>& steps)) {
  FlatMap map;
  std::map<std::uint64_t, std::uint32_t> same;
  std::uint32_t value = 0;
  for (const auto& [key, there] : steps) {
    if (same.contains(key) == there) continue;
    if (there) {
      map.insert(key, same[key] = value++);
    } else {
      map.erase(key);
      same.erase(key);
    }
    for (std::uint32_t each = 0; each < 256; ++each)
      RC_ASSERT(map.find(each) == (same.contains(each) ? same[each] : FlatMap::kNone));
  }
}

TEST(FlatMap, MemoryReturns) {
  FlatMap map;
  for (std::uint32_t i = 0; i < 100'000; ++i) map.insert(i, i);
  for (std::uint32_t i = 0; i < 99'990; ++i) map.erase(i);
  EXPECT_LE(map.slots(), 1024u);
  for (std::uint32_t i = 99'990; i < 100'000; ++i) EXPECT_EQ(map.find(i), i);
  for (std::uint32_t i = 99'990; i < 100'000; ++i) map.erase(i);
  EXPECT_EQ(map.slots(), 0u);
}

}  // namespace
}  // namespace weft
