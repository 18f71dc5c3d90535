#include "sim/host/stripes.hpp"

namespace weft::sim {
namespace {

// The endpoints near a GPU: every port of its nearest NICs.
template <class Visit>
void for_each_near(const fabric::Fabric& fabric, std::uint32_t gpu, Visit visit) {
  const fabric::Node at = fabric.describe(fabric.gpu(gpu));
  const model::Group& group = fabric.cluster().groups[at.group];
  const std::uint32_t first = group.first_nic + (at.server - group.first_server) * group.nics();
  for (const std::uint32_t nic : group.diagram.near_nics[at.local])
    for (std::uint32_t port = 0; port < static_cast<std::uint32_t>(group.spec.nic.ports); ++port)
      visit(fabric.endpoint(first + nic, port));
}

std::optional<std::uint32_t> endpoint_on_plane(const Layout& layout, std::uint32_t rank, std::uint32_t endpoint,
                                               std::size_t first) {
  const fabric::Fabric& fabric = layout.fabric();
  // Of its own NICs the one at the same place, else any; else another NIC of its server.
  std::optional<std::uint32_t> found;
  std::size_t place = 0;
  for_each_near(fabric, rank, [&](std::uint32_t own) {
    if (layout.reachable(own, endpoint) && (!found || place <= first)) found = own;
    ++place;
  });
  if (found) return found;
  const fabric::Node at = fabric.describe(fabric.gpu(rank));
  const model::Group& group = fabric.cluster().groups[at.group];
  const std::uint32_t nic = group.first_nic + (at.server - group.first_server) * group.nics();
  for (std::uint32_t i = 0; i < group.nics() && !found; ++i)
    for (std::uint32_t port = 0; port < static_cast<std::uint32_t>(group.spec.nic.ports) && !found; ++port)
      if (const std::uint32_t other = fabric.endpoint(nic + i, port); layout.reachable(other, endpoint)) found = other;
  return found;
}

}  // namespace

void find_pairs(const Layout& layout, std::uint32_t from, std::uint32_t to, std::vector<NicPair>& pairs) {
  pairs.clear();
  std::size_t place = 0;
  for_each_near(layout.fabric(), to, [&](std::uint32_t destination) {
    if (const auto source = endpoint_on_plane(layout, from, destination, place))
      pairs.push_back({*source, destination});
    ++place;
  });
}

}  // namespace weft::sim
