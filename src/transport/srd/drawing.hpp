#pragma once
// SRD, and TCP over it, in worlds of src/dst. Their numbers are drawn with the world.

#include <string>

#include "transport/drawn.hpp"
#include "transport/srd/config.hpp"

namespace weft::transport {

struct SrdDrawing {
  static std::string text(const SrdConfig& srd, const Drawn& world);
  static std::size_t most_held(const SrdConfig& srd, const DrawnLoad& load) {
    return 2 * load.asked + load.peers * (256 + 2 * std::size_t{srd.reads});  // a read is a message and a wait
  }
  static void overstate(Header& ack) { ack.ack.arrived |= ack.ack.arrived + 1; }
};

struct TcpOverSrdDrawing : SrdDrawing {
  static std::size_t most_held(const SrdConfig&, const DrawnLoad& load) {
    return 4 * load.asked + load.peers * (256 + 256);  // incomplete ones, and whole ones beyond a gap
  }
};

}  // namespace weft::transport
