#pragma once
// A small training job for tests.

#include "model/training.hpp"

namespace weft::training {

inline model::TrainingRun small_run() {
  model::TrainingRun run;
  run.model.layers = 8;
  run.model.hidden = 2048;
  run.model.heads = 16;
  run.model.feed_forward = 8192;
  run.model.vocabulary = 32000;
  run.sequence = 2048;
  run.global_batch = 32;
  return run;
}

inline model::GpuKind some_gpu() {
  model::GpuKind gpu;
  gpu.kind = "h100-sxm";
  gpu.memory = Bytes(80'000'000'000);
  gpu.memory_bandwidth = Bandwidth(std::int64_t{3'350'000'000'000} * 8);
  gpu.fp16_dense = Compute(989'000'000'000'000);
  gpu.multiprocessors = 132;
  return gpu;
}

}  // namespace weft::training
