#pragma once
// From the files of `weft why` to a situation: the machine, the job, what was measured, what logs say.

#include <memory>
#include <optional>

#include "app/commands.hpp"
#include "experiment/design.hpp"
#include "why/situation.hpp"

namespace weft::app {

struct WhyInputs {
  spec::Diagnostics diagnostics;  // with all texts, so that facts can say where they stand
  spec::Diagnostics model;        // without logs: it is copied for every variant
  std::shared_ptr<const model::Catalog> catalog;
  std::unique_ptr<experiment::Design> design;
  std::unique_ptr<why::Machine> machine;
  why::Situation situation;
  std::string machine_name;
  std::vector<std::string> assumed;  // what no file says
  std::string tables;                // a remark when there are several
  // Words of --set that give the machine back the NICs that NCCL_IB_HCA leaves out; empty: it leaves none out.
  std::vector<std::string> all_nics;
};

// False when something was wrong; it is then in one of the diagnostics.
bool read_why_inputs(const WhyOptions& options, WhyInputs& out);

}  // namespace weft::app
