#pragma once
// The routes between two GPUs.

#include "app/show/rows.hpp"
#include "fabric/fabric.hpp"

namespace weft::app {

// One way from GPU to GPU, by the nodes it passes.
struct Route {
  std::vector<fabric::NodeId> nodes;
  bool host_memory = false;
  std::optional<fabric::NodeId> relay;
};

struct Routes {
  std::vector<Route> all;           // distinct, in the order of their nodes' numbers
  std::uint64_t with_parallel = 0;  // how many there are when parallel links are told apart; 0: not counted
  bool complete = true;             // false: there may be more than were found
};

inline constexpr std::size_t kMostRoutes = 100'000;
inline constexpr std::uint32_t kFlows = 4096;  // flows followed where routes cannot be enumerated

// Every shortest route. With failures or detours, those that kFlows flows take.
Routes find_routes(const fabric::Fabric& fabric, std::uint32_t from, std::uint32_t to,
                   const fabric::Failures& failures);

Listing list_routes(const fabric::Fabric& fabric, const Routes& routes);

}  // namespace weft::app
