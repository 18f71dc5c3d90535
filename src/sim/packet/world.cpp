#include "sim/packet/world.hpp"

#include <algorithm>

#include "sim/entropy.hpp"

namespace weft::sim {
namespace {

LinkOptions link_options(const SimConfig& config) {
  LinkOptions options;
  options.header = config.header;
  options.full_packet = config.full_packet;
  options.queue_bytes = config.queue_bytes;
  options.mark_from = config.mark_from;
  options.mark_to = config.mark_to;
  options.mark_most = config.mark_most;
  options.scheduled = config.exact.is_scheduled();
  options.cut_through = config.cut_through && !options.scheduled;  // packets wait for credit
  options.exact = config.exact.on;
  return options;
}

}  // namespace

World::World(const fabric::Fabric& fabric, const SimConfig& run)
    : config(run),
      layout(fabric, link_options(run)),
      ports(layout.ports()),
      armed(layout.endpoints()),
      served(layout.endpoints()),
      entities(layout.entities()),
      entropy_salt(sim::entropy_salt(run.seed)),
      plain(!run.exact.on) {
  for (std::uint32_t i = 0; i < layout.entities(); ++i) entities[i].random = Random(run.seed, 0, i);
}

std::int64_t World::load(std::uint32_t port, std::int64_t now) const {
  std::int64_t load = std::max<std::int64_t>(0, ports[port].busy - now);
  if (!config.exact.on) return load;
  const Link& link = layout.link(layout.far(port).link);
  for (std::uint32_t cls = 0; cls < config.exact.classes; ++cls) {
    const Gate& path = exact.gate(port, cls);
    load += link.wire(path.bytes);
  }
  return load;
}

std::uint64_t World::hops() const {
  std::uint64_t hops = 0;
  for (std::uint32_t port = 0; port < layout.ports(); ++port) hops += ports[port].packets;
  for (const ScheduledLeaf& leaf : scheduled.leaves) hops += leaf.up.packets + leaf.down.packets;
  return hops;
}

}  // namespace weft::sim
