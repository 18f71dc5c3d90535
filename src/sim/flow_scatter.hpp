#pragma once
// What spreading packets at random costs beside an even split. Of the many links over which a flow is spread, one gets
// more packets than its part, as balls fall into bins: of N packets about z * sqrt(N) more, where z is the expected
// maximum of as many normal variables as there are links. They wait, unless the link has room for them: where it is
// used by a part of r only, (1 - r) * N packets more fit into the same time.
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

// The expected maximum of 2^i normal variables in thousandths, by numerical integration of its density.
inline std::int64_t expected_maximum(std::uint64_t variables) {
  constexpr std::array<std::int64_t, 17> kMaximum = {0,    564,  1029, 1424, 1766, 2070, 2344, 2595, 2827,
                                                     3044, 3248, 3442, 3626, 3802, 3971, 4134, 4291};
  const auto i = static_cast<std::size_t>(std::bit_width(std::max<std::uint64_t>(1, variables)) - 1);
  if (i + 1 >= kMaximum.size()) return kMaximum.back();
  // Thousandths of the way to the next.
  const auto beyond = static_cast<std::int64_t>((variables - (std::uint64_t{1} << i)) * 1000 >> i);
  return kMaximum[i] + (kMaximum[i + 1] - kMaximum[i]) * beyond / 1000;
}

// Picoseconds by which the last packets of a flow are late that moved for `moved`, spread over so many links; the
// fullest of them takes `packet` for one packet and has `unused` millionths of its rate left.
inline std::int64_t scatter_delay(std::int64_t moved, std::int64_t packet, std::int64_t unused, std::uint64_t links) {
  constexpr std::int64_t kMillion = 1'000'000;
  // The last packet waits for those before it: a packet alone for none.
  const std::int64_t ahead = std::max<std::int64_t>(0, moved - packet);
  const std::int64_t spread = whole_root(Wide{ahead} * packet / kMillion * (kMillion - unused));
  const Wide late = Wide{spread} * expected_maximum(links) / 1000 - Wide{moved} * unused / kMillion;
  return static_cast<std::int64_t>(std::max<Wide>(0, late));
}

}  // namespace weft::sim
