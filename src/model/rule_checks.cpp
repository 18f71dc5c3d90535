#include "model/rule_checks.hpp"

#include <fmt/format.h>

#include <bit>

#include "base/units.hpp"

namespace weft::model {
namespace {

using spec::Entry;
using spec::Error;
using spec::Node;

void check_marks(const SwitchingSpec& switching, const Node& root, spec::Diagnostics& diagnostics) {
  if (switching.mark_from <= switching.mark_to) return;
  spec::Place place = root.place;
  // The last that is there is the first of the two: one may be as it is by default.
  if (const Entry* section = root.find("switching"))
    for (const std::string_view key : {"mark_to", "mark_from"})
      if (const Entry* entry = section->value.find(key)) place = entry->value.place;
  diagnostics.add(Error::contradiction, place,
                  fmt::format("packets are marked from {} of the queue on (mark_from), but all of them from {} on "
                              "(mark_to)",
                              exact(switching.mark_from), exact(switching.mark_to)),
                  fmt::format("mark_from of at most {}, or mark_to of at least {}", exact(switching.mark_to),
                              exact(switching.mark_from)));
}

// InfiniBand's path MTU is one of five, and RoCE's packets are InfiniBand's.
void check_roce_mtu(const TransportSpec& transport, const Node& root, spec::Diagnostics& diagnostics) {
  const bool own = transport.kind == TransportKind::rocev2 || transport.kind == TransportKind::infiniband;
  if (!own || !transport.mtu) return;
  const std::int64_t mtu = transport.mtu->count();
  if (mtu >= 256 && mtu <= 4096 && std::has_single_bit(static_cast<std::uint64_t>(mtu))) return;
  spec::Place place = root.place;
  if (const Entry* section = root.find("transport"))
    if (const Entry* entry = section->value.find("mtu")) place = entry->value.place;
  diagnostics.add(Error::out_of_range, place,
                  fmt::format("'mtu' of {} cannot be {}",
                              transport.kind == TransportKind::rocev2 ? "RoCEv2" : "InfiniBand", exact(*transport.mtu)),
                  "256B, 512B, 1KiB, 2KiB or 4KiB: InfiniBand knows no other");
}

}  // namespace

void check_rules(const TrafficRules& rules, const Node& root, spec::Diagnostics& diagnostics) {
  check_marks(rules.switching, root, diagnostics);
  check_roce_mtu(rules.transport, root, diagnostics);
}

}  // namespace weft::model
