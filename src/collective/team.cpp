#include "collective/team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "fabric/path_cost.hpp"

namespace weft::collective {
namespace {

std::uint32_t servers_of_domain(const model::Group& group) {
  return group.spec.scale_up ? static_cast<std::uint32_t>(std::max<std::int64_t>(1, group.spec.scale_up->servers)) : 1;
}

// Equal for GPUs of one scale-up domain, or of one server where there is none; grows with the GPU's number.
std::uint64_t domain_of(const fabric::Fabric& fabric, std::uint32_t gpu) {
  const fabric::Node node = fabric.describe(fabric.gpu(gpu));
  const model::Group& group = fabric.cluster().groups[node.group];
  const std::uint32_t servers = servers_of_domain(group);
  const std::uint32_t first = group.first_server + (node.server - group.first_server) / servers * servers;
  return first;
}

// Root complexes of the servers of a domain that come before those of this one.
std::uint32_t roots_before(const model::Group& group, const fabric::Node& at) {
  return (at.server - group.first_server) % servers_of_domain(group) * group.diagram.roots();
}

Bandwidth narrowest(const fabric::Fabric& fabric, fabric::NodeId from, fabric::NodeId to) {
  const auto path = fabric.path_inside(from, to, 0);
  return path ? fabric::path_cost(fabric, *path).rate : Bandwidth{};
}

}  // namespace

Team::Team(const fabric::Fabric& fabric, std::vector<std::uint32_t> gpus) : fabric_(fabric), gpus_(std::move(gpus)) {
  std::sort(gpus_.begin(), gpus_.end());
  node_.resize(gpus_.size());
  port_.resize(gpus_.size());
  direct_.resize(gpus_.size());
  for (std::uint32_t first = 0; first < ranks();) {
    const std::uint64_t domain = domain_of(fabric, gpus_[first]);
    std::uint32_t end = first;
    while (end < ranks() && domain_of(fabric, gpus_[end]) == domain) node_[end++] = nodes();
    add_domain(first, end);
    first = end;
  }
  measure_network();
}

const model::Group& Team::group(std::uint32_t rank) const {
  return fabric_.cluster().groups[fabric_.describe(fabric_.gpu(gpus_[rank])).group];
}

std::uint32_t Team::root(std::uint32_t rank) const {
  const fabric::Node at = fabric_.describe(fabric_.gpu(gpus_[rank]));
  return roots_before(group(rank), at) + group(rank).diagram.gpu_switch[at.local];
}

std::uint32_t Team::roots(std::uint32_t node) const {
  const model::Group& its = group(domains_[node].first_rank);
  return servers_of_domain(its) * its.diagram.roots();
}

Team Team::only(const std::vector<std::uint32_t>& nodes) const {
  std::vector<std::uint32_t> gpus;
  for (const std::uint32_t node : nodes)
    for (std::uint32_t i = 0; i < domains_[node].ranks; ++i) gpus.push_back(gpus_[domains_[node].first_rank + i]);
  Team made(fabric_, std::move(gpus));
  made.network_latency_ = network_latency_;
  made.broken_ = broken_;
  return made;
}

// The same GPUs of equal servers as in the domain before, so that all follows by counting on.
bool Team::add_copy(std::uint32_t first, std::uint32_t end) {
  if (domains_.empty() || domains_.back().ranks != end - first) return false;
  const Domain& before = domains_.back();
  const fabric::Node at = fabric_.describe(fabric_.gpu(gpus_[first]));
  const fabric::Node was = fabric_.describe(fabric_.gpu(gpus_[before.first_rank]));
  const model::Group& group = fabric_.cluster().groups[at.group];
  if (at.group != was.group || (at.server - was.server) % servers_of_domain(group) != 0) return false;
  const std::uint32_t gpus = (at.server - was.server) * group.gpus();
  const std::uint32_t nics = (at.server - was.server) * group.nics();
  for (std::uint32_t i = 0; i < before.ranks; ++i)
    if (gpus_[first + i] != gpus_[before.first_rank + i] + gpus) return false;
  Domain domain = before;
  domain.first_rank = first;
  for (Port& port : domain.ports) {
    port.rank += first - before.first_rank;
    for (std::uint32_t& nic : port.nics) nic += nics;
  }
  for (std::uint32_t i = 0; i < before.ranks; ++i) {
    port_[first + i] = port_[before.first_rank + i];
    direct_[first + i] = direct_[before.first_rank + i];
  }
  domains_.push_back(std::move(domain));
  return true;
}

void Team::add_domain(std::uint32_t first, std::uint32_t end) {
  if (add_copy(first, end)) return;
  ++different_;
  Domain domain{first, end - first, {}};
  for (std::uint32_t rank = first; rank < end; ++rank) {
    const fabric::Node at = fabric_.describe(fabric_.gpu(gpus_[rank]));
    const model::Group& group = fabric_.cluster().groups[at.group];
    const std::vector<std::uint32_t>& near = group.diagram.near_nics[at.local];
    if (near.empty()) continue;
    Port port;
    for (const std::uint32_t nic : near)
      port.nics.push_back(group.first_nic + (at.server - group.first_server) * group.nics() + nic);
    const auto known = std::find_if(domain.ports.begin(), domain.ports.end(),
                                    [&](const Port& each) { return each.nics == port.nics; });
    const bool direct = direct_[rank] = group.diagram.direct(at.local, near[0]);
    port_[rank] = static_cast<std::uint32_t>(known - domain.ports.begin());
    // Of GPUs that share NICs the first that reaches them without host memory stands for all.
    if (known != domain.ports.end() && (known->direct || !direct)) continue;
    port.rank = rank;
    port.root = roots_before(group, at) + group.diagram.nic_switch[near[0]];
    port.direct = direct;
    port.nic_rate = group.spec.nic.rate * static_cast<std::int64_t>(near.size());
    const fabric::NodeId nic_node = fabric_.node(fabric::NodeKind::nic, port.nics[0]);
    port.pcie_rate = narrowest(fabric_, nic_node, fabric_.gpu(gpus_[rank]));
    // NICs with slots of their own share only the GPU's link.
    const Bandwidth gpu_link = group.pcie.one_way(group.spec.pcie_lanes);
    if (near.size() > 1) port.pcie_rate = std::min(port.pcie_rate * static_cast<std::int64_t>(near.size()), gpu_link);
    if (known != domain.ports.end())
      *known = std::move(port);
    else
      domain.ports.push_back(std::move(port));
  }
  domains_.push_back(std::move(domain));
}

void Team::measure_network() {
  constexpr std::uint32_t kLookedAt = 64;
  const fabric::Failures none = fabric_.no_failures();
  const std::uint32_t stride = std::max(1u, nodes() / kLookedAt);
  for (std::uint32_t node = 1; node < nodes(); node += stride) {
    const std::uint32_t from = gpus_[domains_[0].first_rank];
    const std::uint32_t to = gpus_[domains_[node].first_rank];
    const auto path = fabric_.path(from, to, 0, none);
    if (!path || domains_[0].ports.empty() || domains_[node].ports.empty()) {
      broken_ = fmt::format("nothing joins {} and {}", fabric_.name(fabric_.gpu(from)), fabric_.name(fabric_.gpu(to)));
      return;
    }
    network_latency_ = std::max(network_latency_, fabric::path_cost(fabric_, *path).latency);
  }
}

bool Team::has_rails_apart() const { return fabric_.cluster().shape.rail_planes > 1; }

std::uint32_t Team::port_towards(std::uint32_t node, std::uint32_t own, std::uint32_t other,
                                 std::uint32_t theirs) const {
  if (!has_rails_apart()) return own;
  const auto plane = [&](std::uint32_t domain, std::uint32_t port) {
    return fabric_.attachment(fabric_.endpoint(domains_[domain].ports[port].nics[0], 0)).plane;
  };
  const std::uint32_t wanted = plane(other, theirs);
  if (plane(node, own) == wanted) return own;
  for (std::uint32_t port = 0; port < domains_[node].ports.size(); ++port)
    if (plane(node, port) == wanted) return port;
  return own;
}

bool Team::network_reduces() const {
  const auto& switches = fabric_.cluster().shape.switches;
  return !switches.empty() &&
         std::all_of(switches.begin(), switches.end(), [](const model::SwitchKind& each) { return each.reduces; });
}

Duration Team::inside_latency() const {
  for (const Domain& each : domains_) {
    if (each.ranks < 2) continue;
    const auto path =
        fabric_.path_inside(fabric_.gpu(gpus_[each.first_rank]), fabric_.gpu(gpus_[each.first_rank + 1]), 0);
    return path ? fabric::path_cost(fabric_, *path).latency : Duration(0);
  }
  return Duration(0);
}

std::uint32_t Team::place_of_node(std::uint32_t node) const {
  const fabric::Node at = fabric_.describe(fabric_.gpu(gpus_[domains_[node].first_rank]));
  std::uint32_t place = 0;
  for (std::uint32_t group = 0; group <= at.group; ++group) {
    const model::Group& each = fabric_.cluster().groups[group];
    const std::uint32_t servers = servers_of_domain(each);
    place += (group == at.group ? at.server - each.first_server : each.servers) / servers;
  }
  return place;
}

bool Team::even() const {
  return std::all_of(domains_.begin(), domains_.end(),
                     [&](const Domain& each) { return each.ranks == domains_[0].ranks; });
}

std::uint32_t Team::most_per_node() const {
  std::uint32_t most = 0;
  for (const Domain& each : domains_) most = std::max(most, each.ranks);
  return most;
}

std::uint32_t Team::least_ports() const {
  std::size_t least = domains_[0].ports.size();
  for (const Domain& each : domains_) least = std::min(least, each.ports.size());
  return static_cast<std::uint32_t>(least);
}

std::vector<std::uint32_t> pick_gpus(const model::Cluster& cluster, std::uint32_t count, std::uint32_t per_server) {
  std::vector<std::uint32_t> picked;
  for (const model::Group& group : cluster.groups)
    for (std::uint32_t server = 0; server < group.servers; ++server)
      for (std::uint32_t gpu = 0; gpu < group.gpus() && picked.size() < count; ++gpu)
        if (per_server == 0 || gpu < per_server) picked.push_back(group.first_gpu + server * group.gpus() + gpu);
  return picked;
}

}  // namespace weft::collective
