#pragma once
// Variables of the environment, wherever a text says them: on a command line, in a script, in
// NCCL's log.

#include <map>
#include <string>
#include <string_view>

namespace weft::measured {

// Every NCCL_NAME=value, "NCCL_NAME set by environment to value" and "NCCL_NAME set to value" of a
// line, and likewise FI_ (libfabric) and CUDA_; at most 256 names are kept.
void collect_environment(std::string_view line, std::map<std::string, std::string>& out);

}  // namespace weft::measured
