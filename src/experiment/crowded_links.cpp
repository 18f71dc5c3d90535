#include "experiment/crowded_links.hpp"

#include <algorithm>
#include <utility>

#include "collective/timing.hpp"
#include "experiment/network.hpp"
#include "experiment/packet_config.hpp"
#include "experiment/run_collectives.hpp"

namespace weft::experiment {
namespace {

using collective::NetworkLinks;
using transport::Crowd;

constexpr double kMillion = 1e6;
constexpr std::uint32_t kInFlight = 8;  // chunks of a channel: NCCL's steps

transport::Roce without_control(transport::RoceConfig config) {
  config.control = transport::RoceConfig::Control::none;
  return transport::Roce(config);
}

}  // namespace

std::unique_ptr<CrowdedLinks> CrowdedLinks::of(const Design& design, const Experiment& experiment,
                                               NetworkShares& shares) {
  sim::SimConfig packets = packet_config(design.cluster());
  const sim::FlowConfig flows = flow_config(design.cluster(), work_and(nullptr), experiment);
  const model::TransportSpec& transport = design.cluster().file.transport;
  const sim::Layout& layout = shares.routes().layout();
  const bool senders_alone = packets.exact.flow_control == sim::FlowControl::pause && packets.fast_cnp.count() == 0;
  if (transport.kind != model::TransportKind::rocev2 || transport.rocev2.control != model::RoceControl::dcqcn ||
      flows.split || flows.queues > 1 || !senders_alone ||
      Duration(layout.base_rtt()) > packets.stack.roce.cnp_interval)
    return nullptr;
  packets.stack.set_network(Duration(layout.base_rtt()), Duration(layout.slowest_packet()), packets.full_packet);
  const double header = static_cast<double>(flows.payload + flows.header) / flows.payload;
  return std::unique_ptr<CrowdedLinks>(
      new CrowdedLinks(transport::Roce(packets.stack.roce), header, Duration(layout.base_rtt()),
                       packets.mark_from / kMillion, packets.mark_to / kMillion, packets.mark_most / kMillion, shares));
}

CrowdedLinks::CrowdedLinks(transport::Roce senders, double header, Duration queue, double from, double to, double most,
                           NetworkShares& shares)
    : senders_(senders),
      ideal_(without_control(senders.config())),
      header_(header),
      queue_(queue),
      mark_from_(from),
      mark_to_(to),
      mark_most_(most),
      shares_(shares) {}

bool knows_losses(const CrowdedLinks::Job& job) {
  const collective::Algorithm algorithm = job.plan.choice.algorithm;
  return algorithm == collective::Algorithm::ring || algorithm == collective::Algorithm::tree ||
         algorithm == collective::Algorithm::nvls_tree;
}

// By how much later each load is over the slowest of its links, with whatever else crosses it.
std::vector<std::vector<Duration>> CrowdedLinks::losses_of(const std::vector<Load>& loads) {
  struct Sent {
    Crowd::Flow flow;
    std::size_t load;
    auto operator<=>(const Sent&) const = default;
  };
  std::map<std::uint32_t, std::vector<Sent>> links;
  for (std::size_t i = 0; i < loads.size(); ++i)
    for (const collective::Crossing& crossing : loads[i].crossings)
      for (const NetworkLinks::Part& part : crossing.network) {
        const double bytes = static_cast<double>(crossing.steps * loads[i].bytes) * header_ *
                             static_cast<double>(part.weight) / NetworkLinks::kWhole;
        const double rate = bytes * 8e12 / static_cast<double>(std::max<std::int64_t>(1, loads[i].alone.count()));
        // Channels between the same two NICs are in step.
        const auto chunk = static_cast<std::uint64_t>(static_cast<double>(loads[i].chunk * crossing.steps) * header_);
        links[part.link].push_back(
            {{static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(rate) + 1, chunk, chunk * loads[i].first},
             i});
      }
  std::vector<std::vector<Duration>> lost(transport::kCrowdDraws, std::vector<Duration>(loads.size()));
  std::vector<Duration> without(loads.size());
  for (auto& [link, sent] : links) {
    if (sent.size() < 2 && shares_.routes().left(link) == kMillion) continue;
    std::sort(sent.begin(), sent.end());
    Crowd crowd;
    for (const Sent& each : sent) crowd.flows.push_back(each.flow);
    crowd.rate = static_cast<std::uint64_t>(static_cast<double>(shares_.rate(link).count()) * header_);
    // With half of it to spare, whatever meets there is soon gone.
    std::uint64_t wanted = 0;
    for (const Crowd::Flow& flow : crowd.flows) wanted += flow.most;
    if (wanted < crowd.rate / 2) continue;
    const std::uint32_t left = shares_.routes().left(link);
    auto [known, is_new] = known_.try_emplace({crowd.rate, left, crowd.flows});
    if (is_new) {
      const double slower = kMillion / left;  // marks are by bytes
      const auto part = [&](double of) {
        return Duration(static_cast<std::int64_t>(static_cast<double>(queue_.count()) * of * slower));
      };
      crowd.mark_from = part(mark_from_);
      crowd.mark_to = part(mark_to_);
      crowd.mark_most = mark_most_;
      known->second = {transport::ends_of(senders_, crowd), transport::ends_of(ideal_, crowd)[0]};
    }
    for (std::size_t i = 0; i < sent.size(); ++i) {
      const std::size_t load = sent[i].load;
      without[load] = std::max(without[load], known->second.without[i]);
      for (std::size_t draw = 0; draw < lost.size(); ++draw)
        lost[draw][load] = std::max(lost[draw][load], known->second.with[draw][i]);
    }
  }
  for (std::vector<Duration>& draw : lost)
    for (std::size_t i = 0; i < loads.size(); ++i) draw[i] = std::max(Duration(0), draw[i] - without[i]);
  return lost;
}

std::vector<CrowdedLinks::Loss> CrowdedLinks::losses(const std::vector<Job>& jobs) {
  std::vector<Load> once, several;
  for (const Job& job : jobs) {
    collective::PlanOptions options = job.plan;
    options.with_crossings = true;
    options.every_channel = true;
    collective::Plan plan = make_plan(*job.team, options);
    collective::PlanOptions free = job.plan;
    free.network = nullptr;
    free.chunk = plan.chunk;
    free.choice.channels = plan.choice.channels;
    const Duration alone = time_collective(*job.team, free).time - plan.launch;
    const std::uint64_t chunk = longest_step(plan, job.plan.bytes) / plan.slices;
    // A ring hands on what it has got; the ends of trees and chains have everything.
    const bool ring = plan.choice.algorithm == collective::Algorithm::ring && !overlaps_itself(job.plan);
    once.push_back({std::move(plan.crossings), plan.bytes_per_load, chunk, ring ? 1u : kInFlight, alone});
    // As where they are carried out (carried.cpp).
    several.push_back(once.back());
    if (!overlaps_itself(job.plan) && plan.whole_rounds <= 1) continue;
    several.back().bytes *= 1 + collective::kMoreBehind;
    several.back().alone = several.back().alone * (1 + collective::kMoreBehind);
  }
  std::vector<std::vector<Duration>> lost = losses_of(once);
  if (std::any_of(jobs.begin(), jobs.end(), [](const Job& job) { return overlaps_itself(job.plan); })) {
    const std::vector<std::vector<Duration>> more = losses_of(several);
    for (std::size_t i = 0; i < jobs.size(); ++i)
      for (std::size_t draw = 0; overlaps_itself(jobs[i].plan) && draw < lost.size(); ++draw)
        lost[draw][i] = std::max(Duration(0), (more[draw][i] - lost[draw][i]) / collective::kMoreBehind);
  }
  std::vector<Loss> made;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Loss loss{Duration(0), lost[0][i], lost[0][i]};
    for (const std::vector<Duration>& draw : lost) {
      loss.mean = loss.mean + draw[i] / static_cast<std::int64_t>(lost.size());
      loss.least = std::min(loss.least, draw[i]);
      loss.most = std::max(loss.most, draw[i]);
    }
    made.push_back(loss);
  }
  return made;
}

}  // namespace weft::experiment
