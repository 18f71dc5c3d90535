#pragma once
// A machine of which no file tells but what outputs and logs name in passing: the GPU, how many of
// them a server has, its NICs. The rest is what such servers are mostly like.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "measured/server_outline.hpp"
#include "model/catalog.hpp"
#include "spec/diagnostics.hpp"

namespace weft::measured {

struct NamedParts {
  std::string gpu = {};   // as nccl-tests prints it; may be empty
  std::int64_t gpus = 0;  // of a server that took part; 0: not known
  std::int64_t nics = 0;  // that the log lists; 0: not known
  bool efa = false;       // Amazon's NICs
  bool nvls = false;      // a word about NVLink SHARP: Hopper or later
  Bandwidth busbw = {};   // the most that was measured; 0: not known
  Bandwidth port = {};    // the fastest port that a report lists
  std::int64_t nodes = 1;
  std::optional<ServerOutline> server = {};  // as the log draws it
};

struct NamedCluster {
  std::string text;                  // a cluster file
  std::vector<std::string> assumed;  // what was taken for what nothing says
  bool gpu_known = true;             // or the log draws the machine
};

// GPUs of the servers that a GPU is mostly sold in: of the tray of a rack, or of a board.
std::int64_t usual_gpus(std::string_view gpu);

NamedCluster cluster_of(const NamedParts& parts, const model::Catalog& catalog, spec::Diagnostics& diagnostics);

}  // namespace weft::measured
