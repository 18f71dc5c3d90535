#pragma once
// What PFC takes of the buffers of a design's switches, cable by cable.

#include <string>
#include <vector>

#include "experiment/design.hpp"

namespace weft::experiment {

// Ports of one switch that hang on cables of one kind.
struct PortHeadroom {
  std::int64_t ports = 0;
  Bandwidth rate;
  Length cable;
  Bytes per_class;
  std::int64_t classes = 0;  // that are lossless on it
};

struct SwitchHeadroom {
  std::string name;  // the first of its tier: "leaf0"
  Bytes buffer;
  std::vector<PortHeadroom> ports;

  Bytes total() const;
};

// A switch of each tier; none without PFC.
std::vector<SwitchHeadroom> headroom_of(const Design& design);

}  // namespace weft::experiment
