#include "training/work.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace weft::training
