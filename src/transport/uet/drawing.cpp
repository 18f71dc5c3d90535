#include "transport/uet/drawing.hpp"

#include <fmt/format.h>

namespace weft::transport {

void UetDrawing::draw(UetConfig& uet, Drawn& world, Random& random) {
  uet.payload = world.payload;
  uet.ack_bytes = 1 + random.below(16 * world.payload);
  if (random.below(2) == 0) uet.first_sequence = 0u - random.below(400);
  uet.paths = random.below(4) == 0 ? 1 + random.below(4) : 1 + random.below(64);
  uet.recycle = random.below(9);
  uet.trimming = random.below(2) == 0;
  if (!uet.trimming) world.trim = 0;
  uet.overtaken = 50 + random.below(150);
  uet.least_overtaken = 1 + random.below(8);
  uet.packet_time = Duration(world.packet_time);
  uet.base_rtt = Duration(world.base_rtt);
  world.give_up = some_patience(random, 20 * uet.base_rtt.count());
  uet.give_up = Duration(world.give_up);
  world.first_sequence = uet.first_sequence;
}

std::string UetDrawing::text(const UetConfig& uet, const Drawn&) {
  return fmt::format("ack every {} bytes, {} paths, recycle {}, trimming {}, overtaken {}", uet.ack_bytes, uet.paths,
                     uet.recycle, uet.trimming, uet.overtaken);
}

}  // namespace weft::transport
