#include "fabric/summary_parts.hpp"

namespace weft::fabric {
namespace {

using model::PortUse;

void add_tiers(const Clos& clos, const Fabric& fabric, Summary& summary) {
  const model::ClosShape& shape = clos.shape();
  const auto& kinds = fabric.cluster().shape.switches;
  const std::uint64_t planes = fabric.planes();
  const auto count = [&](Clos::Tier t) { return planes * clos.count(t); };
  const auto links = [](std::uint32_t a, std::uint32_t b) { return static_cast<std::int64_t>(a) * b; };
  const PortUse to_gateways{fabric.wire(LinkTier::gateway).rate, links(shape.gateways, shape.gateway_bundle)};
  const PortUse leaf_up =
      shape.tiers >= 2 ? PortUse{shape.spine_wire.rate, links(shape.spines_per_pod, shape.bundle)} : to_gateways;
  TierSummary leaf = tier("leaf", kinds[0], count(Clos::Tier::leaf), fullest_leaf(fabric), {leaf_up});
  leaf.ports_in_use =
      ports_needed(kinds[0], {{fullest_leaf(fabric)[0].rate, static_cast<std::int64_t>(fabric.endpoints())}}) +
      static_cast<std::int64_t>(leaf.switches) * ports_needed(kinds[0], {leaf_up});
  summary.tiers.push_back(leaf);
  if (shape.tiers >= 2) {
    std::uint32_t most = 0;  // leaves of the fullest pod
    std::int64_t leaves = 0;
    for (const model::SiteShape& site : shape.sites) {
      most = std::max(most, std::min(site.leaves, shape.leaves_per_pod));
      leaves += site.leaves;
    }
    const PortUse up = shape.tiers == 3
                           ? PortUse{shape.super_wire.rate, links(shape.supers_per_group, shape.super_bundle)}
                           : to_gateways;
    TierSummary spine =
        tier("spine", kinds[1], count(Clos::Tier::spine), {{shape.spine_wire.rate, links(most, shape.bundle)}}, {up});
    spine.ports_in_use =
        static_cast<std::int64_t>(planes) *
            ports_needed(kinds[1], {{shape.spine_wire.rate, leaves * shape.spines_per_pod * shape.bundle}}) +
        static_cast<std::int64_t>(spine.switches) * ports_needed(kinds[1], {up});
    summary.tiers.push_back(spine);
  }
  if (shape.tiers == 3) {
    std::uint32_t pods = 0;
    for (const model::SiteShape& site : shape.sites) pods = std::max(pods, site.pods);
    const std::uint32_t spines = shape.spines_per_pod / shape.super_groups;
    summary.tiers.push_back(tier("super-spine", kinds[2], count(Clos::Tier::super_spine),
                                 {{shape.super_wire.rate, links(pods * spines, shape.super_bundle)}}, {to_gateways}));
  }
  if (shape.gateways > 0) {
    const std::uint32_t gateway = clos.switches() - 1;
    const std::int64_t down =
        clos.ports(gateway) - links(static_cast<std::uint32_t>(shape.sites.size()) - 1, shape.site_links);
    summary.tiers.push_back(
        tier("gateway", kinds.back(), count(Clos::Tier::gateway), {{to_gateways.rate, down}},
             {{shape.site_wire.rate, links(static_cast<std::uint32_t>(shape.sites.size()) - 1, shape.site_links)}}));
  }
}

// What all leaves together can pass up: of each its uplinks, or the NICs below it where those are
// fewer, as on the last leaf of a group that is part full.
Wide above_leaves(const model::ClosShape& clos, const Fabric& fabric) {
  const model::Shape& shape = fabric.cluster().shape;
  const Wide uplinks = static_cast<Wide>(clos.spines_per_pod) * clos.bundle * clos.spine_wire.rate.count();
  Wide sum = 0;
  for (std::size_t g = 0; g < shape.wiring.size(); ++g) {
    const model::Wiring& wiring = shape.wiring[g];
    const model::Group& group = fabric.cluster().groups[g];
    const std::uint32_t nics = shape.rail_planes > 1 ? 1 : group.nics();  // of a server in one plane
    const auto leaf = [&](std::uint32_t servers, std::uint32_t nics_here) {
      const Wide links = static_cast<Wide>(servers) * nics_here * wiring.ports_per_plane;
      return std::min(uplinks, links * wiring.wire.rate.count());
    };
    const auto block = [&](std::uint32_t servers) {
      const std::uint32_t full = nics / wiring.nics_per_leaf;
      return full * leaf(servers, wiring.nics_per_leaf) + leaf(servers, nics % wiring.nics_per_leaf);
    };
    sum += group.servers / wiring.servers_per_block * block(wiring.servers_per_block) +
           block(group.servers % wiring.servers_per_block);
  }
  return sum * fabric.planes();
}

// What crosses a cut through the middle of the servers cannot exceed half of what any tier passes up.
Bandwidth bisection_of(const Clos& clos, const Fabric& fabric, const Summary& summary) {
  const model::ClosShape& shape = clos.shape();
  Wide least = summary.nic_bandwidth.count() / 2;
  if (shape.tiers >= 2) least = std::min(least, above_leaves(shape, fabric) / 2);
  if (shape.tiers == 3)
    least = std::min(least, static_cast<Wide>(fabric.planes()) * clos.count(Clos::Tier::spine) *
                                shape.supers_per_group * shape.super_bundle * shape.super_wire.rate.count() / 2);
  return saturated<Bandwidth>(least);
}

}  // namespace

void sum_up(const Clos& clos, const Fabric& fabric, Summary& summary) {
  add_tiers(clos, fabric, summary);
  summary.bisection = bisection_of(clos, fabric, summary);
  const model::ClosShape& shape = clos.shape();
  const auto sites = static_cast<std::int64_t>(shape.sites.size());
  if (sites < 2) return;
  const Wide pair =
      static_cast<Wide>(shape.site_wire.rate.count()) * shape.site_links * shape.gateways * fabric.planes();
  summary.between_sites = saturated<Bandwidth>(pair);
  const std::int64_t pairs_cut = sites / 2 * (sites - sites / 2);
  summary.bisection = std::min(summary.bisection, saturated<Bandwidth>(pair * pairs_cut));
}

}  // namespace weft::fabric
