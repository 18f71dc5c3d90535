#pragma once
// Which links a capture is of.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/layout.hpp"
#include "spec/diagnostics.hpp"

namespace weft::app {

struct CapturedLink {
  std::uint32_t port;  // of the layout: one direction
  std::string name;    // "leaf0 to spine1"
};

// "leaf0:spine1" is every cable between the two, "leaf0" all of its cables, in both directions. Complains about
// names that are not there.
std::vector<CapturedLink> find_links(const sim::Layout& layout, const std::vector<std::string>& names,
                                     spec::Diagnostics& diagnostics);

}  // namespace weft::app
