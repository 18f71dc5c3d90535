// Folded Clos networks: single-chassis, rail-optimized, rail-only, tor-clos and fat-tree.
#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "base/text.hpp"
#include "base/wide.hpp"
#include "model/derive_plan.hpp"

namespace weft::model::derivation {
namespace {

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

// A plan with the tiers above the leaves.
struct ClosPlan : ShapePlan {
  ClosShape clos = {};

  bool is(FabricKind kind) const { return spec.kind == kind; }
  Bandwidth up_rate() const {
    if (spec.spine_link && spec.spine_link->rate) return *spec.spine_link->rate;
    return spec.link.rate.value_or(nic_rate());
  }
  Bandwidth super_rate() const {
    if (spec.super_spine_link && spec.super_spine_link->rate) return *spec.super_spine_link->rate;
    return up_rate();
  }
  std::int64_t pods() const {  // of the largest site
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

// How many links leave a switch upwards, from what it receives below and the ratio.
Result<std::int64_t, Problem> uplinks(std::int64_t below, Bandwidth rate, const Ratio& ratio, std::int64_t per, Key key,
                                      Key ratio_key, std::string_view where) {
  const std::string_view asked = key == ratio_key ? "an oversubscription" : "the default oversubscription";
  const auto bits = static_cast<Wide>(below) * ratio.under;
  const auto link = static_cast<Wide>(ratio.over) * rate.count();
  if (bits % link == 0 && (bits / link) % per == 0 && bits > 0 && bits / link <= kMostSwitches)
    return static_cast<std::int64_t>(bits / link);
  Problem problem{Error::oversubscription, key, "", ""};
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

std::optional<Problem> solve_spines(ClosPlan& plan, const SwitchKind& spine) {
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
          Error::contradiction, Key::oversubscription,
          fmt::format("{} x {} of {} above {} make {}, not {}", counted(*spec.spines, "spine"),
                      counted(*spec.parallel_links, "link"), brief(rate), brief(Bandwidth(below)),
                      ratio_text(below, above), ratio_text(spec.oversubscription->over, spec.oversubscription->under)),
          "leave out one of spines, parallel_links and oversubscription"};
    return std::nullopt;
  }
  const std::int64_t per = spec.spines.value_or(spec.parallel_links.value_or(1));
  const bool by_spines = spec.spines && !spec.oversubscription;
  const auto links = uplinks(below, rate, spec.oversubscription.value_or(Ratio{}), per,
                             by_spines ? Key::spines : Key::oversubscription, Key::oversubscription, "leaf");
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

// Fewest super-spines that have a port for every uplink of every pod, but two for each spine where possible, and among
// equals the fewest groups. Where none has the ports, as many as there are links, for check_top to complain about.
void spread_over_fewest_supers(ClosPlan& plan, std::int64_t links) {
  const FabricSpec& spec = plan.spec;
  ClosShape& clos = plan.clos;
  const SwitchKind& super = plan.shape.switches[2];
  const std::int64_t spines = clos.spines_per_pod;
  const std::int64_t to_gateways = spec.sites ? spec.sites->gateways * spec.sites->uplinks : 0;
  const auto fits = [&](std::int64_t groups, std::int64_t bundle) {
    const Wide down = static_cast<Wide>(plan.pods()) * (spines / groups) * bundle;
    if (down > kMostSwitches) return false;
    const Bandwidth rate = plan.super_rate();
    const std::int64_t needed = ports_needed(super, {{rate, static_cast<std::int64_t>(down)}, {rate, to_gateways}});
    return needed > 0 && needed <= super.ports;
  };
  const std::int64_t narrowest = spec.super_parallel_links.value_or(1);
  clos.super_groups = u32(spines);
  clos.super_bundle = u32(narrowest);
  std::int64_t fewest = spines * (links / narrowest);
  for (const std::int64_t groups : divisors(spines)) {
    for (const std::int64_t bundle : divisors(links)) {
      const std::int64_t each = links / bundle;
      if (spec.super_parallel_links ? bundle != narrowest : each == 1 && links > 1) continue;
      if (groups * each >= fewest || !fits(groups, bundle)) continue;
      fewest = groups * each;
      clos.super_groups = u32(groups);
      clos.super_bundle = u32(bundle);
    }
  }
  clos.supers_per_group = u32(links / clos.super_bundle);
}

std::optional<Problem> solve_supers(ClosPlan& plan) {
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
  const auto links = uplinks(below, rate, spec.super_oversubscription.value_or(Ratio{}), bundle,
                             spec.super_oversubscription ? Key::super_oversubscription : Key::pod,
                             Key::super_oversubscription, "spine");
  if (!links) return links.error();
  if (!spec.super_spines) {
    spread_over_fewest_supers(plan, *links);
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
      Error::oversubscription, Key::super_spines,
      fmt::format("the {} of each spine, {} per pod, cannot be spread evenly over {}", counted(*links, "uplink"),
                  counted(spines, "spine"), counted(*spec.super_spines, "super-spine")),
      ""};
}

// What the NICs of the server groups take of a leaf: every group has leaves of its own, except in a
// single chassis.
std::vector<std::vector<PortUse>> leaf_uses(const ClosPlan& plan) {
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
std::optional<Problem> check_leaves(const ClosPlan& plan, bool with_uplinks) {
  const ClosShape& clos = plan.clos;
  for (std::vector<PortUse> uses : leaf_uses(plan)) {
    if (with_uplinks) {
      const std::int64_t to_gateways = static_cast<std::int64_t>(clos.gateways) * clos.gateway_bundle;
      uses.push_back({plan.up_rate(), static_cast<std::int64_t>(clos.spines_per_pod) * clos.bundle});
      uses.push_back({plan.up_rate(), clos.tiers == 1 ? to_gateways : 0});
    }
    if (auto problem = check_ports(plan.shape.switches[0], plan.is(FabricKind::single_chassis) ? "chassis" : "leaf",
                                   block_key(plan.spec.kind), uses))
      return problem;
  }
  return std::nullopt;
}

std::optional<Problem> check_spines(const ClosPlan& plan, bool with_uplinks) {
  const ClosShape& clos = plan.clos;
  std::int64_t above = 0;
  if (with_uplinks && clos.tiers == 3) above = static_cast<std::int64_t>(clos.supers_per_group) * clos.super_bundle;
  if (with_uplinks && clos.tiers == 2) above = static_cast<std::int64_t>(clos.gateways) * clos.gateway_bundle;
  return check_ports(
      plan.shape.switches[1], "spine", clos.tiers == 3 ? Key::pod : Key::spines,
      {{plan.up_rate(), static_cast<std::int64_t>(clos.leaves_per_pod) * clos.bundle}, {plan.super_rate(), above}});
}

std::optional<Problem> check_top(const ClosPlan& plan) {
  const ClosShape& clos = plan.clos;
  const Bandwidth above = plan.super_rate();
  const std::int64_t to_gateways = static_cast<std::int64_t>(clos.gateways) * clos.gateway_bundle;
  if (plan.is(FabricKind::fat_tree) && plan.pods() > 2 * static_cast<std::int64_t>(clos.leaf_down))
    return Problem{
        Error::port_budget, Key::k,
        fmt::format("{} need {}, but a core of {} ports joins no more than {}", counted(plan.cluster.servers, "server"),
                    counted(plan.pods(), "pod"), 2 * clos.leaf_down, 2 * clos.leaf_down),
        ""};
  if (clos.tiers == 3) {
    const std::int64_t down = plan.pods() * (clos.spines_per_pod / clos.super_groups) * clos.super_bundle;
    if (auto problem = check_ports(plan.shape.switches[2], "super-spine", Key::super_spines,
                                   {{above, down}, {above, to_gateways}}))
      return problem;
  }
  if (clos.gateways > 0) {
    std::int64_t tops = plan.leaves();
    if (clos.tiers == 2) tops = clos.spines_per_pod;
    if (clos.tiers == 3) tops = static_cast<std::int64_t>(clos.super_groups) * clos.supers_per_group;
    const std::int64_t sites = static_cast<std::int64_t>(clos.sites.size()) - 1;
    const Bandwidth top_rate = clos.tiers == 3 ? above : plan.up_rate();
    if (auto problem =
            check_ports(plan.shape.switches.back(), "gateway", Key::sites,
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
  return Problem{Error::out_of_range, Key::kind, fmt::format("this fabric would have {} switches", grouped(total)),
                 fmt::format("at most {}", grouped(kMostSwitches))};
}

// Keys of a tier that is not there would be ignored.
std::optional<Problem> check_third_tier(const FabricSpec& spec) {
  const std::pair<bool, Key> keys[] = {{spec.super_parallel_links.has_value(), Key::super_parallel_links},
                                       {spec.super_oversubscription.has_value(), Key::super_oversubscription},
                                       {spec.super_spine_link.has_value(), Key::super_spine_link},
                                       {spec.super_spine_switch.has_value(), Key::super_spine_switch}};
  for (const auto& [given, key] : keys)
    if (given)
      return Problem{Error::contradiction, key,
                     fmt::format("'{}' is given, but there are no super-spines", enum_name(key)),
                     "'pod' makes a third tier; without it, remove this key"};
  return std::nullopt;
}

}  // namespace

Attempt attempt_clos(const Cluster& cluster, const FabricSpec& spec) {
  ClosPlan plan{{cluster, spec}};
  ClosShape& clos = plan.clos;
  const SwitchKind& spine = spec.spine_switch ? *spec.spine_switch : spec.leaf_switch;
  const std::int64_t k = spec.k.value_or(spec.leaf_switch.ports);
  if (plan.is(FabricKind::fat_tree) && k % 2 != 0)
    return fail(Error::contradiction, Key::k, fmt::format("k must be even, not {}", k));
  wire_groups(plan);
  clos.sites = plan.sites;
  clos.leaf_down = plan.leaf_down;
  if (plan.is(FabricKind::fat_tree)) {
    clos.leaf_down = u32(k / 2);
    for (std::size_t g = 0; g < plan.shape.wiring.size(); ++g) {
      const std::int64_t per_server =
          static_cast<std::int64_t>(cluster.groups[g].nics()) * plan.shape.wiring[g].ports_per_plane;
      if (clos.leaf_down % per_server != 0)
        return fail(Error::contradiction, Key::k,
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
      return fail(Error::missing_key, Key::super_spines, "super-spines join pods, but 'pod' is not given",
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
    return fail(Error::port_budget, Key::k,
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

}  // namespace weft::model::derivation
