#pragma once
// Figures of several runs on different hosts, as persons list them ("node1,node2   49.36"): which host is in the slow
// ones and in no fast one.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/diagnostics.hpp"

namespace weft::measured {

struct HostRun {
  std::vector<std::string> hosts;
  double rate = 0;  // of whatever unit
  spec::Place place;
};

std::optional<HostRun> host_run(std::string_view line);

struct SlowHost {
  std::string host;
  std::size_t runs = 0;  // slow ones that it is in,
  std::size_t slow = 0;  // of so many
  spec::Place place;
};

// Nothing where no host alone is in more slow runs than others, or where all runs are alike.
std::optional<SlowHost> slow_host(const std::vector<HostRun>& runs);

}  // namespace weft::measured
