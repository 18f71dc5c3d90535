#include "experiment/worst_place.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "collective/alike.hpp"
#include "experiment/network.hpp"
#include "experiment/run_training.hpp"

namespace weft::experiment {
namespace {

constexpr std::uint64_t kWhole = 1'000'000;
using Lefts = std::vector<std::uint64_t>;  // of cables that are not whole, millionths

// Of a training job, which says what stands for its faults; collectives have nowhere to say it.
std::int64_t gpus_together(const Design& design, const Experiment& experiment) {
  if (experiment.workload == nullptr) return 0;
  const auto* training = std::get_if<Training>(experiment.workload.get());
  return training == nullptr ? 0 : training->run.jobs * gpus_of(design.cluster(), training->run);
}

// What an even spread over so many ways gets through: as many times the slowest as are alive. Who avoids slow ways uses
// all that is left of each.
std::uint32_t left_of(const Lefts& faulty, std::uint64_t ways, bool adapts) {
  std::uint64_t alive = ways - std::min<std::uint64_t>(ways, faulty.size());
  std::uint64_t sum = alive * kWhole;
  std::uint64_t slowest = kWhole;
  for (const std::uint64_t left : faulty) {
    if (left == 0) continue;
    ++alive;
    sum += left;
    slowest = std::min(slowest, left);
  }
  return static_cast<std::uint32_t>((adapts ? sum : alive * slowest) / ways);
}

// Of each switch the cables upwards that are not whole; nothing: some fault is of another kind.
std::optional<std::map<std::uint32_t, Lefts>> faults_upwards(const Design& design, const Experiment& experiment) {
  const sim::FlowRoutes routes(design.fabric(), flow_config(design.cluster(), work_and(nullptr), experiment));
  const sim::Layout& layout = routes.layout();
  std::map<std::uint32_t, std::uint64_t> left;  // by port that leads upwards
  bool plain = true;
  const auto take = [&](std::uint32_t port, std::uint64_t share) {
    const std::uint32_t back = layout.reverse(port);
    plain &= !layout.is_endpoint_port(port) && !layout.is_endpoint_port(back);
    if (!plain || layout.owner(port) > layout.owner(back)) return;  // tiers are numbered from below
    std::uint64_t& now = left.try_emplace(port, kWhole).first->second;
    now = now * share / kWhole;
  };
  FaultTaker taker{layout,
                   [&](std::uint32_t port, const sim::Condition& condition) {
                     using enum sim::Condition::Kind;
                     const bool for_good =
                         condition.from == 0 && condition.to == sim::kForever && condition.period == 0;
                     plain &= for_good && (condition.kind == down || condition.kind == degraded);
                     take(port, condition.kind == down ? 0 : condition.amount);
                     return plain;
                   },
                   [&](std::uint32_t port) { take(port, 0); },
                   [&](std::uint32_t, std::uint32_t) { return plain = false; },
                   [&](std::uint32_t) { return plain = false, nullptr; },
                   "",
                   ""};
  spec::Diagnostics nothing;  // what could be wrong is said elsewhere
  set_up_faults(design, work_and(nullptr), experiment, taker, nothing);
  if (!plain || nothing.has_errors()) return std::nullopt;
  std::map<std::uint32_t, Lefts> of_switch;
  for (const auto& [port, share] : left) of_switch[layout.owner(port)].push_back(share);
  return of_switch;
}

}  // namespace

std::optional<WorstPlace> narrowest_place(const Design& design, const Experiment& experiment) {
  const fabric::Clos* clos = design.fabric().clos();
  if (clos == nullptr || clos->shape().sites.size() > 1) return std::nullopt;
  if (all_faults(design, experiment).empty()) return std::nullopt;
  const sim::FlowConfig config = flow_config(design.cluster(), work_and(nullptr), experiment);
  if (!config.split) return std::nullopt;
  const auto faulty = faults_upwards(design, experiment);
  if (!faulty) return std::nullopt;
  const model::ClosShape& shape = clos->shape();
  const std::uint32_t per_plane = design.fabric().switches_per_plane();
  WorstPlace worst;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Lefts> pods;  // by plane and pod: what is left of each spine
  for (const auto& [entity, lefts] : *faulty) {
    const fabric::Clos::Position at = clos->position(entity % per_plane);
    if (at.tier == fabric::Clos::Tier::leaf)
      worst.leaf =
          std::min(worst.leaf, left_of(lefts, std::uint64_t{shape.spines_per_pod} * shape.bundle, config.adapts));
    else
      pods[{entity / per_plane, at.pod}].push_back(
          left_of(lefts, std::uint64_t{shape.supers_per_group} * shape.super_bundle, config.adapts));
  }
  for (const auto& [pod, spines] : pods)
    worst.pod = std::min(worst.pod, left_of(spines, shape.spines_per_pod, config.adapts));
  return worst;
}

std::optional<WorstPlace> worst_place(const Design& design, const Experiment& experiment) {
  if (gpus_together(design, experiment) <= std::int64_t{collective::kMostOneByOne}) return std::nullopt;
  return narrowest_place(design, experiment);
}

}  // namespace weft::experiment
