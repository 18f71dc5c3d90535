#pragma once
// The transports there are: the one list. Everybody else asks it, by protocol, by packet type or by name. What is asked
// for every packet is constant data and direct calls.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "transport/description.hpp"
#include "transport/raw/transport.hpp"
#include "transport/roce/transport.hpp"
#include "transport/srd/transport.hpp"
#include "transport/tcp/transport.hpp"
#include "transport/uet/transport.hpp"

namespace weft::transport {

template <class... Each>
struct TransportList {
  static constexpr std::array<Description, sizeof...(Each)> kDescriptions = {Each::kDescription...};

  template <template <class> class Of>
  using Tuple = std::tuple<Of<Each>...>;
  // The settings of all, each under its own name.
  struct Settings : Each::Settings... {};

  // Calls call.template operator()<Transport>() for each, or for one.
  template <class Call>
  static void for_each(Call call) {
    (call.template operator()<Each>(), ...);
  }
  template <class Call>
  static void with(Protocol protocol, Call call) {
    (void)((protocol == Each::kDescription.protocol && (call.template operator()<Each>(), true)) || ...);
  }
};

// In the order of Protocol.
using Transports =
    TransportList<SrdTransport, RoceTransport, TcpTransport, UetTransport, RawTransport, TcpOverSrdTransport>;

inline constexpr auto& kDescriptions = Transports::kDescriptions;
inline constexpr std::uint32_t kProtocols = kDescriptions.size();

constexpr const Description& describe(Protocol protocol) { return kDescriptions[static_cast<std::size_t>(protocol)]; }

constexpr Protocol protocol_of(PacketType type) {
  constexpr auto kOf = [] {
    std::array<Protocol, kPacketTypes> of{};
    for (std::uint32_t i = 0; i < kPacketTypes; ++i)
      for (const Description& each : kDescriptions)
        if (each.packets.has(static_cast<PacketType>(i))) of[i] = each.protocol;
    return of;
  }();
  return kOf[static_cast<std::size_t>(type)];
}

// By its name in the cluster file; nothing: there is none of that name.
constexpr std::optional<Protocol> protocol_named(std::string_view name) {
  for (const Description& each : kDescriptions)
    if (each.name == name) return each.protocol;
  return std::nullopt;
}

constexpr PacketType data_of(Protocol protocol) { return describe(protocol).data; }

// What a switch of two classes lets go first.
constexpr bool goes_first(PacketType type) {
  constexpr std::uint32_t kFirst = [] {
    std::uint32_t bits = 0;
    for (const Description& each : kDescriptions) bits |= each.go_first.bits();
    return bits;
  }();
  return kFirst >> static_cast<unsigned>(type) & 1;
}

// Whose header alone is news to the receiver.
constexpr bool can_be_trimmed(PacketType type) {
  constexpr std::uint32_t kTrimmable = [] {
    std::uint32_t bits = 0;
    for (const Description& each : kDescriptions)
      if (each.trimmable) bits |= SetOf<PacketType>{each.data}.bits();
    return bits;
  }();
  return kTrimmable >> static_cast<unsigned>(type) & 1;
}

// Whose path says nothing of where it goes, where switches hash only who talks to whom.
constexpr bool renews_paths(PacketType type) {
  constexpr std::uint32_t kRenew = [] {
    std::uint32_t bits = 0;
    for (const Description& each : kDescriptions)
      if (each.renews_paths) bits |= each.packets.bits();
    return bits;
  }();
  return kRenew >> static_cast<unsigned>(type) & 1;
}

inline Connections connections_of(Protocol protocol, const Transports::Settings& settings) {
  Connections connections;
  Transports::with(protocol, [&]<class Each>() {
    if constexpr (requires { Each::connections(Each::config_in(settings)); })
      connections = Each::connections(Each::config_in(settings));
  });
  return connections;
}

// Whoever adds a transport and forgets a part of it learns so here.
constexpr bool list_is_whole() {
  std::uint32_t types = 0;
  std::size_t place = 0;
  for (const Description& each : kDescriptions) {
    const bool own = (types & each.packets.bits()) == 0 && each.packets.has(each.data) &&
                     (!each.ack || each.packets.has(*each.ack)) && (each.go_first.bits() & ~each.packets.bits()) == 0;
    if (!own || static_cast<std::size_t>(each.protocol) != place++) return false;
    types |= each.packets.bits();
  }
  return types == (1u << kPacketTypes) - 1;
}
static_assert(list_is_whole(), "transports are in the order of Protocol, and every packet type is of one");

}  // namespace weft::transport
