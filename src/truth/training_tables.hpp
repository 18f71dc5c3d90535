#pragma once
// A folder of published training steps: NAME.weft.yaml is a cluster whose `run:` has the jobs, NAME.csv in the same
// order what each of them took, whether it counts, and what the first run said that was made before anybody had looked.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiment/design.hpp"
#include "experiment/training.hpp"
#include "truth/validation.hpp"

namespace weft::truth {

struct TrainingRow {
  std::string name;
  double measured = 0;  // seconds of a step
  double blind = 0;     // what the first run said; 0: there was none
  bool counted = true;
  double simulated = 0;
  double gaps = 0;  // of it, what the framework's constant makes (training/constants.hpp)
  model::Framework framework = model::Framework::megatron;

  double error() const { return simulated / measured - 1; }
  double blind_error() const { return blind / measured - 1; }
};

struct TrainingTable {
  std::string name;
  std::vector<TrainingRow> rows;
  std::vector<std::string> wrong;  // why it cannot be used; empty: it can
  bool for_fitting = true;         // no constant may come from it, where it says so

  Errors errors() const;  // of rows that count
  Errors blind_errors() const;
};

// Errors of a table when its framework's constant is fitted to all other tables of the same framework, each of which
// counts as one, whatever its length.
Errors left_out_errors(const std::vector<TrainingTable>& tables, const TrainingTable& table);

// All of a folder, in the order of their names, each job timed at message level. `go_on` is asked before each, with how
// many are done and how many there are; from its "no" on they are left out.
std::vector<TrainingTable> time_training_tables(
    const std::string& directory, const std::function<bool(std::size_t done, std::size_t all)>& go_on = {});

}  // namespace weft::truth
