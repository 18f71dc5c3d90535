#include "fabric/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/wide.hpp"
#include "fabric/summary_parts.hpp"

namespace weft::fabric {
namespace {

using model::ports_needed;
using model::PortUse;

Bandwidth total(const std::vector<PortUse>& uses) {
  Wide sum = 0;
  for (const PortUse& use : uses) sum += static_cast<Wide>(use.count) * use.rate.count();
  return saturated<Bandwidth>(sum);
}

// Far pairs are at the ends of groups, pods and sites, and in a Dragonfly anywhere: the ends of each
// group against each other, and a fixed sample.
std::vector<std::pair<std::uint32_t, std::uint32_t>> far_pairs(const Fabric& fabric) {
  std::set<std::uint32_t> ends;
  for (const model::Group& group : fabric.cluster().groups) {
    const std::uint32_t last = group.first_gpu + group.servers * group.gpus() - 1;
    for (const std::uint32_t gpu : {group.first_gpu, group.first_gpu + group.gpus() - 1, last, last + 1 - group.gpus()})
      ends.insert(gpu);
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const std::uint32_t from : ends)
    for (const std::uint32_t to : ends) pairs.emplace_back(from, to);
  constexpr std::uint32_t kSample = 256;
  for (std::uint32_t i = 0; i < kSample; ++i)
    pairs.emplace_back(pick(mix64(2 * i), fabric.cluster().gpus), pick(mix64(2 * i + 1), fabric.cluster().gpus));
  return pairs;
}

void find_longest(const Fabric& fabric, Summary& summary) {
  const Failures none = fabric.no_failures();
  for (const auto& [from, to] : far_pairs(fabric)) {
    const auto path = from == to ? std::nullopt : fabric.path(from, to, 0, none);
    if (!path) continue;
    const Duration latency = path_latency(fabric, *path);
    if (summary.longest && latency <= summary.longest->latency) continue;
    LongestPath longest{from, to, 0, static_cast<std::uint32_t>(path->links.size()), latency};
    for (const Link& link : path->links) longest.switches += fabric.describe(link.to).kind == NodeKind::network_switch;
    summary.longest = longest;
  }
}

void count_paths(const Fabric& fabric, Summary& summary) {
  // From the first NIC port: to the ends of the cluster in its plane.
  const std::uint32_t plane = fabric.attachment(0).plane;
  std::vector<std::uint32_t> others;
  const std::uint32_t step = std::max(1u, fabric.endpoints() / 4096);
  for (std::uint32_t e = 1; e < fabric.endpoints(); e += step) others.push_back(e);
  for (std::uint32_t e = fabric.endpoints(); e-- > 1 && fabric.endpoints() - e <= 64;) others.push_back(e);
  for (const std::uint32_t e : others) {
    const Attachment where = fabric.attachment(e);
    if (where.plane != plane || where.target.leaf == fabric.attachment(0).target.leaf) continue;
    const std::uint64_t paths = fabric.path_count(0, e);
    if (summary.paths_near == 0 || paths < summary.paths_near) summary.paths_near = paths;
    summary.paths_far = std::max(summary.paths_far, paths);
  }
  summary.paths_near *= fabric.cluster().shape.port_planes;
  summary.paths_far *= fabric.cluster().shape.port_planes;
}

}  // namespace

std::vector<PortUse> fullest_leaf(const Fabric& fabric) {
  const model::Shape& shape = fabric.cluster().shape;
  const bool chassis = fabric.cluster().file.fabric.kind == model::FabricKind::single_chassis;
  std::vector<PortUse> uses;
  for (std::size_t g = 0; g < shape.wiring.size(); ++g) {
    const model::Wiring& wiring = shape.wiring[g];
    const std::uint32_t servers = std::min(wiring.servers_per_block, fabric.cluster().groups[g].servers);
    const PortUse use{wiring.wire.rate,
                      static_cast<std::int64_t>(servers) * wiring.nics_per_leaf * wiring.ports_per_plane};
    if (chassis || uses.empty()) {
      uses.push_back(use);
    } else if (static_cast<Wide>(use.count) * use.rate.count() >
               static_cast<Wide>(uses[0].count) * uses[0].rate.count()) {
      uses[0] = use;
    }
  }
  return uses;
}

TierSummary tier(std::string name, const model::SwitchKind& kind, std::uint64_t switches,
                 const std::vector<PortUse>& below, const std::vector<PortUse>& above) {
  TierSummary out{std::move(name), kind.kind, switches, kind.ports, 0, 0, total(below), total(above)};
  std::vector<PortUse> all = below;
  all.insert(all.end(), above.begin(), above.end());
  out.ports_used = ports_needed(kind, all);
  out.ports_in_use = out.ports_used * static_cast<std::int64_t>(switches);
  return out;
}

Duration path_latency(const Fabric& fabric, const Path& path) {
  Duration sum;
  for (const Link& link : path.links) {
    sum += link.latency;
    const Node to = fabric.describe(link.to);
    if (to.kind == NodeKind::network_switch) sum += fabric.switch_kind(to.local).latency;
    if (to.kind == NodeKind::nic) sum += fabric.cluster().groups[to.group].spec.nic.latency;
  }
  return sum;
}

Summary summarise(const Fabric& fabric) {
  Summary summary;
  Wide nic_bandwidth = 0;
  for (const model::Group& group : fabric.cluster().groups)
    nic_bandwidth += static_cast<Wide>(group.spec.nic.rate.count()) * group.nics() * group.servers;
  summary.nic_bandwidth = saturated<Bandwidth>(nic_bandwidth);
  if (fabric.has_network()) fabric.ask([&](const auto& network) { sum_up(network, fabric, summary); });
  std::vector<std::uint64_t> switches;
  for (const TierSummary& each : summary.tiers) switches.push_back(each.switches);
  summary.costs = costs_of(fabric, switches);
  find_longest(fabric, summary);
  if (fabric.has_network()) count_paths(fabric, summary);
  return summary;
}

Owner owner_of(const model::Cluster& cluster) {
  const auto any = [&](const auto& is) { return std::any_of(cluster.groups.begin(), cluster.groups.end(), is); };
  if (any([](const model::Group& group) { return group.spec.nic.efa.has_value(); })) return Owner::aws;
  const bool rented = any([](const model::Group& group) { return group.spec.price.has_value(); });
  return rented ? Owner::provider : Owner::oneself;
}

ScaleStep scale_step(std::uint32_t servers, Owner owner) {
  // The steps of the scale guide of the Zenn book on training on AWS (later edition).
  const auto if_rented = [&](std::string_view text) { return owner == Owner::oneself ? "" : text; };
  if (servers <= 8)
    return {"small (up to 8 servers)",
            fmt::format("proof of concept, models of about 7B; {}{}", if_rented("quota request small or not needed; "),
                        owner == Owner::aws ? "standard EFA" : "the network as it comes")};
  if (servers <= 64)
    return {"medium (up to 64 servers)", fmt::format("models of about 70B; {}network tuning matters",
                                                     if_rented("quota request required, with reason and plan; "))};
  if (servers <= 512)
    return {"large (up to 512 servers)",
            fmt::format("models of about 400B; {}{}", if_rented("quota in stages agreed with the provider; "),
                        owner == Owner::aws ? "UltraCluster-class fabric" : "a fabric without oversubscription")};
  return {"extra large (more than 512 servers)", fmt::format("frontier models; {}staged roll-out, several file systems",
                                                             if_rented("close work with the provider, "))};
}

}  // namespace weft::fabric
