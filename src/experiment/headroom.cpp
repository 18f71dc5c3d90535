#include "experiment/headroom.hpp"

#include <algorithm>

#include "experiment/packet_config.hpp"
#include "model/headroom.hpp"

namespace weft::experiment {
namespace {

constexpr std::int64_t kPicosecondsPerMetre = 5000;

// As the file has it; between sites, and in a .topo file, there is a latency in its place.
Length length_of(const fabric::Link& link, const model::FabricSpec& spec) {
  using enum fabric::LinkTier;
  const model::LinkSpec& spines = spec.spine_link ? *spec.spine_link : spec.link;
  const model::LinkSpec& supers = spec.super_spine_link ? *spec.super_spine_link : spines;
  const bool in_file = spec.kind != model::FabricKind::topo;
  if (in_file && link.tier == spine) return spines.cable;
  if (in_file && link.tier == super_spine) return supers.cable;
  if (in_file && link.tier != gateway && link.tier != site) return spec.link.cable;
  return Length(link.latency.count() * 1000 / kPicosecondsPerMetre);
}

std::int64_t lossless_services(const model::SwitchingSpec& switching) {
  if (switching.services.empty()) return 1;
  return std::count_if(switching.services.begin(), switching.services.end(),
                       [](const model::ServiceSpec& each) { return each.lossless; });
}

}  // namespace

Bytes SwitchHeadroom::total() const {
  Bytes all;
  for (const PortHeadroom& each : ports) all += each.per_class * (each.ports * each.classes);
  return all;
}

std::vector<SwitchHeadroom> headroom_of(const Design& design) {
  const model::SwitchingSpec& switching = design.cluster().file.switching;
  const fabric::Fabric& fabric = design.fabric();
  if (switching.flow_control != model::FlowControl::pause || !fabric.has_network()) return {};
  const sim::SimConfig config = packet_config(design.cluster());
  const Bytes frame(config.full_packet);
  const std::int64_t services = lossless_services(switching);
  std::vector<SwitchHeadroom> made;
  for (const fabric::SwitchTier& tier : fabric.tiers()) {
    if (tier.count == 0) continue;
    const fabric::NodeId node = fabric.node(fabric::NodeKind::network_switch, tier.first);
    SwitchHeadroom& here = made.emplace_back();
    here.name = fabric.name(node);
    here.buffer = config.exact.buffer > 0 ? Bytes(config.exact.buffer) : fabric.switch_kind(tier.first).buffer;
    fabric.for_each_link(node, [&](const fabric::Link& link) {
      PortHeadroom port;
      port.rate = link.rate;
      port.cable = length_of(link, design.cluster().file.fabric);
      port.classes = services * (link.tier == fabric::LinkTier::nic ? 1 : virtual_channels(design.cluster()));
      port.per_class = model::pfc_headroom(link.rate, link.latency, frame, switching.reaction);
      const auto same = std::find_if(here.ports.begin(), here.ports.end(), [&](const PortHeadroom& other) {
        return other.rate == port.rate && other.cable == port.cable && other.classes == port.classes;
      });
      ++(same == here.ports.end() ? here.ports.emplace_back(port) : *same).ports;
    });
  }
  return made;
}

}  // namespace weft::experiment
