#pragma once
// By which of its ports a switch sends a packet on.

#include <cstdint>

#include "sim/entropy.hpp"
#include "sim/packet/world.hpp"

namespace weft::sim {

class RouteChoice {
 public:
  explicit RouteChoice(World& world) : world_(world) {}

  // A port of the switch that the packet has come to; Layout::kNowhere: none leads to where it goes.
  std::uint32_t choose(const Event& packet, const Layout::Node& node) {
    if (world_.layout.makes_detours()) return choose_around(packet);
    if (world_.config.balance >= Balance::flowlet) {
      const std::uint32_t port = choose_by_load(packet);
      if (port != Layout::kNowhere) return port;
    }
    const std::uint32_t entropy = entropy_of(packet);
    const std::uint32_t port = world_.layout.next_port(packet.to, node, packet.header.destination, entropy);
    return world_.specials.empty() ? port : choose_again(packet, port, entropy);
  }

  // What a switch hashes of a packet.
  std::uint32_t entropy_of(const Event& packet) {
    const transport::Header& header = packet.header;
    const std::uint32_t pair = pair_entropy(header.source, header.destination, world_.entropy_salt);
    switch (world_.config.balance) {
      case Balance::spray:
        return static_cast<std::uint32_t>(world_.entities[packet.to].random.next());
      case Balance::ecmp:
        if (transport::renews_paths(packet.type)) return pair;
        [[fallthrough]];
      default:
        return path_entropy(pair, header.path);
    }
  }

 private:
  std::uint32_t choose_again(const Event& packet, std::uint32_t port, std::uint32_t entropy) const;
  std::uint32_t choose_by_load(const Event& packet);
  std::uint32_t least_loaded(const Event& packet, std::uint32_t first, std::uint32_t count);
  // detours.cpp
  std::uint32_t choose_around(const Event& packet) const;
  std::uint32_t detour_port(const Event& packet, std::uint32_t entropy) const;

  World& world_;
};

}  // namespace weft::sim
