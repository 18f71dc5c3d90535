#include "experiment/unknowns.hpp"

#include <algorithm>
#include <utility>

#include "collective/timing.hpp"
#include "experiment/network.hpp"
#include "experiment/packet_config.hpp"
#include "experiment/run_collectives.hpp"

namespace weft::experiment {
namespace {

using collective::Operation;
using collective::Plan;
using collective::PlanOptions;
using collective::Team;
using schedule::CollectiveRow;

constexpr const char* kForNothing = "what links carry for nothing where hashed packets are trimmed behind them";

// By no more than such a part of the whole may draws of what DCQCN loses be off their mean: beyond, it is not known.
constexpr std::int64_t kClear = 4;

bool loses_packets(const model::Cluster& cluster) {
  return cluster.file.switching.flow_control == model::FlowControl::none;
}

bool has_tcp(const model::Cluster& cluster) { return cluster.file.transport.kind == model::TransportKind::tcp; }

// What a transport loses that sends everything behind a loss again, or waits; empty: it is not lost, or soon repaired.
std::string why_lossy(const model::Cluster& cluster) {
  if (!loses_packets(cluster)) return "";
  if (has_tcp(cluster)) return "what TCP loses to full queues, and waits for";
  const bool goes_back = cluster.file.transport.rocev2.recovery == model::RoceRecovery::go_back_n;
  return goes_back && description_of(cluster.file.transport.kind).needs_lossless
             ? "what RoCE loses to full queues, and sends again"
             : "";
}

// Whether switches trim what finds a queue full, and it is sent again.
bool has_trimming(const model::Cluster& cluster) {
  const model::TransportKind kind = cluster.file.transport.kind;
  return cluster.file.switching.full == model::WhenFull::trim && loses_packets(cluster) &&
         (kind == model::TransportKind::srd || kind == model::TransportKind::uet);
}

// Of all that a domain sends, whether so much is on its way before a sender can hear of it.
bool soon_over(const Team& team, std::uint64_t bytes) {
  const Duration takes = transfer_time(Bytes(static_cast<std::int64_t>(bytes)), team.domain(0).ports[0].nic_rate);
  return takes <= team.network_latency() * 2;
}

// Whether packets fill links for nothing: each peer of an all-to-all gets all at once, for no window is ever told to be
// smaller, and what has taken its part of one full link is trimmed before the next, and sent again.
bool fills_for_nothing(const Unknowns::Job& job, Duration time) {
  const Team& team = *job.team;
  if (job.plan.operation != Operation::all_to_all || team.nodes() == 1 ||
      !soon_over(team, job.plan.bytes / team.ranks()))
    return false;
  const Plan plan = make_plan(team, job.plan);
  return plan.full_in_a_row > 1 && plan.network_time * 2 >= time;
}

// Whether senders may be told to slow down for long, by a link of the network that is at work for most of the time.
// What is over within a round trip nobody can slow down: all that an all-to-all has for one NIC, or steps that meet on
// a link which in the long run has room for all of them.
bool slows_senders(const Unknowns::Job& job, Duration time) {
  const Team& team = *job.team;
  const Plan plan = make_plan(team, job.plan);
  if (!plan.bound_by_network || plan.network_time * 2 < time) return false;
  const collective::Domain& domain = team.domain(0);
  const bool to_all = job.plan.operation == Operation::all_to_all;
  const std::uint64_t part = to_all ? job.plan.bytes / team.ranks() : plan.chunk;
  if (to_all && soon_over(team, part * domain.ranks)) return false;
  PlanOptions free = job.plan;
  free.network = nullptr;
  free.chunk = plan.chunk;
  free.choice.channels = plan.choice.channels;
  if (plan.network_time > time_collective(team, free).time - plan.launch) return true;
  const std::uint64_t beside = std::max<std::uint64_t>(1, plan.network_steps) - 1;
  return !soon_over(team, beside * std::min(part, plan.chunk));
}

// Whether queues may run full: before NICs that all send to at once, or a link that is too narrow.
bool fills_queues(const Unknowns::Job& job, Duration time) {
  const Team& team = *job.team;
  if (team.nodes() == 1) return false;
  if (job.plan.operation == Operation::all_to_all)
    return !soon_over(team, job.plan.bytes / team.ranks() * team.domain(0).ranks);
  return slows_senders(job, time);
}

}  // namespace

bool has_dcqcn(const model::Cluster& cluster) {
  const model::TransportSpec& transport = cluster.file.transport;
  return transport.kind == model::TransportKind::rocev2 && transport.rocev2.control == model::RoceControl::dcqcn;
}

std::string why_overtaken(const model::Cluster& cluster) {
  const model::TransportSpec& transport = cluster.file.transport;
  const transport::Description& its = description_of(transport.kind);
  if (!its.in_order || its.many_paths || cluster.file.switching.flow_control == model::FlowControl::scheduled)
    return "";
  switch (transport.balance) {
    case model::Balance::spray:
    case model::Balance::adaptive:
      return "what is sent again where packets of a connection overtake each other";
    case model::Balance::flowlet:
    case model::Balance::flowlet_global:
      return "which links switches choose for flowlets, by their queues";
    case model::Balance::entropy:
    case model::Balance::ecmp:
    case model::Balance::pinned:
      return "";
  }
  return "";
}

Unknowns::Unknowns(const Design& design, const Experiment& experiment)
    : design_(design), experiment_(experiment), overtaking_(why_overtaken(design.cluster())) {
  const model::Cluster& cluster = design.cluster();
  const bool hashed = !flow_config(cluster, work_and(nullptr), experiment).split;
  if (hashed && has_dcqcn(cluster)) losses_ = "what DCQCN loses where hashed flows collide";
  if (hashed && has_trimming(cluster)) losses_ = kForNothing;
  if (std::string lossy = why_lossy(cluster); !lossy.empty()) losses_ = std::move(lossy);
  const fabric::Clos* tree = design.fabric().clos();
  if (tree != nullptr && tree->shape().sites.size() > 1 && has_tcp(cluster))
    held_back_ = "how long TCP's windows take to open between sites";
  if (experiment.fidelity == Fidelity::message) detours_ = why_no_shares(design);
}

// The last is of small messages to everybody over links in a row.
std::string Unknowns::of_any() const {
  std::string all;
  for (const std::string& what : {detours_, losses_ == kForNothing ? std::string() : losses_, held_back_, overtaking_})
    if (!what.empty()) all += (all.empty() ? "" : "; ") + what;
  return all;
}

void Unknowns::take(NetworkShares& shares) {
  shares_ = &shares;
  if (!losses_.empty()) crowds_ = CrowdedLinks::of(design_, experiment_, shares);
}

void Unknowns::add_to(std::vector<CollectiveRow>& rows, const std::vector<Job>& jobs) {
  if (!losses_.empty()) add_losses(rows, jobs);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CollectiveRow& row = rows[i];
    const auto say = [&](const std::string& what) {
      if (!what.empty()) row.not_known += (row.not_known.empty() ? "" : "; ") + what;
    };
    say(detours_);
    if (row.network_bound) say(losses_);
    say(held_back_);
    if (!overtaking_.empty() && has_choice(*jobs[i].team)) say(overtaking_);
  }
}

// What is lost, or that it is not known.
void Unknowns::add_losses(std::vector<CollectiveRow>& rows, const std::vector<Job>& jobs) {
  const model::Cluster& cluster = design_.cluster();
  if (!has_dcqcn(cluster)) {
    const bool lossy = !why_lossy(cluster).empty();
    for (std::size_t i = 0; i < jobs.size(); ++i)
      rows[i].network_bound = lossy ? shares_ == nullptr || fills_queues(jobs[i], rows[i].time)
                                    : shares_ != nullptr && fills_for_nothing(jobs[i], rows[i].time);
    return;
  }
  std::vector<bool> slowed;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    slowed.push_back(shares_ == nullptr || slows_senders(jobs[i], rows[i].time));
  if (std::none_of(slowed.begin(), slowed.end(), [](bool each) { return each; })) return;
  const bool known = crowds_ && std::all_of(jobs.begin(), jobs.end(), knows_losses);
  const std::vector<CrowdedLinks::Loss> lost =
      known ? crowds_->losses(jobs) : std::vector<CrowdedLinks::Loss>(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!slowed[i]) continue;
    CollectiveRow& row = rows[i];
    row.time = row.time + lost[i].mean;
    const Duration off = std::max(lost[i].mean - lost[i].least, lost[i].most - lost[i].mean);
    row.network_bound = !known || off * kClear > row.time;
  }
}

// Whether packets go by more than one switch, between neighbours in a ring at least.
bool Unknowns::has_choice(const Team& team) const {
  constexpr std::size_t kBelowOne = 2;  // links: to a switch, and from it
  if (shares_ == nullptr) return team.nodes() > 1;
  for (std::uint32_t node = 0; team.nodes() > 1 && node < team.nodes(); ++node) {
    const auto& from = team.domain(node).ports;
    const auto& to = team.domain((node + 1) % team.nodes()).ports;
    for (std::size_t port = 0; port < from.size(); ++port)
      if (shares_->between(team.gpu(from[port].rank), team.gpu(to[port % to.size()].rank)).size() > kBelowOne)
        return true;
  }
  return false;
}

}  // namespace weft::experiment
