#pragma once
// Where a server stands, in the words of schedulers: units that share leaves, pods, sites, racks.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/fabric.hpp"

namespace weft::fabric {

struct Position {
  std::uint32_t unit =
      0;                  // servers that share all their leaves, counted over all groups: a scalable unit, a rack's ToR
  std::uint32_t pod = 0;  // units below the same spines, or a Dragonfly's group
  std::uint32_t site = 0;
  std::optional<std::uint32_t> rack;  // where the file tells: one NVLink domain, or one ToR
  bool operator==(const Position&) const = default;
};

Position position_of(const Fabric& fabric, std::uint32_t server);
std::vector<Position> positions_of(const Fabric& fabric);  // of all servers

std::uint32_t units(const Fabric& fabric);

// su0, or the ToR's own name where a unit has one leaf.
std::string unit_name(const Fabric& fabric, std::uint32_t server);

}  // namespace weft::fabric
