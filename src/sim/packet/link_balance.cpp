#include "sim/packet/link_balance.hpp"

#include <algorithm>

#include "base/wide.hpp"

namespace weft::sim {

std::int64_t fullest_link(const PacketSim& sim) {
  const Layout& layout = sim.layout();
  Wide links = 0;
  Wide most = 0;
  Wide all = 0;
  const std::uint32_t end = layout.port_of_endpoint(0);  // those behind it are hosts'
  for (std::uint32_t port = 0; port < end; ++port) {
    if (!layout.connected(port) || layout.is_host(layout.far(port).entity)) continue;
    const Wide busy = Wide{sim.port(port).bytes} * layout.link(layout.far(port).link).per_byte;
    ++links;
    most = std::max(most, busy);
    all += busy;
  }
  return all == 0 ? 0 : static_cast<std::int64_t>(most * links * 1000 / all);
}

}  // namespace weft::sim
