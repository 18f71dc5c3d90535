#pragma once
// A folded Clos of one to three tiers, one plane of it, by arithmetic alone.
//
//   gateway          per site, joined to the gateways of other sites
//   super-spine      group g, number c      joined to spine k of group g in every pod of its site
//   spine            pod p, number s        joined to every leaf of its pod
//   leaf             pod p, number l        NIC ports first, then uplinks
//
// Ports of a switch are numbered downwards first, neighbour by neighbour with the links of a bundle
// next to each other. So the ports that lead towards a target always form one contiguous range, and
// routing is: find the range, choose in it.

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/network.hpp"
#include "model/cluster_file.hpp"
#include "model/shape.hpp"

namespace weft::fabric {

class Clos {
 public:
  explicit Clos(const model::ClosShape& shape);

  enum class Tier : std::uint8_t { leaf, spine, super_spine, gateway };
  struct Position {
    Tier tier;
    std::uint32_t site;
    std::uint32_t pod;    // leaf, spine: counted over all sites
    std::uint32_t index;  // within the tier, counted over all sites
  };
  std::uint32_t switches() const { return gateway0_ + site_count() * shape_.gateways; }
  std::uint32_t count(Tier tier) const;
  Position position(std::uint32_t index) const;
  std::uint32_t ports(std::uint32_t index) const;
  Peer peer(std::uint32_t index, std::uint32_t port) const;
  const model::ClosShape& shape() const { return shape_; }
  std::vector<SwitchTier> tiers() const;
  model::Wire wire(LinkTier tier) const;
  std::vector<CableRun> cables(const model::FabricSpec& spec) const;
  std::string text() const;

  // The ports of `index` that lead towards the target on a shortest path; count 0 when none does.
  PortRange towards(std::uint32_t index, const Target& target) const;

  // Gateways, whose way depends on the other site, have no waypoint; nor have leaves that hang on them.
  bool has_waypoint(std::uint32_t index) const {
    return index < gateway0_ && (shape_.tiers > 1 || shape_.gateways == 0);
  }
  Waypoint waypoint(std::uint32_t index) const;
  Destination destination(const Target& target) const;
  // A tree's routes need no state.
  RouteState start(std::uint32_t, const Target&, std::uint32_t, const Broken&) const { return {}; }
  Hop next_hop(std::uint32_t index, const Target& target, std::uint32_t entropy, RouteState = {}) const {
    const PortRange range = towards(index, target);
    if (range.count == 0) return {};
    return {range.first + choose(entropy, range.salt, range.count), {}};
  }
  // The same around what is broken. Where no link is left between two sites, a gateway goes over a
  // third one that has such a link.
  Hop next_hop(std::uint32_t index, const Target& target, std::uint32_t entropy, RouteState state,
               const Broken& broken) const;
  // Whether a switch still has a way to the target.
  bool reaches(std::uint32_t index, const Target& target, RouteState, const Broken& broken) const {
    Search search;
    return reaches(index, target, broken, search);
  }
  bool reaches(std::uint32_t index, const Target& target, const Broken& broken, Search& search) const;
  template <class Visit>
  void for_each_port(std::uint32_t index, const Target& target, RouteState, Visit visit) const {
    const PortRange range = towards(index, target);
    for (std::uint32_t i = 0; i < range.count; ++i) visit(range.first + i);
  }
  std::uint64_t path_count(std::uint32_t from, const Target& target) const;
  bool shortest_only() const { return true; }
  std::uint32_t lossless_channels() const { return 1; }  // up and then down: no circle

 private:
  std::uint32_t site_count() const { return static_cast<std::uint32_t>(shape_.sites.size()); }
  std::uint32_t supers_per_site() const { return shape_.super_groups * shape_.supers_per_group; }
  std::uint32_t spines_per_group() const { return shape_.spines_per_pod / shape_.super_groups; }
  std::uint32_t site_of_leaf(std::uint32_t leaf) const;
  std::uint32_t pod_of_leaf(std::uint32_t leaf, std::uint32_t site) const;
  std::uint32_t site_of_pod(std::uint32_t pod) const;
  std::uint32_t tops(std::uint32_t site) const;       // switches below the gateways of a site
  std::uint32_t first_top(std::uint32_t site) const;  // their first switch number
  // A packet passes a tier on its way up and again on its way down. Were both choices made with one
  // salt, equal numbers of ports would choose alike and half of the paths would stay empty.
  enum Salt : std::uint32_t {
    kLeafUp = 1,
    kSpineUp,
    kSuperUp,
    kAcross,
    kGatewayDown = 10,  // 5 to 9 are taken by Dragonfly and paths
    kSuperDown,
    kSpineDown
  };
  PortRange towards_gateways(std::uint32_t first_port, Salt salt) const {
    return {first_port, shape_.gateways * shape_.gateway_bundle, salt};
  }
  // Every port of a gateway to other sites when the target is not here; else nothing.
  PortRange over_other_sites(std::uint32_t index, const Target& target) const;
  // `around`: a gateway on the way may go over a third site.
  bool usable(std::uint32_t index, std::uint32_t port, const Target& target, const Broken& broken, bool around,
              Search& search) const;
  bool reaches(std::uint32_t index, const Target& target, const Broken& broken, bool around, Search& search) const;
  Hop choose_live(std::uint32_t index, const PortRange& range, const Target& target, std::uint32_t entropy,
                  const Broken& broken, bool around, Search& search) const;

  Peer leaf_peer(const Position& at, std::uint32_t port) const;
  Peer spine_peer(const Position& at, std::uint32_t port) const;
  Peer super_peer(const Position& at, std::uint32_t port) const;
  Peer gateway_peer(const Position& at, std::uint32_t port) const;
  Peer to_gateway(std::uint32_t site, std::uint32_t top, std::uint32_t port) const;

  model::ClosShape shape_;
  std::uint32_t leaves_ = 0;
  std::uint32_t pods_ = 0;
  std::uint32_t spine0_ = 0;  // first switch number of each tier
  std::uint32_t super0_ = 0;
  std::uint32_t gateway0_ = 0;
};

}  // namespace weft::fabric
