#include "transport/srd/drawing.hpp"

#include <fmt/format.h>

namespace weft::transport {

std::string SrdDrawing::text(const SrdConfig& srd, const Drawn&) {
  return fmt::format("ack every {}, {} paths, burst {}, window {}, generation {}, receive {}, reads {}{}",
                     srd.ack_every, srd.paths, srd.burst, srd.window, srd.generation, srd.receive_messages, srd.reads,
                     srd.drops ? ", drops" : "");
}

}  // namespace weft::transport
