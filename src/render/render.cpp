#include "render/render.hpp"

#include <fmt/format.h>

namespace weft::render {
namespace {

// Ethernet switches that route by shortest paths are what FRR and SONiC can be told to be.
std::optional<Refusal> not_routed(const fabric::Fabric& fabric) {
  if (!fabric.has_network()) return Refusal{"there is no network between the servers", "a fabric of another kind"};
  std::vector<model::SwitchKind> kinds = fabric.cluster().shape.switches;
  if (const auto& frontend = fabric.cluster().file.frontend) kinds.push_back(frontend->leaf_switch);
  for (const model::SwitchKind& kind : kinds)
    if (kind.link_layer == model::LinkLayer::infiniband)
      return Refusal{fmt::format("{} is an InfiniBand switch, which a subnet manager configures", kind.kind),
                     "an Ethernet switch; `weft catalog switches` lists them"};
  if (const fabric::Dragonfly* dragonfly = fabric.dragonfly(); dragonfly != nullptr && !dragonfly->shortest_only())
    return Refusal{"BGP takes shortest paths only, and this Dragonfly routes detours",
                   "--set fabric.routing=minimal renders it without them"};
  return std::nullopt;
}

}  // namespace

Result<std::vector<File>, Refusal> render(Target target, const fabric::Fabric& fabric, const SwitchNumbers& numbers,
                                          const Origin& origin) {
  const Result<Addressing, Refusal> plan = Addressing::of(fabric);
  if (!plan) return Failure<Refusal>(plan.error());
  if (target == Target::frr || target == Target::sonic)
    if (const auto refusal = not_routed(fabric)) return Failure<Refusal>(*refusal);
  switch (target) {
    case Target::frr:
      return frr_files(*plan, origin);
    case Target::sonic:
      return sonic_files(*plan, numbers);
    case Target::slurm:
      return slurm_files(*plan, origin);
    case Target::kubernetes:
      return kubernetes_files(*plan, origin);
    case Target::nccl:
      return nccl_files(*plan, origin);
    case Target::hosts:
      return hosts_files(*plan, origin);
    case Target::prometheus:
      return prometheus_files(*plan, origin);
    case Target::grafana:
      return grafana_files(*plan, origin);
  }
  return std::vector<File>{};
}

}  // namespace weft::render
