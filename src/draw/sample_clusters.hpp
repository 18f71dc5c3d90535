#pragma once
// Clusters for tests, built by hand: the catalog belongs to a floor that draw does not see.

#include <algorithm>
#include <string>
#include <vector>

#include "model/cluster.hpp"

namespace weft::draw::samples {

struct ServerOptions {
  std::int64_t gpus = 8;
  std::int64_t nics = 8;
  std::int64_t ports = 1;
  std::int64_t switches = 8;  // PCIe
  std::int64_t sockets = 2;
  std::int64_t scale_up_switches = 4;
  std::int64_t domain = 1;  // servers that share it
  std::vector<std::int64_t> torus = {};
  bool host_link = false;
  std::string name = "s";
};

inline model::LinkKind link(std::string kind, std::int64_t gigabytes_both_ways) {
  model::LinkKind out;
  out.kind = std::move(kind);
  out.both_ways = Bandwidth(gigabytes_both_ways * 8'000'000'000);
  return out;
}

inline model::Group group(std::uint32_t servers, const ServerOptions& options = {}) {
  model::Group out;
  model::ServerGroup& spec = out.spec;
  spec.kind = "hgx-h100";
  spec.name = options.name;
  spec.count = servers;
  spec.gpu.kind = "h100-sxm";
  spec.gpus = options.gpus;
  spec.nic.kind = "connectx-7";
  spec.nic.rate = gigabits_per_second(400);
  spec.nic.ports = options.ports;
  spec.nic.pcie_gen = 5;
  spec.nic.pcie_lanes = 16;
  spec.nics = options.nics;
  spec.sockets = options.sockets;
  spec.socket_link = link("upi", 256);
  spec.pcie_switches = options.switches;
  if (options.host_link) spec.host_link = link("nvlink-c2c", 450);
  if (options.scale_up_switches > 0 || !options.torus.empty())
    spec.scale_up = model::ScaleUp{
        link("nvlink4", 900), options.torus.empty() ? options.scale_up_switches : 0, options.domain, options.torus, {}};
  out.pcie.kind = out.nic_pcie.kind = "pcie5";
  out.pcie.per_lane_both_ways = out.nic_pcie.per_lane_both_ways = Bandwidth(63'015'000'000);
  out.diagram = model::make_diagram(spec);
  out.servers = servers;
  return out;
}

inline model::SwitchKind switch_kind() {
  model::SwitchKind kind;
  kind.kind = "tomahawk-5";
  kind.ports = 64;
  kind.rate = gigabits_per_second(800);
  kind.latency = nanoseconds(600);
  return kind;
}

inline constexpr model::Wire kWire{gigabits_per_second(400), nanoseconds(25)};

// Numbers the groups; the shape is the caller's.
inline model::Cluster cluster(model::FabricKind kind, std::vector<model::Group> groups) {
  model::Cluster out;
  out.name = "sample";
  out.file.fabric.kind = kind;
  for (model::Group& each : groups) {
    each.first_server = out.servers;
    each.first_gpu = out.gpus;
    each.first_nic = out.nics;
    out.servers += each.servers;
    out.gpus += each.servers * each.gpus();
    out.nics += each.servers * each.nics();
  }
  out.groups = std::move(groups);
  out.sites = {""};
  out.shape.switches.assign(4, switch_kind());
  return out;
}

struct ClosOptions {
  std::uint32_t servers = 32;      // of each site
  std::uint32_t unit = 16;         // servers of a block
  std::uint32_t rails = 8;         // leaves of a block
  std::uint32_t spines = 4;        // of a pod; 0: one tier
  std::uint32_t pod = 0;           // blocks of a pod; 0: two tiers
  std::uint32_t supers = 4;        // of a group
  std::uint32_t super_groups = 1;  // divides spines
  std::uint32_t planes = 1;
  std::uint32_t sites = 1;
  std::uint32_t gateways = 1;  // of a site, where there are several sites
  std::string name = "s";
  model::FabricKind kind = model::FabricKind::rail_optimized;
  std::int64_t domain = 1;
};

inline model::Cluster clos(const ClosOptions& options) {
  const auto up = [](std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; };
  std::vector<model::Group> groups;
  for (std::uint32_t site = 0; site < options.sites; ++site) {
    groups.push_back(group(options.servers, {.nics = options.rails,
                                             .ports = options.planes,
                                             .domain = options.domain,
                                             .name = options.name + (site > 0 ? std::to_string(site) + "-" : "")}));
    groups.back().site = site;
  }
  model::Cluster out = cluster(options.kind, std::move(groups));
  const std::uint32_t blocks = up(options.servers, options.unit);
  model::ClosShape shape;
  shape.tiers = options.spines == 0 ? 1 : options.pod > 0 ? 3 : 2;
  shape.leaf_down = options.unit;
  shape.leaves_per_pod = (options.pod > 0 ? options.pod : blocks) * options.rails;
  shape.spines_per_pod = options.spines;
  shape.bundle = 4;
  shape.super_groups = options.pod > 0 ? options.super_groups : 0;
  shape.supers_per_group = options.pod > 0 ? options.supers : 0;
  shape.super_bundle = 2;
  shape.spine_wire = shape.super_wire = kWire;
  const std::uint32_t pods = up(blocks * options.rails, shape.leaves_per_pod);
  out.sites.clear();
  for (std::uint32_t site = 0; site < options.sites; ++site) {
    shape.sites.push_back({site * blocks * options.rails, blocks * options.rails, site * pods, pods});
    out.shape.wiring.push_back({site * blocks * options.rails, 0, options.unit, options.rails, 1, 1, kWire});
    out.sites.push_back("site" + std::to_string(site));
  }
  if (options.sites > 1) {
    shape.gateways = options.gateways;
    shape.gateway_bundle = 1;
    shape.site_links = 2;
    shape.site_wire = {gigabits_per_second(400), Duration(4'000'000'000)};
  }
  out.shape.port_planes = options.planes;
  out.shape.layout = shape;
  return out;
}

// Every rail a fabric of its own.
inline model::Cluster rail_only(std::uint32_t servers, std::uint32_t per_leaf, std::uint32_t spines) {
  model::Cluster out = cluster(model::FabricKind::rail_only, {group(servers)});
  const std::uint32_t leaves = (servers + per_leaf - 1) / per_leaf;
  model::ClosShape shape;
  shape.tiers = leaves > 1 ? 2 : 1;
  shape.leaf_down = per_leaf;
  shape.leaves_per_pod = leaves;
  shape.spines_per_pod = leaves > 1 ? spines : 0;
  shape.bundle = 1;
  shape.spine_wire = kWire;
  shape.sites = {{0, leaves, 0, 1}};
  out.shape.rail_planes = 8;
  out.shape.wiring = {{0, 0, per_leaf, 1, 1, 1, kWire}};
  out.shape.layout = shape;
  return out;
}

// Several groups of servers on one switch.
inline model::Cluster chassis(std::uint32_t groups) {
  std::vector<model::Group> all;
  for (std::uint32_t g = 0; g < groups; ++g)
    all.push_back(group(2, {.nics = 1, .name = "g" + std::to_string(g) + "-"}));
  model::Cluster out = cluster(model::FabricKind::single_chassis, std::move(all));
  for (std::uint32_t g = 0; g < groups; ++g) out.shape.wiring.push_back({0, 2 * g, 2, 1, 1, 1, kWire});
  model::ClosShape shape;
  shape.leaf_down = 2 * groups;
  shape.sites = {{0, 1, 0, 1}};
  out.shape.layout = shape;
  return out;
}

inline model::Cluster dragonfly(std::uint32_t groups, std::uint32_t routers, std::uint32_t servers_per_router) {
  model::Cluster out = cluster(model::FabricKind::dragonfly, {group(groups * routers * servers_per_router)});
  model::DragonflyShape shape;
  shape.router_down = 8 * servers_per_router;
  shape.routers_per_group = routers;
  shape.global_links = std::max(1u, (groups + routers - 2) / routers);
  shape.groups = groups;
  shape.local_wire = shape.global_wire = kWire;
  out.shape.wiring = {{0, 0, servers_per_router, 1, 8, 1, kWire}};
  out.shape.layout = shape;
  return out;
}

}  // namespace weft::draw::samples
