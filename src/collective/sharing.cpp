#include "collective/sharing.hpp"

#include <algorithm>

#include "base/wide.hpp"
#include "collective/gates.hpp"
#include "model/host_memory.hpp"

namespace weft::collective {
namespace {

// Links by name: those of GPUs, then those of NICs, then root complexes.
constexpr std::uint64_t kCards = std::uint64_t{1} << 40;
constexpr std::uint64_t kRoots = std::uint64_t{2} << 40;
constexpr std::uint64_t kMemory = std::uint64_t{3} << 40;
constexpr std::uint64_t kNetwork = std::uint64_t{4} << 40;
constexpr std::uint64_t kBounced = std::uint64_t{5} << 40;

Bandwidth part_of(Bandwidth rate, std::int64_t per_mille) { return Bandwidth(rate.count() / 1000 * per_mille); }

}  // namespace

Sharing::Sharing(const Team& team, const Generation& generation, const Stack& stack, Options options)
    : team_(team), options_(options) {
  for (std::uint32_t rank = 0; rank < team.ranks(); ++rank) {
    const model::Group& group = team.group(rank);
    const Bandwidth inside = group.spec.scale_up
                                 ? part_of(group.spec.scale_up->link.one_way(), generation.scale_up_per_mille)
                                 : part_of(group.pcie.one_way(group.spec.pcie_lanes), kPciePerMille);
    add_part(inside, 2 * std::uint64_t{team.gpu(rank)});
    // Without P2P the receiver reads host memory, at about half of the rate at which it could be written to.
    add_part(group.spec.p2p ? inside : inside / 2, 2 * std::uint64_t{team.gpu(rank)} + 1);
    const auto& ports = team.domain(team.node_of(rank)).ports;
    const Bandwidth nic = ports.empty() ? Bandwidth{INT64_MAX} : ports[team.port_of(rank)].nic_rate;
    const Bandwidth bounced = part_of(part_of(nic, stack.network.nic_per_mille), kBouncedPerMille);
    for (const std::uint64_t way : {0u, 1u}) add_part(bounced, kBounced + 2 * std::uint64_t{team.gpu(rank)} + way);
  }
  for (std::uint32_t node = 0; node < team.nodes(); ++node) {
    first_port_.push_back(static_cast<std::uint32_t>(parts_.size()));
    for (const Port& port : team.domain(node).ports) {
      const Bandwidth pcie = part_of(port.pcie_rate, kPciePerMille);
      const Bandwidth nic = std::min(part_of(port.nic_rate, stack.network.nic_per_mille), pcie);
      const std::uint64_t first = kCards + 2 * std::uint64_t{port.nics[0]};
      const auto out = static_cast<std::uint32_t>(parts_.size());
      add_part(nic, first);
      add_part(nic, first + 1);
      parts_[out].port = parts_[out + 1].port = out;
    }
    first_root_.push_back(static_cast<std::uint32_t>(parts_.size()));
    const model::Group& group = team.group(team.domain(node).first_rank);
    for (std::uint32_t root = 0; root < 2 * team.roots(node); ++root)
      // Without PCIe switches each GPU and each NIC has a root port of its own.
      add_part(group.diagram.pcie_switches > 0 ? part_of(group.pcie.one_way(group.spec.pcie_lanes), kPciePerMille)
                                               : Bandwidth{INT64_MAX},
               kRoots + (std::uint64_t{team.place_of_node(node)} << 16) + root);
    const std::uint32_t sockets = team.roots(node) / group.diagram.roots() * group.diagram.sockets;
    for (std::uint32_t socket = 0; socket < sockets; ++socket)
      add_part(model::memory_of_socket(group.pcie.one_way(16)),
               kMemory + (std::uint64_t{team.place_of_node(node)} << 16) + socket);
  }
}

void Sharing::add_part(Bandwidth capacity, std::uint64_t link) {
  parts_.push_back({beside(link, capacity, 0), link, 0, kNoPort});
}

Bandwidth Sharing::beside(std::uint64_t link, Bandwidth capacity, std::uint64_t own) const {
  if (options_.beside == nullptr) return capacity;
  const auto known = options_.beside->find(link);
  return known == options_.beside->end() ? capacity : known->second.left_of(capacity, own);
}

Loads Sharing::loads() const {
  Loads made;
  for (const Part& part : parts_)
    if (part.users > 0) made.emplace(part.link, part.users * NetworkLinks::kWhole / turns_);
  for (std::size_t link = 0; link < loads_.size(); ++link)
    if (loads_[link] > 0) made.emplace(kNetwork + link, loads_[link]);
  return made;
}

Path Sharing::inside(std::uint32_t from, std::uint32_t to) const {
  Path path;
  path.add(out_of(from));
  path.add(into(to));
  const model::ServerKind& server = team_.group(from).spec;
  if (server.scale_up || (server.p2p && team_.root(from) == team_.root(to))) return path;
  path.add(root_up(team_.node_of(from), team_.root(from)));
  path.add(root_down(team_.node_of(to), team_.root(to)));
  path.host_memory = !server.p2p;
  if (path.host_memory) add_rest(path, from);
  return path;
}

Path Sharing::to_switch(std::uint32_t rank) const {
  Path path;
  path.add(out_of(rank));
  return path;
}

Path Sharing::from_switch(std::uint32_t rank) const {
  Path path;
  path.add(into(rank));
  return path;
}

Path Sharing::to_network(std::uint32_t from, std::uint32_t port) const {
  const std::uint32_t node = team_.node_of(from);
  port = port_within_reach(team_, from, port, options_.pxn);
  const Port& used = team_.domain(node).ports[port];
  Path path;
  const bool near = team_.port_of(from) == port && team_.direct(from);
  const bool relayed = !near && options_.pxn && used.rank != from && team_.group(from).spec.scale_up.has_value();
  if (relayed) {
    path.add(out_of(from));
    path.add(into(used.rank));
  }
  path.host_memory = !near && !(relayed && used.direct);
  if (path.host_memory) {
    const std::uint32_t last = relayed ? used.rank : from;
    path.add(root_up(node, team_.root(last)));
    path.add(root_down(node, used.root));
    add_rest(path, last);
    path.add(bounce_out(last));
  }
  path.add(port_out(node, port));
  return path;
}

// The network writes where it can reach: there is no PXN at this end.
Path Sharing::from_network(std::uint32_t to, std::uint32_t port) const {
  const std::uint32_t node = team_.node_of(to);
  Path path;
  path.add(port_in(node, port));
  path.host_memory = team_.port_of(to) != port || !team_.direct(to);
  if (path.host_memory) {
    path.add(root_up(node, team_.domain(node).ports[port].root));
    path.add(root_down(node, team_.root(to)));
    add_rest(path, to);
    path.add(bounce_in(to));
  }
  return path;
}

Path Sharing::across(std::uint32_t from, std::uint32_t from_port, std::uint32_t to, std::uint32_t to_port) const {
  Path path = to_network(from, from_port);
  const Path rest = from_network(to, to_port);
  for (std::uint32_t i = 0; i < rest.count; ++i) path.add(rest.parts[i]);
  path.host_memory |= rest.host_memory;
  from_port = port_within_reach(team_, from, from_port, options_.pxn);
  path.network = network(team_.domain(team_.node_of(from)).ports[from_port].rank,
                         team_.domain(team_.node_of(to)).ports[to_port].rank);
  path.cut = options_.network != nullptr && path.network.empty();
  return path;
}

std::span<const NetworkLinks::Part> Sharing::network(std::uint32_t leaves, std::uint32_t enters) const {
  if (options_.network == nullptr) return {};
  return options_.network->between(team_.gpu(leaves), team_.gpu(enters));
}

// Written, and read again, at the rank's socket.
void Sharing::add_rest(Path& path, std::uint32_t rank) const {
  const std::uint32_t node = team_.node_of(rank);
  const model::Diagram& diagram = team_.group(rank).diagram;
  const std::uint32_t root = team_.root(rank);
  const std::uint32_t socket =
      root / diagram.roots() * diagram.sockets + diagram.socket_of_root(root % diagram.roots());
  const std::uint32_t memory = first_root_[node] + 2 * team_.roots(node) + socket;
  path.add(memory);
  path.add(memory);
}

void Sharing::load(const Path& path, std::uint32_t weight) {
  for (std::uint32_t i = 0; i < path.count; ++i) parts_[path.parts[i]].users += weight * turns_;
  load(path.network, weight, 1);
  if (!options_.with_crossings || path.network.empty()) return;
  const auto [known, is_new] = known_.try_emplace(path.network.data(), crossings_.size());
  if (is_new) crossings_.push_back({path.network, 0});
  crossings_[known->second].steps += weight;
}

void Sharing::load_in_turn(const Path& path) {
  for (std::uint32_t i = 0; i < path.count; ++i) ++parts_[path.parts[i]].users;
  load(path.network, 1, turns_);
}

void Sharing::load(std::span<const NetworkLinks::Part> network, std::uint64_t over, std::uint64_t under) {
  for (const NetworkLinks::Part& part : network) {
    if (loads_.size() <= part.link) loads_.resize(part.link + std::size_t{1});
    loads_[part.link] += part.weight * over / under;
  }
}

Bandwidth Sharing::share_of_host(const Path& path) const {
  Bandwidth least{INT64_MAX};
  for (std::uint32_t i = 0; i < path.count; ++i) {
    const Part& part = parts_[path.parts[i]];
    const Wide share = Wide{part.capacity.count()} * turns_ / std::max(1u, part.users);
    least = Bandwidth(static_cast<std::int64_t>(std::min<Wide>(least.count(), share)));
  }
  return least;
}

Bandwidth Sharing::share_of_network(const Path& path) const {
  Wide least = INT64_MAX;
  for (const NetworkLinks::Part& part : path.network) {
    const std::uint64_t load = part.link < loads_.size() ? loads_[part.link] : 0;
    least = std::min(least, Wide{rate(part.link, load).count()} * NetworkLinks::kWhole / std::max(load, part.weight));
  }
  return Bandwidth(static_cast<std::int64_t>(least));
}

Bandwidth Sharing::rate(std::uint32_t link, std::uint64_t own) const {
  return beside(kNetwork + link, options_.network->rate(link), own);
}

Bandwidth Sharing::left(std::uint32_t link) const {
  const Wide all = Wide{rate(link, loads_[link]).count()} * NetworkLinks::kWhole;
  return Bandwidth(
      static_cast<std::int64_t>(std::min<Wide>(all / std::max<std::uint64_t>(1, loads_[link]), INT64_MAX)));
}

std::pair<Duration, std::uint64_t> Sharing::busiest_link(std::uint64_t bytes) const {
  constexpr std::int64_t kPsPerSecond = 1'000'000'000'000;
  Wide longest = 0;
  std::uint64_t steps = 0;
  for (std::uint32_t link = 0; link < loads_.size(); ++link) {
    if (loads_[link] == 0) continue;
    const Wide crossing = Wide{loads_[link]} * bytes / NetworkLinks::kWhole * 8;
    const Wide takes = crossing * kPsPerSecond / std::max<std::int64_t>(1, rate(link, loads_[link]).count());
    if (takes <= longest) continue;
    longest = takes;
    steps = (loads_[link] + NetworkLinks::kWhole - 1) / NetworkLinks::kWhole;
  }
  return {Duration(static_cast<std::int64_t>(std::min<Wide>(longest, INT64_MAX))), steps};
}

std::uint32_t Sharing::posted(const Path& path) const {
  std::uint32_t most = 0;
  for (std::uint32_t i = 0; i < path.count; ++i) {
    const std::uint32_t out = parts_[path.parts[i]].port;
    if (out != kNoPort) most = std::max(most, (parts_[out].users + parts_[out + 1].users + turns_ - 1) / turns_);
  }
  return most;
}

}  // namespace weft::collective
