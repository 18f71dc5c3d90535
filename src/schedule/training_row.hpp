#pragma once
// What came of a training step, in the figures that designs are compared by.

#include <cstdint>
#include <optional>
#include <string>

#include "schedule/fidelity.hpp"

namespace weft::schedule {

struct TrainingRow {
  std::string model;
  std::int64_t gpus = 0;
  Fidelity fidelity = Fidelity::message;
  double tokens_per_second = 0;
  double teraflops = 0;        // per GPU
  double mfu_percent = 0;      // of the GPU's peak
  double network_percent = 0;  // of the step, that computing waits for communication
  double joules_per_token = 0;
  std::optional<double> dollars_per_million;  // tokens
  std::uint64_t seed = 0;                     // 0: it decides nothing

  // Seconds of a step: computing, computing again, waiting for communication, for other stages, and the rest.
  double computing = 0;
  double recomputing = 0;
  double communication = 0;
  double bubble = 0;
  double rest = 0;
};

}  // namespace weft::schedule
