#include "why/machine.hpp"

#include <algorithm>
#include <utility>

#include "collective/timing.hpp"
#include "collective/tuner.hpp"
#include "sim/run/lane_sim.hpp"
#include "spec/node.hpp"

namespace weft::why {
namespace {

using collective::Algorithm;
using collective::Choice;
using collective::Estimate;
using collective::Protocol;
using collective::Stack;
using collective::Team;

// A prediction of more messages takes longer than a person waits for fifty of them.
constexpr std::uint64_t kMostMessages = 20'000'000;

Stack changed(const Stack& base, const Variant& variant) {
  Stack stack = base;
  stack.network.nic_per_mille = std::max<std::int64_t>(1, stack.network.nic_per_mille * variant.nic_per_mille / 1'000);
  stack.network.hop_ns += variant.per_hop.count() / 1'000;
  stack.launch.delay_ns += variant.launch.count() / 1'000;
  return stack;
}

collective::Ends execute(schedule::Schedule& work, const collective::Plan& plan) {
  std::uint64_t messages = 0;
  for (const auto& program : plan.different) messages += program->messages();
  if (messages > kMostMessages) return {std::vector<Duration>(plan.ranks), 0, "messages"};
  sim::LaneResult result = sim::run_lanes(work, {});
  return {std::move(result.ends), result.messages, result.run.stopped_by};
}

}  // namespace

bool Variant::changes_nothing() const {
  return set.empty() && !algorithm && !protocol && nvls && channels == 0 && pxn && !even && stack.empty() &&
         nic_per_mille == 1'000 && per_hop == Duration{} && launch == Duration{};
}

Variant both(const Variant& first, const Variant& second) {
  Variant out = second;
  out.text = first.text + ", " + second.text;
  out.set.insert(out.set.begin(), first.set.begin(), first.set.end());
  if (!out.algorithm) out.algorithm = first.algorithm;
  if (!out.protocol) {
    out.protocol = first.protocol;
    out.protocol_below = first.protocol_below;
  }
  out.nvls = first.nvls && second.nvls;
  out.pxn = first.pxn && second.pxn;
  out.even = first.even || second.even;
  if (out.channels == 0) out.channels = first.channels;
  if (out.stack.empty()) out.stack = first.stack;
  out.nic_per_mille = std::max<std::int64_t>(1, first.nic_per_mille * second.nic_per_mille / 1'000);
  out.per_hop += first.per_hop;
  out.launch += first.launch;
  return out;
}

Machine::Machine(const experiment::Design& design) : base_(design) {
  spec::Diagnostics scratch;
  const std::uint32_t again = scratch.sources().add("", base_.diagnostics().sources().text(base_.source()));
  const spec::Node root = spec::parse_yaml(again, scratch);
  if (const spec::Entry* found = root.find("servers"); found != nullptr && found->value.is_sequence())
    servers_ = "servers.0";
}

experiment::Design* Machine::design(const std::vector<std::string>& set) {
  const auto [place, is_new] = designs_.try_emplace(set);
  if (is_new) place->second = base_.with(set);
  return place->second.get();
}

const model::Cluster* Machine::cluster(const std::vector<std::string>& set) {
  if (set.empty()) return &base_.cluster();
  const experiment::Design* made = design(set);
  return made != nullptr ? &made->cluster() : nullptr;
}

const Team* Machine::team(const Job& job, const std::vector<std::string>& set) {
  const experiment::Design* made = set.empty() ? &base_ : design(set);
  if (made == nullptr) return nullptr;
  auto& team = teams_[{set, job.gpus, job.per_server}];
  if (!team)
    team = std::make_unique<Team>(made->fabric(), collective::pick_gpus(made->cluster(), job.gpus, job.per_server));
  return team->ranks() == job.gpus && team->ranks() > 1 && team->broken().empty() ? team.get() : nullptr;
}

experiment::NetworkShares* Machine::network(const std::vector<std::string>& set) {
  const experiment::Design* made = set.empty() ? &base_ : design(set);
  if (made == nullptr || !made->fabric().has_network() || !experiment::why_no_shares(*made).empty()) return nullptr;
  auto& network = networks_[set];
  if (!network) network = std::make_unique<experiment::NetworkShares>(*made, experiment::Experiment{});
  return network.get();
}

std::vector<Prediction> Machine::predict(const Job& job, const Variant& variant,
                                         const std::vector<std::uint64_t>& sizes) {
  const Team* team = this->team(job, variant.set);
  if (team == nullptr) return {};
  const Stack* named = variant.stack.empty() ? job.stack : collective::stack_named(variant.stack);
  if (named == nullptr) return {};
  const Stack stack = changed(*named, variant);
  const collective::Conditions conditions = variant.even ? collective::Conditions{} : job.conditions;
  std::vector<Prediction> out;
  for (const std::uint64_t bytes : sizes) {
    const auto choice = choose(*team, job, variant, bytes, stack);
    if (!choice) return {};
    const auto [found, is_new] = simulated_.try_emplace(
        Simulated{team, job.operation, bytes, choice->algorithm, choice->protocol, choice->channels, variant.pxn,
                  stack.name, stack.network.nic_per_mille, stack.network.hop_ns, stack.launch.delay_ns, conditions});
    if (is_new) {
      collective::PlanOptions plan{.operation = job.operation, .bytes = bytes, .choice = *choice, .stack = &stack};
      plan.pxn = variant.pxn;
      plan.conditions = &conditions;
      plan.network = network(variant.set);
      const collective::Timing timing = collective::time_among_many(*team, plan, execute);
      if (timing.stopped_by.empty() && !timing.plan.cut) found->second = Prediction{timing.time, timing.plan.choice};
    }
    if (!found->second) return {};
    out.push_back(*found->second);
  }
  return out;
}

// The first of NCCL's own order that the variant leaves it; what is forced need not be among them.
std::optional<Choice> choose(const Team& team, const Job& job, const Variant& variant, std::uint64_t bytes,
                             const Stack& stack) {
  const bool bound = variant.protocol && (variant.protocol_below == 0 || bytes < variant.protocol_below);
  for (const Estimate& each : collective::estimates(team, job.operation, bytes, stack)) {
    const bool switches = each.algorithm == Algorithm::nvls || each.algorithm == Algorithm::nvls_tree;
    if ((variant.algorithm && each.algorithm != *variant.algorithm) || (!variant.nvls && switches)) continue;
    if (bound && each.protocol != *variant.protocol) continue;
    return Choice{each.algorithm, each.protocol, variant.channels};
  }
  if (bound || !variant.algorithm) return std::nullopt;
  const Protocol protocol = collective::protocol_for(team, job.operation, *variant.algorithm, bytes, stack);
  if (!collective::why_not(team, job.operation, *variant.algorithm, protocol).empty()) return std::nullopt;
  return Choice{*variant.algorithm, protocol, variant.channels};
}

double bus_bandwidth(const Job& job, std::uint64_t bytes, Duration time) {
  const Ratio factor = collective::bus_factor(job.operation, job.gpus);
  return static_cast<double>(bytes) * 1e3 / static_cast<double>(std::max<std::int64_t>(1, time.count())) *
         static_cast<double>(factor.over) / static_cast<double>(factor.under);
}

}  // namespace weft::why
