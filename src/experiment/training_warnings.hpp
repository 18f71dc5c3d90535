#pragma once
// What a training job that can run is warned about.

#include <vector>

#include "experiment/design.hpp"
#include "experiment/training.hpp"
#include "spec/diagnostics.hpp"

namespace weft::experiment {

// Of a job that check_training() had nothing to say of: memory that a GPU has not, and keys that change nothing.
std::vector<spec::Diagnostic> training_warnings(const Design& design, const Training& work);

}  // namespace weft::experiment
