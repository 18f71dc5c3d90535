#include "experiment/network_shares.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/wide.hpp"
#include "experiment/network.hpp"

namespace weft::experiment {
namespace {

// Large enough to go by all NICs and all queue pairs of a port.
constexpr std::uint64_t kLarge = std::uint64_t{1} << 30;
constexpr std::size_t kBlock = std::size_t{1} << 16;  // parts that are kept together

sim::FlowConfig without_hosts(const Design& design, const Experiment& experiment) {
  sim::FlowConfig config = flow_config(design.cluster(), work_and(nullptr), experiment);
  config.hosts = false;
  return config;
}

}  // namespace

NetworkShares::NetworkShares(const Design& design, const Experiment& experiment)
    : fabric_(design.fabric()), routes_(design.fabric(), without_hosts(design, experiment)) {
  spec::Diagnostics nothing;  // what could be wrong was said before
  worst_ = worst_place(design, experiment);
  if (worst_ || why_uneven(design, experiment).empty())
    tiers_ = fabric_.clos();
  else
    set_up_faults(design, work_and(nullptr), experiment, taker_of(routes_), nothing);
}

std::span<const collective::NetworkLinks::Part> NetworkShares::between(std::uint32_t from_gpu, std::uint32_t to_gpu) {
  const std::uint64_t pair = std::uint64_t{from_gpu} << 32 | to_gpu;
  if (const std::uint32_t way = known_.find(pair); way != FlatMap::kNone) return ways_[way];
  parts_.clear();
  tiers_ != nullptr ? take_tiers(from_gpu, to_gpu) : take_links(from_gpu, to_gpu);
  known_.insert(pair, static_cast<std::uint32_t>(ways_.size()));
  ways_.push_back(keep());
  return ways_.back();
}

std::span<const collective::NetworkLinks::Part> NetworkShares::keep() {
  if (blocks_.empty() || blocks_.back().size() + parts_.size() > blocks_.back().capacity())
    blocks_.emplace_back().reserve(std::max(kBlock, parts_.size()));
  std::vector<Part>& block = blocks_.back();
  block.insert(block.end(), parts_.begin(), parts_.end());
  return std::span(block).last(parts_.size());
}

std::optional<collective::NetworkLinks::Place> NetworkShares::place(std::uint32_t gpu) const {
  if (tiers_ == nullptr) return std::nullopt;
  const fabric::Node at = fabric_.describe(fabric_.gpu(gpu));
  const model::Group& group = fabric_.cluster().groups[at.group];
  const std::uint32_t nic = group.first_nic + (at.server - group.first_server) * group.nics();
  const auto where = tiers_->destination(fabric_.attachment(fabric_.endpoint(nic, 0)).target);
  return Place{where.place[0], where.place[1]};
}

// Messages take queue pairs in turn, so each counts as often as the others.
void NetworkShares::take_links(std::uint32_t from, std::uint32_t to) {
  const std::uint32_t turns = routes_.config().whole < kLarge ? 1 : std::max(1u, routes_.config().queues);
  for (std::uint32_t turn = 0; turn < turns; ++turn)
    for (const sim::FlowPath& path : routes_.find({from, to, kLarge, 0, schedule::kItself, schedule::kItself, false}))
      for (std::size_t stage = 0; stage < path.count; ++stage)
        for (const sim::MaxMinRates::Share& share : path.stages[stage].shares) {
          const Wide part = Wide{share.weight} * path.bytes / kLarge * kWhole / sim::MaxMinRates::kWhole / turns;
          while (rates_.size() <= share.link)
            rates_.push_back(
                Bandwidth(routes_.capacity(static_cast<std::uint32_t>(rates_.size())) / sim::FlowRoutes::kParts));
          add(share.link, static_cast<std::uint64_t>(part));
        }
  std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.link < b.link; });
  std::vector<Part> merged;
  for (const Part& each : parts_) {
    if (merged.empty() || merged.back().link != each.link) merged.push_back({each.link, 0});
    merged.back().weight += each.weight;
  }
  parts_ = std::move(merged);
}

void NetworkShares::take_tiers(std::uint32_t from, std::uint32_t to) {
  sim::find_pairs(routes_.layout(), from, to, pairs_);
  for (const sim::NicPair& pair : pairs_) take_tiers(pair, kWhole / pairs_.size());
}

void NetworkShares::take_tiers(const sim::NicPair& pair, std::uint64_t weight) {
  using enum Bundle;
  const model::ClosShape& shape = tiers_->shape();
  const fabric::Attachment source = fabric_.attachment(pair.source);
  const fabric::Destination here = tiers_->destination(source.target);
  const fabric::Destination there = tiers_->destination(fabric_.attachment(pair.destination).target);
  const auto nic = [&](std::uint32_t endpoint) {
    return fabric_.wire(fabric::LinkTier::nic, fabric_.describe(fabric_.nic_of(endpoint)).group).rate;
  };
  add(bundle(out, 0, pair.source, nic(pair.source)), weight);
  add(bundle(in, 0, pair.destination, nic(pair.destination)), weight);
  if (here.place[0] == there.place[0]) return;
  const bool pods = here.place[1] != there.place[1];
  const WorstPlace all = worst_.value_or(WorstPlace());
  if (all.leaf == 0 || (pods && all.pod == 0)) return parts_.clear();  // nothing joins them
  const std::int64_t leaf = std::int64_t{shape.spines_per_pod} * shape.bundle;
  const auto left = [](Bandwidth rate, std::uint32_t millionths) {
    return Bandwidth(static_cast<std::int64_t>(Wide{rate.count()} * millionths / 1'000'000));
  };
  const Bandwidth above_leaf = left(shape.spine_wire.rate * leaf, all.leaf);
  add(bundle(leaf_up, source.plane, here.place[0], above_leaf), weight);
  add(bundle(leaf_down, source.plane, there.place[0], above_leaf), weight);
  if (!pods) return;
  const std::int64_t pod = std::int64_t{shape.spines_per_pod} * shape.supers_per_group * shape.super_bundle;
  const Bandwidth above_pod = left(shape.super_wire.rate * pod, all.pod);
  add(bundle(pod_up, source.plane, here.place[1], above_pod), weight);
  add(bundle(pod_down, source.plane, there.place[1], above_pod), weight);
}

std::uint32_t NetworkShares::bundle(Bundle kind, std::uint32_t plane, std::uint32_t place, Bandwidth rate) {
  const std::uint64_t which = std::uint64_t{plane} << 40 | std::uint64_t{static_cast<std::uint8_t>(kind)} << 32 | place;
  if (const std::uint32_t known = bundles_.find(which); known != FlatMap::kNone) return known;
  const auto link = static_cast<std::uint32_t>(rates_.size());
  const std::int64_t payload = routes_.config().payload;
  rates_.push_back(Bandwidth(
      static_cast<std::int64_t>(Wide{rate.count()} * payload / (payload + std::int64_t{routes_.config().header}))));
  bundles_.insert(which, link);
  return link;
}

void NetworkShares::add(std::uint32_t link, std::uint64_t weight) {
  if (weight > 0) parts_.push_back({link, weight});
}

std::string why_uneven(const Design& design, const Experiment& experiment) {
  const fabric::Clos* clos = design.fabric().clos();
  if (clos == nullptr) return design.fabric().has_network() ? "the fabric is no tree" : "";
  if (clos->shape().sites.size() > 1) return "there are several sites";
  if (!all_faults(design, experiment).empty() && !worst_place(design, experiment)) return "there are faults";
  return flow_config(design.cluster(), work_and(nullptr), experiment).split ? "" : "switches hash flows to paths";
}

std::string why_no_shares(const Design& design) {
  const fabric::Fabric& fabric = design.fabric();
  if (fabric.has_network() && !fabric.ask([](const auto& network) { return network.shortest_only(); }))
    return "the detours of a Dragonfly, which depend on queues";
  return "";
}

void check_shares(Design& design, const Experiment& experiment, const std::vector<const collective::Team*>& teams) {
  spec::Diagnostics& diagnostics = design.diagnostics();
  if (all_faults(design, experiment).empty() || !design.fabric().has_network()) return;
  check_faults(design);
  if (const std::string why = why_no_shares(design); !why.empty())
    diagnostics.add(spec::Error::not_simulated, {}, fmt::format("messages do not know {}, and so no faults", why),
                    "--fidelity packet");
  if (diagnostics.has_errors()) return;
  const Traffic all = work_and(nullptr);
  sim::FlowRoutes routes(design.fabric(), flow_config(design.cluster(), all, experiment));
  FaultTaker taker = taker_of(routes);
  taker.why_not = "messages";
  set_up_faults(design, all, experiment, taker, diagnostics);
  if (diagnostics.has_errors()) return;
  NetworkShares shares(design, experiment);
  for (const collective::Team* team : teams)
    if (!diagnostics.has_errors()) check_joined(design, shares, *team);
}

void check_joined(Design& design, collective::NetworkLinks& network, const collective::Team& team) {
  for (std::uint32_t node = 0; team.nodes() > 1 && node < team.nodes(); ++node) {
    const auto& from = team.domain(node).ports;
    const auto& to = team.domain((node + 1) % team.nodes()).ports;
    for (std::size_t port = 0; port < from.size(); ++port) {
      const std::uint32_t gpu = team.gpu(from[port].rank);
      const std::uint32_t other = team.gpu(to[port % to.size()].rank);
      if (network.between(gpu, other).empty())
        return design.diagnostics().add(
            spec::Error::not_simulated, design.place("faults", "part"),
            fmt::format("with these faults nothing joins {} and {}", design.fabric().name(design.fabric().gpu(gpu)),
                        design.fabric().name(design.fabric().gpu(other))),
            "GPUs that are joined, or other faults");
    }
  }
}

}  // namespace weft::experiment
