#pragma once
// The counts a fabric consists of, closed: every port is accounted for. Derived from the cluster
// file by `derive_shape`; the fabric's arithmetic works from these numbers alone.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/units.hpp"
#include "model/choices.hpp"
#include "model/kinds.hpp"

namespace weft::model {

inline constexpr std::int64_t kMostSwitches = 16'000'000;  // node numbers are 32 bits

// A token bucket before a wire (Linux's tbf); of no rate: none.
struct Shaper {
  Bandwidth rate;
  Bytes burst;
  Bytes queue;
};

// One direction of one cable of a tier.
struct Wire {
  Bandwidth rate;
  Duration latency;
  Shaper shaper = {};
};

// How the NIC ports of one server group meet the leaves (or routers) of a plane. A block of
// `servers_per_block` servers shares `leaves_per_block` leaves; NIC n of a server goes to leaf
// n / nics_per_leaf of its block. Rail fabrics, ToRs and a chassis differ only in these numbers.
struct Wiring {
  std::uint32_t first_leaf = 0;
  std::uint32_t first_port = 0;
  std::uint32_t servers_per_block = 1;
  std::uint32_t leaves_per_block = 1;
  std::uint32_t nics_per_leaf = 1;
  std::uint32_t ports_per_plane = 1;  // of one NIC
  Wire wire;                          // from NIC port to leaf
};

// What one site holds, within one plane.
struct SiteShape {
  std::uint32_t first_leaf = 0;
  std::uint32_t leaves = 0;
  std::uint32_t first_pod = 0;
  std::uint32_t pods = 0;
};

// A folded Clos of one to three tiers, in `planes` copies. Spine s of every pod belongs to group
// s / (spines_per_pod / super_groups) and is joined to the `supers_per_group` super-spines of that
// group: super_groups = spines_per_pod is the k-ary fat tree, 1 is a full mesh.
struct ClosShape {
  std::uint32_t tiers = 1;
  std::uint32_t leaf_down = 0;  // NIC ports of a leaf
  std::uint32_t leaves_per_pod = 1;
  std::uint32_t spines_per_pod = 0;
  std::uint32_t bundle = 0;  // links between a leaf and a spine
  std::uint32_t super_groups = 0;
  std::uint32_t supers_per_group = 0;
  std::uint32_t super_bundle = 0;
  std::uint32_t gateways = 0;  // per site
  std::uint32_t gateway_bundle = 0;
  std::uint32_t site_links = 0;
  std::vector<SiteShape> sites;
  Wire spine_wire;
  Wire super_wire;
  Wire site_wire;
};

// Groups of routers, all joined inside a group, `global_links` per router to other groups.
struct DragonflyShape {
  std::uint32_t router_down = 0;  // NIC ports of a router
  std::uint32_t routers_per_group = 0;
  std::uint32_t global_links = 0;
  std::uint32_t groups = 0;
  DragonflyRouting routing = DragonflyRouting::minimal;
  Wire local_wire;
  Wire global_wire;
};

struct Shape {
  // Planes: rails that are fabrics of their own (rail-only) times NIC ports split over planes.
  std::uint32_t rail_planes = 1;
  std::uint32_t port_planes = 1;
  std::uint32_t planes() const { return rail_planes * port_planes; }

  std::vector<Wiring> wiring;  // by server group
  std::variant<std::monostate, ClosShape, DragonflyShape> layout;
  std::vector<SwitchKind> switches;  // by tier: leaf or router, spine, super-spine, gateway
};

// Links of one rate on one switch.
struct PortUse {
  Bandwidth rate;
  std::int64_t count;
};

// How many links of that rate share one front-panel port by breakout; 0 when they are faster than any port.
std::int64_t links_per_port(const SwitchKind& kind, Bandwidth rate);

// Front-panel ports that `uses` take on a switch, with slower links sharing ports by breakout; -1
// when a link is faster than any port.
std::int64_t ports_needed(const SwitchKind& kind, const std::vector<PortUse>& uses);

}  // namespace weft::model
