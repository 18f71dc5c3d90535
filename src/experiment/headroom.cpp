#include "experiment/headroom.hpp"

#include <algorithm>

#include "experiment/packet_config.hpp"
#include "fabric/cables.hpp"
#include "model/headroom.hpp"

namespace weft::experiment {
namespace {

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
      port.cable = fabric::cable_length(link.tier, link.latency, design.cluster().file.fabric);
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
