#include "fabric/costs.hpp"

#include <algorithm>
#include <limits>

#include "base/wide.hpp"

namespace weft::fabric {
namespace {

// Sums are made in 128 bits; what does not fit 64 is the largest that does.
template <class Q>
Q saturated(Wide count) {
  return Q(static_cast<std::int64_t>(std::min<Wide>(count, std::numeric_limits<std::int64_t>::max())));
}

// The pieces of one part, kind by kind.
class Parts {
 public:
  explicit Parts(std::string_view name) : name_(name) {}

  // `priced`: in another sum already, such as that per hour.
  void add(std::uint64_t pieces, const std::optional<Money>& each, bool priced) {
    pieces_ += pieces;
    if (each) {
      bought_ += pieces;
      purchase_ += static_cast<Wide>(each->count()) * pieces;
    } else if (!priced) {
      unpriced_ += pieces;
    }
  }
  PartCosts costs() const { return {name_, pieces_, bought_, unpriced_, saturated<Money>(purchase_)}; }

 private:
  std::string_view name_;
  std::uint64_t pieces_ = 0;
  std::uint64_t bought_ = 0;
  std::uint64_t unpriced_ = 0;
  Wide purchase_ = 0;
};

}  // namespace

std::vector<CableRun> cable_runs(const Fabric& fabric) {
  if (!fabric.has_network()) return {};
  const model::FabricSpec& spec = fabric.cluster().file.fabric;
  std::vector<CableRun> runs = fabric.ask([&](const auto& network) { return network.cables(spec); });
  for (CableRun& run : runs) run.cables *= fabric.planes();
  runs.insert(runs.begin(), {LinkTier::nic, fabric.endpoints(), &spec.link.medium});
  std::erase_if(runs, [](const CableRun& run) { return run.cables == 0; });
  return runs;
}

Power Costs::power() const {
  return saturated<Power>(static_cast<Wide>(servers_power.count()) + scale_up_power.count() + switches_power.count() +
                          optics_power.count());
}

std::uint64_t Costs::pieces(std::string_view part) const {
  for (const PartCosts& each : parts)
    if (each.name == part) return each.pieces;
  return 0;
}

std::optional<Money> Costs::purchase() const {
  Wide sum = 0;
  bool known = false;
  for (const PartCosts& part : parts) {
    known = known || part.bought > 0;
    sum += part.purchase.count();
  }
  return known ? std::optional(saturated<Money>(sum)) : std::nullopt;
}

Costs costs_of(const Fabric& fabric, std::span<const std::uint64_t> switches) {
  Costs costs;
  Wide price = 0;
  Wide servers_power = 0;
  Wide scale_up_power = 0;
  Wide switches_power = 0;
  Wide optics_power = 0;
  Parts servers("servers");
  Parts nics("NICs");
  Parts boxes("switches");
  Parts cables("cables");
  for (const model::Group& group : fabric.cluster().groups) {
    const model::ServerGroup& spec = group.spec;
    servers_power += static_cast<Wide>(spec.power.value_or(spec.gpu.power * spec.gpus).count()) * group.servers;
    costs.power_is_partial |= !spec.power;
    if (spec.scale_up && spec.scale_up->power)
      scale_up_power += static_cast<Wide>(spec.scale_up->power->count()) * (group.servers / spec.scale_up->servers);
    price += static_cast<Wide>(spec.price.value_or(Price{}).count()) * group.servers;
    if (spec.price) costs.price.emplace();
    servers.add(group.servers, spec.purchase, spec.price.has_value());
    // A server has its cards in its price where they have none of their own.
    nics.add(static_cast<std::uint64_t>(group.servers) * group.nics(), spec.nic.purchase, spec.price || spec.purchase);
  }
  for (std::size_t i = 0; i < switches.size(); ++i) {
    const model::SwitchKind& kind = fabric.cluster().shape.switches[i];
    costs.power_is_partial |= !kind.power;
    switches_power += static_cast<Wide>(kind.power.value_or(Power{}).count()) * switches[i];
    boxes.add(switches[i], kind.purchase, false);
  }
  for (const CableRun& run : cable_runs(fabric)) {
    costs.optics_unknown |= !run.kind->power;
    optics_power += static_cast<Wide>(run.kind->power.value_or(Power{}).count()) * 2 * run.cables;
    cables.add(run.cables, run.kind->purchase, false);
  }
  if (costs.price) costs.price = saturated<Price>(price);
  costs.servers_power = saturated<Power>(servers_power);
  costs.scale_up_power = saturated<Power>(scale_up_power);
  costs.switches_power = saturated<Power>(switches_power);
  costs.optics_power = saturated<Power>(optics_power);
  for (const Parts* each : {&servers, &nics, &boxes, &cables})
    if (const PartCosts part = each->costs(); part.pieces > 0) costs.parts.push_back(part);
  return costs;
}

}  // namespace weft::fabric
