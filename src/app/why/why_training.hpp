#pragma once
// What a step of training waits for, and what would make it faster.

#include <optional>

#include "app/commands.hpp"
#include "app/session.hpp"

namespace weft::app {

// Of the training jobs of the file.
int why_training(Session& session, const WhyOptions& options, Console& console);
// What PyTorch's profiler saw of a step, beside the job of the file where there is one.
int why_profile(const WhyOptions& options, Console& console);

// A step at message level; nothing where it cannot run, or never ends.
std::optional<experiment::TrainingResult> timed_step(experiment::Design& design, const experiment::Training& work,
                                                     bool keep_slots);

}  // namespace weft::app
