#pragma once
// TCP in worlds of src/dst (drawn.hpp).

#include <string>

#include "transport/drawn.hpp"
#include "transport/tcp/config.hpp"

namespace weft::transport {

struct TcpDrawing {
  static void draw(TcpConfig& tcp, Drawn& world, Random& random);
  static std::string text(const TcpConfig& tcp, const Drawn& world);
  // Of each connection: a gap, 64 segments in flight at a time, and the ends of messages beyond the gap.
  static std::size_t most_held(const TcpConfig& tcp, const DrawnLoad& load) {
    return 2 * load.asked + load.peers * tcp.connections * (1 + 64) + (load.hostile ? 4096 : 0);
  }
  static void overstate(Header& ack) { ++ack.sequence; }
  static void distort(const TcpConfig& tcp, Random& random, bool, Transmit& out) {
    out.header.stream = static_cast<std::uint16_t>(out.header.stream * 8 + random.below(tcp.connections));
  }
};

}  // namespace weft::transport
