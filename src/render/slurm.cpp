// Slurm: which nodes there are, with which GPUs, and how near they are to each other.
//
// topology/tree wants every node below one switch. A server of a rail fabric hangs on a leaf per rail, so the lowest
// level is not a leaf but the unit: servers that share all their leaves. Above it stand pods and sites, as the fabric
// has them; levels with one member are left out, because they say nothing.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "fabric/position.hpp"
#include "render/render.hpp"

namespace weft::render {
namespace {

using fabric::Position;
using fabric::positions_of;
using fabric::unit_name;

// Servers one behind another, as Slurm writes them: s[0-15], s3.
std::string hostlist(const Addressing& plan, const std::vector<std::uint32_t>& servers) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < servers.size();) {
    const model::Group& group = plan.group_of(servers[i]);
    std::size_t last = i;
    while (last + 1 < servers.size() && servers[last + 1] == servers[last] + 1 &&
           servers[last + 1] < group.first_server + group.servers)
      ++last;
    const std::uint32_t from = servers[i] - group.first_server;
    const std::uint32_t to = servers[last] - group.first_server;
    std::string name = plan.server_name(servers[i]);
    name.resize(name.size() - fmt::format("{}", from).size());
    parts.push_back(from == to ? fmt::format("{}{}", name, from) : fmt::format("{}[{}-{}]", name, from, to));
    i = last + 1;
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

using Members = std::map<std::uint32_t, std::vector<std::uint32_t>>;  // servers by number of unit, rack, ...

// The switches that a unit's servers hang on, for people.
std::string leaves_of(const Addressing& plan, const std::vector<std::uint32_t>& servers) {
  std::vector<std::string> names;
  for (const Port& port : plan.server_ports(servers.front()))
    if (std::find(names.begin(), names.end(), port.peer) == names.end()) names.push_back(port.peer);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Adds a switch above the children of each number; one child stands for itself. Where there is one number, it is the
// top. Gives the names of what came of them.
using Named = std::map<std::uint32_t, std::vector<std::string>>;
std::map<std::uint32_t, std::string> join(const Named& children, const std::string& name, std::string& text) {
  std::map<std::uint32_t, std::string> made;
  for (const auto& [number, names] : children) {
    made[number] = names.size() == 1      ? names.front()
                   : children.size() == 1 ? std::string("fabric")
                                          : fmt::format("{}{}", name, number);
    if (names.size() > 1) text += fmt::format("SwitchName={} Switches={}\n", made[number], fmt::join(names, ","));
  }
  return made;
}

std::string tree(const Addressing& plan, const Origin& origin) {
  const fabric::Fabric& fabric = plan.fabric();
  const std::vector<Position> positions = positions_of(fabric);
  Members units;
  for (std::uint32_t i = 0; i < plan.servers(); ++i) units[positions[i].unit].push_back(i);
  std::string text = header(origin, "slurm", "topology.conf, a tree", "#") + "# TopologyPlugin=topology/tree\n";
  Named pods;
  std::map<std::uint32_t, std::uint32_t> site_of_pod;
  for (const auto& [unit, servers] : units) {
    const Position& at = positions[servers.front()];
    const std::string name = unit_name(fabric, servers.front());
    const std::string leaves = leaves_of(plan, servers);
    if (!leaves.empty() && leaves != name) text += fmt::format("# {}: {}\n", name, leaves);
    text += fmt::format("SwitchName={} Nodes={}\n", name, hostlist(plan, servers));
    pods[at.pod].push_back(name);
    site_of_pod[at.pod] = at.site;
  }
  if (!fabric.has_network()) return text;  // nothing joins the units
  Named sites;
  for (const auto& [pod, name] : join(pods, "pod", text)) sites[site_of_pod[pod]].push_back(name);
  Named all;
  for (const auto& [site, name] : join(sites, "site", text)) all[0].push_back(name);
  join(all, "", text);
  return text;
}

// Slurm 23.11 and later: a job gets whole blocks, which is what an NVLink domain or a scalable unit is.
std::string blocks(const Addressing& plan, const Origin& origin) {
  const std::vector<Position> positions = positions_of(plan.fabric());
  Members members;
  bool domains = !positions.empty();
  for (std::uint32_t i = 0; i < plan.servers(); ++i)
    domains = domains && plan.group_of(i).spec.scale_up && plan.group_of(i).spec.scale_up->servers > 1;
  for (std::uint32_t i = 0; i < plan.servers(); ++i)
    members[domains ? positions[i].rack.value_or(0) : positions[i].unit].push_back(i);
  std::size_t smallest = plan.servers();
  std::string text =
      header(origin, "slurm", "topology.conf, in blocks", "#") +
      fmt::format("# For Slurm 23.11 and later, as topology.conf: TopologyPlugin=topology/block. A block is {}.\n",
                  domains ? "an NVLink domain" : "a unit: servers that share all their leaves");
  for (const auto& [block, servers] : members) {
    text += fmt::format("BlockName={}{} Nodes={}\n", domains ? "rack" : "su", block, hostlist(plan, servers));
    smallest = std::min(smallest, servers.size());
  }
  return text + fmt::format("BlockSizes={}\n", smallest);
}

std::string gpu_type(const model::Group& group) { return group.spec.gpu.kind; }

std::string gres(const Addressing& plan, const Origin& origin) {
  std::string text = header(origin, "slurm", "gres.conf", "#");
  for (const model::Group& group : plan.fabric().cluster().groups) {
    std::vector<std::uint32_t> servers;
    for (std::uint32_t i = 0; i < group.servers; ++i) servers.push_back(group.first_server + i);
    const std::string files = group.spec.gpu.scale_up.starts_with("neuron") ? "/dev/neuron" : "/dev/nvidia";
    text += fmt::format("NodeName={} Name=gpu Type={} File={}{}\n", hostlist(plan, servers), gpu_type(group), files,
                        group.gpus() > 1 ? fmt::format("[0-{}]", group.gpus() - 1) : "0");
  }
  return text;
}

std::string nodes(const Addressing& plan, const Origin& origin) {
  std::string text =
      header(origin, "slurm", "node lines", "#") +
      "# slurm.conf: include this file, with SelectType=select/cons_tres and TopologyPlugin=topology/tree.\n"
      "# Names resolve by hosts/etc-hosts (weft render hosts). Where a line has no CPUs, `slurmd -C` tells them.\n"
      "GresTypes=gpu\n";
  Members units;
  const std::vector<Position> positions = positions_of(plan.fabric());
  for (std::uint32_t i = 0; i < plan.servers(); ++i) units[positions[i].unit].push_back(i);
  for (const auto& [unit, servers] : units) {
    const model::Group& group = plan.group_of(servers.front());
    std::string line = fmt::format("NodeName={}", hostlist(plan, servers));
    if (group.spec.vcpus) line += fmt::format(" CPUs={}", *group.spec.vcpus);
    if (group.spec.memory) line += fmt::format(" RealMemory={}", group.spec.memory->count() >> 20);
    text += fmt::format("{} Gres=gpu:{}:{} Feature={},{}\n", line, gpu_type(group), group.gpus(),
                        unit_name(plan.fabric(), servers.front()), group.spec.kind);
  }
  return text;
}

}  // namespace

std::vector<File> slurm_files(const Addressing& plan, const Origin& origin) {
  return {{"slurm/topology.conf", tree(plan, origin)},
          {"slurm/topology-block.conf", blocks(plan, origin)},
          {"slurm/gres.conf", gres(plan, origin)},
          {"slurm/nodes.conf", nodes(plan, origin)}};
}

}  // namespace weft::render
