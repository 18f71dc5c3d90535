#pragma once
// What a cluster amounts to: counts, bandwidths, distances, power and price, from closed forms and a
// handful of routed paths, so that a million GPUs take milliseconds.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/costs.hpp"
#include "fabric/fabric.hpp"

namespace weft::fabric {

struct TierSummary {
  std::string name;  // "leaf"
  std::string kind;  // "tomahawk-5"
  std::uint64_t switches = 0;
  std::int64_t ports = 0;         // front-panel ports of one switch
  std::int64_t ports_used = 0;    // of the fullest switch
  std::int64_t ports_in_use = 0;  // over the whole tier
  Bandwidth below;                // of one full switch
  Bandwidth above;                // zero at the top
  double oversubscription() const {
    return above.count() == 0 ? 0 : static_cast<double>(below.count()) / static_cast<double>(above.count());
  }
};

struct LongestPath {
  std::uint32_t from_gpu = 0;
  std::uint32_t to_gpu = 0;
  std::uint32_t switches = 0;
  std::uint32_t links = 0;
  Duration latency;  // first bit, one way, unloaded: cables, switches, NICs, PCIe and NVLink hops
};

struct Summary {
  std::vector<TierSummary> tiers;
  Bandwidth nic_bandwidth;  // of all NICs, one way
  Bandwidth bisection;      // between two halves of the servers, one way
  std::optional<Bandwidth> between_sites;
  std::uint64_t paths_near = 0;  // shortest routes between two NICs on different leaves, nearest
  std::uint64_t paths_far = 0;   // and farthest
  std::optional<LongestPath> longest;
  Costs costs;
};

Summary summarise(const Fabric& fabric);

// Unloaded one-way latency of a path: its links, and the switches and NICs it passes.
Duration path_latency(const Fabric& fabric, const Path& path);

enum class Owner { oneself, provider, aws };
// AWS where NICs are EFA's, another provider where servers have a price per hour.
Owner owner_of(const model::Cluster& cluster);

// The step of the scale guide (8, 64, 512, more nodes) that a number of servers belongs to. Quotas are a provider's.
struct ScaleStep {
  std::string name;
  std::string implies;
};
ScaleStep scale_step(std::uint32_t servers, Owner owner);

}  // namespace weft::fabric
