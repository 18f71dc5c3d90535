#pragma once
// Which NICs a message takes, and how it gets to the first of them: what the executors that know links have in common.

#include "sim/host/host_route.hpp"
#include "sim/host/stripes.hpp"
#include "sim/layout.hpp"
#include "sim/run/runner.hpp"

namespace weft::sim {

inline void find_pairs(const Layout& layout, const Transfer& transfer, std::vector<NicPair>& pairs) {
  const auto named = [](std::uint32_t rank, std::uint32_t own) { return rank == schedule::kItself ? own : rank; };
  find_pairs(layout, named(transfer.leaves, transfer.from), named(transfer.enters, transfer.to), pairs);
}

inline const HostRoute* route_out(HostRoutes& routes, const Transfer& transfer, fabric::NodeId nic) {
  const fabric::NodeId from = routes.part(transfer.from);
  if (transfer.leaves == schedule::kItself) return routes.find(from, nic);
  return routes.find_by(from, transfer.handed ? routes.part(transfer.leaves) : from, nic);
}

}  // namespace weft::sim
