#pragma once
// Which links a capture is of.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/layout.hpp"
#include "spec/diagnostics.hpp"

namespace weft::experiment {

struct LinkAsker {
  std::string_view name;   // "--capture"
  spec::Place place = {};  // where it does
};

struct NamedLink {
  std::uint32_t port;  // of the layout: one direction
  std::string name;    // "leaf0 to spine1"
};

// "leaf0:spine1" is every cable between the two, "leaf0" all of its cables, in both directions. Complains about
// names that are not there; `asker` wants them.
std::vector<NamedLink> find_links(const sim::Layout& layout, const std::vector<std::string>& names,
                                  const LinkAsker& asker, spec::Diagnostics& diagnostics);

}  // namespace weft::experiment
