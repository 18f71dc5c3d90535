#include "collective/part.hpp"

namespace weft::collective {

std::vector<std::uint32_t> places_of(const fabric::Fabric& fabric, const Team& team, const Plan& plan) {
  std::vector<std::uint32_t> places;
  for (std::uint32_t rank = 0; rank < team.ranks(); ++rank) places.push_back(team.gpu(rank));
  for (std::uint32_t rank = team.ranks(); rank < plan.ranks; ++rank) {
    const bool in_domain = plan.node[rank] < team.nodes();
    const std::uint32_t place = in_domain ? team.place_of_node(plan.node[rank]) : fabric.cluster().servers;
    places.push_back(fabric.cluster().gpus + place);
  }
  return places;
}

schedule::Composed::Part timed_part(const fabric::Fabric& fabric, const Team& team, const Plan& plan) {
  return {std::make_unique<Work>(plan, plan.different, Work::Launch::included), places_of(fabric, team, plan)};
}

schedule::Composed::Part carried_part(const fabric::Fabric& fabric, const Team& team, const Plan& plan,
                                      Work::Launch launch) {
  return {std::make_unique<Work>(plan, team, launch), places_of(fabric, team, plan)};
}

}  // namespace weft::collective
