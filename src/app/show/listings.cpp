#include "app/show/listings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::app {
namespace {

using fabric::Fabric;
using fabric::Link;
using fabric::NodeId;
using fabric::NodeKind;

std::string tier_name(const Link& link) {
  static constexpr const char* kTiers[] = {"nic", "spine", "super-spine", "gateway", "site", "local", "global"};
  return kTiers[static_cast<std::size_t>(link.tier)];
}

std::string_view distance_name(model::Diagram::Distance distance) {
  switch (distance) {
    case model::Diagram::Distance::same_switch:
      return "same PCIe switch";
    case model::Diagram::Distance::same_root:
      return "same root complex";
    case model::Diagram::Distance::same_socket:
      return "other root complex";
    case model::Diagram::Distance::other_socket:
      return "other socket";
  }
  return "";
}

// Calls make(group, i) for `each(group)` rows of every server until the rows are full, and counts the rest.
template <class Each, class Make>
void for_parts(const Fabric& fabric, Rows& rows, Each each, Make make) {
  for (const model::Group& group : fabric.cluster().groups) {
    const std::uint32_t all = group.servers * each(group);
    for (std::uint32_t i = 0; i < all; ++i) {
      if (!rows.wants_more()) {
        rows.skip(all - i);
        break;
      }
      make(group, i);
    }
  }
}

// What the network ports of a NIC are plugged into.
std::vector<std::string> plugs(const Fabric& fabric, NodeId nic, bool with_port) {
  std::vector<std::string> out;
  fabric.for_each_link(nic, [&](const Link& link) {
    if (link.link != fabric::LinkClass::network) return;
    out.push_back(with_port ? fmt::format("{}:{}", fabric.name(link.to), link.port) : fabric.name(link.to));
  });
  return out;
}

void add_server(const Fabric& fabric, const model::Group& group, std::uint32_t server, Rows& rows) {
  std::vector<std::string> leaves;
  for (std::uint32_t nic = 0; nic < group.nics(); ++nic) {
    const NodeId nic_node = fabric.node(NodeKind::nic, group.first_nic + server * group.nics() + nic);
    for (const std::string& leaf : plugs(fabric, nic_node, false))
      if (std::find(leaves.begin(), leaves.end(), leaf) == leaves.end()) leaves.push_back(leaf);
  }
  rows.add({fmt::format("{}{}", group.spec.name, server), group.spec.kind, group.gpus(), group.nics(),
            group.nics() > 0 ? Cell(group.spec.nic.rate) : Cell::none(), group.spec.site, leaves});
}

void add_gpu(const Fabric& fabric, const model::Group& group, std::uint32_t i, Rows& rows) {
  const std::uint32_t gpu = i % group.gpus();
  const model::Diagram& diagram = group.diagram;
  const auto& near = diagram.near_nics[gpu];
  std::vector<std::string> names;
  for (const std::uint32_t nic : near) names.push_back(fmt::format("nic{}", nic));
  const Cell reached =
      near.empty() ? Cell::none()
      : diagram.direct(gpu, near[0])
          ? Cell("directly")
          : Cell(fmt::format("through host memory ({})", distance_name(diagram.distance(gpu, near[0]))));
  rows.add({fabric.name(fabric.gpu(group.first_gpu + i)), group.first_gpu + i, group.spec.gpu.kind,
            diagram.pcie_switches > 0 ? Cell(diagram.gpu_switch[gpu]) : Cell::none(),
            diagram.socket_of_root(diagram.gpu_switch[gpu]), names, reached});
}

void add_nic(const Fabric& fabric, const model::Group& group, std::uint32_t i, Rows& rows) {
  const std::uint32_t nic = i % group.nics();
  const NodeId nic_node = fabric.node(NodeKind::nic, group.first_nic + i);
  const model::Diagram& diagram = group.diagram;
  rows.add({fabric.name(nic_node), group.spec.nic.kind, group.spec.nic.rate,
            diagram.pcie_switches > 0 ? Cell(diagram.nic_switch[nic]) : Cell::none(),
            diagram.socket_of_root(diagram.nic_switch[nic]), fmt::format("gpu{}", diagram.near_gpu[nic]),
            plugs(fabric, nic_node, true)});
}

// One for each NIC port and one for each cable between switches; planes are alike.
std::uint64_t count_links(const Fabric& fabric) {
  std::uint64_t ends = 0;
  for (std::uint32_t s = 0; s < fabric.switches_per_plane(); ++s)
    for (std::uint32_t port = 0; port < fabric.ports(s); ++port)
      ends += fabric.peer(s, port).kind == fabric::Peer::Kind::other_switch;
  return fabric.endpoints() + ends / 2 * fabric.planes();
}

void add_links(const Fabric& fabric, Rows& rows) {
  const std::uint32_t all = fabric.count(NodeKind::network_switch);
  for (std::uint32_t s = 0; s < all && rows.wants_more(); ++s) {
    fabric.for_each_link(fabric.node(NodeKind::network_switch, s), [&](const Link& link) {
      const bool seen = link.to < link.from && fabric.describe(link.to).kind == NodeKind::network_switch;
      if (seen || !rows.wants_more()) return;  // a seen one was listed from the other end
      rows.add({fabric.name(link.from), link.port, fabric.name(link.to), tier_name(link), link.rate, link.latency});
    });
  }
  if (!rows.wants_more()) rows.skip(count_links(fabric) - rows.made());
}

}  // namespace

Listing list_servers(const Fabric& fabric, const model::Group* only) {
  return {"server",
          {{"server", "server"},
           {"kind", "kind"},
           {"gpus", "gpus", true},
           {"nics", "nics", true},
           {"nic rate", "nic_rate_bps", true},
           {"site", "site"},
           {"leaves", "leaves"}},
          false,
          [&fabric, only](Rows& rows) {
            for_parts(
                fabric, rows, [only](const model::Group& group) { return only == nullptr || only == &group ? 1u : 0u; },
                [&](const model::Group& group, std::uint32_t i) { add_server(fabric, group, i, rows); });
          }};
}

Listing list_gpus(const Fabric& fabric) {
  return {"gpu",
          {{"gpu", "gpu"},
           {"number", "number", true},
           {"kind", "kind"},
           {"pcie", "pcie_switch", true},
           {"socket", "socket", true},
           {"near nics", "near_nics"},
           {"reached", "reached"}},
          false,
          [&fabric](Rows& rows) {
            for_parts(
                fabric, rows, [](const model::Group& group) { return group.gpus(); },
                [&](const model::Group& group, std::uint32_t i) { add_gpu(fabric, group, i, rows); });
          }};
}

Listing list_nics(const Fabric& fabric) {
  return {"nic",
          {{"nic", "nic"},
           {"kind", "kind"},
           {"rate", "rate_bps", true},
           {"pcie", "pcie_switch", true},
           {"socket", "socket", true},
           {"near gpu", "near_gpu"},
           {"leaf:port", "leaf_ports"}},
          false,
          [&fabric](Rows& rows) {
            for_parts(
                fabric, rows, [](const model::Group& group) { return group.nics(); },
                [&](const model::Group& group, std::uint32_t i) { add_nic(fabric, group, i, rows); });
          }};
}

Listing list_links(const Fabric& fabric) {
  return {"link",
          {{"from", "from"},
           {"port", "port", true},
           {"to", "to"},
           {"tier", "tier"},
           {"rate", "rate_bps", true},
           {"latency", "latency_ps", true}},
          false,
          [&fabric](Rows& rows) { add_links(fabric, rows); }};
}

}  // namespace weft::app
