#include "sim/packet/port.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weft::sim {
namespace {

constexpr std::uint32_t kDraws = 1u << 31;

RC_GTEST_PROP(Port, MarksGrowInProportionBetweenTheirBounds, ()) {
  // Queues of nanoseconds at 100 Tb/s, of a minute at 1 Gb/s and 8 GiB.
  Link link;
  const int size = *rc::gen::inRange(10, 47);
  const auto below = [](std::uint64_t end) {
    return static_cast<std::int64_t>(*rc::gen::arbitrary<std::uint64_t>() % end);
  };
  link.mark_from = below(std::uint64_t{1} << size);
  const std::int64_t span = 1000 + below(std::uint64_t{1} << size);
  link.mark_to = link.mark_from + span;
  const std::int64_t over = 1 + below(static_cast<std::uint64_t>(span - 1));
  // As many of all draws lead to a mark as it is part of the way: an exact count.
  const auto marked = static_cast<std::uint32_t>(((static_cast<Wide>(over) << 31) + span - 1) / span);
  const auto any = static_cast<std::uint32_t>(below(kDraws));
  for (const std::uint32_t draw : {0u, marked - 1, marked, any, kDraws - 1})
    RC_ASSERT(marks(link, link.mark_from + over, draw) == (draw < marked));
}

}  // namespace
}  // namespace weft::sim
