#include "fabric/summary_parts.hpp"

namespace weft::fabric {
namespace {

Bandwidth bisection_of(const Dragonfly& dragonfly, const Fabric& fabric, const Summary& summary) {
  const std::uint32_t groups = dragonfly.shape().groups;
  if (groups < 2) return summary.nic_bandwidth / 2;
  // Pairs of groups across the middle, by how far they are apart on the circle.
  const std::uint32_t half = groups / 2;
  std::int64_t links = 0;
  for (std::uint32_t ahead = 1; ahead < groups; ++ahead) {
    // Groups i < half whose partner i + ahead lies in the other half, without wrapping.
    const std::uint32_t low = ahead >= half ? 0 : half - ahead;
    const std::uint32_t high = std::min(half, groups - ahead);
    if (high > low) links += static_cast<std::int64_t>(high - low) * dragonfly.links_between(ahead);
  }
  const Wide cut = static_cast<Wide>(links) * dragonfly.shape().global_wire.rate.count() * fabric.planes();
  return saturated<Bandwidth>(std::min<Wide>(cut, summary.nic_bandwidth.count() / 2));
}

}  // namespace

void sum_up(const Dragonfly& dragonfly, const Fabric& fabric, Summary& summary) {
  const model::DragonflyShape& shape = dragonfly.shape();
  summary.tiers.push_back(tier("router", fabric.cluster().shape.switches[0],
                               static_cast<std::uint64_t>(dragonfly.switches()) * fabric.planes(), fullest_leaf(fabric),
                               {{shape.local_wire.rate, shape.routers_per_group - 1 + shape.global_links}}));
  summary.bisection = bisection_of(dragonfly, fabric, summary);
}

}  // namespace weft::fabric
