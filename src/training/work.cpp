#include "training/work.hpp"

#include <algorithm>
#include <cmath>

#include "training/constants.hpp"
#include "training/memory.hpp"
#include "training/parameters.hpp"

namespace weft::training {
namespace {

using collective::Operation;
using compute::Access;
using model::Dispatcher;
using model::Framework;
using model::Offload;
using model::Recompute;
using model::RecomputeModule;
using model::Sharding;

compute::Attention attention_shape(const model::TrainingRun& run, const Layout& layout, std::int64_t layer) {
  const AttentionShape shape = attention_of(run.model);
  compute::Attention out;
  out.batch = run.micro_batch;
  out.heads = shape.heads / layout.tensor;
  out.kv_heads = run.model.latent ? out.heads : std::max<std::int64_t>(1, shape.kv_heads / layout.tensor);
  out.queries = run.sequence / layout.context;
  // With context parallelism each has a part from the front and one from the back, and meets half of all keys.
  out.keys = layout.context > 1 ? run.sequence / 2 : run.sequence;
  out.causal = layout.context == 1;
  out.head_dim = shape.head_dim;
  out.value_dim = shape.value_dim;
  out.window = has_window(run.model, layer) ? *run.model.window : 0;
  out.kernel = static_cast<compute::AttentionKernel>(run.attention);
  // Between the products: a softmax that scales and masks, or (operator by operator) scale, mask and softmax; dropout
  // writes a byte for each score more.
  const bool eager = run.framework == Framework::pytorch && !run.compile;
  const std::int64_t dropout = run.dropout ? 2 * kActivation + 1 : 0;
  out.score_bytes = 2 * kActivation + (eager ? 4 * kActivation + 1 : 0) + dropout;
  out.score_backward_bytes = 3 * kActivation + (eager ? 4 * kActivation : 0) + dropout;
  return out;
}

// The same, where all-to-all gives each GPU the whole sequence of some heads.
compute::Attention by_heads(compute::Attention shape, const Layout& layout, std::int64_t sequence) {
  shape.heads /= layout.context;
  shape.kv_heads = std::max<std::int64_t>(1, shape.kv_heads / layout.context);
  shape.queries = shape.keys = sequence;
  shape.causal = true;
  return shape;
}

// Of so many equal parts, how many are met by `draws` that each take any of them.
double met(double parts, std::int64_t draws) {
  return parts * (1 - std::pow(1 - 1 / parts, static_cast<double>(draws)));
}

// Of so many equal parts, how many have one of the groups that a token's experts are in.
double reached(std::int64_t parts, const model::ExpertsSpec& spec) {
  if (spec.groups_per_token >= spec.groups || spec.groups == 1) return static_cast<double>(parts);
  const double share = static_cast<double>(spec.groups_per_token) / static_cast<double>(spec.groups);
  if (parts >= spec.groups) return static_cast<double>(parts) * share;
  // A part has several groups: none of them is drawn from what is left, again and again.
  const double each = static_cast<double>(spec.groups) / static_cast<double>(parts);
  double none = 1;
  for (std::int64_t i = 0; i < spec.groups_per_token; ++i)
    none *= std::max(0.0, 1 - each / static_cast<double>(spec.groups - i));
  return static_cast<double>(parts) * (1 - none);
}

// Rows that come to the experts of the busiest GPU, of each mean hundred.
std::int64_t load_of(const model::TrainingRun& run) { return run.model.experts->capacity.value_or(run.moe.imbalance); }

}  // namespace

Duration Pass::computing() const {
  Duration sum;
  for (const Duration each : busy) sum += each;
  return sum;
}

void Pass::add(const Pass& other, std::int64_t times) {
  for (std::size_t i = 0; i < kParts; ++i) busy[i] += other.busy[i] * times;
  tensor += other.tensor * times;
  kernels += other.kernels * times;
  host_bytes += other.host_bytes * times;
  host += other.host * times;
  for (Transfer each : other.transfers) {
    each.times *= times;
    transfers.push_back(each);
  }
}

void Passes::add(const Passes& other, std::int64_t times) {
  forward.add(other.forward, times);
  backward.add(other.backward, times);
  weights.add(other.weights, times);
}

Work::Work(const model::TrainingRun& run, const Layout& layout, const compute::Kernels& kernels)
    : run_(run), layout_(layout), kernels_(kernels) {
  tokens_ = run.micro_batch * run.sequence / layout.context;
  resident_ = run.parallel.sequence ? tokens_ / layout.tensor : tokens_;
}

compute::Gemm Work::gemm(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t groups) const {
  return {m, n, k, groups, precision_of(run_.precision)};
}

// Of parameters' gradients. Megatron-LM adds them to what the micro-batches before left; PyTorch writes them anew.
compute::Gemm Work::gradient(compute::Gemm gemm) const {
  if (run_.framework == Framework::megatron) gemm.result_bytes = 2 * run_.gradient_bytes;
  return gemm;
}

// Of operands, where they are not computed in 16 bits: read, written as rows and as columns, and read before that for
// the largest where all have one scale. Neither has all of the bandwidth: casts to 8 bits and the search for the
// largest number were measured (truth/compute/h200_memory.csv, to_fp8 and largest).
Duration Work::quantise(std::int64_t elements) const {
  if (precision_of(run_.precision) == compute::Precision::bf16) return {};
  const bool one_scale = run_.precision == model::TrainingPrecision::fp8;
  // Rows and columns have scales of their own: two casts, each of which looks for the largest of a row while it is
  // there (h200_memory.csv, fused_quantise_rows).
  if (run_.precision == model::TrainingPrecision::fp8_rowwise)
    return elementwise(elements, kActivation + 1, Access::quantisation) * 2;
  const Duration cast = elementwise(elements, kActivation + 2, Access::activation);
  return one_scale ? cast + elementwise(elements, kActivation, Access::activation) : cast;
}

// What the host takes for a matrix, in layers where that may be longer than the GPU takes.
void Work::launch(Passes& out) const {
  const std::int64_t share = precision_of(run_.precision) == compute::Precision::bf16 ? 1'000 : kExpertHostQuantised;
  out.forward.host += kExpertHostForward * share / 1'000;
  out.backward.host += kExpertHostBackward * share / 2'000;
  out.weights.host += kExpertHostBackward * share / 2'000;
}

// A matrix that all tokens pass.
void Work::project(Passes& out, std::int64_t in, std::int64_t width, Part part) const {
  launch(out);
  out.forward.product(part, kernels_.gemm(gemm(tokens_, width, in)));
  out.backward.product(part, kernels_.gemm(gemm(tokens_, in, width)));
  out.weights.product(part, kernels_.gemm(gradient(gemm(in, width, tokens_))));
  if (const Duration input = quantise(tokens_ * in); input.count() > 0) {
    out.forward.add(part, input, 2);
    out.backward.add(part, quantise(tokens_ * width), 2);
  }
  if (run_.model.biases) out.weights.add(Part::elementwise, elementwise(tokens_ * width, kActivation));
}

// Before matrices that are cut by columns: everybody needs all tokens. Backward their gradients are summed up, beside
// those of the parameters, for which the tokens are gathered once more, beside the gradients of what came in.
void Work::gather(Passes& out, Duration forward, Duration backward, Duration weights) const {
  if (layout_.tensor == 1) return;
  const auto bytes = static_cast<std::uint64_t>(tokens_ * run_.model.hidden * kActivation);
  if (!run_.parallel.sequence) {
    out.backward.transfers.push_back({Group::tensor, Operation::all_reduce, bytes, weights});
    return;
  }
  const Duration hidden = run_.overlap.tensor ? forward : Duration{};
  out.forward.transfers.push_back({Group::tensor, Operation::all_gather, bytes, hidden});
  out.backward.transfers.push_back({Group::tensor, Operation::all_gather, bytes, backward});
  out.backward.transfers.push_back({Group::tensor, Operation::reduce_scatter, bytes, weights});
}

// Behind matrices that are cut by rows: what each has is summed up. Backward the gradients are gathered.
void Work::scatter(Passes& out, Duration forward, Duration backward) const {
  if (layout_.tensor == 1) return;
  const auto bytes = static_cast<std::uint64_t>(tokens_ * run_.model.hidden * kActivation);
  if (!run_.parallel.sequence) {
    out.forward.transfers.push_back({Group::tensor, Operation::all_reduce, bytes});
    return;
  }
  const auto hidden = [&](Duration beside) { return run_.overlap.tensor ? beside : Duration{}; };
  out.forward.transfers.push_back({Group::tensor, Operation::reduce_scatter, bytes, hidden(forward)});
  out.backward.transfers.push_back({Group::tensor, Operation::all_gather, bytes, hidden(backward)});
}

// A norm, and the residual that is added behind its block.
Passes Work::norm() const {
  Passes out;
  const std::int64_t elements = resident_ * run_.model.hidden;
  const std::int64_t mask = run_.dropout ? 1 : 0;
  if (run_.compile) {
    // One kernel adds, drops and norms, and one does so backward.
    moves(out.forward, elements, 4 * kActivation + mask);
    moves(out.backward, elements, 4 * kActivation + mask);
    return out;
  }
  moves(out.forward, elements, 2 * kActivation, eager() ? Access::norm : Access::streaming);
  moves(out.backward, elements, 3 * kActivation, eager() ? Access::norm_backward : Access::streaming);
  // Gradients of both branches are added.
  moves(out.forward, elements, 3 * kActivation + (eager() ? 0 : mask));
  moves(out.backward, elements, 3 * kActivation);
  if (run_.dropout) {
    if (eager()) moves(out.forward, elements, 2 * kActivation + 1, Access::activation);
    moves(out.backward, elements, 2 * kActivation + 1);
  }
  return out;
}

// Between the matrices of a feed-forward network.
void Work::activation(Passes& out, std::int64_t elements) const {
  const std::int64_t gate = run_.model.gated ? 1 : 0;
  if (!eager()) {
    moves(out.forward, elements, (2 + gate) * kActivation);
    moves(out.backward, elements, (3 + 2 * gate) * kActivation);
    return;
  }
  moves(out.forward, elements, 2 * kActivation, Access::activation);
  moves(out.backward, elements, 3 * kActivation, Access::activation);
  if (gate == 0) return;
  moves(out.forward, elements, 3 * kActivation);
  // Of either factor; and what comes in has a gradient from either matrix.
  moves(out.backward, elements, 3 * kActivation);
  moves(out.backward, elements, 3 * kActivation);
  moves(out.backward, tokens_ * run_.model.hidden, 3 * kActivation);
}

// x cos + cat(-b, a) sin of queries and keys.
void Work::rotary(Passes& out, std::int64_t elements) const {
  for (Pass* pass : {&out.forward, &out.backward}) {
    if (!eager()) {
      moves(*pass, elements, 2 * kActivation);
      continue;
    }
    moves(*pass, elements, 2 * kActivation, Access::strided);
    moves(*pass, elements, 2 * kActivation, Access::strided);
    moves(*pass, elements, kActivation, Access::strided);
    moves(*pass, elements, 3 * kActivation, Access::strided);
    moves(*pass, elements, 2 * kActivation, Access::slices);
  }
}

// GPUs that share a sequence. Round a ring go keys and values, backward with their gradients, and what each part of
// them gives is added in 32 bits to what the parts before gave: results, backward gradients. All-to-all, queries, keys
// and values go before attention and its result behind, and heads of keys are sent to all that need them.
void Work::meet(Passes& core, const compute::Attention& attention) const {
  const std::int64_t parts = layout_.context;
  if (parts == 1) return;
  const std::int64_t wide = attention.head_dim + attention.value_dim;
  if (run_.parallel.context_by == model::ContextBy::alltoall) {
    const std::int64_t keys = std::max(attention.kv_heads, parts);
    const std::int64_t before = tokens_ * (attention.heads * attention.head_dim + keys * wide) * kActivation;
    const std::int64_t behind = tokens_ * attention.heads * attention.value_dim * kActivation;
    for (Pass* pass : {&core.forward, &core.backward})
      for (const std::int64_t bytes : {before, behind})
        pass->transfers.push_back({Group::context, Operation::all_to_all, static_cast<std::uint64_t>(bytes)});
    return;
  }
  const auto bytes = static_cast<std::uint64_t>(tokens_ * attention.kv_heads * wide * kActivation);
  core.forward.transfers.push_back(
      {Group::context, Operation::send_recv, bytes, core.forward.computing() / parts, parts - 1});
  core.backward.transfers.push_back(
      {Group::context, Operation::send_recv, 2 * bytes, core.backward.computing() / parts, parts - 1});
  const std::int64_t added = kActivation + 2 * 4;
  const std::int64_t results = tokens_ * attention.heads * attention.value_dim;
  const std::int64_t gradients = tokens_ * (attention.heads * attention.head_dim + attention.kv_heads * wide);
  core.forward.add(Part::elementwise, elementwise(results, added) * (parts - 1), parts - 1);
  core.backward.add(Part::elementwise, elementwise(gradients, added) * (parts - 1), 2 * (parts - 1));
}

Passes Work::attention_block(std::int64_t layer) const {
  const AttentionShape shape = attention_of(run_.model);
  const std::int64_t h = run_.model.hidden;
  const std::int64_t t = layout_.tensor;
  const compute::Attention attention = attention_shape(run_, layout_, layer);
  Passes in;
  Passes up;  // from latent vectors to queries, keys and values
  if (const auto& latent = run_.model.latent) {
    const std::int64_t queries = shape.heads / t * shape.head_dim;
    if (latent->query_rank > 0) {
      project(in, h, latent->query_rank, Part::matrices);
      project(up, latent->query_rank, queries, Part::matrices);
    } else {
      project(in, h, queries, Part::matrices);
    }
    project(in, h, latent->key_value_rank + latent->rotary, Part::matrices);
    project(up, latent->key_value_rank, shape.heads / t * (shape.head_dim - latent->rotary + shape.value_dim),
            Part::matrices);
    in.add(up);
  } else {
    project(in, h, attention.heads * shape.head_dim + attention.kv_heads * (shape.head_dim + shape.value_dim),
            Part::matrices);
  }
  Passes core;
  const bool whole = layout_.context > 1 && run_.parallel.context_by == model::ContextBy::alltoall;
  const compute::Attention own = whole ? by_heads(attention, layout_, run_.sequence) : attention;
  core.forward.product(Part::attention, kernels_.attention_forward(own));
  core.backward.product(Part::attention, kernels_.attention_backward(own));
  Passes turned;
  if (run_.model.positions == 0) rotary(turned, tokens_ * (attention.heads + attention.kv_heads) * shape.head_dim);
  core.add(turned);
  if (eager()) {
    // Gradients of queries, keys and values are put together, and transposed.
    const std::int64_t all =
        tokens_ * (attention.heads * shape.head_dim + attention.kv_heads * (shape.head_dim + shape.value_dim));
    moves(core.backward, all, 2 * kActivation, Access::slices);
    moves(core.backward, all, 2 * kActivation, Access::strided);
  }
  meet(core, attention);
  Passes proj;
  project(proj, attention.heads * shape.value_dim, h, Part::matrices);

  Passes out = norm();
  gather(out, in.forward.computing(), in.backward.computing(), in.weights.computing());
  out.add(in);
  out.add(core);
  if (run_.recompute == Recompute::selective && run_.attention == model::AttentionKind::unfused) recompute(out, core);
  if (again(RecomputeModule::mla_up_proj)) {
    up.add(turned);
    recompute(out, up);
  }
  scatter(out, proj.forward.computing(), proj.backward.computing());
  out.add(proj);
  return out;
}

Passes Work::feed_forward(std::int64_t width) const {
  const std::int64_t h = run_.model.hidden;
  const std::int64_t cut = width / layout_.tensor;
  Passes up;
  project(up, h, cut * (run_.model.gated ? 2 : 1), Part::matrices);
  Passes down;
  project(down, cut, h, Part::matrices);
  Passes out;
  gather(out, up.forward.computing(), up.backward.computing(), up.weights.computing());
  out.add(up);
  activation(out, tokens_ * cut);
  scatter(out, down.forward.computing(), down.backward.computing());
  out.add(down);
  return out;
}

// Tokens to their experts and back. DeepEP sends a token once to each scale-up domain, or each GPU of the one there is,
// that has one of its experts; beyond that it is copied by NVLink.
void Work::dispatch(Passes& out) const {
  if (layout_.expert == 1) return;
  const model::ExpertsSpec& spec = *run_.model.experts;
  const std::int64_t row = run_.model.hidden * kActivation;
  auto there = Operation::all_to_all;
  auto back = Operation::all_to_all;
  std::int64_t bytes = resident_ * spec.per_token * row * load_of(run_) / 100;
  if (run_.moe.dispatcher == Dispatcher::allgather) {
    there = Operation::all_gather;
    back = Operation::reduce_scatter;
    bytes = resident_ * row * layout_.expert;
  } else if (run_.moe.dispatcher == Dispatcher::deepep) {
    const std::int64_t parts = layout_.expert > layout_.domain ? layout_.expert / layout_.domain : layout_.expert;
    bytes = static_cast<std::int64_t>(static_cast<double>(bytes) * met(reached(parts, spec), spec.per_token) /
                                      static_cast<double>(spec.per_token));
  }
  const bool beside = run_.overlap.expert || run_.moe.overlap;
  const Duration forward = beside ? out.backward.computing() / 2 : Duration{};
  const Duration backward = beside ? out.forward.computing() / 2 : Duration{};
  for (const Operation operation : {there, back}) {
    out.forward.transfers.push_back({Group::expert, operation, static_cast<std::uint64_t>(bytes), forward});
    out.backward.transfers.push_back({Group::expert, operation, static_cast<std::uint64_t>(bytes), backward});
  }
}

// Each GPU routes the tokens it has in norms; all wait for the one whose experts get most.
Passes Work::expert_block() const {
  const model::ExpertsSpec& spec = *run_.model.experts;
  const std::int64_t h = run_.model.hidden;
  const std::int64_t local = spec.count / layout_.expert;
  const std::int64_t visits = resident_ * spec.per_token * load_of(run_) / 100;  // rows that arrive
  const std::int64_t rows = std::max<std::int64_t>(1, visits / local);
  Passes out;
  out.forward.product(Part::matrices, kernels_.gemm({resident_, spec.count, h, 1, compute::Precision::bf16}));
  out.backward.product(Part::matrices, kernels_.gemm({resident_, h, spec.count, 1, compute::Precision::bf16}));
  out.weights.product(Part::matrices, kernels_.gemm({h, spec.count, resident_, 1, compute::Precision::bf16}));
  launch(out);
  out.forward.add(Part::elementwise, elementwise(resident_ * spec.count, 3 * 4), 4);
  // Rows are put in the order of experts and back, on either side of the network; DeepEP does so while it sends.
  const std::int64_t sides = run_.moe.dispatcher == Dispatcher::deepep ? 1 : 2;
  out.forward.add(Part::elementwise, elementwise(visits * h, 4 * sides * kActivation), 2 * sides);
  out.backward.add(Part::elementwise, elementwise(visits * h, 4 * sides * kActivation), 2 * sides);
  const auto grouped = [&](std::int64_t in, std::int64_t width) {
    launch(out);
    out.forward.product(Part::experts, kernels_.gemm(gemm(rows, width, in, local)));
    out.backward.product(Part::experts, kernels_.gemm(gemm(rows, in, width, local)));
    out.weights.product(Part::experts, kernels_.gemm(gradient(gemm(in, width, rows, local))));
    out.forward.add(Part::experts, quantise(visits * in), 0);
    out.backward.add(Part::experts, quantise(visits * width), 0);
  };
  grouped(h, spec.feed_forward * (run_.model.gated ? 2 : 1));
  Passes between;
  activation(between, visits * spec.feed_forward);
  out.add(between);
  if (again(RecomputeModule::moe_act)) recompute(out, between);
  grouped(spec.feed_forward, h);
  dispatch(out);
  if (spec.shared > 0) out.add(feed_forward(spec.shared));
  return out;
}

// The forward pass of `core` once more in the backward pass.
void Work::recompute(Passes& layer, const Passes& core) const {
  layer.backward.add(Part::recompute, core.forward.computing(), core.forward.kernels);
  layer.backward.tensor += core.forward.tensor;
  layer.backward.host += core.forward.host;
  for (const Transfer& each : core.forward.transfers) layer.backward.transfers.push_back(each);
}

// Outputs of every second matrix, of attention and of sums over tensor groups are kept, the rest is computed again.
void Work::recompute_operators(Passes& layer) const {
  const auto of = [&](Part part) { return layer.forward.busy[static_cast<std::size_t>(part)]; };
  const Duration matrices = (of(Part::matrices) + of(Part::experts)) / 2;
  layer.backward.add(Part::recompute, matrices + of(Part::elementwise), layer.forward.kernels * 3 / 4);
  layer.backward.tensor += matrices;
  layer.backward.host += layer.forward.host * 3 / 4;
}

// Gradients that are cut over the copies are summed up after every micro-batch; parameters that are cut are gathered
// before they are used, the next layer's beside this one's computing.
void Work::shard(Passes& layer, std::int64_t parameters) const {
  const bool gathers = run_.sharding == Sharding::zero3 || run_.sharding == Sharding::hybrid;
  if (!gathers && run_.sharding != Sharding::zero2) return;
  const auto bytes = static_cast<std::uint64_t>(parameters * kParameter);
  if (run_.offload == Offload::parameters) {
    layer.forward.host_bytes += parameters / layout_.shards * kHostParameter;
    layer.backward.host_bytes += parameters / layout_.shards * kHostParameter;
    layer.weights.host_bytes += parameters / layout_.shards * kHostParameter;
  }
  // FSDP copies what was gathered to tensors, and gradients to what is sent.
  if (run_.framework == Framework::pytorch) {
    if (gathers) {
      moves(layer.forward, parameters, 2 * kParameter);
      moves(layer.backward, parameters, 2 * kParameter);
    }
    moves(layer.weights, parameters, kParameter + run_.gradient_bytes);
  }
  const auto beside = [&](Duration computing) { return run_.overlap.data ? computing : Duration{}; };
  const auto ahead = [&](Duration computing) { return run_.overlap.prefetch ? beside(computing) : Duration{}; };
  const Duration backward = layer.backward.computing() + layer.weights.computing();
  if (gathers) {
    layer.forward.transfers.push_back({Group::shard, Operation::all_gather, bytes, ahead(layer.forward.computing())});
    layer.backward.transfers.push_back({Group::shard, Operation::all_gather, bytes, ahead(backward / 2)});
  }
  layer.weights.transfers.push_back({Group::shard, Operation::reduce_scatter,
                                     static_cast<std::uint64_t>(parameters * run_.gradient_bytes),
                                     beside(gathers && run_.overlap.prefetch ? backward / 2 : backward)});
}

Passes Work::layer(std::int64_t index) const {
  Passes out = attention_block(index);
  out.add(norm());
  const Passes block = has_experts(run_.model, index) ? expert_block() : feed_forward(run_.model.feed_forward);
  out.add(block);
  if (again(RecomputeModule::mlp) && !has_experts(run_.model, index)) recompute(out, block);
  if (again(RecomputeModule::layernorm))
    out.backward.add(Part::recompute, elementwise(2 * resident_ * run_.model.hidden, 2 * kActivation), 2);
  if (run_.recompute == Recompute::full) {
    const Passes whole = out;
    recompute(out, whole);
  } else if (run_.recompute == Recompute::operators) {
    recompute_operators(out);
  }
  // Elsewhere nothing is known that the host waits for, and kernels are long.
  if (run_.framework != Framework::megatron || !has_experts(run_.model, index))
    for (Pass* pass : {&out.forward, &out.backward, &out.weights}) pass->host = {};
  if (run_.offload == Offload::activations) {
    const std::int64_t kept = kept_per_token(run_, layout_, index) * tokens_;
    out.forward.host_bytes += kept;
    out.backward.host_bytes += kept;
  }
  const Chunk one{index, 1};
  const std::int64_t parameters = shared_parameters(one) + expert_parameters(one);
  // PyTorch adds gradients of a micro-batch to those before by a kernel of its own; FSDP does so to what is left of
  // them.
  const bool whole = run_.sharding == Sharding::none || run_.sharding == Sharding::zero1;
  if (run_.framework == Framework::pytorch && whole && layout_.micro_batches > 1)
    moves(out.weights, parameters, 3 * run_.gradient_bytes);
  shard(out, parameters);
  return out;
}

Passes Work::embedding() const {
  Passes out;
  const std::int64_t elements = tokens_ * run_.model.hidden;
  out.forward.add(Part::output, elementwise(elements, 2 * kActivation), 2);
  out.weights.add(Part::output, elementwise(elements, 2 * kActivation + 4), 2);
  return out;
}

// Norm, logits and loss, for each predicted token.
Passes Work::output_layer() const {
  const std::int64_t width = run_.model.vocabulary / layout_.tensor;
  Passes logits;
  const auto product = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return compute::Gemm{m, n, k, 1, compute::Precision::bf16};
  };
  logits.forward.product(Part::output, kernels_.gemm(product(tokens_, width, run_.model.hidden)));
  logits.backward.product(Part::output, kernels_.gemm(product(tokens_, run_.model.hidden, width)));
  logits.weights.product(Part::output, kernels_.gemm(gradient(product(run_.model.hidden, width, tokens_))));
  Passes out = norm();
  gather(out, logits.forward.computing(), logits.backward.computing(), logits.weights.computing());
  out.add(logits);
  if (run_.fused_loss) {
    // Logits are read once, and their gradients written in their place.
    out.forward.add(Part::output, elementwise(tokens_ * width, kActivation));
    out.backward.add(Part::output, elementwise(tokens_ * width, 2 * kActivation));
    return out;
  }
  if (eager()) {
    // Widened, softmax and its logarithm; backward, zeros for the gradient of the loss, and narrowed.
    const auto loss = [&](Pass& pass, std::int64_t bytes, Access access) {
      pass.add(Part::output, elementwise(tokens_ * width, bytes, access));
    };
    loss(out.forward, 2 + 4, Access::widening);
    loss(out.forward, 4 + 4, Access::norm);
    loss(out.backward, 4 + 4 + 4, Access::norm);
    loss(out.backward, 4, Access::streaming);
    loss(out.backward, 4 + 2, Access::streaming);
    return out;
  }
  // As 32-bit numbers: the largest, exponentials and their sum, the difference; gradients as 16-bit numbers.
  out.forward.add(Part::output, elementwise(tokens_ * width, 2 + 4 + 4 + 4), 4);
  out.backward.add(Part::output, elementwise(tokens_ * width, 4 + 2), 2);
  return out;
}

Passes Work::chunk(const Chunk& chunk) const {
  Passes out;
  // Layers of a kind are equal: computed once.
  const auto kind = [&](std::int64_t i) {
    return (has_experts(run_.model, i) ? 1 : 0) + (has_window(run_.model, i) ? 2 : 0);
  };
  std::array<std::int64_t, 4> counted = {};
  std::array<std::int64_t, 4> example = {};
  for (std::int64_t i = chunk.first; i < chunk.first + chunk.layers; ++i) {
    ++counted[static_cast<std::size_t>(kind(i))];
    example[static_cast<std::size_t>(kind(i))] = i;
  }
  for (std::size_t i = 0; i < counted.size(); ++i)
    if (counted[i] > 0) out.add(layer(example[i]), counted[i]);
  if (chunk.embeds) out.add(embedding());
  if (chunk.outputs) {
    out.add(output_layer(), run_.model.predicted);
    if (run_.model.predicted > 1) out.add(layer(run_.model.layers - 1), run_.model.predicted - 1);
  }
  return out;
}

std::int64_t Work::shared_parameters(const Chunk& chunk) const {
  const Parameters part = parameters_of(run_.model);
  const std::int64_t t = layout_.tensor;
  std::int64_t sum = 0;
  for (std::int64_t i = chunk.first; i < chunk.first + chunk.layers; ++i)
    sum += part.attention / t + part.norms + (has_experts(run_.model, i) ? part.beside / t : part.dense / t);
  if (chunk.embeds) sum += part.embedding / t;
  if (chunk.outputs) {
    // A tied output layer is kept a second time where it is another stage's.
    sum += part.last_norm +
           (run_.model.tied && layout_.pipeline > 1 ? run_.model.vocabulary * run_.model.hidden : part.output) / t;
    sum += (run_.model.predicted - 1) * ((part.attention + (run_.model.experts ? part.beside : part.dense) +
                                          2 * run_.model.hidden * run_.model.hidden) /
                                             t +
                                         part.norms);
  }
  return sum;
}

std::int64_t Work::expert_parameters(const Chunk& chunk) const {
  if (!run_.model.experts) return 0;
  const std::int64_t each = parameters_of(run_.model).expert * (run_.model.experts->count / layout_.expert);
  std::int64_t sum = 0;
  for (std::int64_t i = chunk.first; i < chunk.first + chunk.layers; ++i)
    if (has_experts(run_.model, i)) sum += each;
  if (chunk.outputs) sum += (run_.model.predicted - 1) * each;
  return sum;
}

std::uint64_t Work::boundary_bytes() const {
  return static_cast<std::uint64_t>(resident_ * run_.model.hidden * kActivation);
}

}  // namespace weft::training
