#include "sim/run/message_cost.hpp"

#include <algorithm>

#include "fabric/path_cost.hpp"

namespace weft::sim {
namespace {

// Every port of the NICs nearest to a GPU carries a stripe.
std::int64_t stripes(const fabric::Fabric& fabric, std::uint32_t gpu) {
  const fabric::Node at = fabric.describe(fabric.gpu(gpu));
  const model::Group& group = fabric.cluster().groups[at.group];
  return static_cast<std::int64_t>(group.diagram.near_nics[at.local].size()) * group.spec.nic.ports;
}

// A path names one NIC; what begins or ends at a NIC, and the network between, is there once for each.
Bandwidth rate_of(const fabric::Fabric& fabric, fabric::Path path, std::int64_t times) {
  for (fabric::Link& link : path.links) {
    const auto is_nic = [&](fabric::NodeId id) { return fabric.describe(id).kind == fabric::NodeKind::nic; };
    if (link.link == fabric::LinkClass::network || is_nic(link.from) || is_nic(link.to)) link.rate = link.rate * times;
  }
  return fabric::path_cost(fabric, path).rate;
}

}  // namespace

std::optional<TransferCost> unloaded_cost(const fabric::Fabric& fabric, std::uint32_t from_gpu, std::uint32_t to_gpu) {
  const fabric::Failures none = fabric.no_failures();
  const auto there = fabric.path(from_gpu, to_gpu, 0, none);
  const auto back = fabric.path(to_gpu, from_gpu, 0, none);
  if (!there || !back) return std::nullopt;
  const bool inside = std::none_of(there->links.begin(), there->links.end(),
                                   [](const fabric::Link& link) { return link.link == fabric::LinkClass::network; });
  return TransferCost{fabric::path_cost(fabric, *there).latency, rate_of(fabric, *there, stripes(fabric, to_gpu)),
                      inside ? Duration(0) : fabric::path_cost(fabric, *back).latency};
}

}  // namespace weft::sim
