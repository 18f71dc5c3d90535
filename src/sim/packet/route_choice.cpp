#include "sim/packet/route_choice.hpp"

#include "base/hash.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t kDraws = 16;       // ways that are tried where the one that was hashed is down
constexpr std::uint32_t kFlowlets = 4096;  // of a switch; flows that share one move together, as in an ASIC

}  // namespace

// A switch whose own link is down hashes again; what is broken further away it does not know.
std::uint32_t RouteChoice::choose_again(const Event& packet, std::uint32_t port, std::uint32_t entropy) const {
  for (std::uint32_t draw = 1; draw <= kDraws && port != Layout::kNowhere && world_.avoids(port, packet.time); ++draw)
    port = world_.layout.next_port(packet.to, packet.header.destination, entropy + draw * 0x9e3779b1u);
  return port;
}

// Equal ones are taken in turn, beginning anywhere. Packet by packet, loads are compared in whole packets: hosts that
// send at one rate would otherwise find the very port free that they used before, each its own for good, and two that
// meet behind the next switch would meet there for ever. So ASICs do: they grade queues, and draw among the best.
std::uint32_t RouteChoice::least_loaded(const Event& packet, std::uint32_t first, std::uint32_t count) {
  const std::uint32_t start = world_.entities[packet.to].random.below(count);
  std::uint32_t best = Layout::kNowhere;
  std::int64_t least = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t port = first + (start + i) % count;
    if (world_.avoids(port, packet.time)) continue;
    std::int64_t each = world_.load(port, packet.time);
    if (world_.config.balance == Balance::adaptive)
      each /= world_.layout.link(world_.layout.far(port).link).full_packet;
    if (world_.config.balance == Balance::flowlet_global) {
      const std::uint32_t next = world_.layout.far(port).entity;
      const std::uint32_t behind =
          world_.layout.is_host(next) ? Layout::kNowhere : world_.layout.next_port(next, packet.header.destination, 0);
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
std::uint32_t RouteChoice::choose_by_load(const Event& event) {
  const Layout::Range range = world_.layout.ports_towards(event.to, event.header.destination);
  if (range.count < 2) return Layout::kNowhere;
  if (world_.config.balance == Balance::adaptive) return least_loaded(event, range.first, range.count);
  if (world_.config.balance == Balance::pinned) {
    const std::uint32_t pin = pin_of(world_.layout, event.header.source, event.header.path, world_.config.pins);
    const std::uint32_t port = range.first + pin % range.count;
    return world_.avoids(port, event.time) ? Layout::kNowhere : port;
  }
  auto& table = world_.flowlets[event.to];
  if (table.empty()) table.resize(kFlowlets);
  World::Flowlet& flowlet = table[mix64(entropy_of(event)) % kFlowlets];
  if (flowlet.last == 0 || event.time - flowlet.last > world_.config.flowlet_gap.count() ||
      flowlet.port - range.first >= range.count || world_.avoids(flowlet.port, event.time))
    flowlet.port = least_loaded(event, range.first, range.count);
  flowlet.last = event.time;
  return flowlet.port;
}

}  // namespace weft::sim
