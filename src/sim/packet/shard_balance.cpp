// By which of several ports a packet goes on, and what a switch says about one that has to wait.

#include <algorithm>
#include <utility>

#include "base/hash.hpp"
#include "sim/packet/shard.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t kFlowlets = 4096;  // of a switch; flows that share one move together, as in an ASIC

}  // namespace

std::int64_t Shard::load(std::uint32_t port, std::int64_t now) const {
  std::int64_t load = std::max<std::int64_t>(0, world_.ports[port].busy - now);
  if (!config_.exact.on) return load;
  const Link& link = layout_.link(layout_.far(port).link);
  for (std::uint32_t cls = 0; cls < config_.exact.classes; ++cls) {
    const Gate& way = world_.exact.gate(port, cls);
    load += link.wire(way.bytes);
  }
  return load;
}

// Equal ones are taken in turn, beginning anywhere. Packet by packet, loads are compared in whole packets: hosts that
// send at one rate would otherwise find the very port free that they used before, each its own for good, and two that
// meet behind the next switch would meet there for ever. So ASICs do: they grade queues, and draw among the best.
std::uint32_t Shard::least_loaded(const Event& packet, std::uint32_t first, std::uint32_t count) {
  const std::uint32_t start = world_.entities[packet.to].random.below(count);
  std::uint32_t best = Layout::kNowhere;
  std::int64_t least = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t port = first + (start + i) % count;
    if (avoids(port, packet.time)) continue;
    std::int64_t each = load(port, packet.time);
    if (config_.balance == Balance::adaptive) each /= layout_.link(layout_.far(port).link).full_packet;
    if (config_.balance == Balance::flowlet_global) {
      const std::uint32_t next = layout_.far(port).entity;
      const std::uint32_t behind =
          layout_.is_host(next) ? Layout::kNowhere : layout_.next_port(next, packet.header.destination, 0);
      if (behind != Layout::kNowhere) each += world_.published[behind];
    }
    if (best == Layout::kNowhere || each < least) {
      best = port;
      least = each;
    }
  }
  return best;
}

// kNowhere: there is nothing to choose, or the ports are not a range.
std::uint32_t Shard::choose_by_load(const Event& event) {
  const Layout::Range range = layout_.ports_towards(event.to, event.header.destination);
  if (range.count < 2) return Layout::kNowhere;
  if (config_.balance == Balance::adaptive) return least_loaded(event, range.first, range.count);
  if (config_.balance == Balance::pinned) {
    const std::uint32_t pin = pin_of(layout_, event.header.source, event.header.path, config_.pins);
    const std::uint32_t port = range.first + pin % range.count;
    return avoids(port, event.time) ? Layout::kNowhere : port;
  }
  auto& table = world_.flowlets[event.to];
  if (table.empty()) table.resize(kFlowlets);
  World::Flowlet& flowlet = table[mix64(entropy_of(event)) % kFlowlets];
  if (flowlet.last == 0 || event.time - flowlet.last > config_.flowlet_gap ||
      flowlet.port - range.first >= range.count || avoids(flowlet.port, event.time))
    flowlet.port = least_loaded(event, range.first, range.count);
  flowlet.last = event.time;
  return flowlet.port;
}

// A CNP from the switch itself, as if the receiver had sent it: a round trip earlier, and only where there is a queue.
void Shard::warn(const Event& packet) {
  auto& table = world_.told[packet.to];
  if (table.empty()) table.resize(kFlowlets);
  std::int64_t& last = table[mix64(entropy_of(packet)) % kFlowlets];
  if (last != 0 && packet.time - last < config_.fast_cnp) return;
  last = packet.time;
  Event cnp = packet;
  cnp.type = transport::PacketType::roce_cnp;
  cnp.flags = 0;
  cnp.bytes = static_cast<std::uint16_t>(config_.stack.roce.cnp_bytes);
  std::swap(cnp.header.source, cnp.header.destination);
  ++tally_.injected;
  at_switch(cnp);
}

}  // namespace weft::sim
