#pragma once
// UET in worlds of src/dst (drawn.hpp).

#include <string>

#include "transport/drawn.hpp"
#include "transport/uet/config.hpp"

namespace weft::transport {

struct UetDrawing {
  static void draw(UetConfig& uet, Drawn& world, Random& random);
  static std::string text(const UetConfig& uet, const Drawn& world);
  static std::size_t most_held(const UetConfig&, const DrawnLoad& load) { return load.asked + load.peers * 256; }
  static void overstate(Header& ack) { ack.ack.arrived |= ack.ack.arrived + 1; }
};

}  // namespace weft::transport
