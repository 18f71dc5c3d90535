#pragma once
// Layouts of the file's training job, the best first.

#include "app/commands.hpp"
#include "app/session.hpp"

namespace weft::app {

int plan_training(Session& session, const PlanCommandOptions& options, Console& console);

}  // namespace weft::app
