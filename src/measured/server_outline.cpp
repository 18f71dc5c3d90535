#include "measured/server_outline.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weft::measured {
namespace {

// Of all links of a GPU, from what one generation has per link.
std::string nvlink_rate(const ServerOutline& server, const model::Catalog& catalog, spec::Diagnostics& diagnostics) {
  const auto link = catalog.load<model::LinkKind>("links", server.nvlink, diagnostics);
  if (!link || !link->both_ways || !link->links) return "";
  return fmt::format(", both_ways: {}, links: {}", exact(*link->both_ways * server.nvlinks_per_gpu / *link->links),
                     server.nvlinks_per_gpu);
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
  const std::int64_t ports = server.nics * server.nic_ports * nodes;
  if (nodes == server.hosts || ports == 0) return out + "fabric: {kind: none}\n";
  return out +
         fmt::format(
             "fabric:\n  kind: single-chassis\n  switch: {{kind: tomahawk-5, ports: {}, rate: {}, breakout: []}}\n",
             ports, exact(server.nic_rate / server.nic_ports));
}

}  // namespace weft::measured
