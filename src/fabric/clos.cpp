#include "fabric/clos.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::fabric {

Clos::Clos(const model::ClosShape& shape) : shape_(shape) {
  for (const model::SiteShape& site : shape_.sites) {
    leaves_ += site.leaves;
    pods_ += site.pods;
  }
  spine0_ = leaves_;
  super0_ = spine0_ + (shape_.tiers >= 2 ? pods_ * shape_.spines_per_pod : 0);
  gateway0_ = super0_ + (shape_.tiers == 3 ? site_count() * supers_per_site() : 0);
}

std::uint32_t Clos::count(Tier tier) const {
  switch (tier) {
    case Tier::leaf:
      return spine0_;
    case Tier::spine:
      return super0_ - spine0_;
    case Tier::super_spine:
      return gateway0_ - super0_;
    case Tier::gateway:
      return switches() - gateway0_;
  }
  return 0;
}

std::vector<SwitchTier> Clos::tiers() const {
  return {{"leaf", "leaf", 0, count(Tier::leaf), 0},
          {"spine", "spine", spine0_, count(Tier::spine), 1},
          {"super", "super-spine", super0_, count(Tier::super_spine), 2},
          {"gateway", "gateway", gateway0_, count(Tier::gateway), shape_.tiers}};
}

model::Wire Clos::wire(LinkTier tier) const {
  switch (tier) {
    case LinkTier::spine:
      return shape_.spine_wire;
    case LinkTier::super_spine:
      return shape_.super_wire;
    case LinkTier::gateway:
      return shape_.tiers == 3 ? shape_.super_wire : shape_.spine_wire;
    case LinkTier::site:
      return shape_.site_wire;
    case LinkTier::nic:
    case LinkTier::local:
    case LinkTier::global:
      break;
  }
  return {};
}

std::vector<CableRun> Clos::cables(const model::FabricSpec& spec) const {
  const model::LinkSpec& spine = spec.spine_link ? *spec.spine_link : spec.link;
  const model::LinkSpec& super = spec.super_spine_link ? *spec.super_spine_link : spine;
  const auto from = [&](Tier tier) { return static_cast<std::uint64_t>(count(tier)); };
  std::vector<CableRun> runs;
  if (shape_.tiers >= 2)
    runs.push_back({LinkTier::spine, from(Tier::leaf) * shape_.spines_per_pod * shape_.bundle, &spine.medium});
  if (shape_.tiers == 3)
    runs.push_back(
        {LinkTier::super_spine, from(Tier::spine) * shape_.supers_per_group * shape_.super_bundle, &super.medium});
  if (shape_.gateways > 0) {
    const Tier top = shape_.tiers == 3 ? Tier::super_spine : shape_.tiers == 2 ? Tier::spine : Tier::leaf;
    runs.push_back({LinkTier::gateway, from(top) * shape_.gateways * shape_.gateway_bundle,
                    shape_.tiers == 3 ? &super.medium : &spine.medium});
  }
  return runs;
}

std::string Clos::text() const {
  std::string text;
  if (shape_.tiers >= 2)
    text += fmt::format("; {} to each of {}", counted(shape_.bundle, "link"), counted(shape_.spines_per_pod, "spine"));
  if (shape_.tiers == 3)
    text += fmt::format("; pods of {}; {} to each of {}", counted(shape_.leaves_per_pod, "leaf"),
                        counted(shape_.super_bundle, "link"), counted(shape_.supers_per_group, "super-spine"));
  return text;
}

std::uint64_t Clos::path_count(std::uint32_t from, const Target& target) const {
  // All choices at a switch are alike, so one representative is followed.
  std::uint64_t paths = 1;
  std::uint32_t at = from;
  while (true) {
    const PortRange range = towards(at, target);
    if (range.count == 0) return 0;
    if (at == target.leaf) return paths;
    paths *= range.count;
    at = peer(at, range.first).switch_index;
  }
}

std::uint32_t Clos::site_of_leaf(std::uint32_t leaf) const {
  std::uint32_t site = 0;
  while (site + 1 < site_count() && leaf >= shape_.sites[site + 1].first_leaf) ++site;
  return site;
}

std::uint32_t Clos::site_of_pod(std::uint32_t pod) const {
  std::uint32_t site = 0;
  while (site + 1 < site_count() && pod >= shape_.sites[site + 1].first_pod) ++site;
  return site;
}

std::uint32_t Clos::pod_of_leaf(std::uint32_t leaf, std::uint32_t site) const {
  const model::SiteShape& here = shape_.sites[site];
  return here.first_pod + (leaf - here.first_leaf) / shape_.leaves_per_pod;
}

std::uint32_t Clos::tops(std::uint32_t site) const {
  if (shape_.tiers == 3) return supers_per_site();
  if (shape_.tiers == 2) return shape_.spines_per_pod;
  return shape_.sites[site].leaves;
}

std::uint32_t Clos::first_top(std::uint32_t site) const {
  if (shape_.tiers == 3) return super0_ + site * supers_per_site();
  if (shape_.tiers == 2) return spine0_ + shape_.sites[site].first_pod * shape_.spines_per_pod;
  return shape_.sites[site].first_leaf;
}

Clos::Position Clos::position(std::uint32_t index) const {
  if (index < spine0_) {
    const std::uint32_t site = site_of_leaf(index);
    return {Tier::leaf, site, pod_of_leaf(index, site), index};
  }
  if (index < super0_) {
    const std::uint32_t spine = index - spine0_;
    const std::uint32_t pod = spine / shape_.spines_per_pod;
    return {Tier::spine, site_of_pod(pod), pod, spine};
  }
  if (index < gateway0_) {
    const std::uint32_t super = index - super0_;
    return {Tier::super_spine, super / supers_per_site(), 0, super};
  }
  const std::uint32_t gateway = index - gateway0_;
  return {Tier::gateway, gateway / shape_.gateways, 0, gateway};
}

std::uint32_t Clos::ports(std::uint32_t index) const {
  const Position at = position(index);
  const std::uint32_t to_gateways = shape_.gateways * shape_.gateway_bundle;
  switch (at.tier) {
    case Tier::leaf:
      return shape_.leaf_down + (shape_.tiers >= 2 ? shape_.spines_per_pod * shape_.bundle : to_gateways);
    case Tier::spine:
      return shape_.leaves_per_pod * shape_.bundle +
             (shape_.tiers == 3 ? shape_.supers_per_group * shape_.super_bundle : to_gateways);
    case Tier::super_spine:
      return shape_.sites[at.site].pods * spines_per_group() * shape_.super_bundle + to_gateways;
    case Tier::gateway:
      return tops(at.site) * shape_.gateway_bundle + (site_count() - 1) * shape_.site_links;
  }
  return 0;
}

PortRange Clos::towards(std::uint32_t index, const Target& target) const {
  const Position at = position(index);
  const std::uint32_t target_site = site_of_leaf(target.leaf);
  const model::SiteShape& site = shape_.sites[at.site];
  const bool here = at.site == target_site;
  const std::uint32_t target_pod = pod_of_leaf(target.leaf, target_site);
  switch (at.tier) {
    case Tier::leaf:
      if (index == target.leaf) return {target.port, 1};
      if (shape_.tiers >= 2) return {shape_.leaf_down, shape_.spines_per_pod * shape_.bundle, kLeafUp};
      return here ? PortRange{0, 0} : towards_gateways(shape_.leaf_down, kLeafUp);
    case Tier::spine: {
      const std::uint32_t down = shape_.leaves_per_pod * shape_.bundle;
      if (at.pod == target_pod) {
        const std::uint32_t leaf = (target.leaf - site.first_leaf) % shape_.leaves_per_pod;
        return {leaf * shape_.bundle, shape_.bundle, kSpineDown};
      }
      if (shape_.tiers == 3) return {down, shape_.supers_per_group * shape_.super_bundle, kSpineUp};
      return towards_gateways(down, kSpineUp);
    }
    case Tier::super_spine: {
      const std::uint32_t per_pod = spines_per_group() * shape_.super_bundle;
      if (here) return {(target_pod - site.first_pod) * per_pod, per_pod, kSuperDown};
      return towards_gateways(site.pods * per_pod, kSuperUp);
    }
    case Tier::gateway: {
      const std::uint32_t all_tops = tops(at.site) * shape_.gateway_bundle;
      if (!here) {
        const std::uint32_t other = target_site - (target_site > at.site ? 1 : 0);
        return {all_tops + other * shape_.site_links, shape_.site_links, kAcross};
      }
      if (shape_.tiers >= 2) return {0, all_tops, kGatewayDown};
      return {(target.leaf - site.first_leaf) * shape_.gateway_bundle, shape_.gateway_bundle, kGatewayDown};
    }
  }
  return {0, 0};
}

Peer Clos::to_gateway(std::uint32_t site, std::uint32_t top, std::uint32_t port) const {
  if (port >= shape_.gateways * shape_.gateway_bundle) return {};
  const std::uint32_t gateway = port / shape_.gateway_bundle;
  return {Peer::Kind::other_switch, LinkTier::gateway, gateway0_ + site * shape_.gateways + gateway,
          top * shape_.gateway_bundle + port % shape_.gateway_bundle};
}

Waypoint Clos::waypoint(std::uint32_t index) const {
  const Position at = position(index);
  // The two answers of `towards`, asked for a target below and for one that is not.
  Waypoint waypoint;
  waypoint.level = static_cast<std::uint8_t>(at.tier);
  switch (at.tier) {
    case Tier::leaf:
      waypoint.place = index;
      waypoint.down = {0, 1};
      waypoint.up = shape_.tiers >= 2 ? PortRange{shape_.leaf_down, shape_.spines_per_pod * shape_.bundle, kLeafUp}
                                      : towards_gateways(shape_.leaf_down, kLeafUp);
      break;
    case Tier::spine:
      waypoint.place = at.pod;
      waypoint.step = shape_.bundle;
      waypoint.down = {0, shape_.bundle, kSpineDown};
      waypoint.up = shape_.tiers == 3 ? PortRange{shape_.leaves_per_pod * shape_.bundle,
                                                  shape_.supers_per_group * shape_.super_bundle, kSpineUp}
                                      : towards_gateways(shape_.leaves_per_pod * shape_.bundle, kSpineUp);
      break;
    case Tier::super_spine:
    case Tier::gateway:
      waypoint.place = at.site;
      waypoint.step = spines_per_group() * shape_.super_bundle;
      waypoint.down = {0, waypoint.step, kSuperDown};
      waypoint.up = towards_gateways(shape_.sites[at.site].pods * waypoint.step, kSuperUp);
      break;
  }
  return waypoint;
}

Destination Clos::destination(const Target& target) const {
  const std::uint32_t site = site_of_leaf(target.leaf);
  const std::uint32_t pod = pod_of_leaf(target.leaf, site);
  return {{target.leaf, pod, site},
          {target.port, (target.leaf - shape_.sites[site].first_leaf) % shape_.leaves_per_pod,
           pod - shape_.sites[site].first_pod}};
}

Peer Clos::leaf_peer(const Position& at, std::uint32_t port) const {
  if (port < shape_.leaf_down) return {Peer::Kind::nic, LinkTier::nic, 0, 0};
  const model::SiteShape& site = shape_.sites[at.site];
  const std::uint32_t up = port - shape_.leaf_down;
  if (shape_.tiers == 1) return to_gateway(at.site, at.index - site.first_leaf, up);
  const std::uint32_t leaf = (at.index - site.first_leaf) % shape_.leaves_per_pod;
  return {Peer::Kind::other_switch, LinkTier::spine, spine0_ + at.pod * shape_.spines_per_pod + up / shape_.bundle,
          leaf * shape_.bundle + up % shape_.bundle};
}

Peer Clos::spine_peer(const Position& at, std::uint32_t port) const {
  const model::SiteShape& site = shape_.sites[at.site];
  const std::uint32_t down = shape_.leaves_per_pod * shape_.bundle;
  const std::uint32_t spine = at.index % shape_.spines_per_pod;
  if (port < down) {
    const std::uint32_t leaf = (at.pod - site.first_pod) * shape_.leaves_per_pod + port / shape_.bundle;
    if (leaf >= site.leaves) return {};  // the last pod of a site may be part full
    return {Peer::Kind::other_switch, LinkTier::spine, site.first_leaf + leaf,
            shape_.leaf_down + spine * shape_.bundle + port % shape_.bundle};
  }
  const std::uint32_t up = port - down;
  if (shape_.tiers == 2) return to_gateway(at.site, spine, up);
  const std::uint32_t group = spine / spines_per_group();
  const std::uint32_t below = (at.pod - site.first_pod) * spines_per_group() + spine % spines_per_group();
  return {Peer::Kind::other_switch, LinkTier::super_spine,
          super0_ + at.site * supers_per_site() + group * shape_.supers_per_group + up / shape_.super_bundle,
          below * shape_.super_bundle + up % shape_.super_bundle};
}

Peer Clos::super_peer(const Position& at, std::uint32_t port) const {
  const model::SiteShape& site = shape_.sites[at.site];
  const std::uint32_t super = at.index % supers_per_site();
  const std::uint32_t down = site.pods * spines_per_group() * shape_.super_bundle;
  if (port >= down) return to_gateway(at.site, super, port - down);
  const std::uint32_t below = port / shape_.super_bundle;
  const std::uint32_t group = super / shape_.supers_per_group;
  const std::uint32_t spine = group * spines_per_group() + below % spines_per_group();
  const std::uint32_t pod = site.first_pod + below / spines_per_group();
  return {Peer::Kind::other_switch, LinkTier::super_spine, spine0_ + pod * shape_.spines_per_pod + spine,
          shape_.leaves_per_pod * shape_.bundle + super % shape_.supers_per_group * shape_.super_bundle +
              port % shape_.super_bundle};
}

Peer Clos::gateway_peer(const Position& at, std::uint32_t port) const {
  const std::uint32_t number = at.index % shape_.gateways;
  const std::uint32_t down = tops(at.site) * shape_.gateway_bundle;
  if (port < down) {
    const std::uint32_t top = first_top(at.site) + port / shape_.gateway_bundle;
    return {Peer::Kind::other_switch, LinkTier::gateway, top,
            ports(top) - shape_.gateways * shape_.gateway_bundle + number * shape_.gateway_bundle +
                port % shape_.gateway_bundle};
  }
  const std::uint32_t lateral = port - down;
  const std::uint32_t slot = lateral / shape_.site_links;
  const std::uint32_t other = slot + (slot >= at.site ? 1 : 0);
  const std::uint32_t back = at.site - (at.site > other ? 1 : 0);
  return {Peer::Kind::other_switch, LinkTier::site, gateway0_ + other * shape_.gateways + number,
          tops(other) * shape_.gateway_bundle + back * shape_.site_links + lateral % shape_.site_links};
}

Peer Clos::peer(std::uint32_t index, std::uint32_t port) const {
  const Position at = position(index);
  switch (at.tier) {
    case Tier::leaf:
      return leaf_peer(at, port);
    case Tier::spine:
      return spine_peer(at, port);
    case Tier::super_spine:
      return super_peer(at, port);
    case Tier::gateway:
      return gateway_peer(at, port);
  }
  return {};
}

PortRange Clos::over_other_sites(std::uint32_t index, const Target& target) const {
  if (index < gateway0_ || site_count() < 3) return {0, 0};
  const std::uint32_t site = (index - gateway0_) / shape_.gateways;
  if (site == site_of_leaf(target.leaf)) return {0, 0};
  return {tops(site) * shape_.gateway_bundle, (site_count() - 1) * shape_.site_links, kAcross};
}

bool Clos::usable(std::uint32_t index, std::uint32_t port, const Target& target, const Broken& broken, bool around,
                  Search& search) const {
  if (broken.port_down(index, port)) return false;
  if (index == target.leaf) return true;  // the NIC's own port
  const Peer next = peer(index, port);
  return next.kind == Peer::Kind::other_switch && reaches(next.switch_index, target, broken, around, search);
}

bool Clos::reaches(std::uint32_t index, const Target& target, const Broken& broken, bool around, Search& search) const {
  if (broken.switch_down(index)) return false;
  const std::uint64_t key = 2 * std::uint64_t{index} + (around ? 1 : 0);
  if (const bool* known = search.known(key)) return *known;
  search.expand();
  // Up and then down, never up again, so this recursion is at most eight deep; it ends at the first
  // live way, which with few failures is the first one tried.
  const PortRange range = towards(index, target);
  for (std::uint32_t i = 0; i < range.count; ++i)
    if (usable(index, range.first + i, target, broken, around, search)) return true;
  if (!around) return search.remember(key, false);
  // The third site must go on directly: two gateways that send around over each other would loop.
  const PortRange detour = over_other_sites(index, target);
  for (std::uint32_t i = 0; i < detour.count; ++i)
    if (usable(index, detour.first + i, target, broken, false, search)) return true;
  return search.remember(key, false);
}

bool Clos::reaches(std::uint32_t index, const Target& target, const Broken& broken, Search& search) const {
  if (broken.target_down(target)) return false;
  return reaches(index, target, broken, false, search) ||
         (site_count() > 2 && reaches(index, target, broken, true, search));
}

Hop Clos::choose_live(std::uint32_t index, const PortRange& range, const Target& target, std::uint32_t entropy,
                      const Broken& broken, bool around, Search& search) const {
  // A few fresh draws spread the load of a dead port over all others; then every port in turn.
  constexpr std::uint32_t kDraws = 8;
  for (std::uint32_t draw = 0; draw < kDraws && range.count > 0; ++draw) {
    const std::uint32_t port = range.first + choose(entropy, range.salt + 16 * draw, range.count);
    if (usable(index, port, target, broken, around, search)) return {port, {}};
  }
  for (std::uint32_t i = 0; i < range.count; ++i)
    if (usable(index, range.first + i, target, broken, around, search)) return {range.first + i, {}};
  return {};
}

Hop Clos::next_hop(std::uint32_t index, const Target& target, std::uint32_t entropy, RouteState,
                   const Broken& broken) const {
  if (broken.empty()) return next_hop(index, target, entropy);
  if (broken.target_down(target)) return {};
  const PortRange range = towards(index, target);
  Search search;
  Hop hop = choose_live(index, range, target, entropy, broken, false, search);
  if (hop || site_count() < 3) return hop;
  hop = choose_live(index, range, target, entropy, broken, true, search);
  if (hop) return hop;
  return choose_live(index, over_other_sites(index, target), target, entropy, broken, false, search);
}

}  // namespace weft::fabric
