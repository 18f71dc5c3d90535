#pragma once
// What spreading packets at random costs beside an even split. Of the many links over which a flow is spread, some get
// more packets than their part, as balls fall into bins: of N packets z * sqrt(N) more, where z is normal and drawn for
// every link. They wait, unless the link has room for them: where it is used by a part of r only, (1 - r) * N packets
// more fit into the same time. The link that is worst decides, for all flows that use it.
//
// That is no loss of rate, only of time: the flow's last packets come later. Permutations on full fat trees show it
// (FlowSim.APermutationWithSprayIsWithinFivePercentOfPackets); a flow alone has none of it.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/wide.hpp"

namespace weft::sim {

inline std::int64_t whole_root(Wide n) {
  std::int64_t root = 0;
  for (std::int64_t bit = std::int64_t{1} << 62; bit > 0; bit >>= 1)
    if (Wide{root + bit} * (root + bit) <= n) root += bit;
  return root;
}

// A normal variable in thousandths, but 0 instead of less, from 32 random bits: what is exceeded with probability u, by
// its values for u = 1/2, 1/4 and so on, between them in proportion to 1/u: too low by 0.06 at most, where it is 1, and
// by 0.03 from 2 on.
inline std::int64_t normal_above_zero(std::uint32_t bits) {
  constexpr std::array<std::int64_t, 33> kExceeded = {0,    674,  1150, 1534, 1863, 2154, 2418, 2660, 2886, 3097, 3297,
                                                      3487, 3668, 3842, 4009, 4170, 4325, 4475, 4621, 4763, 4901, 5035,
                                                      5167, 5295, 5420, 5543, 5663, 5780, 5896, 6009, 6121, 6230, 6338};
  const std::uint64_t inverse = (std::uint64_t{1} << 48) / (std::uint64_t{bits} + 1);  // of u, in 1/2^16
  if (inverse < 2 << 16) return 0;
  const auto power = static_cast<int>(std::bit_width(inverse)) - 17;
  const auto i = static_cast<std::size_t>(power - 1);
  if (i + 1 >= kExceeded.size()) return kExceeded.back();
  const auto beyond = static_cast<std::int64_t>((inverse - (std::uint64_t{1} << (power + 16))) * 1000 >> (power + 16));
  return kExceeded[i] + (kExceeded[i + 1] - kExceeded[i]) * beyond / 1000;
}

// Picoseconds by which the last packets of a flow are late that moved for `moved`, at a link that got `deviation`
// thousandths of a standard deviation more than its part, takes `packet` for one packet and has `unused` millionths of
// its rate left.
inline std::int64_t scatter_delay(std::int64_t moved, std::int64_t packet, std::int64_t unused,
                                  std::int64_t deviation) {
  constexpr std::int64_t kMillion = 1'000'000;
  // The last packet waits for those before it: a packet alone for none.
  const std::int64_t ahead = std::max<std::int64_t>(0, moved - packet);
  const std::int64_t spread = whole_root(Wide{ahead} * packet / kMillion * (kMillion - unused));
  const Wide late = Wide{spread} * deviation / 1000 - Wide{moved} * unused / kMillion;
  return static_cast<std::int64_t>(std::max<Wide>(0, late));
}

}  // namespace weft::sim
