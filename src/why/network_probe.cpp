#include "why/network_probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "experiment/experiment.hpp"
#include "experiment/network_shares.hpp"

namespace weft::why {
namespace {

using collective::Team;
using experiment::Experiment;
using experiment::Fidelity;
using experiment::Traffic;

constexpr std::uint64_t kProbeBytes = 4'000'000;
constexpr std::uint64_t kDraws = 3;
constexpr std::size_t kMostPacketFlows = 1'024;  // of a probe: seconds; more go as flows
constexpr std::int64_t kNothing = 50;            // thousandths of the rate: for less nobody looks for a queue

// Neighbours of a ring over the servers, through each of their ports: what crosses the network at a time. What servers
// lose inside is not the network's.
Traffic ring_traffic(const experiment::Design& design, const Team& team) {
  Traffic traffic;
  traffic.matrix.emplace();
  traffic.hosts = false;
  traffic.matrix->nodes = traffic.nodes = design.cluster().gpus;
  for (std::uint32_t node = 0; node < team.nodes(); ++node) {
    const auto& from = team.domain(node).ports;
    const auto& to = team.domain((node + 1) % team.nodes()).ports;
    for (std::size_t port = 0; port < from.size(); ++port)
      traffic.matrix->flows.push_back({team.gpu(from[port].rank), team.gpu(to[port % to.size()].rank), kProbeBytes});
  }
  traffic.flows = traffic.matrix->flows.size();
  traffic.bytes = traffic.flows * kProbeBytes;
  return traffic;
}

// Of what the slowest flow loses: for how long the link that was paused longest stood still, then
// the part of the packets that were sent again.
void find_losses(const schedule::RunResult& result, std::int64_t slowest, NetworkProbe& out) {
  const std::int64_t lost = 1'000 - out.left_per_mille;
  std::int64_t paused = 0;
  for (const schedule::LinkRecord& link : result.links) paused = std::max(paused, link.paused.count());
  out.paused_per_mille = std::min(lost, std::min(paused, slowest) * 1'000 / slowest);
  const schedule::LinkRecord* longest = nullptr;
  for (const schedule::LinkRecord& link : result.links)
    if (lost > kNothing && link.from.find('/') == std::string::npos && (!longest || link.waited > longest->waited))
      longest = &link;
  if (longest != nullptr) out.longest_queue = fmt::format("{} to {}", longest->from, longest->to);
  const auto sent = static_cast<std::int64_t>(result.counters.data_sent + result.counters.data_resent);
  if (sent > 0)
    out.resent_per_mille =
        std::min(lost - out.paused_per_mille, static_cast<std::int64_t>(result.counters.data_resent) * 1'000 / sent);
}

}  // namespace

void charge_slow_nics(const NetworkProbe& without_them, NetworkProbe& probe) {
  const std::int64_t lost = 1'000 - probe.left_per_mille;
  const std::int64_t longer = 1'000 - 1'000 * probe.left_per_mille / without_them.left_per_mille;
  probe.slow_per_mille = std::clamp<std::int64_t>(longer, 0, lost);
  probe.paused_per_mille = std::min(probe.paused_per_mille, lost - probe.slow_per_mille);
  probe.resent_per_mille = std::min(probe.resent_per_mille, lost - probe.slow_per_mille - probe.paused_per_mille);
}

void charge_loss(const NetworkProbe& without_faults, NetworkProbe& probe) {
  const std::int64_t longer =
      1'000 - 1'000 * probe.left_per_mille / without_faults.left_per_mille - probe.slow_per_mille;
  const std::int64_t most = 1'000 - probe.left_per_mille - probe.slow_per_mille - probe.paused_per_mille;
  probe.resent_per_mille = std::min(most, std::max(probe.resent_per_mille, longer));
}

namespace {

// Every flow counts for as much as the slowest, because a ring waits for it. Which flows collide is
// a matter of luck: of a few draws the middle one is taken.
NetworkProbe probe_once(experiment::Design& design, const Job& job, bool fast) {
  const Team team(design.fabric(), collective::pick_gpus(design.cluster(), job.gpus, job.per_server));
  if (team.nodes() < 2 || !team.broken().empty()) return {};
  Traffic traffic = ring_traffic(design, team);
  Experiment probe;
  probe.fidelity = fast || traffic.flows > kMostPacketFlows ? Fidelity::flow : Fidelity::packet;
  probe.wanted.links = probe.fidelity == Fidelity::packet;
  probe.workload = std::make_shared<const experiment::Workload>(std::move(traffic));
  experiment::check(design, probe);
  if (design.diagnostics().has_errors()) return {};
  std::vector<NetworkProbe> draws;
  for (probe.seed = 1; probe.seed <= kDraws; ++probe.seed) {
    const schedule::RunResult result = experiment::run(design, probe, {}).result;
    if (!result.stopped_by.empty() || result.flows.empty()) return {};
    NetworkProbe drawn;
    drawn.fidelity = probe.fidelity;
    drawn.counters = result.counters;
    std::int64_t slowest = 1;
    for (const schedule::FlowRecord& flow : result.flows) {
      const std::int64_t end = (flow.sent == schedule::kNotYet ? flow.received : flow.sent).count();
      if (end == schedule::kNotYet.count()) ++drawn.cut_off;
      if (end <= flow.start.count() || flow.unloaded == Duration(0)) continue;
      slowest = std::max(slowest, end - flow.start.count());
      drawn.left_per_mille = std::clamp<std::int64_t>((flow.unloaded * 1'000 / (end - flow.start.count())).count(), 1,
                                                      drawn.left_per_mille);
    }
    if (drawn.cut_off > 0) return drawn;
    find_losses(result, slowest, drawn);
    draws.push_back(std::move(drawn));
  }
  std::sort(draws.begin(), draws.end(),
            [](const NetworkProbe& a, const NetworkProbe& b) { return a.left_per_mille < b.left_per_mille; });
  return draws[draws.size() / 2];
}

}  // namespace

NetworkProbe probe_network(experiment::Design& design, const Job& job, bool fast) {
  NetworkProbe made = probe_once(design, job, fast);
  if (!made.done()) return made;
  const bool shares_known = experiment::why_no_shares(design).empty();
  const NetworkProbe fair = !shares_known || made.fidelity == Fidelity::flow ? made : probe_once(design, job, true);
  made.left_of_shares = shares_known
                            ? std::clamp<std::int64_t>(1'000 * made.left_per_mille / fair.left_per_mille, 1, 1'000)
                            : made.left_per_mille;
  return made;
}

}  // namespace weft::why
