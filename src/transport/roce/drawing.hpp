#pragma once
// RoCE in worlds of src/dst (drawn.hpp).

#include <string>

#include "transport/drawn.hpp"
#include "transport/roce/config.hpp"

namespace weft::transport {

struct RoceDrawing {
  static void draw(RoceConfig& roce, Drawn& world, Random& random);
  static std::string text(const RoceConfig& roce, const Drawn& world);
  // The ends of messages within a bitmap of 1024 packets, and up to 4096 messages in parts.
  static std::size_t most_held(const RoceConfig& roce, const DrawnLoad& load) {
    const std::size_t noise = load.hostile ? 1024 * std::size_t{roce.qps} + 4096 : 0;
    return load.asked * (2 + roce.qps) + noise;
  }
  static void overstate(Header& ack) { ++ack.sequence; }
  static void distort(const RoceConfig& roce, Random& random, bool acknowledges, Transmit& out);
};

}  // namespace weft::transport
