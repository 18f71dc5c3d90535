#include "sim/host/host_route.hpp"

#include <algorithm>

#include "model/host_memory.hpp"

namespace weft::sim {

using fabric::LinkClass;
using fabric::Node;
using fabric::NodeId;
using fabric::NodeKind;
using fabric::value;

namespace {

std::uint64_t key(NodeId from, NodeId to) { return std::uint64_t{value(from)} << 32 | value(to); }

// How many parts of a kind a domain has.
std::uint32_t parts_of(NodeKind kind, const model::Group& group, std::uint32_t servers) {
  switch (kind) {
    case NodeKind::gpu:
      return servers * group.gpus();
    case NodeKind::nic:
      return servers * group.nics();
    case NodeKind::pcie_switch:
      return servers * group.diagram.pcie_switches;
    case NodeKind::root_complex:
      return servers * group.diagram.roots();
    case NodeKind::cpu:
      return servers * group.diagram.sockets;
    case NodeKind::scale_up_switch:
      return group.spec.scale_up ? static_cast<std::uint32_t>(group.spec.scale_up->switches) : 0;
    case NodeKind::network_switch:
      return 0;
  }
  return 0;
}

}  // namespace

HostRoutes::HostRoutes(const fabric::Fabric& fabric, const HostRates& rates) : fabric_(fabric) {
  std::array<std::uint32_t, fabric::kNodeKinds> first{};  // part of the group, by kind
  for (const model::Group& spec : fabric.cluster().groups) {
    Group& group = groups_.emplace_back();
    group.first_domain = domains_;
    if (spec.spec.scale_up) group.servers = static_cast<std::uint32_t>(spec.spec.scale_up->servers);
    const std::uint32_t domains = spec.servers / group.servers;
    group.first_switch = first[static_cast<std::size_t>(NodeKind::scale_up_switch)];
    for (std::size_t k = 0; k < fabric::kNodeKinds; ++k) {
      const auto kind = static_cast<NodeKind>(k);
      group.parts[k] = parts_of(kind, spec, group.servers);
      for (std::uint32_t i = 0; i < group.parts[k]; ++i) add_links(group, fabric.node(kind, first[k] + i));
      if (kind == NodeKind::cpu) add_memory(group, spec, fabric.node(kind, first[k]));
      first[k] += domains * group.parts[k];
    }
    domains_ += domains;
    for (HostLink& link : group.links) {
      if (link.kind == LinkClass::scale_up) link.rate = link.rate / 1000 * rates.scale_up_per_mille;
      if (link.kind == LinkClass::pcie) link.rate = link.rate / 1000 * rates.pcie_per_mille;
    }
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

void HostRoutes::add_memory(Group& group, const model::Group& spec, NodeId first_cpu) {
  for (std::uint32_t i = 0; i < group.parts[static_cast<std::size_t>(NodeKind::cpu)]; ++i) {
    const NodeId cpu{value(first_cpu) + i};
    group.number.insert(key(cpu, cpu), static_cast<std::uint32_t>(group.links.size()));
    group.links.push_back({cpu, cpu, LinkClass::host, model::memory_of_socket(spec.pcie.one_way(16)), {}});
  }
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

NodeId HostRoutes::part(std::uint32_t rank) const {
  const std::uint32_t gpus = fabric_.cluster().gpus;
  if (rank < gpus) return fabric_.gpu(rank);
  const Group& group = group_of(rank - gpus);
  const std::uint32_t switches = group.parts[static_cast<std::size_t>(NodeKind::scale_up_switch)];
  return fabric_.node(NodeKind::scale_up_switch, group.first_switch + (rank - gpus - group.first_domain) * switches);
}

std::span<const HostLink> HostRoutes::links(std::uint32_t domain) const { return group_of(domain).links; }

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

NodeId HostRoutes::in_first_domain(const Group& group, NodeId part) const {
  return moved(part, group, -std::int64_t{domain_of(part) - group.first_domain});
}

const HostRoute* HostRoutes::remember(FlatMap& map, std::uint64_t key, HostRoute route) {
  if (routes_.size() == kRemembered) {
    remembered_ = FlatMap();
    handed_ = FlatMap();
    routes_.clear();
  }
  map.insert(key, static_cast<std::uint32_t>(routes_.size()));
  return &routes_.emplace_back(std::move(route));
}

const HostRoute* HostRoutes::find(NodeId from, NodeId to) {
  const std::uint32_t domain = domain_of(from);
  if (domain != domain_of(to)) return nullptr;
  const Group& group = group_of(domain);
  const NodeId a = in_first_domain(group, from);
  const NodeId b = in_first_domain(group, to);
  const std::uint32_t known = remembered_.find(key(a, b));
  if (known != FlatMap::kNone) return &routes_[known];
  if (auto short_one = route_to_switch(group, a, b)) return remember(remembered_, key(a, b), std::move(*short_one));
  const auto path = fabric_.path_inside(a, b, 0);
  return path ? remember(remembered_, key(a, b), route_of(group, *path)) : nullptr;
}

std::optional<HostRoute> HostRoutes::route_to_switch(const Group& group, NodeId from, NodeId to) const {
  const auto is_switch = [&](NodeId id) { return fabric_.describe(id).kind == NodeKind::scale_up_switch; };
  if (!is_switch(from) && !is_switch(to)) return std::nullopt;
  const std::uint32_t link = group.number.find(key(merged(from), merged(to)));
  if (link == FlatMap::kNone) return std::nullopt;
  HostRoute route;
  route.links.push_back(link);
  route.leg_end[route.legs++] = 1;
  route.latency = group.links[link].latency;
  return route;
}

const HostRoute* HostRoutes::find_by(NodeId from, NodeId by, NodeId nic) {
  const std::uint32_t domain = domain_of(from);
  if (domain != domain_of(by) || domain != domain_of(nic)) return nullptr;
  const Group& group = group_of(domain);
  const NodeId a = in_first_domain(group, from);
  const NodeId relay = in_first_domain(group, by);
  const NodeId nic_node = in_first_domain(group, nic);
  // Numbers within the domain, so that three fit into a word beside that of the group.
  const auto place = [&](NodeId part) {
    const Node at = fabric_.describe(part);
    const std::uint32_t parts = at.kind == NodeKind::nic ? fabric_.cluster().groups[at.group].nics()
                                                         : fabric_.cluster().groups[at.group].gpus();
    return std::uint64_t{(at.server - fabric_.cluster().groups[at.group].first_server) * parts + at.local};
  };
  const std::uint64_t name =
      static_cast<std::uint64_t>(&group - groups_.data()) << 48 | place(a) << 32 | place(relay) << 16 | place(nic_node);
  const std::uint32_t known = handed_.find(name);
  if (known != FlatMap::kNone) return &routes_[known];
  const auto rest = fabric_.path_inside(relay, nic_node, 0, false);
  if (!rest) return nullptr;
  HostRoute route;
  if (a != relay) {
    const auto first = fabric_.path_inside(a, relay, 0);
    if (!first) return nullptr;
    route = route_of(group, *first);
  }
  const HostRoute last = route_of(group, *rest);
  if (route.legs + last.legs > HostRoute::kMaxLegs) return nullptr;
  const auto before = static_cast<std::uint32_t>(route.links.size());
  route.links.insert(route.links.end(), last.links.begin(), last.links.end());
  for (std::uint32_t leg = 0; leg < last.legs; ++leg) route.leg_end[route.legs++] = before + last.leg_end[leg];
  route.latency += last.latency;
  route.host_memory |= last.host_memory;
  return remember(handed_, name, std::move(route));
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
    const bool rests = route.host_memory && i + 1 == rest;
    if (rests) route.links.push_back(group.number.find(key(links[i].to, links[i].to)));
    if (i + 1 == links.size() || rests || links[i].to == path.relay)
      route.leg_end[route.legs++] = static_cast<std::uint32_t>(route.links.size());
    if (rests) route.links.push_back(route.links.back());  // written, then read
  }
  return route;
}

}  // namespace weft::sim
