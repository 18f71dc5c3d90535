#pragma once
// What somebody tried and what came of it, as persons write it: "adding NCCL_NET_GDR_LEVEL=0 worked", "it is fast with
// --bind-to none", "without NCCL_TOPO_FILE it does not reach that". What helps says what is wrong, and is no setting of
// the job that was measured.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::measured {

struct Trial {
  std::string name;   // NCCL_P2P_DISABLE, or --bind-to
  std::string value;  // empty where it is not said
  bool helps = false;
  std::size_t column = 0;  // from 0
};

std::vector<Trial> trials_of(std::string_view line);

// The sentences of a line that tell of no trial.
std::vector<std::string_view> without_trials(std::string_view line);

}  // namespace weft::measured
