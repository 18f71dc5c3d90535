#include "sim/message_cost.hpp"

#include <algorithm>
#include <utility>

#include "base/wide.hpp"

namespace weft::sim {
namespace {

Bandwidth in_a_row(Bandwidth first, Bandwidth second) {
  const Wide product = static_cast<Wide>(first.count()) * second.count();
  return Bandwidth(static_cast<std::int64_t>(product / (first.count() + second.count())));
}

Duration latency_of(const fabric::Fabric& fabric, const fabric::Path& path) {
  Duration sum;
  for (const fabric::Link& link : path.links) {
    sum += link.latency;
    const fabric::Node node = fabric.describe(link.to);
    if (node.kind == fabric::NodeKind::network_switch) sum += fabric.switch_kind(node.local).latency;
  }
  return sum;
}

Bandwidth rate_of(const fabric::Path& path) {
  Bandwidth before_relay;
  Bandwidth slowest;
  for (const fabric::Link& link : path.links) {
    if (path.relay && link.from == *path.relay) before_relay = std::exchange(slowest, {});
    slowest = slowest.count() == 0 ? link.rate : std::min(slowest, link.rate);
  }
  return before_relay.count() == 0 ? slowest : in_a_row(before_relay, slowest);
}

}  // namespace

std::optional<TransferCost> unloaded_cost(const fabric::Fabric& fabric, std::uint32_t from_gpu, std::uint32_t to_gpu) {
  const fabric::Failures none = fabric.no_failures();
  const auto there = fabric.path(from_gpu, to_gpu, 0, none);
  const auto back = fabric.path(to_gpu, from_gpu, 0, none);
  if (!there || !back) return std::nullopt;
  return TransferCost{latency_of(fabric, *there), rate_of(*there), latency_of(fabric, *back)};
}

}  // namespace weft::sim
