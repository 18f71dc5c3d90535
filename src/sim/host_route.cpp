#include "sim/host_route.hpp"

#include <algorithm>

namespace weft::sim {

using fabric::LinkClass;
using fabric::Node;
using fabric::NodeId;
using fabric::NodeKind;
using fabric::value;

namespace {

std::uint64_t key(NodeId from, NodeId to) {
  return std::uint64_t{value(from)} << 32 | value(to);
}

// How many parts of a kind a domain has.
std::uint32_t parts_of(NodeKind kind, const model::Group& group, std::uint32_t servers) {
  switch (kind) {
    case NodeKind::gpu: return servers * group.gpus();
    case NodeKind::nic: return servers * group.nics();
    case NodeKind::pcie_switch: return servers * group.diagram.pcie_switches;
    case NodeKind::root_complex: return servers * group.diagram.roots();
    case NodeKind::cpu: return servers * group.diagram.sockets;
    case NodeKind::scale_up_switch:
      return group.spec.scale_up ? static_cast<std::uint32_t>(group.spec.scale_up->switches) : 0;
    case NodeKind::network_switch: return 0;
  }
  return 0;
}

}  // namespace

HostRoutes::HostRoutes(const fabric::Fabric& fabric) : fabric_(fabric) {
  std::array<std::uint32_t, fabric::kNodeKinds> first{};  // part of the group, by kind
  for (const model::Group& spec : fabric.cluster().groups) {
    Group& group = groups_.emplace_back();
    group.first_domain = domains_;
    if (spec.spec.scale_up) group.servers = static_cast<std::uint32_t>(spec.spec.scale_up->servers);
    const std::uint32_t domains = spec.servers / group.servers;
    for (std::size_t k = 0; k < fabric::kNodeKinds; ++k) {
      const auto kind = static_cast<NodeKind>(k);
      group.parts[k] = parts_of(kind, spec, group.servers);
      for (std::uint32_t i = 0; i < group.parts[k]; ++i) add_links(group, fabric.node(kind, first[k] + i));
      first[k] += domains * group.parts[k];
    }
    domains_ += domains;
  }
}

// The switches of a domain act as one.
NodeId HostRoutes::merged(NodeId id) const {
  const Node at = fabric_.describe(id);
  return at.kind == NodeKind::scale_up_switch ? NodeId{value(id) - at.local} : id;
}

void HostRoutes::add_links(Group& group, NodeId from) {
  fabric_.for_each_link(from, [&](const fabric::Link& link) {
    if (link.link == LinkClass::network) return;
    const NodeId a = merged(link.from);
    const NodeId b = merged(link.to);
    const std::uint32_t known = group.number.find(key(a, b));
    if (known != FlatMap::kNone) {
      group.links[known].rate += link.rate;
      return;
    }
    group.number.insert(key(a, b), static_cast<std::uint32_t>(group.links.size()));
    group.links.push_back({a, b, link.link, link.rate, link.latency});
  });
}

std::uint32_t HostRoutes::domain_of(NodeId part) const {
  const Node at = fabric_.describe(part);
  const Group& group = groups_[at.group];
  return group.first_domain + (at.server - fabric_.cluster().groups[at.group].first_server) / group.servers;
}

const HostRoutes::Group& HostRoutes::group_of(std::uint32_t domain) const {
  std::size_t index = groups_.size() - 1;
  while (groups_[index].first_domain > domain) --index;
  return groups_[index];
}

std::span<const HostLink> HostRoutes::links(std::uint32_t domain) const {
  return group_of(domain).links;
}

HostLink HostRoutes::link(std::uint32_t domain, std::uint32_t number) const {
  const Group& group = group_of(domain);
  HostLink link = group.links[number];
  const std::int64_t by = domain - group.first_domain;
  link.from = moved(link.from, group, by);
  link.to = moved(link.to, group, by);
  return link;
}

// The same part of a domain that lies `domains` further on.
NodeId HostRoutes::moved(NodeId id, const Group& group, std::int64_t domains) const {
  const auto kind = static_cast<std::size_t>(fabric_.describe(id).kind);
  return NodeId{static_cast<std::uint32_t>(value(id) + domains * group.parts[kind])};
}

const HostRoute* HostRoutes::find(NodeId from, NodeId to) {
  const std::uint32_t domain = domain_of(from);
  if (domain != domain_of(to)) return nullptr;
  const Group& group = group_of(domain);
  const std::int64_t back = -std::int64_t{domain - group.first_domain};
  const NodeId a = moved(from, group, back);
  const NodeId b = moved(to, group, back);
  const std::uint32_t known = remembered_.find(key(a, b));
  if (known != FlatMap::kNone) return &routes_[known];
  const auto path = fabric_.path_inside(a, b, 0);
  if (!path) return nullptr;
  if (routes_.size() == kRemembered) {
    remembered_ = FlatMap();
    routes_.clear();
  }
  remembered_.insert(key(a, b), static_cast<std::uint32_t>(routes_.size()));
  return &routes_.emplace_back(route_of(group, *path));
}

HostRoute HostRoutes::route_of(const Group& group, const fabric::Path& path) const {
  const auto& links = path.links;
  const auto enters_cpu = [&](const fabric::Link& link) { return fabric_.describe(link.to).kind == NodeKind::cpu; };
  // Over PCIe, GPUs below different root complexes meet in host memory as a GPU and a NIC do.
  const auto over_pcie = [&](const fabric::Link& link) { return enters_cpu(link) && link.link == LinkClass::pcie; };
  const auto is_gpu = [&](NodeId id) { return fabric_.describe(id).kind == NodeKind::gpu; };
  HostRoute route;
  if (links.empty()) return route;
  const bool between_gpus = is_gpu(links.front().from) && is_gpu(links.back().to);
  route.host_memory = path.host_memory || (between_gpus && std::any_of(links.begin(), links.end(), over_pcie));

  // After how many links data rest in host memory: at the GPU's CPU, so on the way from a NIC the last.
  std::size_t rest = links.size();
  if (route.host_memory) {
    const auto first = std::find_if(links.begin(), links.end(), enters_cpu);
    const auto last = std::find_if(links.rbegin(), links.rend(), enters_cpu);
    rest = static_cast<std::size_t>(is_gpu(links.front().from) ? first - links.begin() + 1 : links.rend() - last);
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    route.links.push_back(group.number.find(key(merged(links[i].from), merged(links[i].to))));
    route.latency += links[i].latency;
    if (i + 1 == links.size() || i + 1 == rest || links[i].to == path.relay)
      route.leg_end[route.legs++] = static_cast<std::uint32_t>(i + 1);
  }
  return route;
}

}  // namespace weft::sim
