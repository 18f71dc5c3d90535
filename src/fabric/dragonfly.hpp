#pragma once
// A Dragonfly (Kim, Dally, Scott, Abts, ISCA 2008), one plane of it, by arithmetic alone.
//
// Routers of a group are joined all to all; each has `global_links` to other groups. Link k of a
// group (router k / global_links) leads to the group k % (groups - 1) + 1 further on, in the order of
// a circle, and the whole round repeats while links last. Seen from the other end the same link is
// number k' of that group, so the wiring is its own inverse.
//
// A minimal route crosses one global link: local, global, local. A Valiant route crosses two, over a
// group drawn from the entropy. The number of global links crossed so far is the virtual channel:
// channels are then used in rising order and a lossless network cannot lock up.
//
// Around failures a route may take a detour that its routing would not, and where no group helps
// one local hop more than minimal (`spare`). The channels above are those of a whole network.

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/network.hpp"
#include "model/cluster_file.hpp"
#include "model/shape.hpp"

namespace weft::fabric {

class Dragonfly {
 public:
  explicit Dragonfly(const model::DragonflyShape& shape) : shape_(shape) {}

  std::uint32_t switches() const { return shape_.groups * shape_.routers_per_group; }
  std::uint32_t ports(std::uint32_t) const {
    return shape_.router_down + shape_.routers_per_group - 1 + shape_.global_links;
  }
  std::uint32_t group_of(std::uint32_t router) const { return router / shape_.routers_per_group; }
  Peer peer(std::uint32_t router, std::uint32_t port) const;
  const model::DragonflyShape& shape() const { return shape_; }
  std::vector<SwitchTier> tiers() const { return {{"router", "router", 0, switches(), 0}}; }
  model::Wire wire(LinkTier tier) const;
  std::vector<CableRun> cables(const model::FabricSpec& spec) const;
  std::string text() const;

  // Global links between a group and the one `ahead` places further.
  std::uint32_t links_between(std::uint32_t ahead) const;

  // Virtual channels that a lossless network needs for local and for global links: as many of the latter as a route
  // crosses.
  std::uint32_t local_channels() const { return global_channels() + 1; }
  std::uint32_t global_channels() const {
    if (shape_.groups < 3) return shape_.groups - 1;
    return shape_.routing == model::DragonflyRouting::minimal ? 1 : 2;
  }

  // The state a packet starts with at its first router: a detour where the routing wants one.
  // With ugal the caller decides (`ugal_prefers_detour`) between minimal and detour.
  RouteState start(std::uint32_t router, const Target& target, std::uint32_t entropy, const Broken& broken) const;
  RouteState detour(std::uint32_t router, const Target& target, std::uint32_t entropy) const;

  Hop next_hop(std::uint32_t router, const Target& target, std::uint32_t entropy, RouteState state) const {
    static const Broken kNothing;
    return next_hop(router, target, entropy, state, kNothing);
  }
  Hop next_hop(std::uint32_t router, const Target& target, std::uint32_t entropy, RouteState state,
               const Broken& broken) const;
  // Groups do not nest: every router is asked itself.
  bool has_waypoint(std::uint32_t) const { return false; }
  Waypoint waypoint(std::uint32_t) const { return {}; }
  Destination destination(const Target& target) const { return {{target.leaf}, {target.port}}; }
  bool reaches(std::uint32_t router, const Target& target, RouteState state, const Broken& broken) const {
    Search search;
    return reaches(router, target, state, broken, search);
  }
  bool reaches(std::uint32_t router, const Target& target, RouteState state, const Broken& broken,
               Search& search) const;
  // How many minimal routes lead from a router to a target.
  std::uint64_t path_count(std::uint32_t from, const Target& target) const;
  bool shortest_only() const { return shape_.routing == model::DragonflyRouting::minimal; }
  std::uint32_t lossless_channels() const { return local_channels(); }

  // Calls visit(port) for every port that leads towards the target in this state.
  template <class Visit>
  void for_each_port(std::uint32_t router, const Target& target, RouteState state, Visit visit) const;

 private:
  std::uint32_t goal_group(std::uint32_t router, const Target& target, RouteState state) const;
  std::uint32_t local_port(std::uint32_t router, std::uint32_t to) const;
  std::uint32_t global_port(std::uint32_t link) const {
    return shape_.router_down + shape_.routers_per_group - 1 + link % shape_.global_links;
  }
  std::uint32_t round() const { return shape_.groups - 1; }
  std::uint32_t links_per_group() const { return shape_.routers_per_group * shape_.global_links; }
  // `spare`: some router on the way may hand over to any other of its group, which must then go on
  // without a second such hop.
  bool usable(std::uint32_t router, std::uint32_t port, const Target& target, RouteState state, const Broken& broken,
              bool spare, Search& search) const;
  bool reaches(std::uint32_t router, const Target& target, RouteState state, const Broken& broken, bool spare,
               Search& search) const;
  // Of the links to the group `ahead`, those that router `me` of a group owns: first and how many.
  struct Share {
    std::uint32_t first;
    std::uint32_t count;
  };
  Share own_links(std::uint32_t me, std::uint32_t ahead) const;
  template <class Visit>
  void for_each_local_port(Visit visit) const {
    for (std::uint32_t i = 0; i + 1 < shape_.routers_per_group; ++i) visit(shape_.router_down + i);
  }
  RouteState after(std::uint32_t router, std::uint32_t port, RouteState state) const;

  model::DragonflyShape shape_;
};

// UGAL's choice (Singh, 2005): the detour when the minimal way's queue times its hops is larger.
constexpr bool ugal_prefers_detour(std::uint64_t minimal_queue, std::uint32_t minimal_hops, std::uint64_t detour_queue,
                                   std::uint32_t detour_hops) {
  return minimal_queue * minimal_hops > detour_queue * detour_hops;
}

template <class Visit>
void Dragonfly::for_each_port(std::uint32_t router, const Target& target, RouteState state, Visit visit) const {
  if (router == target.leaf && (state.via == kNone || state.global_hops > 0)) {
    visit(target.port);
    return;
  }
  const std::uint32_t group = group_of(router);
  const std::uint32_t goal = goal_group(router, target, state);
  if (goal == group) {
    visit(local_port(router, target.leaf));
    return;
  }
  const std::uint32_t ahead = (goal + shape_.groups - group) % shape_.groups;
  const std::uint32_t many = links_between(ahead);
  const std::uint32_t me = router % shape_.routers_per_group;
  const Share mine = own_links(me, ahead);
  for (std::uint32_t i = 0; i < mine.count; ++i) visit(global_port((mine.first + i) * round() + ahead - 1));
  if (mine.count > 0) return;  // a router with a link of its own never hands over to another
  std::uint32_t last = kNone;
  for (std::uint32_t i = 0; i < many; ++i) {
    const std::uint32_t owner = (i * round() + ahead - 1) / shape_.global_links;
    if (owner != last) visit(local_port(router, group * shape_.routers_per_group + owner));
    last = owner;
  }
}

}  // namespace weft::fabric
