#include "fabric/position.hpp"

#include <fmt/format.h>

namespace weft::fabric {
namespace {

struct Place {
  std::size_t group = 0;
  std::uint32_t in_group = 0;
};

Place place_of(const Fabric& fabric, std::uint32_t server) {
  const auto& groups = fabric.cluster().groups;
  std::size_t at = groups.size() - 1;
  while (groups[at].first_server > server) --at;
  return {at, server - groups[at].first_server};
}

std::uint32_t servers_per_unit(const Fabric& fabric, std::size_t group) {
  const model::Cluster& cluster = fabric.cluster();
  if (fabric.has_network()) return cluster.shape.wiring[group].servers_per_block;
  const auto& scale_up = cluster.groups[group].spec.scale_up;
  return scale_up ? static_cast<std::uint32_t>(scale_up->servers) : 1;
}

std::uint32_t units_of_group(const Fabric& fabric, std::size_t group) {
  const std::uint32_t per = servers_per_unit(fabric, group);
  return (fabric.cluster().groups[group].servers + per - 1) / per;
}

std::uint32_t first_leaf(const Fabric& fabric, const Place& at) {
  const model::Wiring& wiring = fabric.cluster().shape.wiring[at.group];
  return wiring.first_leaf + at.in_group / wiring.servers_per_block * wiring.leaves_per_block;
}

}  // namespace

Position position_of(const Fabric& fabric, std::uint32_t server) {
  const Place at = place_of(fabric, server);
  const model::Group& group = fabric.cluster().groups[at.group];
  Position made;
  for (std::size_t i = 0; i < at.group; ++i) made.unit += units_of_group(fabric, i);
  made.unit += at.in_group / servers_per_unit(fabric, at.group);
  made.site = group.site;
  if (fabric.has_network()) {
    const std::uint32_t leaf = first_leaf(fabric, at);
    if (const Clos* clos = fabric.clos())
      made.pod = clos->position(leaf).pod;
    else if (fabric.dragonfly() != nullptr)
      made.pod = leaf / std::get<model::DragonflyShape>(fabric.cluster().shape.layout).routers_per_group;
  }
  const std::uint32_t domain = group.spec.scale_up ? static_cast<std::uint32_t>(group.spec.scale_up->servers) : 1;
  if (domain > 1) {
    std::uint32_t before = 0;
    for (std::size_t i = 0; i < at.group; ++i) {
      const auto& other = fabric.cluster().groups[i];
      before += other.spec.scale_up ? other.servers / static_cast<std::uint32_t>(other.spec.scale_up->servers) : 0;
    }
    made.rack = before + at.in_group / domain;
  } else if (fabric.cluster().file.fabric.kind == model::FabricKind::tor_clos) {
    made.rack = made.unit;
  }
  return made;
}

std::vector<Position> positions_of(const Fabric& fabric) {
  std::vector<Position> all;
  for (std::uint32_t server = 0; server < fabric.cluster().servers; ++server)
    all.push_back(position_of(fabric, server));
  return all;
}

std::uint32_t units(const Fabric& fabric) {
  std::uint32_t all = 0;
  for (std::size_t i = 0; i < fabric.cluster().groups.size(); ++i) all += units_of_group(fabric, i);
  return all;
}

std::string unit_name(const Fabric& fabric, std::uint32_t server) {
  const Place at = place_of(fabric, server);
  const bool one_leaf =
      fabric.has_network() && fabric.planes() == 1 && fabric.cluster().shape.wiring[at.group].leaves_per_block == 1;
  if (one_leaf) return fabric.name(fabric.node(NodeKind::network_switch, first_leaf(fabric, at)));
  return fmt::format("su{}", position_of(fabric, server).unit);
}

}  // namespace weft::fabric
