#include "training/work.hpp"

#include <gtest/gtest.h>

#include "training/step.hpp"
#include "training/testing_runs.hpp"

namespace weft::training {
namespace {

// Operator by operator, a gate is one more product to read twice and write once, and backward three: of either factor,
// and of what comes in, which has a gradient from either matrix.
TEST(Work, AGateMovesItsFactorsAndTheirProduct) {
  model::TrainingRun run = small_run();
  run.framework = model::Framework::pytorch;
  run.compile = false;
  run.recompute = model::Recompute::none;
  const Layout layout = layout_of(run, 1, 8).value();
  const model::GpuKind gpu = some_gpu();
  const compute::Kernels kernels(gpu);
  const auto elementwise = [&](bool gated) {
    run.model.gated = gated;
    const Passes passes = Work(run, layout, kernels).chunk({.first = 0, .layers = 1});
    const auto part = static_cast<std::size_t>(Part::elementwise);
    return std::pair(passes.forward.busy[part], passes.backward.busy[part]);
  };
  const auto [forward, backward] = elementwise(true);
  const auto [forward_without, backward_without] = elementwise(false);
  const std::int64_t tokens = run.micro_batch * run.sequence;
  const auto moved = [&](std::int64_t elements) { return kernels.memory_bound(Bytes(elements * 3 * kActivation)); };
  const Duration product = moved(tokens * run.model.feed_forward);
  EXPECT_EQ(forward - forward_without, product);
  EXPECT_EQ(backward - backward_without, product * 2 + moved(tokens * run.model.hidden));
}

// Operands in 8 bits are cast as fast as casts go, not as fast as memory does; one scale for all needs the largest
// first.
TEST(Work, OperandsAreCastAtTheRateOfCasts) {
  model::TrainingRun run = small_run();
  const Layout layout = layout_of(run, 1, 8).value();
  const model::GpuKind gpu = some_gpu();
  const compute::Kernels kernels(gpu);
  const auto matrices = [&](model::TrainingPrecision precision) {
    run.precision = precision;
    const Passes passes = Work(run, layout, kernels).chunk({.first = 0, .layers = 1});
    return passes.forward.busy[static_cast<std::size_t>(Part::matrices)];
  };
  const std::int64_t tokens = run.sequence;
  const auto cast = [&](std::int64_t width, std::int64_t bytes) {
    return kernels.memory_bound(Bytes(tokens * width * bytes), compute::Access::activation);
  };
  // What comes into attention, its projection and both halves of the feed-forward network.
  Duration largest;
  for (const std::int64_t width : {2048, 2048, 2048, 8192}) largest += cast(width, kActivation);
  EXPECT_EQ(matrices(model::TrainingPrecision::fp8) - matrices(model::TrainingPrecision::mxfp8), largest);
  EXPECT_LT(kernels.memory_bound(Bytes(1 << 30)), kernels.memory_bound(Bytes(1 << 30), compute::Access::activation));
}

// A part that is computed again is its forward pass once more, in the backward pass, and needs less memory.
TEST(Work, AModuleThatIsComputedAgainCostsItsForwardPass) {
  model::TrainingRun run = small_run();
  run.model.latent = model::LatentSpec{512, 256, 64};
  run.model.head_dim = 192;
  run.model.value_dim = 128;
  run.model.experts = model::ExpertsSpec{8, 2, 1024, 0, 4};
  const model::GpuKind gpu = some_gpu();
  const compute::Kernels kernels(gpu);
  const auto of = [&](std::vector<model::RecomputeModule> modules, std::int64_t layer) {
    run.recompute_modules = std::move(modules);
    const Layout layout = layout_of(run, 1, 8).value();
    const Work work(run, layout, kernels);
    return std::pair(work.chunk({.first = layer, .layers = 1}), most_memory(run, layout, work).activations);
  };
  const auto extra = [&](model::RecomputeModule module, std::int64_t layer) {
    const auto [plain, kept] = of({}, layer);
    const auto [again, less] = of({module}, layer);
    EXPECT_LT(less, kept) << enum_name(module);
    EXPECT_EQ(again.forward.computing(), plain.forward.computing());
    EXPECT_EQ(again.weights.computing(), plain.weights.computing());
    const auto part = static_cast<std::size_t>(Part::recompute);
    EXPECT_EQ(again.backward.computing() - plain.backward.computing(), again.backward.busy[part]);
    return again.backward.busy[part];
  };
  const std::int64_t tokens = run.sequence;
  const auto moved = [&](std::int64_t elements, std::int64_t times) {
    return kernels.memory_bound(Bytes(elements * times * kActivation));
  };
  EXPECT_EQ(extra(model::RecomputeModule::layernorm, 0), moved(2 * tokens * run.model.hidden, 2));
  EXPECT_EQ(extra(model::RecomputeModule::moe_act, 4), moved(2 * tokens * 1024, 3));
  EXPECT_EQ(extra(model::RecomputeModule::mla_up_proj, 0), kernels.gemm({tokens, 16 * 192, 512}) +
                                                               kernels.gemm({tokens, 16 * (192 - 64 + 128), 256}) +
                                                               moved(tokens * (16 + 16) * 192, 2));
  EXPECT_EQ(extra(model::RecomputeModule::mlp, 0),
            kernels.gemm({tokens, 2 * 8192, 2048}) + kernels.gemm({tokens, 2048, 8192}) + moved(tokens * 8192, 3));
}

}  // namespace
}  // namespace weft::training
