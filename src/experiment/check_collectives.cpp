// What can be wrong with collectives, before any of them runs.

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/wide.hpp"
#include "collective/alike.hpp"
#include "collective/carried.hpp"
#include "collective/tuner.hpp"
#include "experiment/network.hpp"
#include "experiment/network_shares.hpp"
#include "experiment/packet_config.hpp"
#include "experiment/run_collectives.hpp"
#include "experiment/run_traffic.hpp"

namespace weft::experiment {
namespace {

using collective::Algorithm;
using collective::Protocol;
using collective::Team;
using spec::Error;

// Whether its GPUs can do what is asked of them; `by_links`: with links.
void check_side(const CollectiveSide& side, const CollectiveChoice& choice, bool by_links,
                spec::Diagnostics& diagnostics) {
  if (side.teams.empty() || side.teams[0]->ranks() < 2)
    return diagnostics.add(Error::out_of_range, side.job->places.of("gpus"), "a collective needs two GPUs",
                           "--gpus 2 or more");
  for (const auto& team : side.teams)
    if (!team->broken().empty())
      return diagnostics.add(Error::not_simulated, side.job->places.whole, team->broken(),
                             "GPUs that are joined, or another fabric");
  const Team& team = *side.teams[0];
  for (const Algorithm algorithm : choice.algorithms) {
    const Protocol protocol =
        choice.protocol.value_or(collective::protocol_for(team, side.job->operation, algorithm, 1, *side.stack));
    if (const std::string why = collective::why_not(team, side.job->operation, algorithm, protocol); !why.empty())
      diagnostics.add(
          Error::contradiction, {},
          fmt::format("{} with {}: {}", collective::name(side.job->operation), collective::name(algorithm), why),
          "--algorithms auto, or all to see what is possible");
    else if (const std::string only = collective::why_not_carried(team, algorithm); by_links && !only.empty())
      diagnostics.add(Error::not_simulated, {}, fmt::format("{}: {}", collective::name(algorithm), only),
                      "--fidelity message");
  }
}

// Whether a size takes longer than can be counted: at most all ranks of a domain send it twice, through one NIC.
void check_time(const CollectiveSide& side, const model::Cluster& cluster, std::int64_t least_rate,
                spec::Diagnostics& diagnostics) {
  std::int64_t speed = least_rate;  // of the slowest, in millionths
  for (const auto& slow : side.conditions[0].ranks) speed = std::min(speed, slow.speed_per_mille * 1'000);
  for (const model::Group& group : cluster.groups) {
    if (group.spec.nics == 0) continue;
    const std::int64_t ranks = group.spec.gpus * (group.spec.scale_up ? group.spec.scale_up->servers : 1);
    const model::NicKind& nic = group.spec.nic;
    const Bytes packet = cluster.file.transport.mtu.value_or(Bytes(4096));
    const Bandwidth rate =
        nic.packet_rate ? std::min(nic.rate, Bandwidth(nic.packet_rate->count() * packet.count() * 8)) : nic.rate;
    const Wide per_byte = Wide{8} * 1'000'000'000'000 * 2 * ranks * 1'000'000 / std::max<std::int64_t>(1, speed);
    for (const Bytes size : side.job->sizes)
      if (size.count() * per_byte / rate.count() > kLongestRun)
        return diagnostics.add(
            Error::out_of_range, side.job->places.of("sizes"),
            fmt::format("{} over NICs of {} may take longer than can be simulated", exact(size), brief(rate)),
            fmt::format("smaller sizes, or faster NICs: up to {} days", kLongestDays));
  }
}

// As messages, a lane is computed as far as it goes before the next: nothing happens in the order of time.
void check_limits(const Limits& limits, spec::Diagnostics& diagnostics) {
  for (const Limit& limit : limits)
    if (limit.kind == Limit::Kind::time || limit.kind == Limit::Kind::events)
      diagnostics.add(
          Error::contradiction, {},
          fmt::format("--limit {}: the messages of a collective do not run in the order of time", limit.text),
          "--fidelity packet or flow, or --limit wall=60s");
}

// More ranks than can be computed one by one have to be alike, so that few stand for all.
void check_many(Design& design, const Experiment& experiment, const std::vector<CollectiveSide>& sides, bool by_links) {
  for (const CollectiveSide& side : sides)
    for (std::size_t group = 0; group < side.teams.size(); ++group) {
      const Team& team = *side.teams[group];
      if (team.ranks() <= collective::kMostOneByOne) continue;
      collective::PlanOptions options;
      options.operation = side.job->operation;
      options.conditions = &side.conditions[group];
      options.every_rank = sides.size() > 1 || side.teams.size() > 1;
      std::string why = by_links ? "links are simulated one by one" : collective::why_not_alike(team, options);
      if (why.empty()) why = why_uneven(design, experiment);
      if (why.empty()) continue;
      return design.diagnostics().add(
          Error::out_of_range, side.job->places.of("gpus"),
          fmt::format("of {} ranks no few can stand for all: {}", grouped(team.ranks()), why),
          fmt::format("{} or fewer, or what is alike, at message level", grouped(collective::kMostOneByOne)));
    }
}

// What messages do not know.
void check_messages(Design& design, const Collectives& work, const Experiment& experiment,
                    const std::vector<CollectiveSide>& sides) {
  spec::Diagnostics& diagnostics = design.diagnostics();
  if (work.beside)
    diagnostics.add(Error::contradiction, {}, "message level has no traffic beside a collective", "--fidelity packet");
  std::vector<const Team*> teams;
  for (const CollectiveSide& side : sides)
    for (const auto& team : side.teams) teams.push_back(team.get());
  check_shares(design, experiment, teams);
}

// Whether the transport goes wherever the ranks are.
void check_reach(const CollectiveSide& side, Design& design) {
  const model::TransportKind kind = design.cluster().file.transport.kind;
  for (const auto& team : side.teams)
    for (std::uint32_t rank = 1; rank < team->ranks(); ++rank)
      if (const auto apart = kept_apart(kind, team->group(0), team->group(rank)))
        return design.diagnostics().add(apart->error, side.job->places.whole, "a collective goes " + apart->what,
                                        "GPUs " + apart->help);
}

}  // namespace

void check_jobs(Design& design, const Collectives& work, const Experiment& experiment, bool by_links) {
  spec::Diagnostics& diagnostics = design.diagnostics();
  for (const CollectiveJob& job : work.jobs) check_job(job, design.cluster(), diagnostics);
  if (diagnostics.has_errors()) return;
  const std::vector<CollectiveSide> sides = sides_of(design, work, experiment.seed, diagnostics);
  const std::int64_t rate = least_rate(all_faults(design, experiment));
  for (const CollectiveSide& side : sides) {
    if (!diagnostics.has_errors()) check_side(side, work.choice, by_links, diagnostics);
    if (!diagnostics.has_errors()) check_time(side, design.cluster(), rate, diagnostics);
    if (!diagnostics.has_errors()) check_reach(side, design);
  }
}

void check_collectives(Design& design, const Collectives& work, const Experiment& experiment,
                       const std::vector<Fidelity>& fidelities) {
  spec::Diagnostics& diagnostics = design.diagnostics();
  std::vector<Fidelity> with_links;
  for (const Fidelity each : fidelities)
    if (each != Fidelity::message) with_links.push_back(each);
  const bool messages = with_links.size() < fidelities.size();
  if (messages) check_limits(experiment.limits, diagnostics);
  check_jobs(design, work, experiment, !with_links.empty());
  if (diagnostics.has_errors()) return;
  const std::vector<CollectiveSide> sides = sides_of(design, work, experiment.seed, diagnostics);
  check_many(design, experiment, sides, !with_links.empty());
  if (diagnostics.has_errors()) return;
  if (!with_links.empty()) check_network(design, work.beside ? &*work.beside : nullptr, experiment, with_links);
  if (messages) check_messages(design, work, experiment, sides);
}

}  // namespace weft::experiment
