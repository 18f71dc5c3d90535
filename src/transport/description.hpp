#pragma once
// What a transport is, for whoever is not one: data that each states once, in its folder (srd/transport.hpp and so on).
// transports.hpp lists them all.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "transport/packet.hpp"

namespace weft::transport {

// A set of packet types, or of operations.
template <class Enum>
class SetOf {
 public:
  constexpr SetOf(std::initializer_list<Enum> members) {
    for (const Enum each : members) bits_ |= 1u << static_cast<unsigned>(each);
  }
  constexpr bool has(Enum each) const { return bits_ >> static_cast<unsigned>(each) & 1; }
  constexpr std::uint32_t bits() const { return bits_; }

 private:
  std::uint32_t bits_ = 0;
};

struct Description {
  Protocol protocol;
  std::string_view name;  // in the cluster file: transport.kind

  PacketType data;
  std::optional<PacketType> ack;  // what says that data has arrived
  SetOf<PacketType> packets;      // all that it sends
  SetOf<PacketType> go_first;     // of these, what a switch of two classes lets go first; the others share a class

  SetOf<Op> verbs = {Op::send};  // that a run can be made of: whoever drives it learns of both ends
  bool delivers = true;          // whatever is lost on the way
  bool needs_lossless = false;   // behind a lost packet it sends everything again, unless it is told otherwise
  bool in_order = false;         // what was posted first is handed over first, on a connection or queue pair
  bool trimmable = false;        // a header alone is news to the receiver
  bool many_paths = false;       // a message takes all of them; otherwise a connection or queue pair has one
  bool renews_paths = false;     // leaves an entropy for one it never had, however few it was given
  bool between_sites = true;     // routed there
  bool encoded = false;          // has a format on the wire of its own (srd/codec.hpp)
};

}  // namespace weft::transport
