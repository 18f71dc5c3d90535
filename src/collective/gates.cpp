#include "collective/gates.hpp"

namespace weft::collective {

std::uint32_t port_within_reach(const Team& team, std::uint32_t rank, std::uint32_t port, bool pxn) {
  const auto server = [&](std::uint32_t of) {
    const model::Group& group = team.group(of);
    return (team.gpu(of) - group.first_gpu) / group.gpus();
  };
  const bool reached = pxn || server(rank) == server(team.domain(team.node_of(rank)).ports[port].rank);
  return reached ? port : team.port_of(rank);
}

Gates gates(const Team& team, std::uint32_t from, std::uint32_t to, std::uint32_t port_of, bool pxn, bool alternate) {
  const Domain& a = team.domain(team.node_of(from));
  const Domain& b = team.domain(team.node_of(to));
  const auto ports = static_cast<std::uint32_t>(a.ports.size());
  const bool anybody = port_of == kByReceiver;
  const std::uint32_t in =
      anybody ? team.port_of(to)
              : enters_by(port_of, team.node_of(to), alternate) % static_cast<std::uint32_t>(b.ports.size());
  const std::uint32_t told = leaves_by(port_of, team.node_of(from), alternate) % ports;
  const std::uint32_t out = !anybody ? port_within_reach(team, from, told, pxn) : pxn ? in % ports : team.port_of(from);
  const std::uint32_t stands = a.ports[out].rank;
  const bool near = team.port_of(from) == out && team.direct(from);
  return {stands, b.ports[in].rank, !near && pxn && stands != from && team.group(from).spec.scale_up.has_value()};
}

}  // namespace weft::collective
