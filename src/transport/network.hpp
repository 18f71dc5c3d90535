#pragma once
// What drivers and transports tell each other before the first packet.

#include <cstdint>
#include <optional>

#include "base/units.hpp"

namespace weft::transport {

// What the network is like.
struct Network {
  Duration base_rtt;     // unloaded, of the longest path
  Duration packet_time;  // of a full packet on a host's wire
};

// The connections or queue pairs of a pair of endpoints, where a message takes one path of several.
struct Connections {
  std::uint32_t count = 1;
  std::optional<std::uint64_t> split_above;  // bytes: a longer message takes all of them; otherwise they come in turn
  std::uint16_t (*path)(std::uint32_t source, std::uint32_t destination, std::uint32_t number) = nullptr;
};

}  // namespace weft::transport
