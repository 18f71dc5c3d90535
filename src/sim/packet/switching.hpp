#pragma once
// What a switch does about an event: a packet is sent on, a port's wire is free again, a neighbour has something to
// say.

#include "sim/packet/computed_ports.hpp"
#include "sim/packet/exact_ports.hpp"
#include "sim/packet/route_choice.hpp"
#include "sim/packet/scheduled_ports.hpp"

namespace weft::sim {

class Switching {
 public:
  Switching(World& world, Windows& windows, Tally& tally, CaptureLog& captures)
      : world_(world),
        tally_(tally),
        routes_(world),
        cnps_(world, tally, routes_, *this),
        computed_(world, windows, tally, captures, cnps_),
        exact_(world, windows, tally, captures, cnps_, scheduled_),
        scheduled_(world, windows, tally, exact_) {}
  Switching(const Switching&) = delete;  // its parts know each other
  Switching& operator=(const Switching&) = delete;

  void pass(const Event& packet);
  // Any other event.
  void handle(const Event& event) {
    event.kind == EventKind::control ? static_cast<void>(exact_.at_control(event)) : exact_.at_wake(event);
  }

  // Ports are those of hosts, too.
  ComputedPorts& computed() { return computed_; }
  ExactPorts& exact() { return exact_; }
  const ExactPorts& exact() const { return exact_; }

 private:
  World& world_;
  Tally& tally_;
  RouteChoice routes_;
  FastCnp cnps_;
  ComputedPorts computed_;
  ExactPorts exact_;
  ScheduledPorts scheduled_;
};

// Most of all events: a part of whoever calls it.
[[gnu::always_inline]] inline void Switching::pass(const Event& packet) {
  const bool exact = world_.config.exact.on;
  if (exact && world_.config.exact.is_scheduled()) return scheduled_.arrive(packet);
  const Layout::Node& node = world_.layout.node(packet.to);
  const std::uint32_t port = routes_.choose(packet, node);
  if (port == Layout::kNowhere) {
    ++tally_.lost;
    return;
  }
  if (exact) return exact_.arrive(packet, port);
  std::int64_t ready = packet.time + node.latency;
  if (world_.layout.cut_through()) {
    // Where the way out is faster than the way in, it must not run dry.
    const std::int64_t in = world_.layout.rate(packet.rate);
    const std::int64_t out = world_.layout.link(world_.layout.far(port).link).per_byte;
    if (out < in) ready += (in - out) * (packet.bytes - world_.config.header) >> 10;
  }
  computed_.forward(packet, port, packet.to, ready);
}

}  // namespace weft::sim
