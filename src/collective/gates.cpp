#include "collective/gates.hpp"

namespace weft::collective {

Gates gates(const Team& team, std::uint32_t from, std::uint32_t to, std::uint32_t port_of, bool pxn, bool alternate) {
  const Domain& a = team.domain(team.node_of(from));
  const Domain& b = team.domain(team.node_of(to));
  const auto ports = static_cast<std::uint32_t>(a.ports.size());
  const bool anybody = port_of == kByReceiver;
  const std::uint32_t in =
      anybody ? team.port_of(to)
              : enters_by(port_of, team.node_of(to), alternate) % static_cast<std::uint32_t>(b.ports.size());
  const std::uint32_t out = !anybody ? leaves_by(port_of, team.node_of(from), alternate) % ports
                            : pxn    ? in % ports
                                     : team.port_of(from);
  const std::uint32_t stands = a.ports[out].rank;
  const bool near = team.port_of(from) == out && team.direct(from);
  return {stands, b.ports[in].rank, !near && pxn && stands != from && team.group(from).spec.scale_up.has_value()};
}

}  // namespace weft::collective
