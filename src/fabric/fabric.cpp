#include "fabric/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace weft::fabric {
namespace {

using model::Group;

// Servers that share one scale-up domain.
std::uint32_t domain_servers(const Group& group) {
  return group.spec.scale_up ? static_cast<std::uint32_t>(group.spec.scale_up->servers) : 1;
}

std::uint32_t domain_switches(const Group& group) {
  return group.spec.scale_up ? static_cast<std::uint32_t>(group.spec.scale_up->switches) : 0;
}

// What parts of a server are called, with their number behind it.
std::string_view part_name(NodeKind kind, const Group& group) {
  static constexpr std::string_view kParts[] = {"gpu", "nic", "pcie", "rc", "cpu"};
  if (kind != NodeKind::scale_up_switch) return kParts[static_cast<std::size_t>(kind)];
  return group.spec.scale_up && group.spec.scale_up->link.kind.starts_with("nvlink") ? "nvswitch" : "switch";
}

// Largest group whose first index is not above `index`; groups are few.
std::uint32_t group_at(const std::vector<std::uint32_t>& firsts, std::uint32_t index) {
  std::uint32_t group = static_cast<std::uint32_t>(firsts.size()) - 1;
  while (firsts[group] > index) --group;
  return group;
}

}  // namespace

bool Failures::empty() const {
  return std::all_of(planes.begin(), planes.end(), [](const Broken& plane) { return plane.empty(); });
}

std::uint32_t Fabric::per_server(NodeKind kind, const Group& group) const {
  switch (kind) {
    case NodeKind::gpu:
      return group.gpus();
    case NodeKind::nic:
      return group.nics();
    case NodeKind::pcie_switch:
      return group.diagram.pcie_switches;
    case NodeKind::root_complex:
      return group.diagram.roots();
    case NodeKind::cpu:
      return group.diagram.sockets;
    case NodeKind::scale_up_switch:
      return domain_switches(group);  // per domain
    case NodeKind::network_switch:
      return 0;
  }
  return 0;
}

Fabric::Fabric(const model::Cluster& cluster) : cluster_(&cluster), network_(network_of(cluster.shape)) {
  std::uint32_t next = 0;
  for (std::size_t k = 0; k < kNodeKinds; ++k) {
    const auto kind = static_cast<NodeKind>(k);
    first_[k] = next;
    for (const Group& group : cluster.groups) {
      group_first_[k].push_back(next - first_[k]);
      const std::uint32_t units =
          kind == NodeKind::scale_up_switch ? group.servers / domain_servers(group) : group.servers;
      next += units * per_server(kind, group);
    }
  }
  const model::Shape& shape = cluster.shape;
  if (!std::holds_alternative<std::monostate>(network_)) {
    per_plane_ = ask([](const auto& network) { return network.switches(); });
    tiers_ = ask([](const auto& network) { return network.tiers(); });
    planes_ = shape.planes();
  }
  first_[kNodeKinds] = next + planes_ * per_plane_;
  for (const Group& group : cluster.groups) {
    group_endpoint_.push_back(endpoints_);
    endpoints_ += group.servers * group.nics() * static_cast<std::uint32_t>(group.spec.nic.ports);
  }
}

std::uint32_t Fabric::count(NodeKind kind) const {
  const auto k = static_cast<std::size_t>(kind);
  return first_[k + 1] - first_[k];
}

NodeId Fabric::node(NodeKind kind, std::uint32_t index) const {
  return NodeId{first_[static_cast<std::size_t>(kind)] + index};
}

const Group& Fabric::group_of_server(std::uint32_t server, std::uint32_t& index) const {
  index = static_cast<std::uint32_t>(cluster_->groups.size()) - 1;
  while (cluster_->groups[index].first_server > server) --index;
  return cluster_->groups[index];
}

Node Fabric::describe(NodeId id) const {
  std::size_t k = kNodeKinds - 1;
  while (first_[k] > value(id)) --k;
  const std::uint32_t index = value(id) - first_[k];
  const auto kind = static_cast<NodeKind>(k);
  if (kind == NodeKind::network_switch) return {kind, 0, 0, index};
  const std::uint32_t g = group_at(group_first_[k], index);
  const Group& group = cluster_->groups[g];
  const std::uint32_t per = per_server(kind, group);
  const std::uint32_t unit = (index - group_first_[k][g]) / per;
  const std::uint32_t servers = kind == NodeKind::scale_up_switch ? domain_servers(group) : 1;
  return {kind, g, group.first_server + unit * servers, (index - group_first_[k][g]) % per};
}

NodeId Fabric::in_server(NodeKind kind, std::uint32_t group, std::uint32_t server, std::uint32_t local) const {
  const Group& g = cluster_->groups[group];
  const std::uint32_t servers = kind == NodeKind::scale_up_switch ? domain_servers(g) : 1;
  const std::uint32_t unit = (server - g.first_server) / servers;
  return node(kind, group_first_[static_cast<std::size_t>(kind)][group] + unit * per_server(kind, g) + local);
}

const SwitchTier& Fabric::tier_of(std::uint32_t network_switch) const {
  const std::uint32_t local = network_switch % per_plane_;
  std::size_t tier = 0;
  while (local >= tiers_[tier].first + tiers_[tier].count) ++tier;
  return tiers_[tier];
}

std::string Fabric::switch_name(std::uint32_t index) const {
  const std::uint32_t plane = index / per_plane_;
  const std::uint32_t local = index % per_plane_;
  const model::Shape& shape = cluster_->shape;
  std::string prefix;
  if (shape.port_planes > 1) prefix += fmt::format("plane{}/", plane / shape.rail_planes);
  if (shape.rail_planes > 1) prefix += fmt::format("rail{}/", plane % shape.rail_planes);
  const SwitchTier& tier = tier_of(index);
  return fmt::format("{}{}{}", prefix, tier.name, local - tier.first);
}

std::string Fabric::name(NodeId id) const {
  const Node at = describe(id);
  if (at.kind == NodeKind::network_switch) return switch_name(at.local);
  const Group& group = cluster_->groups[at.group];
  const std::string server = fmt::format("{}{}", group.spec.name, at.server - group.first_server);
  return fmt::format("{}/{}{}", server, part_name(at.kind, group), at.local);
}

std::optional<NodeId> Fabric::find(std::string_view name) const {
  const auto number = [](std::string_view text) -> std::optional<std::uint32_t> {
    std::uint32_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return n;
  };
  if (const auto index = number(name)) return *index < count(NodeKind::gpu) ? std::optional(gpu(*index)) : std::nullopt;
  for (std::uint32_t g = 0; g < cluster_->groups.size(); ++g) {
    const Group& group = cluster_->groups[g];
    const auto slash = name.find('/');
    if (!name.starts_with(group.spec.name) || slash == std::string_view::npos || slash < group.spec.name.size())
      continue;
    const auto server = number(name.substr(group.spec.name.size(), slash - group.spec.name.size()));
    if (!server || *server >= group.servers) continue;
    for (std::size_t k = 0; k + 1 < kNodeKinds; ++k) {
      const std::string_view word = part_name(static_cast<NodeKind>(k), group);
      const std::string_view rest = name.substr(slash + 1);
      if (!rest.starts_with(word)) continue;
      const auto local = number(rest.substr(word.size()));
      if (local && *local < per_server(static_cast<NodeKind>(k), group))
        return in_server(static_cast<NodeKind>(k), g, group.first_server + *server, *local);
    }
  }
  // Switch names end in a number within their tier: try the switches of that number in each tier.
  const auto digits = name.find_last_not_of("0123456789");
  if (digits == std::string_view::npos || !has_network()) return std::nullopt;
  const auto index = number(name.substr(digits + 1));
  if (!index) return std::nullopt;
  for (std::uint32_t plane = 0; plane < planes_; ++plane)
    for (const SwitchTier& tier : tiers_) {
      if (*index >= tier.count) continue;
      const std::uint32_t candidate = plane * per_plane_ + tier.first + *index;
      if (switch_name(candidate) == name) return node(NodeKind::network_switch, candidate);
    }
  return std::nullopt;
}

// ---- the network

std::uint32_t Fabric::endpoint(std::uint32_t nic, std::uint32_t port) const {
  const Node at = describe(node(NodeKind::nic, nic));
  const Group& group = cluster_->groups[at.group];
  const std::uint32_t in_group = nic - group_first_[static_cast<std::size_t>(NodeKind::nic)][at.group];
  return group_endpoint_[at.group] + in_group * static_cast<std::uint32_t>(group.spec.nic.ports) + port;
}

NodeId Fabric::nic_of(std::uint32_t endpoint) const {
  const std::uint32_t g = group_at(group_endpoint_, endpoint);
  const auto ports = static_cast<std::uint32_t>(cluster_->groups[g].spec.nic.ports);
  return node(NodeKind::nic,
              group_first_[static_cast<std::size_t>(NodeKind::nic)][g] + (endpoint - group_endpoint_[g]) / ports);
}

Attachment Fabric::attachment(std::uint32_t endpoint) const {
  const model::Shape& shape = cluster_->shape;
  const std::uint32_t g = group_at(group_endpoint_, endpoint);
  const Group& group = cluster_->groups[g];
  const model::Wiring& wiring = shape.wiring[g];
  const auto nic_ports = static_cast<std::uint32_t>(group.spec.nic.ports);
  const std::uint32_t offset = endpoint - group_endpoint_[g];
  const std::uint32_t port = offset % nic_ports;
  const std::uint32_t nic = offset / nic_ports % group.nics();
  const std::uint32_t server = offset / nic_ports / group.nics();
  const bool rails = shape.rail_planes > 1;
  const std::uint32_t plane = port % shape.port_planes * shape.rail_planes + (rails ? nic : 0);
  const std::uint32_t lane = rails ? 0 : nic;  // NIC within the plane
  const std::uint32_t leaf =
      wiring.first_leaf + server / wiring.servers_per_block * wiring.leaves_per_block + lane / wiring.nics_per_leaf;
  const std::uint32_t slot = server % wiring.servers_per_block * wiring.nics_per_leaf + lane % wiring.nics_per_leaf;
  return {plane, {leaf, wiring.first_port + slot * wiring.ports_per_plane + port / shape.port_planes}};
}

std::optional<std::uint32_t> Fabric::endpoint_at(std::uint32_t plane, Target target) const {
  const model::Shape& shape = cluster_->shape;
  const bool rails = shape.rail_planes > 1;
  for (std::uint32_t g = 0; g < cluster_->groups.size(); ++g) {
    const Group& group = cluster_->groups[g];
    const model::Wiring& wiring = shape.wiring[g];
    if (target.leaf < wiring.first_leaf || target.port < wiring.first_port) continue;
    const std::uint32_t block = (target.leaf - wiring.first_leaf) / wiring.leaves_per_block;
    const std::uint32_t leaf = (target.leaf - wiring.first_leaf) % wiring.leaves_per_block;
    const std::uint32_t slot = (target.port - wiring.first_port) / wiring.ports_per_plane;
    const std::uint32_t in_block = slot / wiring.nics_per_leaf;
    const std::uint32_t lane = leaf * wiring.nics_per_leaf + slot % wiring.nics_per_leaf;
    const std::uint32_t server = block * wiring.servers_per_block + in_block;
    const std::uint32_t nic = rails ? plane % shape.rail_planes : lane;
    if (in_block >= wiring.servers_per_block || server >= group.servers || nic >= group.nics()) continue;
    const auto nic_ports = static_cast<std::uint32_t>(group.spec.nic.ports);
    const std::uint32_t port =
        (target.port - wiring.first_port) % wiring.ports_per_plane * shape.port_planes + plane / shape.rail_planes;
    return group_endpoint_[g] + (server * group.nics() + nic) * nic_ports + port;
  }
  return std::nullopt;
}

std::uint32_t Fabric::ports(std::uint32_t network_switch) const {
  const std::uint32_t local = network_switch % per_plane_;
  return ask([&](const auto& network) { return network.ports(local); });
}

Peer Fabric::peer(std::uint32_t network_switch, std::uint32_t port) const {
  const std::uint32_t local = network_switch % per_plane_;
  return ask([&](const auto& network) { return network.peer(local, port); });
}

model::Wire Fabric::wire(LinkTier tier, std::uint32_t group) const {
  if (tier == LinkTier::nic) return cluster_->shape.wiring[group].wire;
  return ask([&](const auto& network) { return network.wire(tier); });
}

const model::SwitchKind& Fabric::switch_kind(std::uint32_t network_switch) const {
  return cluster_->shape.switches[tier_of(network_switch).kind];
}

Hop Fabric::next_hop(std::uint32_t at, Target target, std::uint32_t entropy, RouteState state) const {
  return ask([&](const auto& network) { return network.next_hop(at, target, entropy, state); });
}

Hop Fabric::next_hop(std::uint32_t at, Target target, std::uint32_t entropy, RouteState state,
                     const Broken& broken) const {
  return ask([&](const auto& network) { return network.next_hop(at, target, entropy, state, broken); });
}

RouteState Fabric::start(std::uint32_t at, Target target, std::uint32_t entropy, const Broken& broken) const {
  return ask([&](const auto& network) { return network.start(at, target, entropy, broken); });
}

bool Fabric::reachable(std::uint32_t from, std::uint32_t to, const Failures& failures) const {
  const Attachment a = attachment(from);
  const Attachment b = attachment(to);
  if (a.plane != b.plane) return false;
  const Broken& broken = failures.planes[a.plane];
  const std::uint32_t leaf = a.target.leaf;
  if (broken.empty()) return static_cast<bool>(next_hop(leaf, b.target, 0));
  if (broken.switch_down(leaf) || broken.port_down(leaf, a.target.port)) return false;
  return ask([&](const auto& network) {
    return network.reaches(leaf, b.target, network.start(leaf, b.target, 0, broken), broken);
  });
}

std::uint64_t Fabric::path_count(std::uint32_t from, std::uint32_t to) const {
  const Attachment a = attachment(from);
  const Attachment b = attachment(to);
  if (a.plane != b.plane) return 0;
  return ask([&](const auto& network) { return network.path_count(a.target.leaf, b.target); });
}

std::vector<std::vector<NodeId>> Fabric::all_paths(std::uint32_t from, std::uint32_t to, std::size_t limit) const {
  std::vector<std::vector<NodeId>> out;
  const Attachment a = attachment(from);
  const Attachment b = attachment(to);
  if (a.plane != b.plane) return out;
  std::vector<NodeId> walked;
  const auto walk = [&](auto&& self, std::uint32_t at, RouteState state) -> void {
    walked.push_back(network_node(a.plane, at));
    const auto take = [&](std::uint32_t port) {
      if (out.size() >= limit) return;
      const Peer next = peer(at, port);
      if (at == b.target.leaf && port == b.target.port) {
        out.push_back(walked);
      } else if (next.kind == Peer::Kind::other_switch) {
        RouteState after = state;
        after.global_hops = static_cast<std::uint8_t>(after.global_hops + (next.tier == LinkTier::global));
        self(self, next.switch_index, after);
      }
    };
    ask([&](const auto& network) { network.for_each_port(at, b.target, state, take); });
    walked.pop_back();
  };
  walk(walk, a.target.leaf, {});
  return out;
}

Failures Fabric::no_failures() const {
  Failures failures;
  failures.planes.resize(planes_);
  return failures;
}

void Fabric::fail_switch(Failures& failures, std::uint32_t network_switch) const {
  failures.planes[network_switch / per_plane_].fail_switch(network_switch % per_plane_);
}

void Fabric::fail_link(Failures& failures, std::uint32_t network_switch, std::uint32_t port) const {
  Broken& broken = failures.planes[network_switch / per_plane_];
  broken.fail_port(network_switch % per_plane_, port);
  const Peer other = peer(network_switch, port);
  if (other.kind == Peer::Kind::other_switch) broken.fail_port(other.switch_index, other.port);
}

void Fabric::fail_nic(Failures& failures, std::uint32_t nic) const {
  const Node at = describe(node(NodeKind::nic, nic));
  const auto nic_ports = static_cast<std::uint32_t>(cluster_->groups[at.group].spec.nic.ports);
  for (std::uint32_t port = 0; port < nic_ports; ++port) {
    const Attachment where = attachment(endpoint(nic, port));
    failures.planes[where.plane].fail_port(where.target.leaf, where.target.port);
  }
}

// ---- links

void Fabric::network_links(const Node& at, NodeId id, std::vector<Link>& out) const {
  const std::uint32_t plane = at.local / per_plane_;
  for (std::uint32_t port = 0; port < ports(at.local); ++port) {
    const Peer other = peer(at.local, port);
    if (other.kind == Peer::Kind::other_switch) {
      const model::Wire cable = wire(other.tier);
      out.push_back({id, network_node(plane, other.switch_index), LinkClass::network, other.tier, cable.rate,
                     cable.latency, port});
    } else if (other.kind == Peer::Kind::nic) {
      const auto end = endpoint_at(plane, {at.local % per_plane_, port});
      if (!end) continue;
      const NodeId nic = nic_of(*end);
      const model::Wire cable = wire(LinkTier::nic, describe(nic).group);
      out.push_back({id, nic, LinkClass::network, LinkTier::nic, cable.rate, cable.latency, port});
    }
  }
}

void Fabric::scale_up_links(const Node& at, NodeId id, std::vector<Link>& out) const {
  const Group& group = cluster_->groups[at.group];
  if (!group.spec.scale_up) return;
  const model::ScaleUp& domain = *group.spec.scale_up;
  const Duration latency = domain.link.latency.value_or(Duration{});
  const std::uint32_t servers = domain_servers(group);
  const std::uint32_t first_server = at.server - (at.server - group.first_server) % servers;
  const std::uint32_t first_gpu = value(in_server(NodeKind::gpu, at.group, first_server, 0));
  const std::uint32_t gpus = servers * group.gpus();
  const std::uint32_t switches = domain_switches(group);
  const auto add = [&](NodeId to, Bandwidth rate) {
    out.push_back({id, to, LinkClass::scale_up, LinkTier::nic, rate, latency, kNone});
  };
  if (switches > 0) {
    const Bandwidth rate = domain.link.one_way() / switches;
    if (at.kind == NodeKind::scale_up_switch) {
      for (std::uint32_t g = 0; g < gpus; ++g) add(NodeId{first_gpu + g}, rate);
    } else {
      for (std::uint32_t s = 0; s < switches; ++s)
        add(in_server(NodeKind::scale_up_switch, at.group, first_server, s), rate);
    }
    return;
  }
  if (at.kind != NodeKind::gpu) return;
  // Torus: a side of 2 has one neighbour over two links, a side of 1 none.
  std::int64_t ends = 0;
  for (const std::int64_t side : domain.torus) ends += side > 1 ? 2 : 0;
  std::uint32_t stride = 1;
  const std::uint32_t here = value(id) - first_gpu;
  for (const std::int64_t length : domain.torus) {
    const auto side = static_cast<std::uint32_t>(length);
    const std::uint32_t coordinate = here / stride % side;
    const auto neighbour = [&](std::uint32_t to) { return NodeId{first_gpu + here + (to - coordinate) * stride}; };
    const Bandwidth rate = domain.link.one_way() / std::max<std::int64_t>(1, ends);
    if (side == 2) add(neighbour(1 - coordinate), rate * 2);
    if (side > 2) {
      add(neighbour((coordinate + 1) % side), rate);
      add(neighbour((coordinate + side - 1) % side), rate);
    }
    stride *= side;
  }
}

void Fabric::links_of(NodeId id, std::vector<Link>& out) const {
  const Node at = describe(id);
  if (at.kind == NodeKind::network_switch) return network_links(at, id, out);
  if (at.kind == NodeKind::scale_up_switch) return scale_up_links(at, id, out);

  const Group& group = cluster_->groups[at.group];
  const model::Diagram& diagram = group.diagram;
  const auto here = [&](NodeKind kind, std::uint32_t local) { return in_server(kind, at.group, at.server, local); };
  const Bandwidth pcie = group.pcie.one_way(group.spec.pcie_lanes);
  const Duration pcie_latency = group.pcie.latency.value_or(Duration{});
  const Bandwidth nic_pcie = std::min(pcie, group.nic_pcie.one_way(group.spec.nic.pcie_lanes));
  const NodeKind above = diagram.pcie_switches > 0 ? NodeKind::pcie_switch : NodeKind::root_complex;
  const auto add = [&](NodeId to, LinkClass link, Bandwidth rate, Duration latency) {
    out.push_back({id, to, link, LinkTier::nic, rate, latency, kNone});
  };
  const auto add_pcie = [&](NodeId to) { add(to, LinkClass::pcie, pcie, pcie_latency); };
  const auto add_host = [&](NodeId to) {
    add(to, LinkClass::host, group.spec.host_link->one_way(), group.spec.host_link->latency.value_or(Duration{}));
  };
  // A GPU with a host link (C2C) hangs on PCIe only where there is a switch for it, as on GB300.
  const bool gpus_on_pcie = !group.spec.host_link || diagram.pcie_switches > 0;
  // Without PCIe switches every device has a root port of its own: what is behind the root complex holds none of them
  // up.
  const auto behind_root = [&](std::uint32_t root) {
    if (diagram.pcie_switches > 0) return pcie;
    Bandwidth all;
    for (std::uint32_t gpu = 0; gpu < group.gpus() && gpus_on_pcie; ++gpu)
      if (diagram.gpu_switch[gpu] == root) all = all + pcie;
    for (std::uint32_t nic = 0; nic < group.nics(); ++nic)
      if (diagram.nic_switch[nic] == root) all = all + nic_pcie;
    return std::max(all, pcie);
  };
  const auto add_behind_root = [&](NodeId to, std::uint32_t root) {
    add(to, LinkClass::pcie, behind_root(root), pcie_latency);
  };
  const auto add_devices_below = [&](std::uint32_t place) {
    for (std::uint32_t gpu = 0; gpu < group.gpus() && gpus_on_pcie; ++gpu)
      if (diagram.gpu_switch[gpu] == place) add_pcie(here(NodeKind::gpu, gpu));
    for (std::uint32_t nic = 0; nic < group.nics(); ++nic)
      if (diagram.nic_switch[nic] == place) add(here(NodeKind::nic, nic), LinkClass::pcie, nic_pcie, pcie_latency);
  };

  switch (at.kind) {
    case NodeKind::gpu:
      scale_up_links(at, id, out);
      if (group.spec.host_link) add_host(here(NodeKind::cpu, diagram.socket_of_root(diagram.gpu_switch[at.local])));
      if (gpus_on_pcie) add_pcie(here(above, diagram.gpu_switch[at.local]));
      break;
    case NodeKind::nic:
      add(here(above, diagram.nic_switch[at.local]), LinkClass::pcie, nic_pcie, pcie_latency);
      if (!has_network()) break;
      for (std::uint32_t port = 0; port < static_cast<std::uint32_t>(group.spec.nic.ports); ++port) {
        const Attachment where =
            attachment(endpoint(value(id) - first_[static_cast<std::size_t>(NodeKind::nic)], port));
        const model::Wire cable = wire(LinkTier::nic, at.group);
        out.push_back({id, network_node(where.plane, where.target.leaf), LinkClass::network, LinkTier::nic, cable.rate,
                       cable.latency, where.target.port});
      }
      break;
    case NodeKind::pcie_switch:
      add_pcie(here(NodeKind::root_complex, at.local));
      add_devices_below(at.local);
      break;
    case NodeKind::root_complex:
      add_behind_root(here(NodeKind::cpu, diagram.socket_of_root(at.local)), at.local);
      if (diagram.pcie_switches > 0) {
        add_pcie(here(NodeKind::pcie_switch, at.local));
      } else {
        add_devices_below(at.local);
      }
      break;
    case NodeKind::cpu:
      for (std::uint32_t root = 0; root < diagram.roots(); ++root)
        if (diagram.socket_of_root(root) == at.local) add_behind_root(here(NodeKind::root_complex, root), root);
      for (std::uint32_t gpu = 0; gpu < group.gpus() && group.spec.host_link; ++gpu)
        if (diagram.socket_of_root(diagram.gpu_switch[gpu]) == at.local) add_host(here(NodeKind::gpu, gpu));
      for (std::uint32_t other = 0; other < diagram.sockets; ++other)
        if (other != at.local)
          add(here(NodeKind::cpu, other), LinkClass::socket, group.spec.socket_link->one_way(),
              group.spec.socket_link->latency.value_or(Duration{}));
      break;
    default:
      break;
  }
}

}  // namespace weft::fabric
