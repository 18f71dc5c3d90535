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

#include "fabric/network.hpp"
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
  struct PortRange {
    std::uint32_t first;
    std::uint32_t count;
    std::uint32_t salt = 0;  // of the choice in it, its own for every stage of a route
  };

  std::uint32_t switches() const { return gateway0_ + site_count() * shape_.gateways; }
  std::uint32_t count(Tier tier) const;
  Position position(std::uint32_t index) const;
  std::uint32_t ports(std::uint32_t index) const;
  Peer peer(std::uint32_t index, std::uint32_t port) const;
  const model::ClosShape& shape() const { return shape_; }

  // The ports of `index` that lead towards the target on a shortest path; count 0 when none does.
  PortRange towards(std::uint32_t index, const Target& target) const;

  // The same for who asks often: what a switch and a target are is worked out once, and only one
  // comparison is left. A switch leads down when the target lies below it, else up. Gateways, whose
  // way depends on the other site, have no waypoint; nor have leaves that hang on them.
  struct Waypoint {
    Tier tier = Tier::leaf;
    std::uint32_t place = 0;  // leaf, pod or site that lies below it
    std::uint32_t step = 1;   // ports per thing below it
    PortRange down;           // `first` counts from the target's step
    PortRange up;
  };
  struct Destination {
    std::uint32_t place[3];  // its leaf, pod and site
    std::uint32_t below[3];  // port of the leaf, leaf of the pod, pod of the site
  };
  bool has_waypoint(std::uint32_t index) const {
    return index < gateway0_ && (shape_.tiers > 1 || shape_.gateways == 0);
  }
  Waypoint waypoint(std::uint32_t index) const;
  Destination destination(const Target& target) const;
  static PortRange towards(const Waypoint& at, const Destination& to) {
    const auto tier = static_cast<std::size_t>(at.tier);
    if (to.place[tier] != at.place) return at.up;
    return {to.below[tier] * at.step, at.down.count, at.down.salt};
  }

  Hop next_hop(std::uint32_t index, const Target& target, std::uint32_t entropy) const {
    const PortRange range = towards(index, target);
    if (range.count == 0) return {};
    return {range.first + choose(entropy, range.salt, range.count), {}};
  }
  // The same around what is broken. Where no link is left between two sites, a gateway goes over a
  // third one that has such a link.
  Hop next_hop(std::uint32_t index, const Target& target, std::uint32_t entropy, const Broken& broken) const;
  // Whether a switch still has a way to the target.
  bool reaches(std::uint32_t index, const Target& target, const Broken& broken) const {
    Search search;
    return reaches(index, target, broken, search);
  }
  bool reaches(std::uint32_t index, const Target& target, const Broken& broken, Search& search) const;

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
