#include "app/show/shown_costs.hpp"

#include "fabric/summary.hpp"

namespace weft::app {

std::vector<std::string> not_priced(const fabric::Costs& costs) {
  std::vector<std::string> names;
  for (const fabric::PartCosts& part : costs.parts)
    if (part.unpriced > 0) names.push_back((part.unpriced < part.pieces ? "some " : "") + std::string(part.name));
  return names;
}

report::Costs shown_costs(const Session& session) {
  report::Costs out;
  if (session.cluster().file.fabric.kind == model::FabricKind::topo) return out;  // htsim's files name no machines
  const fabric::Summary summary = fabric::summarise(session.fabric());
  const fabric::Costs& costs = summary.costs;
  out.price = costs.price;
  out.purchase = costs.purchase();
  out.not_priced = not_priced(costs);
  out.power = costs.power();
  out.power_is_partial = costs.power_is_partial;
  out.network = costs.switches_power + costs.optics_power;
  out.not_in_power = costs.not_in_power;
  out.switches = costs.pieces("switches");
  out.cables = costs.pieces("cables");
  for (const fabric::TierSummary& tier : summary.tiers) {
    out.ports += static_cast<std::uint64_t>(tier.ports) * tier.switches;
    out.ports_used += static_cast<std::uint64_t>(tier.ports_in_use);
  }
  return out;
}

}  // namespace weft::app
