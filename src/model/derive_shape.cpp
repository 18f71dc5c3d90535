// Works forward from the file to counts (`attempt`). When that fails, the same forward function is
// tried with other values of the key that is to blame, and the nearest one that closes is named:
// so a suggestion is never a guess.

#include "model/derive_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "base/result.hpp"
#include "base/text.hpp"
#include "base/wide.hpp"

namespace weft::model {
namespace {

using spec::Complaint;

struct Problem {
  Complaint complaint;
  std::string key;  // of the fabric section; "count" and "nics" are the servers'
  std::string message;
  std::string help;                       // empty: other values of `key` are tried
  std::size_t group = 0;                  // of servers, where `key` is theirs
  std::vector<std::int64_t> values = {};  // to try for `key` before searching
  // Ratios to try, for `ratio_key`, and the uplinks each of them means.
  std::string ratio_key = "";
  std::vector<std::pair<Ratio, std::int64_t>> ratios = {};
};

using Attempt = Result<Shape, Problem>;

Failure<Problem> fail(Complaint complaint, std::string key, std::string message, std::string help = "") {
  return Failure<Problem>({complaint, std::move(key), std::move(message), std::move(help)});
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// In ascending order.
std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    out.push_back(d);
    if (d != n / d) out.push_back(n / d);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::uint32_t u32(std::int64_t n) { return static_cast<std::uint32_t>(n); }

std::string ratio_text(std::int64_t over, std::int64_t under) {
  const std::int64_t common = std::gcd(over, under);
  return fmt::format("{}:{}", over / common, under / common);
}

Wire wire_of(const LinkSpec& link, Bandwidth rate) {
  // millimetres x picoseconds per metre / 1000, rounded up: a signal is never early.
  const std::int64_t latency = ceil_div(link.cable.count() * link.medium.latency_per_metre.count(), 1000);
  return {rate, Duration(latency), link.shaper.value_or(Shaper{})};
}

// The links of a server that reach one plane, and how many servers must be placed.
struct Plan {
  const Cluster& cluster;
  const FabricSpec& spec;
  Shape shape;
  ClosShape clos;

  bool is(FabricKind kind) const { return spec.kind == kind; }
  Bandwidth nic_rate() const {
    Bandwidth fastest;
    for (const Wiring& wiring : shape.wiring) fastest = std::max(fastest, wiring.wire.rate);
    return fastest;
  }
  Bandwidth up_rate() const {
    if (spec.spine_link && spec.spine_link->rate) return *spec.spine_link->rate;
    return spec.link.rate.value_or(nic_rate());
  }
  Bandwidth super_rate() const {
    if (spec.super_spine_link && spec.super_spine_link->rate) return *spec.super_spine_link->rate;
    return up_rate();
  }
  std::int64_t leaves() const {  // of the largest site
    std::int64_t most = 0;
    for (const SiteShape& site : clos.sites) most = std::max<std::int64_t>(most, site.leaves);
    return most;
  }
  std::int64_t pods() const {
    std::int64_t most = 0;
    for (const SiteShape& site : clos.sites) most = std::max<std::int64_t>(most, site.pods);
    return most;
  }
  // NIC bandwidth a full leaf receives, in bits per second. The ports of the leaf have been checked,
  // so that this is at most 4096 ports x 1 Pb/s.
  std::int64_t bandwidth_below_leaf() const {
    std::int64_t most = 0;
    for (const Wiring& wiring : shape.wiring)
      most = std::max(
          most, wiring.wire.rate.count() * wiring.servers_per_block * wiring.nics_per_leaf * wiring.ports_per_plane);
    return is(FabricKind::fat_tree) ? nic_rate().count() * clos.leaf_down : most;
  }
};

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
      return Problem{Complaint::no_nics, "nics",
                     fmt::format("the servers '{}' have no NICs to join the fabric with", group.spec.name),
                     "set nics, or use fabric: {kind: none} for a single scale-up domain", i};
    if (group.spec.nic.ports % spec.planes != 0)
      return Problem{Complaint::planes_mismatch, "planes",
                     fmt::format("{} of the NIC '{}' cannot be spread over {}", counted(group.spec.nic.ports, "port"),
                                 group.spec.nic.kind, counted(spec.planes, "plane")),
                     fmt::format("give the servers a NIC with more ports: nic: {{kind: {}, ports: {}}}",
                                 group.spec.nic.kind, spec.planes)};
    if (rails && (group.spec.nics != first.spec.nics || group.spec.nic.ports != first.spec.nic.ports ||
                  group.spec.nic.rate != first.spec.nic.rate))
      return Problem{
          Complaint::rails_differ, "kind",
          fmt::format("'{}' has {}, '{}' has {}", first.spec.name, nics(first), group.spec.name, nics(group)),
          "rail fabrics need equal NICs everywhere; kind: tor-clos does not"};
  }
  return std::nullopt;
}

// Servers below one leaf (or router) when the file does not say: what the ports allow.
std::int64_t default_block(const Plan& plan, const Group& group) {
  const SwitchKind& leaf = plan.spec.leaf_switch;
  const std::int64_t per_server = plan.is(FabricKind::rail_only)
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

// Lays the server groups onto leaves: one formula for every kind (see Wiring).
void wire_groups(Plan& plan) {
  const FabricSpec& spec = plan.spec;
  plan.shape.port_planes = u32(spec.planes);
  plan.shape.rail_planes = plan.is(FabricKind::rail_only) ? plan.cluster.groups[0].nics() : 1;
  plan.clos.sites.assign(plan.cluster.sites.size(), {});
  std::vector<std::int64_t> used_ports(plan.cluster.sites.size(), 0);
  for (const Group& group : plan.cluster.groups) {
    Wiring wiring;
    wiring.ports_per_plane = u32(group.spec.nic.ports / spec.planes);
    const Bandwidth port = group.spec.nic.port_rate();
    wiring.wire = wire_of(spec.link, std::min(port, spec.link.rate.value_or(port)));
    wiring.nics_per_leaf = group.nics();
    if (plan.is(FabricKind::rail_optimized)) {
      wiring.servers_per_block = u32(spec.scalable_unit);
      wiring.nics_per_leaf = u32(std::min<std::int64_t>(spec.rails_per_leaf, group.spec.nics));
      wiring.leaves_per_block = u32(ceil_div(group.nics(), wiring.nics_per_leaf));
    } else if (plan.is(FabricKind::single_chassis)) {
      wiring.servers_per_block = group.servers;
    } else if (plan.is(FabricKind::dragonfly)) {
      wiring.servers_per_block = u32(spec.servers_per_router);
    } else if (plan.is(FabricKind::fat_tree)) {
      const std::int64_t per_server = group.nics() * wiring.ports_per_plane;
      wiring.servers_per_block = u32(std::max<std::int64_t>(1, plan.clos.leaf_down / per_server));
    } else {
      if (plan.is(FabricKind::rail_only)) wiring.nics_per_leaf = 1;
      wiring.servers_per_block = u32(spec.servers_per_leaf.value_or(default_block(plan, group)));
    }
    SiteShape& site = plan.clos.sites[group.site];
    wiring.first_leaf = site.leaves;  // within the site for now; made absolute below
    const std::int64_t ports =
        static_cast<std::int64_t>(wiring.servers_per_block) * wiring.nics_per_leaf * wiring.ports_per_plane;
    if (plan.is(FabricKind::single_chassis)) {  // all groups of a site share the one switch
      wiring.first_leaf = 0;
      wiring.first_port = u32(used_ports[group.site]);
      used_ports[group.site] += ports;
      site.leaves = 1;
      plan.clos.leaf_down = std::max(plan.clos.leaf_down, u32(used_ports[group.site]));
    } else {
      site.leaves += u32(ceil_div(group.servers, wiring.servers_per_block)) * wiring.leaves_per_block;
      plan.clos.leaf_down = std::max(plan.clos.leaf_down, u32(ports));
    }
    plan.shape.wiring.push_back(wiring);
  }
  std::uint32_t first = 0;
  for (SiteShape& site : plan.clos.sites) {
    site.first_leaf = first;
    first += site.leaves;
  }
  for (std::size_t g = 0; g < plan.shape.wiring.size(); ++g)
    plan.shape.wiring[g].first_leaf += plan.clos.sites[plan.cluster.groups[g].site].first_leaf;
}

std::string block_key(const Plan& plan) {
  if (plan.is(FabricKind::rail_optimized)) return "scalable_unit";
  if (plan.is(FabricKind::single_chassis)) return "count";
  if (plan.is(FabricKind::fat_tree)) return "k";
  if (plan.is(FabricKind::dragonfly)) return "servers_per_router";
  return "servers_per_leaf";
}

// How many links leave a switch upwards, from what it receives below and the ratio.
Result<std::int64_t, Problem> uplinks(std::int64_t below, Bandwidth rate, const Ratio& ratio, std::int64_t per,
                                      const std::string& key, const std::string& ratio_key, std::string_view where) {
  const std::string_view asked = key == ratio_key ? "an oversubscription" : "the default oversubscription";
  const auto bits = static_cast<Wide>(below) * ratio.under;
  const auto link = static_cast<Wide>(ratio.over) * rate.count();
  if (bits % link == 0 && (bits / link) % per == 0 && bits > 0 && bits / link <= kMostSwitches)
    return static_cast<std::int64_t>(bits / link);
  Problem problem{Complaint::oversubscription, key, "", ""};
  const std::string share = per > 1 ? fmt::format(", and {} come at a time", counted(per, "uplink")) : "";
  problem.message =
      fmt::format("{} of {} cannot be built: a {} has {} below, an uplink carries {}{}", asked,
                  ratio_text(ratio.over, ratio.under), where, brief(Bandwidth(below)), brief(rate), share);
  // The nearest whole numbers of links, as ratios.
  problem.ratio_key = ratio_key;
  const std::int64_t low = static_cast<std::int64_t>(std::min<Wide>(bits / link, kMostSwitches)) / per * per;
  for (const std::int64_t links : {low, low + per}) {
    const Wide above = static_cast<Wide>(links) * rate.count();
    if (links == 0 || above > std::numeric_limits<std::int64_t>::max()) continue;
    const std::int64_t common = std::gcd(below, static_cast<std::int64_t>(above));
    problem.ratios.push_back({{below / common, static_cast<std::int64_t>(above) / common}, links});
  }
  return Failure<Problem>(std::move(problem));
}

std::optional<Problem> solve_spines(Plan& plan, const SwitchKind& spine) {
  const FabricSpec& spec = plan.spec;
  const std::int64_t below = plan.bandwidth_below_leaf();
  const Bandwidth rate = plan.up_rate();
  if (plan.is(FabricKind::fat_tree)) {
    plan.clos.spines_per_pod = plan.clos.leaf_down;
    plan.clos.bundle = 1;
    return std::nullopt;
  }
  if (spec.spines && spec.parallel_links) {
    plan.clos.spines_per_pod = u32(*spec.spines);
    plan.clos.bundle = u32(*spec.parallel_links);
    const std::int64_t above = *spec.spines * *spec.parallel_links * rate.count();
    if (spec.oversubscription && static_cast<Wide>(below) * spec.oversubscription->under !=
                                     static_cast<Wide>(above) * spec.oversubscription->over)
      return Problem{
          Complaint::contradiction, "oversubscription",
          fmt::format("{} x {} of {} above {} make {}, not {}", counted(*spec.spines, "spine"),
                      counted(*spec.parallel_links, "link"), brief(rate), brief(Bandwidth(below)),
                      ratio_text(below, above), ratio_text(spec.oversubscription->over, spec.oversubscription->under)),
          "leave out one of spines, parallel_links and oversubscription"};
    return std::nullopt;
  }
  const std::int64_t per = spec.spines.value_or(spec.parallel_links.value_or(1));
  const bool by_spines = spec.spines && !spec.oversubscription;
  const auto links = uplinks(below, rate, spec.oversubscription.value_or(Ratio{}), per,
                             by_spines ? "spines" : "oversubscription", "oversubscription", "leaf");
  if (!links) return links.error();
  if (spec.spines) {
    plan.clos.spines_per_pod = u32(*spec.spines);
    plan.clos.bundle = u32(*links / *spec.spines);
  } else {
    std::int64_t bundle = spec.parallel_links.value_or(0);
    // Fewest spines that still have a port for every leaf, the widest bundle that fits; but two where
    // possible, for one spine is a single point of failure.
    for (const std::int64_t wide : divisors(*links)) {
      if (spec.parallel_links) break;
      if (wide == *links && *links > 1) continue;
      const std::int64_t both_sides = plan.clos.tiers == 3 ? 2 : 1;
      const std::int64_t ports = plan.clos.leaves_per_pod * wide * both_sides;
      const std::int64_t needed = ports_needed(spine, {{rate, ports}});
      if (needed > 0 && needed <= spine.ports) bundle = std::max(bundle, wide);
    }
    plan.clos.bundle = u32(std::max<std::int64_t>(1, bundle));
    plan.clos.spines_per_pod = u32(*links / plan.clos.bundle);
  }
  return std::nullopt;
}

std::optional<Problem> solve_supers(Plan& plan) {
  const FabricSpec& spec = plan.spec;
  ClosShape& clos = plan.clos;
  if (plan.is(FabricKind::fat_tree)) {
    clos.super_groups = clos.spines_per_pod;
    clos.supers_per_group = clos.leaf_down;
    clos.super_bundle = 1;
    return std::nullopt;
  }
  const std::int64_t below = static_cast<std::int64_t>(clos.leaves_per_pod) * clos.bundle * plan.up_rate().count();
  const Bandwidth rate = plan.super_rate();
  const std::int64_t spines = clos.spines_per_pod;
  if (spec.super_spines && spec.super_parallel_links && !spec.super_oversubscription) {
    clos.super_groups = 1;
    clos.supers_per_group = u32(*spec.super_spines);
    clos.super_bundle = u32(*spec.super_parallel_links);
    return std::nullopt;
  }
  const std::int64_t bundle = spec.super_parallel_links.value_or(1);
  const auto links =
      uplinks(below, rate, spec.super_oversubscription.value_or(Ratio{}), bundle,
              spec.super_oversubscription ? "super_oversubscription" : "pod", "super_oversubscription", "spine");
  if (!links) return links.error();
  if (!spec.super_spines) {
    clos.super_groups = u32(spines);
    clos.supers_per_group = u32(*links / bundle);
    clos.super_bundle = u32(bundle);
    return std::nullopt;
  }
  // Fewest groups first: a full mesh of spines and super-spines where the links allow it.
  for (const std::int64_t groups : divisors(std::gcd(spines, *spec.super_spines))) {
    const std::int64_t each = *spec.super_spines / groups;
    if (*links % each != 0) continue;
    if (spec.super_parallel_links && *links / each != bundle) continue;
    clos.super_groups = u32(groups);
    clos.supers_per_group = u32(each);
    clos.super_bundle = u32(*links / each);
    return std::nullopt;
  }
  return Problem{
      Complaint::oversubscription, "super_spines",
      fmt::format("the {} of each spine, {} per pod, cannot be spread evenly over {}", counted(*links, "uplink"),
                  counted(spines, "spine"), counted(*spec.super_spines, "super-spine")),
      ""};
}

std::optional<Problem> check_ports(const SwitchKind& kind, std::string_view tier, std::string key,
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
    return Problem{Complaint::port_budget, "link",
                   fmt::format("a {} has links of {}, but the ports of {} are {} at most", tier, brief(fastest),
                               kind.kind, brief(kind.rate)),
                   "set a slower rate in fabric.link, or take a faster switch (`weft catalog switches`)"};
  if (needed <= kind.ports) return std::nullopt;
  return Problem{Complaint::port_budget, std::move(key),
                 fmt::format("a {} needs {} ({}), but {} has {}", tier, counted(needed, "port"),
                             fmt::join(parts, " + "), kind.kind, grouped(kind.ports)),
                 ""};
}

// What the NICs of the server groups take of a leaf: every group has leaves of its own, except in a
// single chassis.
std::vector<std::vector<PortUse>> leaf_uses(const Plan& plan) {
  std::vector<std::vector<PortUse>> out;
  for (const Wiring& wiring : plan.shape.wiring) {
    const PortUse use{wiring.wire.rate, static_cast<std::int64_t>(wiring.servers_per_block) * wiring.nics_per_leaf *
                                            wiring.ports_per_plane};
    if (out.empty() || !plan.is(FabricKind::single_chassis)) out.emplace_back();
    out.back().push_back(use);
  }
  return out;
}

// The ports of each tier are checked before anything is computed from them: a count that a switch
// has no ports for could be of any size.
std::optional<Problem> check_leaves(const Plan& plan, bool with_uplinks) {
  const ClosShape& clos = plan.clos;
  for (std::vector<PortUse> uses : leaf_uses(plan)) {
    if (with_uplinks) {
      const std::int64_t to_gateways = static_cast<std::int64_t>(clos.gateways) * clos.gateway_bundle;
      uses.push_back({plan.up_rate(), static_cast<std::int64_t>(clos.spines_per_pod) * clos.bundle});
      uses.push_back({plan.up_rate(), clos.tiers == 1 ? to_gateways : 0});
    }
    if (auto problem = check_ports(plan.shape.switches[0], plan.is(FabricKind::single_chassis) ? "chassis" : "leaf",
                                   block_key(plan), uses))
      return problem;
  }
  return std::nullopt;
}

std::optional<Problem> check_spines(const Plan& plan, bool with_uplinks) {
  const ClosShape& clos = plan.clos;
  std::int64_t above = 0;
  if (with_uplinks && clos.tiers == 3) above = static_cast<std::int64_t>(clos.supers_per_group) * clos.super_bundle;
  if (with_uplinks && clos.tiers == 2) above = static_cast<std::int64_t>(clos.gateways) * clos.gateway_bundle;
  return check_ports(
      plan.shape.switches[1], "spine", clos.tiers == 3 ? "pod" : "spines",
      {{plan.up_rate(), static_cast<std::int64_t>(clos.leaves_per_pod) * clos.bundle}, {plan.super_rate(), above}});
}

std::optional<Problem> check_top(const Plan& plan) {
  const ClosShape& clos = plan.clos;
  const Bandwidth above = plan.super_rate();
  const std::int64_t to_gateways = static_cast<std::int64_t>(clos.gateways) * clos.gateway_bundle;
  if (plan.is(FabricKind::fat_tree) && plan.pods() > 2 * static_cast<std::int64_t>(clos.leaf_down))
    return Problem{
        Complaint::port_budget, "k",
        fmt::format("{} need {}, but a core of {} ports joins no more than {}", counted(plan.cluster.servers, "server"),
                    counted(plan.pods(), "pod"), 2 * clos.leaf_down, 2 * clos.leaf_down),
        ""};
  if (clos.tiers == 3) {
    const std::int64_t down = plan.pods() * (clos.spines_per_pod / clos.super_groups) * clos.super_bundle;
    if (auto problem =
            check_ports(plan.shape.switches[2], "super-spine", "super_spines", {{above, down}, {above, to_gateways}}))
      return problem;
  }
  if (clos.gateways > 0) {
    std::int64_t tops = plan.leaves();
    if (clos.tiers == 2) tops = clos.spines_per_pod;
    if (clos.tiers == 3) tops = static_cast<std::int64_t>(clos.super_groups) * clos.supers_per_group;
    const std::int64_t sites = static_cast<std::int64_t>(clos.sites.size()) - 1;
    const Bandwidth top_rate = clos.tiers == 3 ? above : plan.up_rate();
    if (auto problem =
            check_ports(plan.shape.switches.back(), "gateway", "sites",
                        {{top_rate, tops * clos.gateway_bundle}, {clos.site_wire.rate, sites * clos.site_links}}))
      return problem;
  }
  return std::nullopt;
}

std::optional<Problem> check_size(const ClosShape& clos, std::uint32_t planes) {
  std::int64_t leaves = 0;
  std::int64_t pods = 0;
  for (const SiteShape& site : clos.sites) {
    leaves += site.leaves;
    pods += site.pods;
  }
  const std::int64_t supers = static_cast<std::int64_t>(clos.super_groups) * clos.supers_per_group *
                              static_cast<std::int64_t>(clos.sites.size());
  const std::int64_t total = (leaves + pods * clos.spines_per_pod + supers) * planes;
  if (total <= kMostSwitches) return std::nullopt;
  return Problem{Complaint::out_of_range, "kind", fmt::format("this fabric would have {} switches", grouped(total)),
                 fmt::format("at most {}", grouped(kMostSwitches))};
}

// Keys of a tier that is not there would be ignored.
std::optional<Problem> check_third_tier(const FabricSpec& spec) {
  const std::pair<bool, std::string> keys[] = {{spec.super_parallel_links.has_value(), "super_parallel_links"},
                                               {spec.super_oversubscription.has_value(), "super_oversubscription"},
                                               {spec.super_spine_link.has_value(), "super_spine_link"},
                                               {spec.super_spine_switch.has_value(), "super_spine_switch"}};
  for (const auto& [given, key] : keys)
    if (given)
      return Problem{Complaint::contradiction, key, fmt::format("'{}' is given, but there are no super-spines", key),
                     "'pod' makes a third tier; without it, remove this key"};
  return std::nullopt;
}

Attempt attempt_clos(const Cluster& cluster, const FabricSpec& spec) {
  Plan plan{cluster, spec, {}, {}};
  ClosShape& clos = plan.clos;
  const SwitchKind& spine = spec.spine_switch ? *spec.spine_switch : spec.leaf_switch;
  if (plan.is(FabricKind::fat_tree)) {
    const std::int64_t k = spec.k.value_or(spec.leaf_switch.ports);
    if (k % 2 != 0) return fail(Complaint::contradiction, "k", fmt::format("k must be even, not {}", k));
    clos.leaf_down = u32(k / 2);
  }
  wire_groups(plan);
  if (plan.is(FabricKind::fat_tree)) {
    clos.leaf_down = u32(spec.k.value_or(spec.leaf_switch.ports) / 2);
    for (std::size_t g = 0; g < plan.shape.wiring.size(); ++g) {
      const std::int64_t per_server =
          static_cast<std::int64_t>(cluster.groups[g].nics()) * plan.shape.wiring[g].ports_per_plane;
      if (clos.leaf_down % per_server != 0)
        return fail(Complaint::contradiction, "k",
                    fmt::format("a leaf has {} for NICs, no whole number of servers with {}",
                                counted(clos.leaf_down, "port"), counted(per_server, "NIC port")));
    }
  }
  const bool three = spec.pod || spec.super_spines || plan.is(FabricKind::fat_tree);
  const bool spines_asked = spec.spines || spec.parallel_links || spec.oversubscription;
  if (!three)
    if (auto problem = check_third_tier(spec)) return Failure<Problem>(*problem);
  clos.tiers = three ? 3 : plan.leaves() > 1 || (spines_asked && !plan.is(FabricKind::single_chassis)) ? 2 : 1;

  clos.leaves_per_pod = u32(plan.leaves());
  if (three) {
    const std::int64_t block = plan.is(FabricKind::rail_optimized) ? plan.shape.wiring[0].leaves_per_block : 1;
    if (!spec.pod && plan.is(FabricKind::tor_clos))
      return fail(Complaint::missing_key, "super_spines", "super-spines join pods, but 'pod' is not given",
                  "add pod: the number of leaves in one pod");
    clos.leaves_per_pod = plan.is(FabricKind::fat_tree) ? clos.leaf_down : u32(spec.pod.value_or(1) * block);
  }
  std::uint32_t first_pod = 0;
  for (SiteShape& site : clos.sites) {
    site.first_pod = first_pod;
    site.pods = u32(ceil_div(site.leaves, clos.leaves_per_pod));
    first_pod += site.pods;
  }
  if (plan.is(FabricKind::fat_tree) && plan.pods() > 2 * static_cast<std::int64_t>(clos.leaf_down))
    return fail(Complaint::port_budget, "k",
                fmt::format("a fat tree of k {} has {} at most, but the servers fill {}", 2 * clos.leaf_down,
                            counted(2 * static_cast<std::int64_t>(clos.leaf_down), "pod"), plan.pods()));
  plan.shape.switches = {spec.leaf_switch};
  if (clos.tiers >= 2) plan.shape.switches.push_back(spine);
  if (clos.tiers == 3) plan.shape.switches.push_back(spec.super_spine_switch ? *spec.super_spine_switch : spine);
  if (auto problem = check_leaves(plan, false)) return Failure<Problem>(*problem);
  if (clos.tiers >= 2) {
    if (auto problem = solve_spines(plan, spine)) return Failure<Problem>(*problem);
    if (auto problem = check_leaves(plan, true)) return Failure<Problem>(*problem);
    if (auto problem = check_spines(plan, false)) return Failure<Problem>(*problem);
  }
  if (clos.tiers == 3)
    if (auto problem = solve_supers(plan)) return Failure<Problem>(*problem);

  const LinkSpec& spine_link = spec.spine_link ? *spec.spine_link : spec.link;
  clos.spine_wire = wire_of(spine_link, plan.up_rate());
  clos.super_wire = wire_of(spec.super_spine_link ? *spec.super_spine_link : spine_link, plan.super_rate());
  if (spec.sites) {
    clos.gateways = u32(spec.sites->gateways);
    clos.gateway_bundle = u32(spec.sites->uplinks);
    clos.site_links = u32(spec.sites->links);
    clos.site_wire = {spec.sites->rate, spec.sites->latency};
    plan.shape.switches.push_back(spec.leaf_switch);
  }
  if (auto problem = check_size(clos, plan.shape.planes())) return Failure<Problem>(*problem);
  if (auto problem = check_leaves(plan, true)) return Failure<Problem>(*problem);
  if (clos.tiers >= 2)
    if (auto problem = check_spines(plan, true)) return Failure<Problem>(*problem);
  if (auto problem = check_top(plan)) return Failure<Problem>(*problem);
  plan.shape.layout = clos;
  return plan.shape;
}

Attempt attempt_dragonfly(const Cluster& cluster, const FabricSpec& spec) {
  Plan plan{cluster, spec, {}, {}};
  wire_groups(plan);
  DragonflyShape dragonfly;
  dragonfly.router_down = plan.clos.leaf_down;
  dragonfly.routers_per_group = u32(spec.routers_per_group);
  dragonfly.global_links = u32(spec.global_links);
  const std::int64_t needed = ceil_div(plan.leaves(), spec.routers_per_group);
  dragonfly.groups = u32(spec.groups.value_or(needed));
  if (dragonfly.groups < needed) {
    Problem problem{Complaint::bad_dragonfly, "groups",
                    fmt::format("{} need {}, not {}", counted(cluster.servers, "server"), counted(needed, "group"),
                                dragonfly.groups),
                    ""};
    problem.values = {needed};
    return Failure<Problem>(problem);
  }
  const std::int64_t reach = spec.routers_per_group * spec.global_links + 1;
  if (dragonfly.groups > reach) {
    Problem problem{Complaint::bad_dragonfly, "global_links",
                    fmt::format("a group of {} with {} each reaches {}, but there are {}",
                                counted(spec.routers_per_group, "router"), counted(spec.global_links, "global link"),
                                counted(reach - 1, "other group"), dragonfly.groups - 1),
                    ""};
    problem.values = {ceil_div(dragonfly.groups - 1, spec.routers_per_group)};
    return Failure<Problem>(problem);
  }
  if (static_cast<std::int64_t>(dragonfly.groups) * spec.routers_per_group > kMostSwitches)
    return fail(Complaint::out_of_range, "groups",
                fmt::format("this fabric would have {} routers",
                            grouped(static_cast<std::int64_t>(dragonfly.groups) * spec.routers_per_group)),
                fmt::format("at most {}", grouped(kMostSwitches)));
  dragonfly.routing = spec.routing;
  const Bandwidth rate = spec.link.rate.value_or(plan.nic_rate());
  dragonfly.local_wire = dragonfly.global_wire = wire_of(spec.link, rate);
  plan.shape.switches = {spec.leaf_switch};
  const PortUse nics{plan.nic_rate(), dragonfly.router_down};
  const PortUse joined{rate, spec.routers_per_group - 1 + spec.global_links};
  if (auto problem = check_ports(spec.leaf_switch, "router", "servers_per_router", {nics, joined}))
    return Failure<Problem>(*problem);
  plan.shape.layout = dragonfly;
  return plan.shape;
}

Attempt attempt(const Cluster& cluster, const FabricSpec& spec) {
  if (spec.kind == FabricKind::none) {
    for (const Group& group : cluster.groups) {
      const std::int64_t domain = group.spec.scale_up ? group.spec.scale_up->servers : 1;
      if (cluster.groups.size() > 1 || group.servers > domain)
        return fail(Complaint::no_nics, "kind",
                    fmt::format("kind none joins nothing, but there are {}", counted(cluster.servers, "server")),
                    "choose another kind of fabric; none is for one server or one scale-up domain");
    }
    return Shape{};
  }
  if (auto problem = check_servers(cluster, spec)) return Failure<Problem>(*problem);
  return spec.kind == FabricKind::dragonfly ? attempt_dragonfly(cluster, spec) : attempt_clos(cluster, spec);
}

// The value nearest to `from` with which everything closes.
std::optional<std::int64_t> nearest(std::int64_t from, const std::function<bool(std::int64_t)>& works) {
  constexpr std::int64_t kReach = 512;
  for (std::int64_t apart = 1; apart <= kReach; ++apart) {
    if (from > apart && works(from - apart)) return from - apart;
    if (works(from + apart)) return from + apart;
  }
  // Far too large: down by halves.
  for (std::int64_t value = from / 2; value > 0; value /= 2)
    if (works(value)) return value;
  return std::nullopt;
}

// What would be right: other values of the key to blame, tried for real.
std::string what_would_work(const Cluster& cluster, const FabricSpec& spec, const Problem& problem) {
  const std::string& key = problem.key;
  std::vector<std::string> ratios;
  for (const auto& [ratio, links] : problem.ratios) {
    FabricSpec other = spec;
    (problem.ratio_key == "oversubscription" ? other.oversubscription : other.super_oversubscription) = ratio;
    if (ratio.over <= 1'000'000 && ratio.under <= 1'000'000 && attempt(cluster, other))
      ratios.push_back(fmt::format("{} ({})", ratio_text(ratio.over, ratio.under), counted(links, "uplink")));
  }
  if (!ratios.empty()) return fmt::format("{}: {} would work", problem.ratio_key, either(ratios));
  const auto with = [&](auto FabricSpec::*member, std::int64_t from) -> std::string {
    const auto works = [&](std::int64_t candidate) {
      FabricSpec other = spec;
      other.*member = candidate;
      return attempt(cluster, other).has_value();
    };
    std::optional<std::int64_t> value;
    for (const std::int64_t candidate : problem.values)
      if (!value && works(candidate)) value = candidate;
    if (!value) value = nearest(from, works);
    return value ? fmt::format("{}: {} would work", key, *value) : "";
  };
  std::string help;
  if (key == "scalable_unit") help = with(&FabricSpec::scalable_unit, spec.scalable_unit);
  if (key == "servers_per_leaf") help = with(&FabricSpec::servers_per_leaf, spec.servers_per_leaf.value_or(1));
  if (key == "servers_per_router") help = with(&FabricSpec::servers_per_router, spec.servers_per_router);
  if (key == "spines" && spec.spines) help = with(&FabricSpec::spines, *spec.spines);
  if (key == "super_spines" && spec.super_spines) help = with(&FabricSpec::super_spines, *spec.super_spines);
  if (key == "groups") help = with(&FabricSpec::groups, spec.groups.value_or(1));
  if (key == "global_links") help = with(&FabricSpec::global_links, spec.global_links);
  for (std::int64_t uplinks = key == "sites" ? spec.sites->uplinks - 1 : 0; uplinks > 0 && help.empty(); --uplinks) {
    FabricSpec other = spec;
    other.sites->uplinks = uplinks;
    if (attempt(cluster, other)) help = fmt::format("sites.uplinks: {} would work", uplinks);
  }
  if (key == "pod") help = with(&FabricSpec::pod, spec.pod.value_or(1));
  if (key == "k") help = with(&FabricSpec::k, spec.k.value_or(spec.leaf_switch.ports));
  if (!help.empty() || cluster.groups.size() > 1) return help;
  // No single key of the fabric helps: the largest number of servers that it can carry.
  std::int64_t low = 0;
  std::int64_t high = cluster.servers;
  while (high - low > 1) {
    Cluster fewer = cluster;
    const std::int64_t middle = (low + high) / 2;
    fewer.servers = fewer.groups[0].servers = u32(middle);
    (attempt(fewer, spec) ? low : high) = middle;
  }
  return low > 0 ? fmt::format("count: {} would fit this fabric", low) : "";
}

// Where a key stands; what is not written is blamed on the nearest thing that is.
spec::Place place_of(const spec::Node& root, const std::string& key, std::size_t group = 0) {
  const bool of_servers = key == "count" || key == "nics";
  const spec::Entry* section = root.find(of_servers ? "servers" : "fabric");
  if (section == nullptr) return root.place;
  const auto& items = section->value.items;
  const spec::Node& node = group < items.size() ? items[group] : section->value;
  const spec::Entry* entry = node.find(key);
  if (entry == nullptr) entry = node.find("kind");
  return entry != nullptr ? entry->value.place : node.place;
}

}  // namespace

std::int64_t ports_needed(const SwitchKind& kind, const std::vector<PortUse>& uses) {
  struct Split {
    std::int64_t rate;
    std::int64_t ways;
  };
  std::vector<Split> splits = {{kind.rate.count(), 1}};
  for (const std::string& text : kind.breakout) {
    const auto x = text.find('x');
    const auto rate = parse<BandwidthDimension>(std::string_view(text).substr(x + 1));
    if (rate) splits.push_back({rate->count(), std::atoll(text.c_str())});
  }
  std::int64_t total = 0;
  for (const PortUse& use : uses) {
    if (use.count == 0) continue;
    // The finest split that still carries the link: a 100G cable takes a quarter of 4x200G.
    std::int64_t ways = 0;
    for (const Split& split : splits)
      if (split.rate >= use.rate.count()) ways = std::max(ways, split.ways);
    if (ways == 0) return -1;
    total += ceil_div(use.count, ways);
  }
  return total;
}

std::optional<Shape> derive_shape(const Cluster& cluster, const spec::Node& root, spec::Diagnostics& diagnostics) {
  const FabricSpec& spec = cluster.file.fabric;
  const bool has_sites = spec.sites.has_value();
  const bool joins_sites =
      spec.kind != FabricKind::none && spec.kind != FabricKind::single_chassis && spec.kind != FabricKind::dragonfly;
  if (has_sites != (cluster.sites.size() > 1)) {
    diagnostics.add(Complaint::bad_sites, place_of(root, "sites"),
                    has_sites ? "'sites' joins sites, but all servers stand on one"
                              : fmt::format("the servers stand on {} sites that nothing joins", cluster.sites.size()),
                    has_sites ? "give the server groups a site, or remove 'sites'"
                    : joins_sites
                        ? "add to the fabric sites: {latency: 1ms, rate: 400Gbps}"
                        : fmt::format("fabric kind {} cannot join sites; tor-clos can", enum_name(spec.kind)));
    return std::nullopt;
  }
  auto shape = attempt(cluster, spec);
  if (shape) return std::move(*shape);
  Problem problem = std::move(shape.error());
  if (problem.help.empty()) problem.help = what_would_work(cluster, spec, problem);
  if (problem.help.empty())
    problem.help = "a switch with more ports, another tier (pod) or fewer servers would be needed";
  diagnostics.add(problem.complaint, place_of(root, problem.key, problem.group), problem.message, problem.help);
  return std::nullopt;
}

}  // namespace weft::model
