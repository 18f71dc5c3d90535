#include "training/work.hpp"

#include <gtest/gtest.h>

#include "training/constants.hpp"
#include "training/memory.hpp"
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
  run.model.experts = model::ExpertsSpec{8, 2, 1024, 0, 4, 1, 1, {}};
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

Passes first_layer(const model::TrainingRun& run, std::int64_t gpus) {
  static const model::GpuKind gpu = some_gpu();
  static const compute::Kernels kernels(gpu);
  const Layout layout = layout_of(run, gpus, 8).value();
  return Work(run, layout, kernels).chunk({.first = 0, .layers = 1});
}

// Rows and columns have scales of their own: two casts by rows, of three bytes each.
TEST(Work, RowwiseScalesAreTwoCasts) {
  model::TrainingRun run = small_run();
  run.precision = model::TrainingPrecision::mxfp8;
  const Duration blocks = first_layer(run, 1).forward.busy[static_cast<std::size_t>(Part::matrices)];
  run.precision = model::TrainingPrecision::fp8_rowwise;
  const Duration rows = first_layer(run, 1).forward.busy[static_cast<std::size_t>(Part::matrices)];
  const model::GpuKind gpu = some_gpu();
  const compute::Kernels kernels(gpu);
  Duration more;
  for (const std::int64_t width : {2048, 2048, 2048, 8192}) {
    const auto cast = [&](std::int64_t bytes, compute::Access access) {
      return kernels.memory_bound(Bytes(run.sequence * width * bytes), access);
    };
    more +=
        cast(kActivation + 1, compute::Access::quantisation) * 2 - cast(kActivation + 2, compute::Access::activation);
  }
  EXPECT_EQ(rows - blocks, more);
}

// What each of four parts of the keys gives is added to what the parts before gave, in 32 bits: results, and backward
// gradients of queries, keys and values.
TEST(Work, PartsOfARingAreAddedUp) {
  model::TrainingRun run = small_run();
  run.parallel.context = 4;
  const auto elementwise = [&](model::ContextBy by) {
    run.parallel.context_by = by;
    const Passes passes = first_layer(run, 4);
    const auto part = static_cast<std::size_t>(Part::elementwise);
    return std::pair(passes.forward.busy[part], passes.backward.busy[part]);
  };
  const auto [forward, backward] = elementwise(model::ContextBy::ring);
  const auto [forward_without, backward_without] = elementwise(model::ContextBy::alltoall);
  const model::GpuKind gpu = some_gpu();
  const compute::Kernels kernels(gpu);
  const std::int64_t results = run.sequence / 4 * 2048;
  const auto added = [&](std::int64_t elements) { return kernels.memory_bound(Bytes(elements * 10)) * 3; };
  EXPECT_EQ(forward - forward_without, added(results));
  EXPECT_EQ(backward - backward_without, added(3 * results));
}

// All-to-all: a GPU has the whole sequence of its share of heads. What it sends does not depend on the degree but for
// heads of keys, and a ring sends less where keys are few.
TEST(Work, ContextByAllToAllSendsQueriesKeysValuesAndResults) {
  model::TrainingRun run = small_run();
  run.parallel.context = 4;
  run.parallel.context_by = model::ContextBy::alltoall;
  const Passes passes = first_layer(run, 4);
  const std::int64_t tokens = run.sequence / 4;
  std::vector<std::uint64_t> bytes;
  for (const Transfer& each : passes.forward.transfers) {
    EXPECT_EQ(each.group, Group::context);
    EXPECT_EQ(each.operation, collective::Operation::all_to_all);
    bytes.push_back(each.bytes);
  }
  const std::vector<std::uint64_t> expected = {static_cast<std::uint64_t>(tokens * 3 * 2048 * kActivation),
                                               static_cast<std::uint64_t>(tokens * 2048 * kActivation)};
  EXPECT_EQ(bytes, expected);
  const model::GpuKind gpu = some_gpu();
  const compute::Kernels kernels(gpu);
  compute::Attention own;
  own.batch = 1;
  own.heads = own.kv_heads = 4;
  own.queries = own.keys = run.sequence;
  own.causal = true;
  own.head_dim = own.value_dim = 128;
  own.kernel = static_cast<compute::AttentionKernel>(run.attention);
  EXPECT_EQ(passes.forward.busy[static_cast<std::size_t>(Part::attention)], kernels.attention_forward(own));
}

// Capacity decides how many rows experts compute, whatever came; fewer groups for a token, how many servers it goes to.
TEST(Work, CapacityAndGroupsCutWhatExpertsGet) {
  model::TrainingRun run = small_run();
  run.model.experts = model::ExpertsSpec{16, 4, 1024, 0, 0, 1, 1, {}};
  run.parallel.expert = 16;
  run.moe.dispatcher = model::Dispatcher::deepep;
  const auto sent = [&] { return first_layer(run, 16).forward.transfers.at(0).bytes; };
  const auto computed = [&] { return first_layer(run, 16).forward.busy[static_cast<std::size_t>(Part::experts)]; };
  run.moe.imbalance = 150;
  const Duration uneven = computed();
  run.model.experts->capacity = 150;
  run.moe.imbalance = 300;
  EXPECT_EQ(computed(), uneven);
  run.model.experts->capacity = 100;
  EXPECT_LT(computed(), uneven);
  // Two scale-up domains of eight. Of four experts that may be anywhere, one domain has all in 1 of 8 cases.
  const std::int64_t once = run.sequence * 2048 * kActivation;
  EXPECT_EQ(sent(), static_cast<std::uint64_t>(once * 15 / 8));
  run.model.experts->groups = 4;
  run.model.experts->groups_per_token = 1;
  EXPECT_EQ(sent(), static_cast<std::uint64_t>(once)) << "one group is in one domain";
}

// A fused loss reads logits once, and writes gradients over them.
TEST(Work, AFusedLossGoesThroughLogitsOnceEachWay) {
  model::TrainingRun run = small_run();
  const model::GpuKind gpu = some_gpu();
  const compute::Kernels kernels(gpu);
  const auto output = [&](bool fused) {
    run.fused_loss = fused;
    const Layout layout = layout_of(run, 1, 8).value();
    const Work work(run, layout, kernels);
    const Passes passes = work.chunk({.first = 0, .layers = 0, .embeds = false, .outputs = true});
    const auto part = static_cast<std::size_t>(Part::output);
    return std::tuple(passes.forward.busy[part], passes.backward.busy[part],
                      most_memory(run, layout, work).activations);
  };
  const std::int64_t logits = run.sequence * run.model.vocabulary;
  const auto moved = [&](std::int64_t bytes) { return kernels.memory_bound(Bytes(logits * bytes)); };
  const auto [forward, backward, kept] = output(false);
  const auto [fused_forward, fused_backward, fused_kept] = output(true);
  EXPECT_EQ(forward - fused_forward, moved(14) - moved(2));
  EXPECT_EQ(backward - fused_backward, moved(6) - moved(4));
  EXPECT_EQ((kept - fused_kept).count(), logits * 6);
}

// Megatron's host has so many matrices to launch for a layer with experts, whatever a micro-batch has of tokens.
TEST(Work, TheHostTakesAsLongForAnExpertLayerAsItHasMatrices) {
  model::TrainingRun run = small_run();
  const auto host = [&] {
    const Passes passes = first_layer(run, 1);
    EXPECT_EQ(passes.backward.host, passes.weights.host);
    return std::pair(passes.forward.host, passes.backward.host * 2);
  };
  const auto matrices = [](std::int64_t count) {
    return std::pair(kExpertHostForward * count, kExpertHostBackward * count);
  };
  EXPECT_EQ(host(), matrices(0)) << "no experts";
  run.model.experts = model::ExpertsSpec{8, 2, 1024, 0, 0, 1, 1, {}};
  EXPECT_EQ(host(), matrices(5)) << "queries, keys and values; result; routing; two of experts";
  run.micro_batch = 4;
  EXPECT_EQ(host(), matrices(5));
  run.model.experts->shared = 1024;
  run.model.head_dim = 192;
  run.model.latent = model::LatentSpec{512, 256, 64};
  EXPECT_EQ(host(), matrices(10)) << "DeepSeek-V3's";
  run.recompute = model::Recompute::full;
  EXPECT_EQ(first_layer(run, 1).backward.host, kExpertHostBackward * 5 + kExpertHostForward * 10);
  run.recompute = model::Recompute::none;
  run.precision = model::TrainingPrecision::fp8;
  EXPECT_EQ(host().first, kExpertHostForward * kExpertHostQuantised / 1'000 * 10);
  run.framework = model::Framework::pytorch;
  EXPECT_EQ(host(), matrices(0));
}

// What a layer keeps goes to the host and comes back; beside computing, and the GPU keeps two layers at most.
TEST(Work, ActivationsInHostMemoryGoThereAndBack) {
  model::TrainingRun run = small_run();
  const model::GpuKind gpu = some_gpu();
  const compute::Kernels kernels(gpu);
  const Layout layout = layout_of(run, 1, 8).value();
  const Bytes all = most_memory(run, layout, Work(run, layout, kernels)).activations;
  run.offload = model::Offload::activations;
  const Work work(run, layout, kernels);
  const Passes passes = work.chunk({.first = 0, .layers = 1});
  const std::int64_t kept = kept_per_token(run, layout, 0) * run.sequence;
  EXPECT_EQ(passes.forward.host_bytes, kept);
  EXPECT_EQ(passes.backward.host_bytes, kept);
  const Memory memory = most_memory(run, layout, work);
  EXPECT_EQ((all - memory.activations).count(), 6 * kept);
  EXPECT_GT(memory.optimizer.count(), 0) << "which stays";
}

}  // namespace
}  // namespace weft::training
