// Pipelines against what is known of them in closed form.

#include "training/pipeline.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weft::training {
namespace {

using model::PipelineSchedule;

PipelineJob job_of(PipelineSchedule schedule, std::int64_t stages, std::int64_t pieces, std::int64_t micro_batches) {
  PipelineJob job;
  job.schedule = schedule;
  job.stages = stages;
  job.pieces = pieces;
  job.micro_batches = micro_batches;
  job.times.assign(static_cast<std::size_t>(stages * pieces),
                   {Duration(100 / pieces), Duration(120 / pieces), Duration(80 / pieces)});
  return job;
}

std::int64_t end_of(const PipelineJob& job) { return run_pipeline(job, false).end().count(); }

TEST(Pipeline, OneStageIsBusyAllTheTime) {
  for (const auto schedule : {PipelineSchedule::one_f_one_b, PipelineSchedule::gpipe, PipelineSchedule::zero_bubble})
    EXPECT_EQ(end_of(job_of(schedule, 1, 1, 7)), 7 * 300);
}

// (m + p - 1) (F + B): the bubble is of p - 1 micro-batches.
TEST(Pipeline, OneFOneBAndGpipeHaveTheSameBubble) {
  for (const std::int64_t stages : {2, 4, 8})
    for (const std::int64_t micro_batches : {8, 13, 64}) {
      EXPECT_EQ(end_of(job_of(PipelineSchedule::one_f_one_b, stages, 1, micro_batches)),
                (micro_batches + stages - 1) * 300);
      EXPECT_EQ(end_of(job_of(PipelineSchedule::gpipe, stages, 1, micro_batches)), (micro_batches + stages - 1) * 300);
    }
}

// Narayanan et al. (2021): with v pieces the bubble is one v-th.
TEST(Pipeline, InterleavingDividesTheBubbleByThePieces) {
  for (const std::int64_t pieces : {2, 4, 5})
    EXPECT_EQ(end_of(job_of(PipelineSchedule::interleaved, 4, pieces, 16)), 16 * 300 + 3 * 300 / pieces) << pieces;
}

// Qi et al. (2023): ZB-H1 has a bubble of (p - 1) (F + B - W); nothing beats computing alone.
TEST(Pipeline, ZeroBubbleFillsTheBubbleWithGradientsOfParameters) {
  const std::int64_t end = end_of(job_of(PipelineSchedule::zero_bubble, 4, 1, 32));
  EXPECT_LT(end, (32 + 3) * 300);
  EXPECT_LE(end, 32 * 300 + 3 * (100 + 120 - 80) + 80);
  EXPECT_GE(end, 32 * 300);
}

// DeepSeek-V3's table.
TEST(Pipeline, DualPipeIsAsPublished) {
  EXPECT_EQ(end_of(job_of(PipelineSchedule::dualpipe, 8, 1, 20)), 20 * 300 + 3 * (300 + 200 - 240));
}

TEST(Pipeline, AStageKeepsWhatItHasBegun) {
  const PipelineJob job = job_of(PipelineSchedule::one_f_one_b, 8, 1, 64);
  EXPECT_EQ(kept_pieces(job, 0), 8);
  EXPECT_EQ(kept_pieces(job, 7), 1);
  EXPECT_EQ(kept_pieces(job_of(PipelineSchedule::gpipe, 8, 1, 64), 7), 64);
}

RC_GTEST_PROP(Pipeline, EveryPassHappensOnceInOrderAndNothingOverlaps, ()) {
  const auto schedule = *rc::gen::element(PipelineSchedule::one_f_one_b, PipelineSchedule::interleaved,
                                          PipelineSchedule::zero_bubble, PipelineSchedule::gpipe);
  const auto stages = *rc::gen::inRange<std::int64_t>(1, 9);
  const bool interleaved = schedule == PipelineSchedule::interleaved;
  const auto pieces = interleaved ? *rc::gen::inRange<std::int64_t>(1, 5) : 1;
  const auto micro_batches = *rc::gen::inRange<std::int64_t>(1, 12) * (interleaved ? stages : 1);
  PipelineJob job = job_of(schedule, stages, pieces, micro_batches);
  for (PieceTimes& each : job.times)
    each = {Duration(*rc::gen::inRange(1, 300)), Duration(*rc::gen::inRange(1, 300)),
            Duration(*rc::gen::inRange(1, 300))};
  job.hop = Duration(*rc::gen::inRange(0, 100));
  job.blocks = *rc::gen::arbitrary<bool>();
  const PipelineRun run = run_pipeline(job, true);
  std::vector<Duration> free(static_cast<std::size_t>(stages));
  std::vector<Duration> done(static_cast<std::size_t>(stages));
  std::size_t forward = 0;
  for (const Slot& slot : run.slots) {
    RC_ASSERT(slot.start >= free[static_cast<std::size_t>(slot.stage)]);
    free[static_cast<std::size_t>(slot.stage)] = slot.end;
    done[static_cast<std::size_t>(slot.stage)] += slot.end - slot.start;
    forward += slot.kind == PassKind::forward;
  }
  RC_ASSERT(forward == static_cast<std::size_t>(stages * pieces * micro_batches));
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    Duration all;
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const PieceTimes& each = job.times[static_cast<std::size_t>(piece * stages + stage)];
      all += (each.forward + each.backward + each.weights) * micro_batches;
    }
    RC_ASSERT(done[static_cast<std::size_t>(stage)] == all);
    RC_ASSERT(run.ends[static_cast<std::size_t>(stage)] >= all);
  }
}

}  // namespace
}  // namespace weft::training
