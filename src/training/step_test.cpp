// Laws that hold for every step, whatever the network.

#include "training/step.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "training/constants.hpp"
#include "training/parameters.hpp"
#include "training/step_path.hpp"
#include "training/testing_runs.hpp"

namespace weft::training {
namespace {

// A network where everything takes its bytes over a rate.
class FixedRate final : public Communication {
 public:
  explicit FixedRate(std::int64_t gigabytes_per_second) : rate_(gigabytes_per_second) {}
  Exchange exchange(Group, collective::Operation, std::uint64_t bytes) override {
    return {Duration(1'000'000 + static_cast<std::int64_t>(bytes) * 1'000 / rate_), 8};
  }

 private:
  std::int64_t rate_;
};

Step step_of(const model::TrainingRun& run, std::int64_t gpus, std::int64_t rate, std::vector<SlowRank> slow = {}) {
  const model::GpuKind gpu = some_gpu();
  const compute::Kernels kernels(gpu);
  const Layout layout = layout_of(run, gpus, 8).value();
  FixedRate network(rate);
  return time_step(run, layout, {kernels, *gpu.multiprocessors}, slow, network, false);
}

RC_GTEST_PROP(Step, PartsAddUpToItAndABetterNetworkIsNeverSlower, ()) {
  model::TrainingRun run = small_run();
  run.parallel.tensor = std::int64_t{1} << *rc::gen::inRange(0, 3);
  run.parallel.pipeline = std::int64_t{1} << *rc::gen::inRange(0, 3);
  run.parallel.context = std::int64_t{1} << *rc::gen::inRange(0, 2);
  run.parallel.sequence = *rc::gen::arbitrary<bool>();
  run.sharding = *rc::gen::element(model::Sharding::none, model::Sharding::zero1, model::Sharding::zero2,
                                   model::Sharding::zero3, model::Sharding::hybrid);
  run.recompute = *rc::gen::element(model::Recompute::none, model::Recompute::selective, model::Recompute::full);
  run.attention = *rc::gen::element(model::AttentionKind::unfused, model::AttentionKind::flash2);
  run.overlap = {*rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>(), false};
  run.schedule = *rc::gen::element(model::PipelineSchedule::one_f_one_b, model::PipelineSchedule::gpipe,
                                   model::PipelineSchedule::zero_bubble);
  const std::int64_t gpus = run.parallel.tensor * run.parallel.pipeline * run.parallel.context * 2;
  const Step slow = step_of(run, gpus, 10);
  const Step fast = step_of(run, gpus, 100);
  for (const Step* step : {&slow, &fast}) {
    RC_ASSERT(step->parts.sum() == step->time);
    RC_ASSERT(step->parts.bubble.count() >= 0);
    RC_ASSERT(step->parts.slow.count() == 0);
  }
  RC_ASSERT(fast.time <= slow.time);
  // Nothing computes faster than the GPU's peak.
  RC_ASSERT(fast.flops_per_gpu < 989e12);
}

// Whatever the schedule, the chain of what waited for what is as long as the step.
RC_GTEST_PROP(StepPath, IsAsLongAsTheStep, ()) {
  model::TrainingRun run = small_run();
  run.parallel.tensor = std::int64_t{1} << *rc::gen::inRange(0, 2);
  run.parallel.pipeline = std::int64_t{1} << *rc::gen::inRange(0, 4);
  run.overlap.pipeline = *rc::gen::arbitrary<bool>();
  run.schedule = *rc::gen::element(model::PipelineSchedule::one_f_one_b, model::PipelineSchedule::gpipe,
                                   model::PipelineSchedule::zero_bubble, model::PipelineSchedule::dualpipe);
  RC_PRE(run.schedule != model::PipelineSchedule::dualpipe || run.parallel.pipeline > 1);
  const std::int64_t gpus = run.parallel.tensor * run.parallel.pipeline * 2;
  const Layout layout = layout_of(run, gpus, 8).value();
  const model::GpuKind gpu = some_gpu();
  FixedRate network(*rc::gen::element<std::int64_t>(1, 100));
  const Step step = time_step(run, layout, {compute::Kernels(gpu), *gpu.multiprocessors}, {}, network, true);
  const StepPath path = path_of(step, layout);
  RC_ASSERT(path.sum() == step.time);
  RC_ASSERT(path.waiting.count() >= 0);
  // 1F1B and GPipe never let a stage wait for nothing.
  if (run.schedule == model::PipelineSchedule::one_f_one_b && run.overlap.pipeline)
    RC_ASSERT(path.waiting.count() == 0);
}

// What FixedRate takes at 100 GB/s.
Duration at_100(std::int64_t bytes) { return Duration(1'000'000 + bytes * 10); }

// Norms that are not cut leave all of a tensor group with the same: Megatron-LM sends it once over the network.
TEST(Step, StagesOfATensorGroupSendAPartEachAndGatherTheParts) {
  model::TrainingRun run = small_run();
  run.parallel.tensor = 4;
  run.parallel.pipeline = 2;
  const std::int64_t all = run.micro_batch * run.sequence * run.model.hidden * 2;
  EXPECT_EQ(step_of(run, 8, 100).hop, at_100(all / 4));  // cut along the sequence
  run.parallel.sequence = false;
  EXPECT_EQ(step_of(run, 8, 100).hop, at_100(all / 4) + at_100(all));
  run.framework = model::Framework::pytorch;
  EXPECT_EQ(step_of(run, 8, 100).hop, at_100(all));
  run.framework = model::Framework::megatron;
  run.parallel.tensor = 1;
  EXPECT_EQ(step_of(run, 2, 100).hop, at_100(all));
}

// Where experts make a layer short, the host decides how long it takes: twice the tokens cost little more then, graphs
// help, and a forward pass beside a backward pass shares the host with it.
TEST(Step, AShortLayerWithExpertsTakesAsLongAsTheHost) {
  model::TrainingRun run = small_run();
  run.model.experts = model::ExpertsSpec{16, 2, 512, 0, 0, 1, 1, {}};
  const auto launching = [&] {
    const Step step = step_of(run, 1, 100);
    EXPECT_EQ(step.parts.sum(), step.time);
    return step.parts.launching;
  };
  const Step step = step_of(run, 1, 100);
  const Duration host = (kExpertHostForward + kExpertHostBackward) * 5 * run.model.layers * run.global_batch;
  // But for the output layer, which the host is ahead of.
  EXPECT_NEAR(static_cast<double>(step.time.count()), static_cast<double>(host.count()),
              0.02 * static_cast<double>(host.count()));
  const Duration apart = launching();
  EXPECT_GT(apart.count(), step.time.count() / 3);
  run.micro_batch = 2;
  EXPECT_LT(launching(), apart * 2 / 3);
  run.micro_batch = 32;
  EXPECT_EQ(launching().count(), 0);
  run.micro_batch = 1;
  run.overlap.expert = true;
  EXPECT_LE(launching(), apart);
  run.cuda_graphs = true;
  EXPECT_EQ(launching().count(), 0);
}

// Each of the copies sends its part of the new parameters when the one before has: nothing hides that.
TEST(Step, ParametersThatAreBroadcastAreWaitedFor) {
  model::TrainingRun run = small_run();
  const Step gathered = step_of(run, 8, 100);
  run.parameters_by = model::ParametersBy::broadcast;
  const Step sent = step_of(run, 8, 100);
  const Duration part = at_100(total(run.model) * 2 / 8);
  const auto data = static_cast<std::size_t>(Group::data);
  const Duration all = at_100(total(run.model) * 2);
  EXPECT_EQ(sent.communicating[data] - gathered.communicating[data], part * 8 - all);
  EXPECT_GE(sent.time - gathered.time, part * 8 - all);
  EXPECT_EQ(sent.parts.sum(), sent.time);
}

TEST(Step, ASlowRankMakesEverybodyWait) {
  model::TrainingRun run = small_run();
  run.parallel.pipeline = 4;
  run.model.vocabulary = 256;  // stages are equal
  const Step healthy = step_of(run, 8, 100);
  const Step slow = step_of(run, 8, 100, {{5, 500}});
  EXPECT_GT(slow.parts.slow.count(), 0);
  EXPECT_EQ(slow.parts.sum(), slow.time);
  // A stage at half its speed does its own work in twice the time; no more than that is lost.
  EXPECT_GT(slow.time, healthy.time * 3 / 2);
  EXPECT_LT(slow.time, healthy.time * 5 / 2);
}

TEST(Step, RecomputingCostsAThirdAndSavesActivations) {
  model::TrainingRun run = small_run();
  const Step kept = step_of(run, 1, 100);
  run.recompute = model::Recompute::full;
  const Step again = step_of(run, 1, 100);
  EXPECT_NEAR(static_cast<double>(again.time.count()) / static_cast<double>(kept.time.count()), 4.0 / 3, 0.07);
  EXPECT_LT(again.memory.activations, kept.memory.activations);
}

// 16 bytes for a parameter with Adam (2 + 4 + 12 with 32-bit gradients), cut as the sharding says.
TEST(Memory, IsCutAsTheShardingSays) {
  model::TrainingRun run = small_run();
  const std::int64_t parameters = total(run.model);
  const auto memory = [&](model::Sharding sharding) {
    run.sharding = sharding;
    return step_of(run, 4, 100).memory;
  };
  EXPECT_EQ(memory(model::Sharding::none).optimizer.count(), 12 * parameters);
  EXPECT_EQ(memory(model::Sharding::none).gradients.count(), 4 * parameters);
  EXPECT_EQ(memory(model::Sharding::zero1).optimizer.count(), 12 * (parameters / 4));
  EXPECT_EQ(memory(model::Sharding::zero1).gradients.count(), 4 * parameters);
  EXPECT_EQ(memory(model::Sharding::zero2).gradients.count(), 4 * (parameters / 4));
  EXPECT_EQ(memory(model::Sharding::zero2).parameters.count(), 2 * parameters);
  EXPECT_EQ(memory(model::Sharding::zero3).parameters.count(), 2 * (parameters / 4));
}

// Korthikanti et al. (2022), with tensor and sequence parallelism and without the inside of attention: 34 s b h / t.
TEST(Memory, ActivationsAreThoseOfThePaper) {
  model::TrainingRun run = small_run();
  run.model.gated = false;
  run.model.biases = true;
  run.model.feed_forward = 4 * run.model.hidden;
  run.parallel.tensor = 2;
  run.attention = model::AttentionKind::unfused;
  run.recompute = model::Recompute::selective;
  const Step step = step_of(run, 2, 100);
  const std::int64_t logits = 2 * 4 * run.sequence * run.model.vocabulary / 2;
  const std::int64_t layers = step.memory.activations.count() - logits;
  EXPECT_EQ(layers, 34 * run.sequence * run.model.hidden / 2 * run.model.layers);
}

}  // namespace
}  // namespace weft::training
