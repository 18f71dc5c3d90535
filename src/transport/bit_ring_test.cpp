#include "transport/bit_ring.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace weft::transport {
namespace {

constexpr std::uint32_t kSize = 256;

// Numbers near each other and near a wrap, in a ring and in a set.
RC_GTEST_PROP(BitRing, IsASetOfNumbersNearEachOther, ()) {
  const std::uint32_t base = *rc::gen::inRange<std::uint32_t>(0, 1000) - 500;
  BitRing<kSize> ring{};
  std::set<std::uint32_t> offsets;
  for (const std::uint32_t at : *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange(0u, kSize))) {
    if (offsets.contains(at)) {
      offsets.erase(at);
      ring.clear(base + at);
    } else {
      offsets.insert(at);
      ring.set(base + at);
    }
  }
  RC_ASSERT(ring.count() == offsets.size());
  for (std::uint32_t at = 0; at < kSize; ++at) RC_ASSERT(ring.has(base + at) == offsets.contains(at));
  const auto from = *rc::gen::inRange(0u, kSize - 64);
  const std::uint64_t bits = ring.from(base + from);
  for (std::uint32_t i = 0; i < 64; ++i) RC_ASSERT((bits >> i & 1) == offsets.contains(from + i));
}

RC_GTEST_PROP(BitRing, PassesARunAndForgetsIt, ()) {
  const std::uint32_t base = *rc::gen::inRange<std::uint32_t>(0, 1000) - 500;
  const auto run = *rc::gen::inRange(0u, kSize);
  const auto beyond = *rc::gen::inRange(0u, kSize - run);
  BitRing<kSize> ring{};
  for (std::uint32_t i = 0; i < run; ++i) ring.set(base + i);
  if (beyond > 0) ring.set(base + run + beyond);
  std::uint32_t at = base;
  RC_ASSERT(ring.pass(at) == run);
  RC_ASSERT(at == base + run);
  RC_ASSERT(ring.count() == (beyond > 0));
}

}  // namespace
}  // namespace weft::transport
