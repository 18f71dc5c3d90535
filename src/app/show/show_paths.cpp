#include "app/show/show_paths.hpp"

#include <fmt/format.h>

#include <map>

#include "fabric/summary.hpp"

namespace weft::app {
namespace {

using fabric::Fabric;
using fabric::Link;
using fabric::NodeId;
using fabric::NodeKind;
using fabric::Path;

using Nodes = std::vector<NodeId>;

// A path without its switches: what comes before them and after them, and the ports in between.
struct Ends {
  Nodes before;
  Nodes after;
  std::optional<std::pair<std::uint32_t, std::uint32_t>> endpoints;  // none: the network is not used
  auto operator<=>(const Ends&) const = default;
};

Nodes nodes_of(const Fabric& fabric, std::uint32_t from, const Path& path) {
  Nodes nodes = {fabric.gpu(from)};
  for (const Link& link : path.links) nodes.push_back(link.to);
  return nodes;
}

std::uint32_t endpoint_of(const Fabric& fabric, NodeId network_switch, std::uint32_t port) {
  const std::uint32_t number = fabric.describe(network_switch).local;
  const std::uint32_t each = fabric.switches_per_plane();
  return *fabric.endpoint_at(number / each, {number % each, port});
}

Ends ends_of(const Fabric& fabric, std::uint32_t from, const Path& path) {
  Ends ends;
  std::optional<std::uint32_t> first;
  std::optional<std::uint32_t> last;
  for (const Link& link : path.links) {
    if (link.link != fabric::LinkClass::network || link.tier != fabric::LinkTier::nic) continue;
    if (!first) {
      first = endpoint_of(fabric, link.to, link.port);
    } else {
      last = endpoint_of(fabric, link.from, link.port);
    }
  }
  if (first && last) ends.endpoints = {*first, *last};
  bool crossed = false;
  for (const NodeId node : nodes_of(fabric, from, path)) {
    const bool on_the_way = fabric.describe(node).kind == NodeKind::network_switch;
    crossed |= on_the_way;
    if (!on_the_way) (crossed ? ends.after : ends.before).push_back(node);
  }
  return ends;
}

bool can_enumerate(const Fabric& fabric, const fabric::Failures& failures) {
  const auto shortest_only = [](const auto& network) { return network.shortest_only(); };
  return failures.empty() && (!fabric.has_network() || fabric.ask(shortest_only));
}

// The routes that one choice of NICs and ports has through the network.
void add_routes(const Fabric& fabric, const Ends& ends, const Path& example, std::map<Nodes, Route>& found,
                Routes& out) {
  std::vector<Nodes> middles(1);
  out.with_parallel += ends.endpoints ? fabric.path_count(ends.endpoints->first, ends.endpoints->second) : 1;
  if (ends.endpoints) middles = fabric.all_paths(ends.endpoints->first, ends.endpoints->second, kMostRoutes);
  out.complete &= middles.size() < kMostRoutes;
  for (const Nodes& middle : middles) {
    Nodes nodes = ends.before;
    nodes.insert(nodes.end(), middle.begin(), middle.end());
    nodes.insert(nodes.end(), ends.after.begin(), ends.after.end());
    if (found.size() >= kMostRoutes && !found.contains(nodes)) {
      out.complete = false;
      return;
    }
    found.try_emplace(nodes, Route{nodes, example.host_memory, example.relay});
  }
}

// The links along the nodes, for their latencies.
Path path_along(const Fabric& fabric, const Route& route) {
  Path path;
  for (std::size_t i = 1; i < route.nodes.size(); ++i) {
    bool taken = false;
    fabric.for_each_link(route.nodes[i - 1], [&](const Link& link) {
      if (taken || link.to != route.nodes[i]) return;
      path.links.push_back(link);
      taken = true;
    });
  }
  return path;
}

}  // namespace

Routes find_routes(const Fabric& fabric, std::uint32_t from, std::uint32_t to, const fabric::Failures& failures) {
  Routes out;
  std::map<Nodes, Route> found;
  std::map<Ends, Path> choices;  // NICs, ports and scale-up switches: few, so that some flows meet them all
  const bool enumerate = can_enumerate(fabric, failures);
  const std::uint32_t flows = enumerate ? kFlows / 4 : kFlows;
  for (std::uint32_t entropy = 0; entropy < flows; ++entropy) {
    const auto path = fabric.path(from, to, entropy, failures);
    if (!path) return out;
    if (enumerate) {
      choices.try_emplace(ends_of(fabric, from, *path), *path);
    } else {
      const Nodes nodes = nodes_of(fabric, from, *path);
      found.try_emplace(nodes, Route{nodes, path->host_memory, path->relay});
    }
  }
  for (const auto& [ends, path] : choices) add_routes(fabric, ends, path, found, out);
  if (!enumerate) out.complete = false;
  for (auto& [nodes, route] : found) out.all.push_back(std::move(route));
  return out;
}

Listing list_routes(const Fabric& fabric, const Routes& routes) {
  const auto make = [&fabric, &routes](Rows& rows) {
    for (std::uint32_t i = 0; i < routes.all.size(); ++i) {
      if (!rows.wants_more()) return rows.skip(routes.all.size() - i);
      const Route& route = routes.all[i];
      std::vector<std::string> names;
      for (const NodeId node : route.nodes) names.push_back(fabric.name(node));
      std::string memory = route.host_memory ? "host memory" : "direct";
      if (route.relay) memory += fmt::format(", stored in {}", fabric.name(*route.relay));
      rows.add({i + 1, static_cast<std::uint32_t>(names.size() - 1),
                fabric::path_latency(fabric, path_along(fabric, route)), memory, Cell(names, " > ")});
    }
  };
  return {"path",
          {{"path", "path", true},
           {"links", "links", true},
           {"latency", "latency_ps", true},
           {"memory", "memory"},
           {"route", "route"}},
          true,
          make};
}

}  // namespace weft::app
