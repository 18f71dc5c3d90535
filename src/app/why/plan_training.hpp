#pragma once
// Layouts of the file's training job, the best first.

#include <nlohmann/json.hpp>
#include <optional>

#include "app/commands.hpp"
#include "app/session.hpp"
#include "experiment/search_training.hpp"
#include "fabric/summary.hpp"

namespace weft::app {

int plan_training(Session& session, const PlanCommandOptions& options, Console& console);
// The best layout at each point of `--over`: which servers for which model.
int plan_training_over(const PlanCommandOptions& options, Console& console);

// The job without the degrees that are looked for: those of the file need not fit.
experiment::Training with_free_layout(const experiment::Training& work);
// What is wrong with the search, whatever the layout: said of one that divides, where there is one.
void check_search(experiment::Design& design, const experiment::Training& free);
// Of a million tokens, on as many GPUs as the layout has; nothing where no price is known.
std::optional<double> dollars_of(const experiment::TrainingCandidate& each, const fabric::Costs& costs,
                                 const Session& session);
// Of a GPU, at the job's precision.
double peak_flops(const Session& session, const experiment::Training& work);
nlohmann::ordered_json layout_record(const experiment::TrainingCandidate& each, std::size_t rank, double peak,
                                     const fabric::Costs& costs, const Session& session);

}  // namespace weft::app
