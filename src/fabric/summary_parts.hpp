#pragma once
// What the summaries of all kinds of networks share, and what each kind sums up itself: its tiers, and what crosses a
// cut through the middle.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/wide.hpp"
#include "fabric/summary.hpp"

namespace weft::fabric {

// Sums over a whole cluster are made in 128 bits; what does not fit 64 is the largest that does.
template <class Q>
Q saturated(Wide count) {
  return Q(static_cast<std::int64_t>(std::min<Wide>(count, std::numeric_limits<std::int64_t>::max())));
}

// The NIC ports of the fullest leaf, by rate.
std::vector<model::PortUse> fullest_leaf(const Fabric& fabric);
// A tier of equal switches, all of them as full as these.
TierSummary tier(std::string name, const model::SwitchKind& kind, std::uint64_t switches,
                 const std::vector<model::PortUse>& below, const std::vector<model::PortUse>& above);

// Of `summary` the bandwidth of all NICs is known.
void sum_up(const Clos& clos, const Fabric& fabric, Summary& summary);
void sum_up(const Dragonfly& dragonfly, const Fabric& fabric, Summary& summary);

}  // namespace weft::fabric
