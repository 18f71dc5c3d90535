// What can be wrong with jobs that run at the same time, before any of it runs.

#include <fmt/format.h>

#include "app/collective_runs.hpp"
#include "app/sim_config.hpp"
#include "app/sim_run.hpp"
#include "collective/carried.hpp"
#include "collective/tuner.hpp"

namespace weft::app {

using collective::Algorithm;
using collective::Protocol;
using collective::Team;
using spec::Complaint;

// All that is wrong with a job, before any of it runs.
bool CollectiveRuns::check(const CollectiveSide& side) {
  spec::Diagnostics& diagnostics = session_.diagnostics();
  if (diagnostics.has_errors()) return false;
  if (side.teams.empty() || side.teams[0]->ranks() < 2) {
    diagnostics.add(Complaint::out_of_range, {}, "a collective needs two GPUs", "--gpus 2 or more");
    return false;
  }
  for (const auto& team : side.teams)
    if (!team->broken().empty()) {
      diagnostics.add(Complaint::not_simulated, {}, team->broken(), "GPUs that are joined, or another fabric");
      return false;
    }
  const Team& team = *side.teams[0];
  for (const Algorithm algorithm : wanted_.algorithms) {
    const Protocol protocol =
        wanted_.protocol.value_or(collective::protocol_for(team, side.job->operation, algorithm, 1, *side.stack));
    if (const std::string why = collective::why_not(team, side.job->operation, algorithm, protocol); !why.empty())
      diagnostics.add(
          Complaint::contradiction, {},
          fmt::format("{} with {}: {}", collective::name(side.job->operation), collective::name(algorithm), why),
          "--algorithms auto, or all to see what is possible");
    else if (const std::string only = collective::why_not_carried(team, algorithm); by_links() && !only.empty())
      diagnostics.add(Complaint::not_simulated, {}, fmt::format("{}: {}", collective::name(algorithm), only),
                      "--fidelity message");
  }
  return !diagnostics.has_errors();
}

// What the fidelities need of the network and of its faults.
void CollectiveRuns::check_networks(const std::vector<CollectiveSide>& sides) {
  spec::Diagnostics& diagnostics = session_.diagnostics();
  std::vector<std::string> links;
  for (const std::string& each : fidelities_)
    if (each != "message") links.push_back(each);
  if (!links.empty()) check_network(session_, links, beside_, request_.run);
  if (beside_ != nullptr && has("message"))
    diagnostics.add(Complaint::contradiction, {}, "messages know no traffic beside them", "--fidelity packet");
  collective::Conditions slow;
  if (has("message") && !add_slow_nics(all_faults(session_, request_.run, diagnostics), session_.fabric(), slow))
    diagnostics.add(Complaint::contradiction, {}, "messages know no faults but NICs that are slow for good",
                    "--fidelity packet");
  for (const CollectiveSide& side : sides)
    for (const auto& team : side.teams)
      if (!links.empty() && !description_of(session_.cluster().file.transport.kind).between_sites &&
          team->group(0).site != team->group(team->ranks() - 1).site)
        return diagnostics.add(Complaint::srd_between_sites, {},
                               "a collective goes from one site to another, where SRD is not routed",
                               "GPUs of one site, or --set transport.kind=tcp");
  const bool several = sides.size() > 1 || fidelities_.size() > 1 || !request_.trace.empty();
  if (side_by_side() && several)
    diagnostics.add(Complaint::contradiction, {},
                    "algorithms side by side are shown for one job, with one fidelity and without a trace",
                    "--algorithms auto, or one name");
}

}  // namespace weft::app
