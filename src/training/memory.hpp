#pragma once
// What a GPU keeps during a step, by part.

#include "training/pipeline.hpp"
#include "training/work.hpp"

namespace weft::training {

struct Memory {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;
  Bytes buffers;  // of the framework and of NCCL: an estimate

  Bytes total() const { return parameters + gradients + optimizer + activations + buffers; }
};

// What the forward pass of a layer leaves for its backward pass, in bytes for each of a GPU's tokens.
std::int64_t kept_per_token(const model::TrainingRun& run, const Layout& layout, std::int64_t layer);

// Of a GPU of one stage.
Memory memory_of(const model::TrainingRun& run, const Layout& layout, const Work& work, const PipelineJob& pipeline,
                 std::int64_t stage);

}  // namespace weft::training
