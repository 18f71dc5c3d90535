#pragma once
// Published training steps beside what the simulator says, as a part of docs/validation.md.

#include <string>
#include <vector>

#include "truth/training_tables.hpp"

namespace weft::truth {

// `blind` are tables that no constant was fitted to, tried before anybody had looked.
std::string training_page(const std::vector<TrainingTable>& tables, const std::vector<TrainingTable>& blind);

}  // namespace weft::truth
