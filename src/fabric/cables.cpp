#include "fabric/cables.hpp"

namespace weft::fabric {
namespace {

constexpr std::int64_t kPicosecondsPerMetre = 5000;

}  // namespace

const model::LinkSpec* cable_spec(LinkTier tier, const model::FabricSpec& spec) {
  const model::LinkSpec& spines = spec.spine_link ? *spec.spine_link : spec.link;
  const model::LinkSpec& supers = spec.super_spine_link ? *spec.super_spine_link : spines;
  if (spec.kind == model::FabricKind::topo) return nullptr;
  switch (tier) {
    case LinkTier::spine:
      return &spines;
    case LinkTier::super_spine:
      return &supers;
    case LinkTier::gateway:
    case LinkTier::site:
      return nullptr;
    case LinkTier::nic:
    case LinkTier::local:
    case LinkTier::global:
      break;
  }
  return &spec.link;
}

Length cable_length(LinkTier tier, Duration latency, const model::FabricSpec& spec) {
  if (const model::LinkSpec* cable = cable_spec(tier, spec)) return cable->cable;
  return Length(latency.count() * 1000 / kPicosecondsPerMetre);
}

}  // namespace weft::fabric
