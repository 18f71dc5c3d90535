#pragma once
// Which layout of a training job is best on a cluster: every one that fits is timed at message level.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment/run_training.hpp"

namespace weft::experiment {

struct TrainingCandidate {
  model::TrainingRun run;
  training::Layout layout;
  training::Step step;
};

// What is best: the shortest step on all GPUs of the job, or the cheapest token, for which fewer of them are tried too.
enum class BestBy { time, dollars };
constexpr auto names_of(BestBy) {
  using enum BestBy;
  return std::to_array<EnumName<BestBy>>({{time, "time"}, {dollars, "dollars"}});
}

struct BestLayouts {
  std::size_t most = 10;  // that are kept
  BestBy by = BestBy::time;
};

struct TrainingSearch {
  std::vector<TrainingCandidate> best;  // the best first
  std::int64_t tried = 0;               // that fit, and were timed
  std::int64_t too_large = 0;           // that need more memory than a GPU has
  std::string stopped_by;               // empty: all were looked at
};

// Degrees, schedules, sharding, recomputing and micro-batches are varied; model, batch, precision and kernels are the
// job's.
TrainingSearch search_training(const Design& design, const Training& work, const Experiment& experiment,
                               const BestLayouts& wanted, const Observer& observer);

// The first of these cuts into which batch, heads and layers divide; nothing: none.
std::optional<model::TrainingRun> any_layout(const Design& design, const model::TrainingRun& asked);
// About how many messages it takes to time a job's step with the network as flows.
std::uint64_t messages_by_flows(const Design& design, const model::TrainingRun& run);

// "tensor 8, pipeline 4 x 2 pieces, data 16, micro-batch 1, interleaved, zero1, recompute none".
std::string describe_layout(const model::TrainingRun& run, const training::Layout& layout);
// What a step would be shorter without, most first: "tensor groups 22 %, other stages 4 %".
std::string bound_by(const training::Step& step);

}  // namespace weft::experiment
