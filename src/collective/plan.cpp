#include "collective/plan.hpp"

#include <algorithm>

#include "base/wide.hpp"
#include "collective/graph.hpp"
#include "collective/planner.hpp"

namespace weft::collective {
namespace {

constexpr std::uint32_t kMostChannels = 64;   // NCCL's MAXCHANNELS
constexpr std::uint32_t kMostGathering = 32;  // NCCL_MAX_NVLS_ARITY

}  // namespace

std::uint32_t channels_for(const Team& team, Algorithm algorithm) {
  const Generation& generation = generation_of(team.group(0).spec.gpu.kind);
  const bool nvls = algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree;
  if (nvls && generation.nvls_channels > 0) return static_cast<std::uint32_t>(generation.nvls_channels);
  if (team.nodes() == 1) return static_cast<std::uint32_t>(generation.ring_channels);
  const double set_up = graph_of(team, generation, releases().front()).channels_set_up;
  return std::clamp(static_cast<std::uint32_t>(set_up), 2u, kMostChannels);
}

std::string why_not(const Team& team, Operation operation, Algorithm algorithm, Protocol protocol) {
  const bool rings = operation == Operation::all_reduce || operation == Operation::all_gather ||
                     operation == Operation::reduce_scatter;
  const bool parts = operation == Operation::all_gather || operation == Operation::reduce_scatter;
  const bool simple = protocol == Protocol::simple;
  const bool switches = generation_of(team.group(0).spec.gpu.kind).nvls_channels > 0 && team.group(0).spec.scale_up &&
                        team.group(0).spec.scale_up->switches > 0;
  switch (algorithm) {
    case Algorithm::ring:
      return operation == Operation::all_to_all || operation == Operation::send_recv ? "a ring has no way to everybody"
                                                                                     : "";
    case Algorithm::tree:
      return operation == Operation::all_reduce ? "" : "trees do all_reduce only";
    case Algorithm::nvls:
      if (!switches) return "its scale-up switches do not reduce";
      if (!simple) return "NVLS knows the protocol Simple only";
      if (team.nodes() > 1) return "NVLS works within one domain; NVLSTree spans several";
      if (team.ranks() < 3) return "NVLS needs three GPUs";
      if (parts && team.ranks() > kMostGathering) return "NVLS gathers and scatters among 32 GPUs at most";
      return rings ? "" : "NVLS does all_reduce, all_gather and reduce_scatter";
    case Algorithm::nvls_tree:
      if (!switches) return "its scale-up switches do not reduce";
      if (!simple) return "NVLSTree knows the protocol Simple only";
      if (team.nodes() < 2) return "NVLSTree spans several domains; NVLS works within one";
      return operation == Operation::all_reduce ? "" : "NVLSTree does all_reduce only";
    case Algorithm::collnet:
      if (!simple) return "CollNet knows the protocol Simple only";
      if (team.nodes() < 2) return "there is no network between the ranks that could reduce";
      if (!team.network_reduces())
        return "the switches of this network do not reduce, as InfiniBand's with SHARP would";
      if (!switches) return "its scale-up switches do not reduce";
      return operation == Operation::all_reduce ? "" : "CollNet does all_reduce only";
    case Algorithm::pat:
      if (!simple) return "PAT knows the protocol Simple only";
      if (team.nodes() != team.ranks()) return "PAT is for one rank per domain";
      return parts ? "" : "PAT does all_gather and reduce_scatter";
    case Algorithm::direct:
      return operation == Operation::all_to_all || operation == Operation::send_recv
                 ? ""
                 : "Direct does all_to_all and send_recv";
    case Algorithm::hierarchical:
      if (!team.even()) return "the hierarchical algorithm needs equally many ranks in every domain";
      if (team.nodes() < 2 || team.most_per_node() < 2) return "there is only one level";
      return rings ? "" : "Hierarchical does all_reduce, all_gather and reduce_scatter";
  }
  return "";
}

void add_to(TakenByOthers& taken, const Plan& plan, Duration time) {
  constexpr std::int64_t kPsPerSecond = 1'000'000'000'000;
  for (const auto& [link, load] : plan.loads) {
    const Wide bits = Wide{load} * plan.bytes_per_load / NetworkLinks::kWhole * 8;
    const Wide rate = bits * kPsPerSecond / std::max<std::int64_t>(1, time.count());
    Taken& all = taken[link];
    all.rate = all.rate + Bandwidth(static_cast<std::int64_t>(std::min<Wide>(rate, INT64_MAX / 1024)));
    ++all.jobs;
    all.load += load;
  }
}

Plan make_plan(const Team& team, const PlanOptions& options) { return Planner(team, options).make(); }

}  // namespace weft::collective
