#include "fabric/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/wide.hpp"

namespace weft::fabric {
namespace {

using model::ports_needed;
using model::PortUse;

// Sums over a whole cluster are made in 128 bits; what does not fit 64 is the largest that does.
template <class Q>
Q saturated(Wide count) {
  return Q(static_cast<std::int64_t>(std::min<Wide>(count, std::numeric_limits<std::int64_t>::max())));
}

std::uint64_t nic_links(const Fabric& fabric) { return fabric.endpoints(); }

// The NIC ports of the fullest leaf, by rate.
std::vector<PortUse> fullest_leaf(const Fabric& fabric) {
  const model::Shape& shape = fabric.cluster().shape;
  const bool chassis = fabric.cluster().file.fabric.kind == model::FabricKind::single_chassis;
  std::vector<PortUse> uses;
  for (std::size_t g = 0; g < shape.wiring.size(); ++g) {
    const model::Wiring& wiring = shape.wiring[g];
    const std::uint32_t servers = std::min(wiring.servers_per_block, fabric.cluster().groups[g].servers);
    const PortUse use{wiring.wire.rate,
                      static_cast<std::int64_t>(servers) * wiring.nics_per_leaf * wiring.ports_per_plane};
    if (chassis || uses.empty()) {
      uses.push_back(use);
    } else if (static_cast<Wide>(use.count) * use.rate.count() >
               static_cast<Wide>(uses[0].count) * uses[0].rate.count()) {
      uses[0] = use;
    }
  }
  return uses;
}

Bandwidth total(const std::vector<PortUse>& uses) {
  Wide sum = 0;
  for (const PortUse& use : uses) sum += static_cast<Wide>(use.count) * use.rate.count();
  return saturated<Bandwidth>(sum);
}

TierSummary tier(std::string name, const model::SwitchKind& kind, std::uint64_t switches,
                 const std::vector<PortUse>& below, const std::vector<PortUse>& above) {
  TierSummary out{std::move(name), kind.kind, switches, kind.ports, 0, 0, total(below), total(above)};
  std::vector<PortUse> all = below;
  all.insert(all.end(), above.begin(), above.end());
  out.ports_used = ports_needed(kind, all);
  out.ports_in_use = out.ports_used * static_cast<std::int64_t>(switches);
  return out;
}

void clos_tiers(const Fabric& fabric, Summary& summary) {
  const model::ClosShape& shape = fabric.clos()->shape();
  const auto& kinds = fabric.cluster().shape.switches;
  const std::uint64_t planes = fabric.planes();
  const auto count = [&](Clos::Tier t) { return planes * fabric.clos()->count(t); };
  const auto links = [](std::uint32_t a, std::uint32_t b) { return static_cast<std::int64_t>(a) * b; };
  const PortUse to_gateways{fabric.wire(LinkTier::gateway).rate, links(shape.gateways, shape.gateway_bundle)};
  const PortUse leaf_up =
      shape.tiers >= 2 ? PortUse{shape.spine_wire.rate, links(shape.spines_per_pod, shape.bundle)} : to_gateways;
  TierSummary leaf = tier("leaf", kinds[0], count(Clos::Tier::leaf), fullest_leaf(fabric), {leaf_up});
  leaf.ports_in_use =
      ports_needed(kinds[0], {{fullest_leaf(fabric)[0].rate, static_cast<std::int64_t>(nic_links(fabric))}}) +
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
    const std::uint32_t gateway = fabric.clos()->switches() - 1;
    const std::int64_t down =
        fabric.clos()->ports(gateway) - links(static_cast<std::uint32_t>(shape.sites.size()) - 1, shape.site_links);
    summary.tiers.push_back(
        tier("gateway", kinds.back(), count(Clos::Tier::gateway), {{to_gateways.rate, down}},
             {{shape.site_wire.rate, links(static_cast<std::uint32_t>(shape.sites.size()) - 1, shape.site_links)}}));
  }
}

// What all leaves together can pass up: of each its uplinks, or the NICs below it where those are
// fewer, as on the last leaf of a group that is part full.
Wide above_leaves(const Fabric& fabric) {
  const model::ClosShape& clos = fabric.clos()->shape();
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
Bandwidth clos_bisection(const Fabric& fabric, const Summary& summary) {
  const model::ClosShape& shape = fabric.clos()->shape();
  Wide least = summary.nic_bandwidth.count() / 2;
  if (shape.tiers >= 2) least = std::min(least, above_leaves(fabric) / 2);
  if (shape.tiers == 3)
    least = std::min(least, static_cast<Wide>(fabric.planes()) * fabric.clos()->count(Clos::Tier::spine) *
                                shape.supers_per_group * shape.super_bundle * shape.super_wire.rate.count() / 2);
  return saturated<Bandwidth>(least);
}

Bandwidth dragonfly_bisection(const Fabric& fabric, const Summary& summary) {
  const Dragonfly& dragonfly = *fabric.dragonfly();
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

// Far pairs are at the ends of groups, pods and sites, and in a Dragonfly anywhere: the ends of each
// group against each other, and a fixed sample.
std::vector<std::pair<std::uint32_t, std::uint32_t>> far_pairs(const Fabric& fabric) {
  std::set<std::uint32_t> ends;
  for (const model::Group& group : fabric.cluster().groups) {
    const std::uint32_t last = group.first_gpu + group.servers * group.gpus() - 1;
    for (const std::uint32_t gpu : {group.first_gpu, group.first_gpu + group.gpus() - 1, last, last + 1 - group.gpus()})
      ends.insert(gpu);
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const std::uint32_t from : ends)
    for (const std::uint32_t to : ends) pairs.emplace_back(from, to);
  constexpr std::uint32_t kSample = 256;
  for (std::uint32_t i = 0; i < kSample; ++i)
    pairs.emplace_back(pick(mix64(2 * i), fabric.cluster().gpus), pick(mix64(2 * i + 1), fabric.cluster().gpus));
  return pairs;
}

void find_longest(const Fabric& fabric, Summary& summary) {
  const Failures none = fabric.no_failures();
  for (const auto& [from, to] : far_pairs(fabric)) {
    const auto path = from == to ? std::nullopt : fabric.path(from, to, 0, none);
    if (!path) continue;
    const Duration latency = path_latency(fabric, *path);
    if (summary.longest && latency <= summary.longest->latency) continue;
    LongestPath longest{from, to, 0, static_cast<std::uint32_t>(path->links.size()), latency};
    for (const Link& link : path->links) longest.switches += fabric.describe(link.to).kind == NodeKind::network_switch;
    summary.longest = longest;
  }
}

void count_paths(const Fabric& fabric, Summary& summary) {
  // From the first NIC port: to the ends of the cluster in its plane.
  const std::uint32_t plane = fabric.attachment(0).plane;
  std::vector<std::uint32_t> others;
  const std::uint32_t step = std::max(1u, fabric.endpoints() / 4096);
  for (std::uint32_t e = 1; e < fabric.endpoints(); e += step) others.push_back(e);
  for (std::uint32_t e = fabric.endpoints(); e-- > 1 && fabric.endpoints() - e <= 64;) others.push_back(e);
  for (const std::uint32_t e : others) {
    const Attachment where = fabric.attachment(e);
    if (where.plane != plane || where.target.leaf == fabric.attachment(0).target.leaf) continue;
    const std::uint64_t paths = fabric.path_count(0, e);
    if (summary.paths_near == 0 || paths < summary.paths_near) summary.paths_near = paths;
    summary.paths_far = std::max(summary.paths_far, paths);
  }
  summary.paths_near *= fabric.cluster().shape.port_planes;
  summary.paths_far *= fabric.cluster().shape.port_planes;
}

}  // namespace

Duration path_latency(const Fabric& fabric, const Path& path) {
  Duration sum;
  for (const Link& link : path.links) {
    sum += link.latency;
    const Node to = fabric.describe(link.to);
    if (to.kind == NodeKind::network_switch) sum += fabric.switch_kind(to.local).latency;
    if (to.kind == NodeKind::nic) sum += fabric.cluster().groups[to.group].spec.nic.latency;
  }
  return sum;
}

Summary summarise(const Fabric& fabric) {
  Summary summary;
  Wide nic_bandwidth = 0;
  for (const model::Group& group : fabric.cluster().groups)
    nic_bandwidth += static_cast<Wide>(group.spec.nic.rate.count()) * group.nics() * group.servers;
  summary.nic_bandwidth = saturated<Bandwidth>(nic_bandwidth);
  if (const Clos* clos = fabric.clos()) {
    clos_tiers(fabric, summary);
    summary.bisection = clos_bisection(fabric, summary);
    if (const auto sites = static_cast<std::int64_t>(clos->shape().sites.size()); sites > 1) {
      const Wide pair = static_cast<Wide>(clos->shape().site_wire.rate.count()) * clos->shape().site_links *
                        clos->shape().gateways * fabric.planes();
      summary.between_sites = saturated<Bandwidth>(pair);
      const std::int64_t pairs_cut = sites / 2 * (sites - sites / 2);
      summary.bisection = std::min(summary.bisection, saturated<Bandwidth>(pair * pairs_cut));
    }
  } else if (const Dragonfly* dragonfly = fabric.dragonfly()) {
    const model::DragonflyShape& shape = dragonfly->shape();
    summary.tiers.push_back(tier("router", fabric.cluster().shape.switches[0],
                                 static_cast<std::uint64_t>(dragonfly->switches()) * fabric.planes(),
                                 fullest_leaf(fabric),
                                 {{shape.local_wire.rate, shape.routers_per_group - 1 + shape.global_links}}));
    summary.bisection = dragonfly_bisection(fabric, summary);
  }
  std::vector<std::uint64_t> switches;
  for (const TierSummary& each : summary.tiers) switches.push_back(each.switches);
  summary.costs = costs_of(fabric, switches);
  find_longest(fabric, summary);
  if (fabric.has_network()) count_paths(fabric, summary);
  return summary;
}

ScaleStep scale_step(std::uint32_t servers, bool efa) {
  // Row P7: the steps of the scale guide in seed 003.
  if (servers <= 8)
    return {"small (up to 8 servers)",
            fmt::format("proof of concept, models of about 7B; quota request small or not needed; {}",
                        efa ? "standard EFA" : "the network as it comes")};
  if (servers <= 64)
    return {"medium (up to 64 servers)",
            "models of about 70B; quota request required, with reason and plan; network tuning matters"};
  if (servers <= 512)
    return {"large (up to 512 servers)",
            "models of about 400B; quota in stages agreed with the provider; UltraCluster-class fabric"};
  return {"extra large (more than 512 servers)",
          "frontier models; close work with the provider, staged roll-out, several file systems"};
}

}  // namespace weft::fabric
