#include <fmt/format.h>

#include "base/text.hpp"
#include "model/derive_plan.hpp"

namespace weft::model::derivation {

Attempt attempt_dragonfly(const Cluster& cluster, const FabricSpec& spec) {
  ShapePlan plan{cluster, spec};
  wire_groups(plan);
  DragonflyShape dragonfly;
  dragonfly.router_down = plan.leaf_down;
  dragonfly.routers_per_group = u32(spec.routers_per_group);
  dragonfly.global_links = u32(spec.global_links);
  const std::int64_t needed = ceil_div(plan.leaves(), spec.routers_per_group);
  dragonfly.groups = u32(spec.groups.value_or(needed));
  if (dragonfly.groups < needed) {
    Problem problem{Error::bad_dragonfly, Key::groups,
                    fmt::format("{} need {}, not {}", counted(cluster.servers, "server"), counted(needed, "group"),
                                dragonfly.groups),
                    ""};
    problem.values = {needed};
    return Failure<Problem>(problem);
  }
  const std::int64_t reach = spec.routers_per_group * spec.global_links + 1;
  if (dragonfly.groups > reach) {
    Problem problem{Error::bad_dragonfly, Key::global_links,
                    fmt::format("a group of {} with {} each reaches {}, but there are {}",
                                counted(spec.routers_per_group, "router"), counted(spec.global_links, "global link"),
                                counted(reach - 1, "other group"), dragonfly.groups - 1),
                    ""};
    problem.values = {ceil_div(dragonfly.groups - 1, spec.routers_per_group)};
    return Failure<Problem>(problem);
  }
  if (static_cast<std::int64_t>(dragonfly.groups) * spec.routers_per_group > kMostSwitches)
    return fail(Error::out_of_range, Key::groups,
                fmt::format("this fabric would have {} routers",
                            grouped(static_cast<std::int64_t>(dragonfly.groups) * spec.routers_per_group)),
                fmt::format("at most {}", grouped(kMostSwitches)));
  dragonfly.routing = spec.routing;
  const Bandwidth rate = spec.link.rate.value_or(plan.nic_rate());
  dragonfly.local_wire = dragonfly.global_wire = wire_of(spec.link, rate);
  plan.shape.switches = {spec.leaf_switch};
  const PortUse nics{plan.nic_rate(), dragonfly.router_down};
  const PortUse joined{rate, spec.routers_per_group - 1 + spec.global_links};
  if (auto problem = check_ports(spec.leaf_switch, "router", Key::servers_per_router, {nics, joined}))
    return Failure<Problem>(*problem);
  plan.shape.layout = dragonfly;
  return plan.shape;
}

}  // namespace weft::model::derivation
