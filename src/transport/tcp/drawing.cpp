#include "transport/tcp/drawing.hpp"

#include <fmt/format.h>

namespace weft::transport {

void TcpDrawing::draw(TcpConfig& tcp, Drawn& world, Random& random) {
  tcp.mtu = tcp.headers + world.payload;
  tcp.connections = random.below(2) == 0 ? 1 : 1 + random.below(8);
  if (random.below(2) == 0) tcp.first_sequence = 0u - random.below(400);
  tcp.control = random.below(2) == 0 ? TcpConfig::Control::cubic : TcpConfig::Control::dctcp;
  tcp.initial_window = 1 + random.below(20);
  if (random.below(3) == 0) tcp.receive_window = world.payload * (2 + random.below(60));
  tcp.idle_restart = random.below(2) == 0;
  tcp.pacing = random.below(3) == 0;
  tcp.ecn = random.below(2) == 0;
  tcp.ack_every = 1 + random.below(4);
  tcp.quick_acks = random.below(17);
  tcp.tail_probe = random.below(4) != 0;
  if (random.below(3) == 0) tcp.plb_rounds = 1 + random.below(12);
  tcp.repath_on_timeout = random.below(2) == 0;
  tcp.base_rtt = Duration(world.base_rtt);
  if (random.below(3) != 0) {  // a network of microseconds with timers to match
    tcp.delayed_ack = Duration(up_to_microseconds(random, 200));
    tcp.timer_least = Duration(up_to_microseconds(random, 100));
    tcp.rto_min = Duration(tcp.delayed_ack.count() + up_to_microseconds(random, 300));
  }
  world.timeout = tcp.rto_min.count();
  world.give_up = some_patience(random, world.timeout);
  tcp.give_up = Duration(world.give_up);
  world.first_sequence = tcp.first_sequence;
}

std::string TcpDrawing::text(const TcpConfig& tcp, const Drawn& world) {
  return fmt::format(
      "{} connections, {}, ack every {}, first window {}, receive window {}, pacing {}, tail probe {}, "
      "plb rounds {}, repath {}, delayed ack {} us, timeout {} us",
      tcp.connections, tcp.control == TcpConfig::Control::dctcp ? "dctcp" : "cubic", tcp.ack_every, tcp.initial_window,
      tcp.receive_window, tcp.pacing, tcp.tail_probe, tcp.plb_rounds, tcp.repath_on_timeout,
      tcp.delayed_ack.count() / kDrawnMicrosecond, world.timeout / kDrawnMicrosecond);
}

}  // namespace weft::transport
