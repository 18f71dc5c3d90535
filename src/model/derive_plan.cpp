#include "model/derive_plan.hpp"

#include <fmt/format.h>

#include <numeric>

#include "base/text.hpp"
#include "base/wide.hpp"

namespace weft::model::derivation {
namespace {

// Servers below one leaf (or router) when the file does not say: what the ports allow.
std::int64_t default_block(const ShapePlan& plan, const Group& group) {
  const SwitchKind& leaf = plan.spec.leaf_switch;
  const std::int64_t per_server = plan.spec.kind == FabricKind::rail_only
                                      ? group.spec.nic.ports / plan.spec.planes
                                      : group.spec.nics * group.spec.nic.ports / plan.spec.planes;
  const Bandwidth rate = std::min(group.spec.nic.port_rate(), plan.spec.link.rate.value_or(group.spec.nic.port_rate()));
  const Ratio over = plan.spec.oversubscription.value_or(Ratio{});
  const auto needs = [&](std::int64_t servers) { return ports_needed(leaf, {{rate, servers * per_server}}); };
  if (needs(1) < 0) return 1;  // the link is too fast for the leaf; check_ports says so
  if (plan.cluster.groups.size() == 1 && needs(group.servers) <= leaf.ports) return group.servers;
  const auto fits = [&](std::int64_t servers) {
    const std::int64_t down = servers * per_server;
    if (needs(servers) > leaf.ports) return false;
    const Wide up_bits = static_cast<Wide>(rate.count()) * down * over.under / over.over;
    const Bandwidth up_rate = plan.spec.spine_link && plan.spec.spine_link->rate ? *plan.spec.spine_link->rate
                                                                                 : plan.spec.link.rate.value_or(rate);
    const Wide links = (up_bits + up_rate.count() - 1) / up_rate.count();
    std::int64_t up = static_cast<std::int64_t>(std::min<Wide>(links, kMostSwitches));
    if (plan.spec.spines && plan.spec.parallel_links) up = *plan.spec.spines * *plan.spec.parallel_links;
    const std::int64_t needed = ports_needed(leaf, {{rate, down}, {up_rate, up}});
    return needed >= 0 && needed <= leaf.ports;
  };
  // More servers never need fewer ports, so the largest count that fits is found by halving.
  std::int64_t low = 1;
  std::int64_t high = static_cast<std::int64_t>(group.servers) + 1;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

// How many servers share how many leaves.
void set_block(const ShapePlan& plan, const Group& group, Wiring& wiring) {
  const FabricSpec& spec = plan.spec;
  wiring.nics_per_leaf = group.nics();
  switch (spec.kind) {
    case FabricKind::rail_optimized:
      wiring.servers_per_block = u32(spec.scalable_unit);
      wiring.nics_per_leaf = u32(std::min<std::int64_t>(spec.rails_per_leaf, group.spec.nics));
      wiring.leaves_per_block = u32(ceil_div(group.nics(), wiring.nics_per_leaf));
      return;
    case FabricKind::single_chassis:
      wiring.servers_per_block = group.servers;
      return;
    case FabricKind::dragonfly:
      wiring.servers_per_block = u32(spec.servers_per_router);
      return;
    case FabricKind::fat_tree: {
      const std::int64_t half = spec.k.value_or(spec.leaf_switch.ports) / 2;
      const std::int64_t per_server = group.nics() * wiring.ports_per_plane;
      wiring.servers_per_block = u32(std::max<std::int64_t>(1, half / per_server));
      return;
    }
    case FabricKind::rail_only:
      wiring.nics_per_leaf = 1;
      wiring.servers_per_block = u32(spec.servers_per_leaf.value_or(default_block(plan, group)));
      return;
    case FabricKind::tor_clos:
      wiring.servers_per_block = u32(spec.servers_per_leaf.value_or(default_block(plan, group)));
      return;
    case FabricKind::none:  // joins nothing
    case FabricKind::topo:  // says itself what hangs where
      return;
  }
}

}  // namespace

std::string ratio_text(std::int64_t over, std::int64_t under) {
  const std::int64_t common = std::gcd(over, under);
  return fmt::format("{}:{}", over / common, under / common);
}

Wire wire_of(const LinkSpec& link, Bandwidth rate) {
  // millimetres x picoseconds per metre / 1000, rounded up: a signal is never early.
  const std::int64_t latency = ceil_div(link.cable.count() * link.medium.latency_per_metre.count(), 1000);
  return {rate, Duration(latency), link.shaper.value_or(Shaper{})};
}

std::optional<Problem> check_servers(const Cluster& cluster, const FabricSpec& spec) {
  const bool rails = spec.kind == FabricKind::rail_optimized || spec.kind == FabricKind::rail_only;
  const Group& first = cluster.groups[0];
  const auto nics = [](const Group& group) {
    return fmt::format("{} of {} x {}", counted(group.spec.nics, "NIC"), group.spec.nic.ports,
                       brief(group.spec.nic.port_rate()));
  };
  for (std::size_t i = 0; i < cluster.groups.size(); ++i) {
    const Group& group = cluster.groups[i];
    if (group.spec.nics == 0)
      return Problem{Error::no_nics, Key::nics,
                     fmt::format("the servers '{}' have no NICs to join the fabric with", group.spec.name),
                     "set nics, or use fabric: {kind: none} for a single scale-up domain", i};
    if (group.spec.nic.ports % spec.planes != 0)
      return Problem{Error::planes_mismatch, Key::planes,
                     fmt::format("{} of the NIC '{}' cannot be spread over {}", counted(group.spec.nic.ports, "port"),
                                 group.spec.nic.kind, counted(spec.planes, "plane")),
                     fmt::format("give the servers a NIC with more ports: nic: {{kind: {}, ports: {}}}",
                                 group.spec.nic.kind, spec.planes)};
    if (rails && (group.spec.nics != first.spec.nics || group.spec.nic.ports != first.spec.nic.ports ||
                  group.spec.nic.rate != first.spec.nic.rate))
      return Problem{
          Error::rails_differ, Key::kind,
          fmt::format("'{}' has {}, '{}' has {}", first.spec.name, nics(first), group.spec.name, nics(group)),
          "rail fabrics need equal NICs everywhere; kind: tor-clos does not"};
  }
  return std::nullopt;
}

void wire_groups(ShapePlan& plan) {
  const FabricSpec& spec = plan.spec;
  plan.shape.port_planes = u32(spec.planes);
  plan.shape.rail_planes = plan.spec.kind == FabricKind::rail_only ? plan.cluster.groups[0].nics() : 1;
  plan.sites.assign(plan.cluster.sites.size(), {});
  std::vector<std::int64_t> used_ports(plan.cluster.sites.size(), 0);
  for (const Group& group : plan.cluster.groups) {
    Wiring wiring;
    wiring.ports_per_plane = u32(group.spec.nic.ports / spec.planes);
    const Bandwidth port = group.spec.nic.port_rate();
    wiring.wire = wire_of(spec.link, std::min(port, spec.link.rate.value_or(port)));
    set_block(plan, group, wiring);
    SiteShape& site = plan.sites[group.site];
    wiring.first_leaf = site.leaves;  // within the site for now; made absolute below
    const std::int64_t ports =
        static_cast<std::int64_t>(wiring.servers_per_block) * wiring.nics_per_leaf * wiring.ports_per_plane;
    if (plan.spec.kind == FabricKind::single_chassis) {  // all groups of a site share the one switch
      wiring.first_leaf = 0;
      wiring.first_port = u32(used_ports[group.site]);
      used_ports[group.site] += ports;
      site.leaves = 1;
      plan.leaf_down = std::max(plan.leaf_down, u32(used_ports[group.site]));
    } else {
      site.leaves += u32(ceil_div(group.servers, wiring.servers_per_block)) * wiring.leaves_per_block;
      plan.leaf_down = std::max(plan.leaf_down, u32(ports));
    }
    plan.shape.wiring.push_back(wiring);
  }
  std::uint32_t first = 0;
  for (SiteShape& site : plan.sites) {
    site.first_leaf = first;
    first += site.leaves;
  }
  for (std::size_t g = 0; g < plan.shape.wiring.size(); ++g)
    plan.shape.wiring[g].first_leaf += plan.sites[plan.cluster.groups[g].site].first_leaf;
}

Key block_key(FabricKind kind) {
  switch (kind) {
    case FabricKind::rail_optimized:
      return Key::scalable_unit;
    case FabricKind::single_chassis:
      return Key::count;
    case FabricKind::fat_tree:
      return Key::k;
    case FabricKind::dragonfly:
      return Key::servers_per_router;
    case FabricKind::rail_only:
    case FabricKind::tor_clos:
      return Key::servers_per_leaf;
    case FabricKind::none:
    case FabricKind::topo:
      break;
  }
  return Key::kind;
}

std::optional<Problem> check_ports(const SwitchKind& kind, std::string_view tier, Key key,
                                   const std::vector<PortUse>& uses) {
  const std::int64_t needed = ports_needed(kind, uses);
  std::vector<std::string> parts;
  Bandwidth fastest;
  for (const PortUse& use : uses) {
    if (use.count == 0) continue;
    parts.push_back(fmt::format("{} x {}", grouped(use.count), brief(use.rate)));
    fastest = std::max(fastest, use.rate);
  }
  if (needed < 0)
    return Problem{Error::port_budget, Key::link,
                   fmt::format("a {} has links of {}, but the ports of {} are {} at most", tier, brief(fastest),
                               kind.kind, brief(kind.rate)),
                   "set a slower rate in fabric.link, or take a faster switch (`weft catalog switches`)"};
  if (needed <= kind.ports) return std::nullopt;
  return Problem{Error::port_budget, key,
                 fmt::format("a {} needs {} ({}), but {} has {}", tier, counted(needed, "port"),
                             fmt::join(parts, " + "), kind.kind, grouped(kind.ports)),
                 ""};
}

}  // namespace weft::model::derivation
