#pragma once
// The level that an experiment is carried out at.

#include "schedule/fidelity.hpp"

namespace weft::experiment {

using schedule::Fidelity;
using schedule::kFidelities;

}  // namespace weft::experiment
