#include "fabric/testing_fabrics.hpp"
#include "base/testing_source_dir.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "model/load.hpp"
#include "spec/diagnostics.hpp"

namespace weft::fabric::testing {
namespace {

std::optional<model::Cluster> load(const std::string& yaml, std::string& errors) {
  spec::Diagnostics diagnostics;
  static const model::Catalog catalog = [] {
    spec::Diagnostics own;
    return model::Catalog::embedded(own);
  }();
  const std::uint32_t source = diagnostics.sources().add("test.weft.yaml", yaml);
  auto cluster = model::load_cluster(source, "test", {}, catalog, diagnostics);
  if (!cluster) errors = spec::render_text(diagnostics, false);
  return cluster;
}

// Servers small enough to try every pair: 4 GPUs, 4 NICs of 400G, NVLink between them.
std::string servers(int count, const std::string& more = "nics: 4") {
  return "version: 1\nservers: {kind: hgx-h100, gpus: 4, pcie_switches: 4, count: " + std::to_string(count) + ", " +
         more + "}\n";
}

std::string at_sites(const std::vector<int>& counts, const std::string& more) {
  std::string text = "version: 1\nservers:\n";
  for (std::size_t i = 0; i < counts.size(); ++i)
    text += "  - {kind: hgx-h100, gpus: 4, pcie_switches: 4, name: " + std::string(1, static_cast<char>('a' + i)) +
            ", site: site" + std::to_string(i) + ", count: " + std::to_string(counts[i]) + ", " + more + "}\n";
  return text;
}

}  // namespace

model::Cluster cluster_of(const std::string& yaml) {
  std::string errors;
  auto cluster = load(yaml, errors);
  if (!cluster) {
    ADD_FAILURE() << yaml << errors;
    throw std::runtime_error("the cluster of this test does not load");
  }
  return std::move(*cluster);
}

bool loads(const std::string& yaml) {
  std::string errors;
  return load(yaml, errors).has_value();
}

std::optional<model::Cluster> topo_cluster(const std::string& file) {
  const char* shared = std::getenv("WEFT_SHARED");
  const std::filesystem::path root =
      shared != nullptr ? std::filesystem::path(shared) : std::filesystem::path(base::kSourceDir) / ".." / "shared";
  const auto path = root / "peers" / "htsim" / file;
  if (!std::filesystem::exists(path)) return std::nullopt;
  spec::Diagnostics diagnostics;
  const model::Catalog catalog = model::Catalog::embedded(diagnostics);
  auto cluster = model::load_cluster(path, {}, catalog, diagnostics);
  EXPECT_TRUE(cluster.has_value()) << spec::render_text(diagnostics, false);
  return cluster;
}

const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = {
      {"single_chassis", servers(3) + "fabric: {kind: single-chassis, switch: quantum-2}\n", 1, 1, 12},
      // Two groups share the chassis; the second starts where the first ends.
      {"single_chassis_two_groups",
       "version: 1\nservers:\n  - {kind: hgx-h100, nics: 4, count: 2, name: a}\n"
       "  - {kind: h100-pcie-8, count: 3, name: b}\nfabric: {kind: single-chassis, switch: "
       "quantum-2}\n",
       1, 1, 20},
      // 2 units x 4 rails = 8 leaves of 4 servers below 2 spines.
      {"rail_two_tiers",
       servers(8) + "fabric: {kind: rail-optimized, scalable_unit: 4, spines: 2, parallel_links: 2}\n", 1, 10, 32},
      // The last unit has 1 of 3 servers; rails 0..2 on one leaf, rail 3 alone on the other.
      {"rail_uneven",
       servers(7) + "fabric: {kind: rail-optimized, scalable_unit: 3, rails_per_leaf: 3, spines: "
                    "3, parallel_links: 2}\n",
       1, 9, 28},
      // 8 units in 4 pods; 2 spines a pod, all joined to both super-spines by 2 links.
      {"rail_three_tiers_mesh",
       servers(16) + "fabric: {kind: rail-optimized, scalable_unit: 2, pod: 2, spines: 2, parallel_links: 1, "
                     "super_spines: 2, super_parallel_links: 2}\n",
       1, 32 + 8 + 2, 64},
      // As above, but each spine number has super-spines of its own, and the last pod is half full.
      {"rail_three_tiers_groups",
       servers(14) + "fabric: {kind: rail-optimized, scalable_unit: 2, pod: 2, spines: 2, parallel_links: 1, "
                     "super_spines: 8, super_oversubscription: 2}\n",
       1, 28 + 8 + 8, 56},
      // 4 spines in 2 groups of 2: two spines of a pod share super-spines.
      {"rail_three_tiers_pairs",
       servers(12) + "fabric: {kind: rail-optimized, scalable_unit: 4, pod: 1, spines: 4, parallel_links: 1, "
                     "super_spines: 4, super_oversubscription: 1, super_parallel_links: 2}\n",
       1, 12 + 12 + 4, 48},
      {"rail_only_one_tier", servers(4) + "fabric: {kind: rail-only}\n", 4, 1, 16},
      {"rail_only_two_tiers",
       servers(6) + "fabric: {kind: rail-only, servers_per_leaf: 2, spines: 2, parallel_links: 1}\n", 4, 5, 24},
      // 4 leaves of 2 servers, the last part full.
      {"tor_one_to_one", servers(7) + "fabric: {kind: tor-clos, servers_per_leaf: 2, spines: 4, oversubscription: 1}\n",
       1, 8, 28},
      {"tor_two_to_one",
       servers(6) + "fabric: {kind: tor-clos, servers_per_leaf: 2, spines: 4, oversubscription: '2:1'}\n", 1, 7, 24},
      {"tor_three_to_one_parallel",
       servers(9) + "fabric: {kind: tor-clos, servers_per_leaf: 3, parallel_links: 2, "
                    "oversubscription: '3:1'}\n",
       1, 5, 36},
      // As many links down in a bundle as up: tiers that choose alike would show here.
      {"tor_three_tiers",
       servers(10) + "fabric: {kind: tor-clos, servers_per_leaf: 1, pod: 3, spines: 2, parallel_links: 2, "
                     "super_spines: 2, super_parallel_links: 1}\n",
       1, 10 + 8 + 2, 40},
      // Cables of another rate and length at every tier.
      {"tor_unlike_cables",
       servers(6) + "fabric: {kind: tor-clos, servers_per_leaf: 1, pod: 2, spines: 2, "
                    "parallel_links: 1, super_spines: 2, super_parallel_links: 1, link: {cable: 3m}, "
                    "spine_link: {rate: 800Gbps, cable: 20m}, "
                    "super_spine_link: {rate: 200Gbps, cable: 100m}}\n",
       1, 6 + 6 + 2, 24},
      {"fat_tree_4", servers(16, "nics: 1") + "fabric: {kind: fat-tree, k: 4}\n", 1, 20, 16},
      {"fat_tree_8_part_full", servers(25, "nics: 4") + "fabric: {kind: fat-tree, k: 8}\n", 1, 25 + 28 + 16, 100},
      {"tor_two_planes",
       servers(6, "nics: 2, nic: {kind: connectx-7, ports: 2}") +
           "fabric: {kind: tor-clos, planes: 2, servers_per_leaf: 2, spines: 2, parallel_links: "
           "2}\n",
       2, 5, 24},
      // 4 ports over 2 planes: ports 0 and 2 of a NIC in plane 0, 1 and 3 in plane 1.
      {"rail_two_planes_four_ports",
       servers(4, "nics: 2, nic: {kind: connectx-7, ports: 4}") +
           "fabric: {kind: rail-optimized, planes: 2, scalable_unit: 2, spines: 2, parallel_links: "
           "2}\n",
       2, 6, 32},
      {"rail_only_two_planes",
       servers(4, "nics: 3, nic: {kind: connectx-7, ports: 2}") +
           "fabric: {kind: rail-only, planes: 2, servers_per_leaf: 2, spines: 2, parallel_links: "
           "1}\n",
       6, 4, 24},
      // Groups of unlike servers on leaves of their own; b's NICs have two ports.
      {"tor_two_groups",
       "version: 1\nservers:\n  - {kind: hgx-h100, count: 3, name: a}\n"
       "  - {kind: h100-pcie-8, count: 5, name: b, nics: 2, nic: {kind: connectx-7, ports: 2}}\n"
       "fabric: {kind: tor-clos, servers_per_leaf: 2, spines: 2, parallel_links: 4}\n",
       1, 2 + 3 + 2, 24 + 20},
      {"dragonfly_one_group",
       servers(8, "nics: 1") + "fabric: {kind: dragonfly, servers_per_router: 2, "
                               "routers_per_group: 4, global_links: 2}\n",
       1, 4, 8},
      // Router r of either group has 2 of the 8 links.
      {"dragonfly_two_groups",
       servers(8, "nics: 1") + "fabric: {kind: dragonfly, routers_per_group: 4, global_links: 2}\n", 1, 8, 8},
      // One link between any two of 9 groups: a = 4, h = 2, the balanced Dragonfly.
      {"dragonfly_minimal",
       servers(36, "nics: 2") + "fabric: {kind: dragonfly, routers_per_group: 4, global_links: 2}\n", 1, 36, 72},
      {"dragonfly_valiant",
       servers(36, "nics: 2") + "fabric: {kind: dragonfly, routers_per_group: 4, global_links: 2, routing: valiant}\n",
       1, 36, 72},
      // 6 links over 4 other groups: one round and two left over, which meet only where both ends
      // exist.
      {"dragonfly_left_over",
       servers(14, "nics: 1") + "fabric: {kind: dragonfly, routers_per_group: 3, global_links: 2, routing: ugal}\n", 1,
       15, 14},
      // 12 links over 2 other groups: six between each pair.
      {"dragonfly_parallel",
       servers(12, "nics: 1") + "fabric: {kind: dragonfly, routers_per_group: 4, global_links: 3}\n", 1, 12, 12},
      {"dragonfly_parallel_valiant",
       servers(12, "nics: 1") + "fabric: {kind: dragonfly, routers_per_group: 4, global_links: 3, routing: valiant}\n",
       1, 12, 12},
      {"sites_one_tier",
       at_sites({3, 2}, "nics: 2") + "fabric: {kind: tor-clos, sites: {gateways: 2, links: 2, uplinks: 2}}\n", 1, 2 + 4,
       10},
      // A triangle of single gateways: when one side breaks, the way round is left.
      {"sites_triangle", at_sites({2, 1, 2}, "nics: 2") + "fabric: {kind: tor-clos, sites: {}}\n", 1, 3 + 3, 10},
      {"sites_two_tiers",
       at_sites({4, 2}, "nics: 2") + "fabric: {kind: rail-optimized, scalable_unit: 2, spines: 2, "
                                     "parallel_links: 1, sites: {gateways: 2, links: 2}}\n",
       1, 6 + 4 + 4, 12},
      {"sites_three_tiers",
       at_sites({4, 3, 2}, "nics: 2") +
           "fabric: {kind: tor-clos, servers_per_leaf: 1, pod: 2, spines: 2, parallel_links: 1, "
           "super_spines: 2, "
           "super_parallel_links: 1, sites: {gateways: 2, links: 1, uplinks: 2}}\n",
       1, 9 + 10 + 6 + 6, 18},
  };
  return all;
}

Graph graph_of(const Fabric& fabric, std::uint32_t plane) {
  Graph graph;
  const std::uint32_t first = value(fabric.node(NodeKind::network_switch, plane * fabric.switches_per_plane()));
  graph.out.resize(fabric.switches_per_plane());
  for (std::uint32_t at = 0; at < fabric.switches_per_plane(); ++at)
    fabric.for_each_link(NodeId{first + at}, [&](const Link& link) {
      if (fabric.describe(link.to).kind != NodeKind::network_switch) return;
      graph.out[at].push_back({value(link.to) - first, link.port, link.tier});
    });
  return graph;
}

Distances search(const Graph& graph, std::uint32_t from, const Dead& dead, std::uint32_t global_limit) {
  // Layers of the same graph, one per number of global links crossed.
  const std::uint32_t layers = global_limit == kFar ? 1 : global_limit + 1;
  const auto size = static_cast<std::uint32_t>(graph.out.size());
  std::vector<std::uint32_t> hops(std::size_t{size} * layers, kFar);
  std::vector<std::uint64_t> walks(hops.size(), 0);
  std::deque<std::uint32_t> queue;
  if (!dead.node(from)) {
    hops[from] = 0;
    walks[from] = 1;
    queue.push_back(from);
  }
  while (!queue.empty()) {
    const std::uint32_t at = queue.front();
    queue.pop_front();
    for (const Edge& edge : graph.out[at % size]) {
      if (dead.node(edge.to) || dead.port(at % size, edge.port)) continue;
      const std::uint32_t layer = at / size + (layers > 1 && edge.tier == LinkTier::global ? 1 : 0);
      if (layer >= layers) continue;
      const std::uint32_t to = layer * size + edge.to;
      if (hops[to] == kFar) {
        hops[to] = hops[at] + 1;
        queue.push_back(to);
      }
      if (hops[to] == hops[at] + 1) walks[to] += walks[at];
    }
  }
  Distances out{std::vector<std::uint32_t>(size, kFar), std::vector<std::uint64_t>(size, 0)};
  for (std::uint32_t i = 0; i < hops.size(); ++i) {
    if (hops[i] > out.hops[i % size]) continue;
    if (hops[i] < out.hops[i % size]) out.walks[i % size] = 0;
    out.hops[i % size] = hops[i];
    out.walks[i % size] += walks[i];
  }
  return out;
}

Walk walk(const Fabric& fabric, std::uint32_t from, std::uint32_t to, std::uint32_t entropy, const Failures& failures) {
  constexpr std::size_t kLimit = 16;
  const Attachment a = fabric.attachment(from);
  const Target target = fabric.attachment(to).target;
  const Broken& broken = failures.planes[a.plane];
  Walk out;
  std::uint32_t at = a.target.leaf;
  RouteState state = fabric.start(at, target, entropy, broken);
  out.via = state.via;
  while (out.switches.size() < kLimit) {
    out.switches.push_back(at);
    const Hop hop = fabric.next_hop(at, target, entropy, state, broken);
    if (!hop) return out;
    out.ports.push_back(hop.port);
    out.channels.push_back(state.global_hops);
    const Peer next = fabric.peer(at, hop.port);
    if (next.kind == Peer::Kind::nic) {
      out.arrived = at == target.leaf && hop.port == target.port;
      return out;
    }
    if (next.kind == Peer::Kind::nothing) return out;
    at = next.switch_index;
    state = hop.state;
  }
  return out;
}

}  // namespace weft::fabric::testing
