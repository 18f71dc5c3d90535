#pragma once
// Changes that an engineer could make to a cluster or a job, each as it would be written on the command line.

#include <string>
#include <vector>

#include "why/machine.hpp"

namespace weft::why {

struct WhatIf {
  std::string text;     // "twice the NICs"
  std::string command;  // what repeats it: "--set servers.nics=4", "--no-pxn"
  Variant variant;
  std::uint32_t per_server = 0;  // another placement; 0: the same
};

// `algorithm` is what the job takes now, with PXN or not.
std::vector<WhatIf> what_ifs(const Job& job, collective::Algorithm algorithm, bool pxn, Machine& machine);

}  // namespace weft::why
