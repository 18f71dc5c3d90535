#include "measured/server_outline.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace weft::measured {
namespace {

// Of all links of a GPU, from what one generation has per link.
std::string nvlink_rate(const ServerOutline& server, const model::Catalog& catalog, spec::Diagnostics& diagnostics) {
  const auto link = catalog.load<model::LinkKind>("links", server.nvlink, diagnostics);
  if (!link || !link->both_ways || !link->links) return "";
  return fmt::format(", both_ways: {}, links: {}", exact(*link->both_ways * server.nvlinks_per_gpu / *link->links),
                     server.nvlinks_per_gpu);
}

// What a cluster file allows of switches and of links between them.
constexpr std::int64_t kMostPorts = 4096;
constexpr Bandwidth kFastestLink{100'000'000'000'000};

// Below one leaf that has a single uplink for all of them.
std::int64_t servers_per_leaf(const ServerOutline& server) {
  const std::int64_t by_ports = (kMostPorts - 1) / (server.nics * server.nic_ports);
  const std::int64_t by_rate = kFastestLink.count() / (server.nic_rate * server.nics).count();
  return std::max<std::int64_t>(1, std::min(by_ports, by_rate));
}

// A network that is never in the way: one switch, or where that would have too many ports, leaves with one uplink that
// carries all that their servers send.
std::string fabric_text(const ServerOutline& server, std::int64_t nodes) {
  const std::int64_t ports = server.nics * server.nic_ports;
  const auto switch_text = [](std::int64_t count, Bandwidth rate) {
    return fmt::format("  switch: {{kind: tomahawk-5, ports: {}, rate: {}, breakout: []}}\n", count, exact(rate));
  };
  if (ports * nodes <= kMostPorts)
    return "fabric:\n  kind: single-chassis\n" + switch_text(ports * nodes, server.nic_rate / server.nic_ports);
  const std::int64_t per_leaf = servers_per_leaf(server);
  const std::int64_t leaves = (nodes + per_leaf - 1) / per_leaf;
  const Bandwidth uplink = server.nic_rate * server.nics * per_leaf;
  return fmt::format(
             "fabric:\n  kind: tor-clos\n  servers_per_leaf: {}\n  spines: 1\n  parallel_links: 1\n"
             "  spine_link: {{rate: {}}}\n",
             per_leaf, exact(uplink)) +
         switch_text(std::max(per_leaf * ports + 1, leaves), uplink);
}

}  // namespace

std::optional<model::ServerKind> catalog_server_with(const std::string& gpu, std::int64_t gpus,
                                                     const model::Catalog& catalog, spec::Diagnostics& diagnostics) {
  for (const std::string& name : catalog.names("servers")) {
    const auto server = catalog.load<model::ServerKind>("servers", name, diagnostics);
    if (server && server->gpu.kind == gpu && server->gpus == gpus) return server;
  }
  return std::nullopt;
}

std::int64_t most_servers(const ServerOutline& server) {
  return server.nics == 0 ? INT64_MAX : kMostPorts * servers_per_leaf(server);
}

std::string cluster_text(const ServerOutline& server, std::int64_t nodes, const model::Catalog& catalog,
                         spec::Diagnostics& diagnostics) {
  std::string out =
      fmt::format("version: 1\nservers:\n  count: {}\n  gpu: {}\n  gpus: {}\n  pcie_gen: {}\n  pcie_lanes: {}\n", nodes,
                  server.gpu, server.gpus, server.pcie_gen, server.pcie_lanes);
  out += fmt::format("  nics: {}\n", server.nics);
  if (server.nics > 0)
    out += fmt::format("  nic: {{kind: {}, rate: {}, ports: {}, pcie_gen: {}, pcie_lanes: {}}}\n", server.nic,
                       exact(server.nic_rate), server.nic_ports, server.nic_gen, server.nic_lanes);
  out += fmt::format("  sockets: {}\n", server.sockets);
  if (!server.socket_link.empty()) out += fmt::format("  socket_link: {}\n", server.socket_link);
  out += fmt::format("  pcie_switches: {}\n  gpu_switch: [{}]\n", server.pcie_switches,
                     fmt::join(server.gpu_switch, ", "));
  if (server.nics > 0) out += fmt::format("  nic_switch: [{}]\n", fmt::join(server.nic_switch, ", "));
  if (server.pcie_switches > 0) out += fmt::format("  switch_socket: [{}]\n", fmt::join(server.switch_socket, ", "));
  if (server.host_link)
    out += fmt::format("  host_link: {{kind: nvlink-c2c, both_ways: {}}}\n", exact(*server.host_link));
  if (!server.nvlink.empty())
    out += fmt::format("  scale_up: {{link: {{kind: {}{}}}, switches: {}, servers: {}}}\n", server.nvlink,
                       nvlink_rate(server, catalog, diagnostics), server.nvswitches, server.hosts);
  if (nodes == server.hosts || server.nics == 0) return out + "fabric: {kind: none}\n";
  return out + fabric_text(server, nodes);
}

}  // namespace weft::measured
