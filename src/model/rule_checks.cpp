#include "model/rule_checks.hpp"

#include <fmt/format.h>

#include "base/units.hpp"

namespace weft::model {

using spec::Complaint;
using spec::Entry;
using spec::Node;

void check_rules(const TrafficRules& rules, const Node& root, spec::Diagnostics& diagnostics) {
  const SwitchingSpec& switching = rules.switching;
  if (switching.mark_from <= switching.mark_to) return;
  spec::Place place = root.place;
  // The last that is there is the first of the two: one may be as it is by default.
  if (const Entry* section = root.find("switching"))
    for (const std::string_view key : {"mark_to", "mark_from"})
      if (const Entry* entry = section->value.find(key)) place = entry->value.place;
  diagnostics.add(Complaint::contradiction, place,
                  fmt::format("packets are marked from {} of the queue on (mark_from), but all of them from {} on "
                              "(mark_to)",
                              exact(switching.mark_from), exact(switching.mark_to)),
                  fmt::format("mark_from of at most {}, or mark_to of at least {}", exact(switching.mark_to),
                              exact(switching.mark_from)));
}

}  // namespace weft::model
