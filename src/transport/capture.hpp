#pragma once
// A packet as it was seen on a link, for captures.

#include <cstdint>

#include "transport/packet.hpp"

namespace weft::transport {

struct Captured {
  std::int64_t time = 0;   // ps: its first bit enters the cable
  std::uint32_t link = 0;  // as the observer numbers them
  std::uint32_t bytes = 0;
  PacketType type = PacketType::data;
  std::uint8_t flags = 0;
  Header header;
};

}  // namespace weft::transport
