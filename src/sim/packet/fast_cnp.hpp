#pragma once
// A CNP from the switch itself, as if the receiver had sent it: a round trip earlier, and only where there is a queue.

#include "sim/packet/route_choice.hpp"
#include "sim/packet/world.hpp"

namespace weft::sim {

class Switching;

class FastCnp {
 public:
  // It goes by `switching` as any packet does, which knows the ports that call this.
  FastCnp(World& world, Tally& tally, RouteChoice& routes, Switching& switching)
      : world_(world),
        tally_(tally),
        routes_(routes),
        switching_(switching),
        interval_(world.config.fast_cnp.count()) {}

  // A switch has marked a packet, which had other flags before.
  void marked(const Event& packet, int news) {
    if ((news & transport::kMarked) && packet.type == transport::PacketType::roce_data && interval_ > 0) warn(packet);
  }

 private:
  void warn(const Event& packet);

  World& world_;
  Tally& tally_;
  RouteChoice& routes_;
  Switching& switching_;
  std::int64_t interval_;
};

}  // namespace weft::sim
