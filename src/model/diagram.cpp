#include "model/diagram.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace weft::model {
namespace {

std::vector<std::uint32_t> placement(const std::vector<std::int64_t>& given, std::int64_t count, std::int64_t places) {
  std::vector<std::uint32_t> out;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t spread = places == 0 ? 0 : i * places / count;
    out.push_back(static_cast<std::uint32_t>(given.empty() ? spread : given[static_cast<std::size_t>(i)]));
  }
  return out;
}

std::vector<std::uint32_t> nics_for(const Diagram& diagram, std::uint32_t gpu) {
  std::vector<std::uint32_t> nics(diagram.nic_switch.size());
  for (std::uint32_t nic = 0; nic < nics.size(); ++nic) nics[nic] = nic;
  const auto rank = [&](std::uint32_t nic) {
    const int apart = std::abs(static_cast<int>(diagram.nic_switch[nic]) - static_cast<int>(diagram.gpu_switch[gpu]));
    return std::tuple(diagram.distance(gpu, nic), apart, nic);
  };
  std::sort(nics.begin(), nics.end(), [&](auto a, auto b) { return rank(a) < rank(b); });
  if (nics.empty()) return nics;
  // Through host memory every NIC of the socket is equally far; one is taken, the next in order,
  // because using several would only share the same bounce.
  const auto nearest = diagram.distance(gpu, nics[0]);
  const bool direct = diagram.direct(gpu, nics[0]);
  const auto end = std::find_if(nics.begin() + 1, nics.end(),
                                [&](std::uint32_t nic) { return !direct || diagram.distance(gpu, nic) != nearest; });
  nics.erase(end, nics.end());
  return nics;
}

}  // namespace

Diagram::Distance Diagram::distance(std::uint32_t gpu, std::uint32_t nic) const {
  const std::uint32_t a = gpu_switch[gpu];
  const std::uint32_t b = nic_switch[nic];
  if (a == b) return pcie_switches > 0 ? Distance::same_switch : Distance::same_root;
  return socket_of_root(a) == socket_of_root(b) ? Distance::same_socket : Distance::other_socket;
}

Diagram make_diagram(const ServerKind& kind) {
  Diagram diagram;
  diagram.sockets = static_cast<std::uint32_t>(kind.sockets);
  diagram.pcie_switches = static_cast<std::uint32_t>(kind.pcie_switches);
  const std::int64_t places = kind.pcie_switches > 0 ? kind.pcie_switches : kind.sockets;
  diagram.gpu_switch = placement(kind.gpu_switch, kind.gpus, places);
  diagram.nic_switch = placement(kind.nic_switch, kind.nics, places);
  diagram.switch_socket = placement(kind.switch_socket, kind.pcie_switches, kind.sockets);
  // Several GPUs on one switch share its NICs: each gets its part, so that all NICs are used.
  for (std::uint32_t gpu = 0; gpu < diagram.gpu_switch.size(); ++gpu) {
    std::vector<std::uint32_t> nics = nics_for(diagram, gpu);
    std::vector<std::uint32_t> sharers;
    for (std::uint32_t other = 0; other < diagram.gpu_switch.size(); ++other)
      if (diagram.gpu_switch[other] == diagram.gpu_switch[gpu]) sharers.push_back(other);
    if (sharers.size() > 1 && nics.size() >= sharers.size() && nics.size() % sharers.size() == 0) {
      const std::size_t each = nics.size() / sharers.size();
      const auto mine = static_cast<std::size_t>(std::find(sharers.begin(), sharers.end(), gpu) - sharers.begin());
      nics = {nics.begin() + static_cast<std::ptrdiff_t>(mine * each),
              nics.begin() + static_cast<std::ptrdiff_t>((mine + 1) * each)};
    }
    diagram.near_nics.push_back(std::move(nics));
  }
  for (std::uint32_t nic = 0; nic < diagram.nic_switch.size(); ++nic) {
    std::uint32_t best = 0;
    const auto rank = [&](std::uint32_t gpu) {
      const auto& near = diagram.near_nics[gpu];
      const bool uses_it = std::find(near.begin(), near.end(), nic) != near.end();
      return std::tuple(diagram.distance(gpu, nic), !uses_it, gpu);
    };
    for (std::uint32_t gpu = 1; gpu < diagram.gpu_switch.size(); ++gpu)
      if (rank(gpu) < rank(best)) best = gpu;
    diagram.near_gpu.push_back(best);
  }
  diagram.gpudirect = kind.gpudirect;  // last: who is near whom does not depend on it
  return diagram;
}

}  // namespace weft::model
