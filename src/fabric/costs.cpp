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

  // `priced`: in another sum already.
  void add(std::uint64_t pieces, const std::optional<Money>& each, bool priced) {
    pieces_ += pieces;
    if (each) {
      bought_ += pieces;
      purchase_ += static_cast<Wide>(each->count()) * pieces;
    } else if (!priced) {
      unpriced_ += pieces;
    }
  }
  void add_rented(std::uint64_t pieces, const std::optional<Money>& each, const std::optional<Price>& price) {
    add(pieces, each, price.has_value());
    if (price) rented_ += pieces;
  }
  PartCosts costs() const { return {name_, pieces_, bought_, rented_, unpriced_, saturated<Money>(purchase_)}; }

 private:
  std::string_view name_;
  std::uint64_t pieces_ = 0;
  std::uint64_t bought_ = 0;
  std::uint64_t rented_ = 0;
  std::uint64_t unpriced_ = 0;
  Wide purchase_ = 0;
};

// The power of a part, kind by kind, and whether all of it is known.
class PowerSum {
 public:
  void add(std::uint64_t pieces, const std::optional<Power>& each) {
    if (pieces == 0) return;
    (each ? known_ : unknown_) = true;
    sum_ += static_cast<Wide>(each.value_or(Power{}).count()) * pieces;
  }
  void add_known_part(std::uint64_t pieces, Power each) { sum_ += static_cast<Wide>(each.count()) * pieces; }
  Power sum() const { return saturated<Power>(sum_); }
  bool is_partial() const { return unknown_; }
  void say_what_is_missing(const std::string& name, std::vector<std::string>& out) const {
    if (unknown_) out.push_back((known_ ? "some " : "") + name);
  }

 private:
  Wide sum_ = 0;
  bool known_ = false;
  bool unknown_ = false;
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
  PowerSum servers_power;
  PowerSum scale_up_power;
  PowerSum switches_power;
  PowerSum optics_power;
  Parts servers("servers");
  Parts nics("NICs");
  Parts boxes("switches");
  Parts cables("cables");
  Parts storage("storage");
  const auto rent = [&](const std::optional<Price>& each, std::uint64_t pieces) {
    price += static_cast<Wide>(each.value_or(Price{}).count()) * pieces;
    if (each) costs.price.emplace();
  };
  for (const model::Group& group : fabric.cluster().groups) {
    const model::ServerGroup& spec = group.spec;
    servers_power.add(group.servers, spec.power);
    if (!spec.power) servers_power.add_known_part(group.servers, spec.gpu.power * spec.gpus);
    if (spec.scale_up && spec.scale_up->power)
      scale_up_power.add(group.servers / static_cast<std::uint64_t>(spec.scale_up->servers), spec.scale_up->power);
    rent(spec.price, group.servers);
    servers.add_rented(group.servers, spec.purchase, spec.price);
    // A server has its NICs in its price where they have none of their own.
    nics.add(static_cast<std::uint64_t>(group.servers) * group.nics(), spec.nic.purchase, spec.price || spec.purchase);
  }
  for (std::size_t i = 0; i < switches.size(); ++i) {
    const model::SwitchKind& kind = fabric.cluster().shape.switches[i];
    switches_power.add(switches[i], kind.power);
    boxes.add(switches[i], kind.purchase, false);
  }
  for (const CableRun& run : cable_runs(fabric)) {
    optics_power.add(2 * run.cables, run.kind->power);
    cables.add(run.cables, run.kind->purchase, false);
  }
  for (const model::StorageTier& tier : fabric.cluster().file.storage) {
    rent(tier.price, 1);
    storage.add_rented(1, std::nullopt, tier.price);
  }
  if (costs.price) costs.price = saturated<Price>(price);
  costs.servers_power = servers_power.sum();
  costs.scale_up_power = scale_up_power.sum();
  costs.switches_power = switches_power.sum();
  costs.optics_power = optics_power.sum();
  costs.power_is_partial = servers_power.is_partial() || switches_power.is_partial();
  servers_power.say_what_is_missing("servers beside their GPUs", costs.not_in_power);
  switches_power.say_what_is_missing("switches", costs.not_in_power);
  optics_power.say_what_is_missing("optics", costs.not_in_power);
  if (!fabric.cluster().file.storage.empty()) costs.not_in_power.emplace_back("storage");
  for (const Parts* each : {&servers, &nics, &boxes, &cables, &storage})
    if (const PartCosts part = each->costs(); part.pieces > 0) costs.parts.push_back(part);
  return costs;
}

}  // namespace weft::fabric
