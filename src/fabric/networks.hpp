#pragma once
// Every kind of scale-out network, and what each must provide. `Fabric` asks whichever it has; a new kind is its class,
// its name in AnyNetwork, and what the compiler then asks for: here, and by overload what is drawn and summed up of it
// (summary_parts.hpp, draw/fabric_parts.hpp).

#include <concepts>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "fabric/clos.hpp"
#include "fabric/dragonfly.hpp"

namespace weft::fabric {

// One plane of switches, numbered from 0; NICs hang on the first of them.
template <class T>
concept Network = requires(const T network, std::uint32_t at, std::uint32_t port, const Target target,
                           std::uint32_t entropy, RouteState state, const Broken broken, LinkTier tier,
                           const model::FabricSpec spec, void (*visit)(std::uint32_t)) {
  // What there is.
  { network.switches() } -> std::same_as<std::uint32_t>;
  { network.tiers() } -> std::same_as<std::vector<SwitchTier>>;
  { network.ports(at) } -> std::same_as<std::uint32_t>;
  { network.peer(at, port) } -> std::same_as<Peer>;
  { network.wire(tier) } -> std::same_as<model::Wire>;              // of no rate: there is none
  { network.cables(spec) } -> std::same_as<std::vector<CableRun>>;  // between its switches
  { network.text() } -> std::same_as<std::string>;                  // behind the name of its kind
  // Where a packet goes: a state to begin with, then hop by hop, around what is broken.
  { network.start(at, target, entropy, broken) } -> std::same_as<RouteState>;
  { network.next_hop(at, target, entropy, state) } -> std::same_as<Hop>;
  { network.next_hop(at, target, entropy, state, broken) } -> std::same_as<Hop>;
  { network.reaches(at, target, state, broken) } -> std::same_as<bool>;
  network.for_each_port(at, target, state, visit);                    // that lead there by shortest routes
  { network.path_count(at, target) } -> std::same_as<std::uint64_t>;  // shortest routes
  { network.shortest_only() } -> std::same_as<bool>;                  // whether packets take no others
  { network.lossless_channels() } -> std::same_as<std::uint32_t>;  // virtual ones, without which ports wait in a circle
  // The same hop by one comparison, where a switch can.
  { network.has_waypoint(at) } -> std::same_as<bool>;
  { network.waypoint(at) } -> std::same_as<Waypoint>;
  { network.destination(target) } -> std::same_as<Destination>;
};

using AnyNetwork = std::variant<std::monostate, Clos, Dragonfly>;
static_assert(Network<Clos> && Network<Dragonfly>);

// That of a cluster; none where nothing joins its servers.
AnyNetwork network_of(const model::Shape& shape);

// `visit` with the network there is. A chain of comparisons: std::visit's table costs more.
template <std::size_t kIndex = 1, class Visit>
decltype(auto) visit_network(const AnyNetwork& network, const Visit& visit) {
  if constexpr (kIndex + 1 == std::variant_size_v<AnyNetwork>) {
    return visit(*std::get_if<kIndex>(&network));
  } else {
    if (const auto* here = std::get_if<kIndex>(&network)) return visit(*here);
    return visit_network<kIndex + 1>(network, visit);
  }
}

}  // namespace weft::fabric
