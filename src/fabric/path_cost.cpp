#include "fabric/path_cost.hpp"

#include <algorithm>

#include "fabric/summary.hpp"

namespace weft::fabric {
namespace {

// A path names one scale-up switch, but a transfer is striped over all of its domain.
Bandwidth striped_rate(const Fabric& fabric, const Link& link) {
  if (link.link != LinkClass::scale_up) return link.rate;
  const auto& domain = *fabric.cluster().groups[fabric.describe(link.from).group].spec.scale_up;
  return link.rate * std::max<std::int64_t>(1, domain.switches);
}

}  // namespace

PathCost path_cost(const Fabric& fabric, const Path& path) {
  PathCost cost{path_latency(fabric, path), {}};
  for (const Link& link : path.links) {
    const Bandwidth rate = striped_rate(fabric, link);
    if (cost.rate.count() == 0 || rate < cost.rate) cost.rate = rate;
  }
  return cost;
}

}  // namespace weft::fabric
