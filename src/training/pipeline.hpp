#pragma once
// Micro-batches through the stages of a pipeline: who does what when.
//
// A schedule is the order in which each stage does its passes; when each of them happens follows from what it waits
// for: its stage, and the pass of the neighbouring stage whose result it needs. DualPipe's two directions overlap
// inside a pass, so its length is the published one.

#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "model/training.hpp"

namespace weft::training {

// Of one piece of one stage, for a micro-batch.
struct PieceTimes {
  Duration forward;
  Duration backward;  // gradients of what came in
  Duration weights;   // and of parameters
};

struct PipelineJob {
  model::PipelineSchedule schedule = model::PipelineSchedule::one_f_one_b;
  std::int64_t stages = 1;
  std::int64_t pieces = 1;  // of a stage
  std::int64_t micro_batches = 1;
  std::vector<PieceTimes> times;  // pieces x stages, in the order of the layers
  Duration hop;                   // until the next stage has what it needs
  bool blocks = false;            // and the stage that sends waits that long
};

enum class PassKind : std::uint8_t { forward, backward, weights };

// One pass of one stage.
struct Slot {
  std::int64_t stage = 0;
  std::int64_t piece = 0;
  std::int64_t micro_batch = 0;
  PassKind kind = PassKind::forward;
  Duration start;
  Duration end;
};

struct PipelineRun {
  std::vector<Duration> ends;       // by stage: when its last pass is done
  std::vector<Duration> busy;       // by stage
  std::vector<Duration> last_pass;  // by stage: how long the passes of its last micro-batch took that make gradients
  std::vector<Slot> slots;          // where they were wanted

  Duration end() const;
};

PipelineRun run_pipeline(const PipelineJob& job, bool keep_slots);

// Micro-batches whose activations a stage keeps at most, in pieces of a stage.
std::int64_t kept_pieces(const PipelineJob& job, std::int64_t stage);

}  // namespace weft::training
