#include "collective/gates.hpp"

namespace weft::collective {

Gates gates(const Team& team, std::uint32_t from, std::uint32_t to, std::uint32_t port_of, bool pxn) {
  const Domain& a = team.domain(team.node_of(from));
  const Domain& b = team.domain(team.node_of(to));
  const auto ports = static_cast<std::uint32_t>(a.ports.size());
  const std::uint32_t in = port_of == kByReceiver ? team.port_of(to) : port_of % static_cast<std::uint32_t>(b.ports.size());
  const std::uint32_t out = port_of != kByReceiver ? port_of % ports : pxn ? in % ports : team.port_of(from);
  const std::uint32_t stands = a.ports[out].rank;
  const bool near = team.port_of(from) == out && team.direct(from);
  return {stands, b.ports[in].rank, !near && pxn && stands != from && team.group(from).spec.scale_up.has_value()};
}

}  // namespace weft::collective
