#include "training/work.hpp"

#include <algorithm>

#include "training/parameters.hpp"

namespace weft::training {
namespace {

using collective::Operation;
using model::Recompute;
using model::Sharding;

compute::Attention attention_shape(const model::TrainingRun& run, const Layout& layout, std::int64_t layer) {
  const AttentionShape shape = attention_of(run.model);
  compute::Attention out;
  out.batch = run.micro_batch;
  out.heads = shape.heads / layout.tensor;
  out.kv_heads = run.model.latent ? out.heads : std::max<std::int64_t>(1, shape.kv_heads / layout.tensor);
  out.queries = run.sequence / layout.context;
  // With context parallelism each part of the queries meets half of all keys, whichever part it is.
  out.keys = layout.context > 1 ? (run.sequence + out.queries) / 2 : run.sequence;
  out.causal = layout.context == 1;
  out.head_dim = shape.head_dim;
  out.value_dim = shape.value_dim;
  out.window = has_window(run.model, layer) ? *run.model.window : 0;
  out.kernel = static_cast<compute::AttentionKernel>(run.attention);
  return out;
}

}  // namespace

Duration Pass::computing() const {
  Duration sum;
  for (const Duration each : busy) sum += each;
  return sum;
}

void Pass::add(const Pass& other, std::int64_t times) {
  for (std::size_t i = 0; i < kParts; ++i) busy[i] += other.busy[i] * times;
  kernels += other.kernels * times;
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
  return {m, n, k, groups, static_cast<compute::Precision>(run_.precision)};
}

// Of operands, where they are not computed in 16 bits: read, written as rows and as columns.
Duration Work::quantise(std::int64_t elements) const {
  return run_.precision == model::TrainingPrecision::bf16 ? Duration{} : elementwise(elements, kActivation + 2);
}

// A matrix that all tokens pass.
void Work::project(Passes& out, std::int64_t in, std::int64_t width, Part part) const {
  out.forward.add(part, kernels_.gemm(gemm(tokens_, width, in)) + quantise(tokens_ * in));
  out.backward.add(part, kernels_.gemm(gemm(tokens_, in, width)) + quantise(tokens_ * width));
  out.weights.add(part, kernels_.gemm(gemm(in, width, tokens_)));
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

// A norm and the residual that is added behind its block, with its dropout and bias.
Passes Work::norm() const {
  Passes out;
  const std::int64_t elements = resident_ * run_.model.hidden;
  out.forward.add(Part::elementwise, elementwise(elements, 2 * kActivation) + elementwise(elements, 3 * kActivation),
                  2);
  out.backward.add(Part::elementwise, elementwise(elements, 3 * kActivation) + elementwise(elements, 2 * kActivation),
                   3);
  return out;
}

Passes Work::attention_block(std::int64_t layer) const {
  const AttentionShape shape = attention_of(run_.model);
  const std::int64_t h = run_.model.hidden;
  const std::int64_t t = layout_.tensor;
  const compute::Attention attention = attention_shape(run_, layout_, layer);
  Passes in;
  if (const auto& latent = run_.model.latent) {
    const std::int64_t queries = shape.heads / t * shape.head_dim;
    if (latent->query_rank > 0) {
      project(in, h, latent->query_rank, Part::matrices);
      project(in, latent->query_rank, queries, Part::matrices);
    } else {
      project(in, h, queries, Part::matrices);
    }
    project(in, h, latent->key_value_rank + latent->rotary, Part::matrices);
    project(in, latent->key_value_rank, shape.heads / t * (shape.head_dim - latent->rotary + shape.value_dim),
            Part::matrices);
  } else {
    project(in, h, attention.heads * shape.head_dim + attention.kv_heads * (shape.head_dim + shape.value_dim),
            Part::matrices);
  }
  Passes core;
  core.forward.add(Part::attention, kernels_.attention_forward(attention));
  core.backward.add(Part::attention, kernels_.attention_backward(attention));
  if (run_.model.positions == 0) {
    const std::int64_t turned = tokens_ * (attention.heads + attention.kv_heads) * shape.head_dim;
    core.forward.add(Part::elementwise, elementwise(turned, 2 * kActivation), 2);
    core.backward.add(Part::elementwise, elementwise(turned, 2 * kActivation), 2);
  }
  if (layout_.context > 1) {
    // Keys and values go round; backward their gradients go with them.
    const auto bytes =
        static_cast<std::uint64_t>(tokens_ * attention.kv_heads * (shape.head_dim + shape.value_dim) * kActivation);
    const std::int64_t steps = layout_.context - 1;
    core.forward.transfers.push_back(
        {Group::context, Operation::send_recv, bytes, core.forward.computing() / layout_.context, steps});
    core.backward.transfers.push_back(
        {Group::context, Operation::send_recv, 2 * bytes, core.backward.computing() / layout_.context, steps});
  }
  Passes proj;
  project(proj, attention.heads * shape.value_dim, h, Part::matrices);

  Passes out = norm();
  gather(out, in.forward.computing(), in.backward.computing(), in.weights.computing());
  out.add(in);
  out.add(core);
  if (run_.recompute == Recompute::selective && run_.attention == model::AttentionKind::unfused) recompute(out, core);
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
  const std::int64_t gate = run_.model.gated ? 1 : 0;
  out.forward.add(Part::elementwise, elementwise(tokens_ * cut, (2 + gate) * kActivation));
  out.backward.add(Part::elementwise, elementwise(tokens_ * cut, (3 + 2 * gate) * kActivation));
  scatter(out, down.forward.computing(), down.backward.computing());
  out.add(down);
  return out;
}

// Each GPU routes the tokens it has in norms; experts get as many of them as each other.
Passes Work::expert_block() const {
  const model::ExpertsSpec& spec = *run_.model.experts;
  const std::int64_t h = run_.model.hidden;
  const std::int64_t local = spec.count / layout_.expert;
  const std::int64_t visits = resident_ * spec.per_token;  // rows that arrive here as well
  const std::int64_t rows = std::max<std::int64_t>(1, visits / local);
  Passes out;
  out.forward.add(Part::matrices, kernels_.gemm({resident_, spec.count, h, 1, compute::Precision::bf16}));
  out.backward.add(Part::matrices, kernels_.gemm({resident_, h, spec.count, 1, compute::Precision::bf16}));
  out.weights.add(Part::matrices, kernels_.gemm({h, spec.count, resident_, 1, compute::Precision::bf16}));
  out.forward.add(Part::elementwise, elementwise(resident_ * spec.count, 3 * 4), 4);
  // Rows are put in the order of experts and back, on either side of the network.
  out.forward.add(Part::elementwise, elementwise(visits * h, 8 * kActivation), 4);
  out.backward.add(Part::elementwise, elementwise(visits * h, 8 * kActivation), 4);
  const auto grouped = [&](std::int64_t in, std::int64_t width) {
    out.forward.add(Part::experts, kernels_.gemm(gemm(rows, width, in, local)) + quantise(visits * in));
    out.backward.add(Part::experts, kernels_.gemm(gemm(rows, in, width, local)) + quantise(visits * width));
    out.weights.add(Part::experts, kernels_.gemm(gemm(in, width, rows, local)));
  };
  const std::int64_t gate = run_.model.gated ? 1 : 0;
  grouped(h, spec.feed_forward * (1 + gate));
  out.forward.add(Part::elementwise, elementwise(visits * spec.feed_forward, (2 + gate) * kActivation));
  out.backward.add(Part::elementwise, elementwise(visits * spec.feed_forward, (3 + 2 * gate) * kActivation));
  grouped(spec.feed_forward, h);
  if (layout_.expert > 1) {
    const auto bytes = static_cast<std::uint64_t>(visits * h * kActivation);
    const Duration forward = run_.overlap.expert ? out.backward.computing() / 2 : Duration{};
    const Duration backward = run_.overlap.expert ? out.forward.computing() / 2 : Duration{};
    for (int there_and_back = 0; there_and_back < 2; ++there_and_back) {
      out.forward.transfers.push_back({Group::expert, Operation::all_to_all, bytes, forward});
      out.backward.transfers.push_back({Group::expert, Operation::all_to_all, bytes, backward});
    }
  }
  if (spec.shared > 0) out.add(feed_forward(spec.shared));
  return out;
}

// The forward pass of `core` once more in the backward pass.
void Work::recompute(Passes& layer, const Passes& core) const {
  layer.backward.add(Part::recompute, core.forward.computing(), core.forward.kernels);
  for (const Transfer& each : core.forward.transfers) layer.backward.transfers.push_back(each);
}

// Gradients that are cut over the copies are summed up after every micro-batch; parameters that are cut are gathered
// before they are used, the next layer's beside this one's computing.
void Work::shard(Passes& layer, std::int64_t parameters) const {
  const bool gathers = run_.sharding == Sharding::zero3 || run_.sharding == Sharding::hybrid;
  if (!gathers && run_.sharding != Sharding::zero2) return;
  const auto bytes = static_cast<std::uint64_t>(parameters * kParameter);
  const auto beside = [&](Duration computing) { return run_.overlap.data ? computing : Duration{}; };
  const Duration backward = layer.backward.computing() + layer.weights.computing();
  if (gathers) {
    layer.forward.transfers.push_back({Group::shard, Operation::all_gather, bytes, beside(layer.forward.computing())});
    layer.backward.transfers.push_back({Group::shard, Operation::all_gather, bytes, beside(backward / 2)});
  }
  layer.weights.transfers.push_back({Group::shard, Operation::reduce_scatter,
                                     static_cast<std::uint64_t>(parameters * run_.gradient_bytes),
                                     beside(gathers ? backward / 2 : backward)});
}

Passes Work::layer(std::int64_t index) const {
  Passes out = attention_block(index);
  out.add(norm());
  const bool experts = has_experts(run_.model, index);
  out.add(experts ? expert_block() : feed_forward(run_.model.feed_forward));
  if (run_.recompute == Recompute::full) {
    const Passes whole = out;
    recompute(out, whole);
  }
  const Chunk one{index, 1};
  shard(out, shared_parameters(one, false, false) + expert_parameters(one));
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
  logits.forward.add(Part::output, kernels_.gemm({tokens_, width, run_.model.hidden, 1, compute::Precision::bf16}));
  logits.backward.add(Part::output, kernels_.gemm({tokens_, run_.model.hidden, width, 1, compute::Precision::bf16}));
  logits.weights.add(Part::output, kernels_.gemm({run_.model.hidden, width, tokens_, 1, compute::Precision::bf16}));
  Passes out = norm();
  gather(out, logits.forward.computing(), logits.backward.computing(), logits.weights.computing());
  out.add(logits);
  // As 32-bit numbers: the largest, exponentials and their sum, the difference; gradients as 16-bit numbers.
  out.forward.add(Part::output, elementwise(tokens_ * width, 2 + 4 + 4 + 4), 4);
  out.backward.add(Part::output, elementwise(tokens_ * width, 4 + 2), 2);
  return out;
}

Passes Work::chunk(const Chunk& chunk, bool first, bool last) const {
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
  if (first) out.add(embedding());
  if (last) {
    out.add(output_layer(), run_.model.predicted);
    if (run_.model.predicted > 1) out.add(layer(run_.model.layers - 1), run_.model.predicted - 1);
  }
  return out;
}

std::int64_t Work::shared_parameters(const Chunk& chunk, bool first, bool last) const {
  const Parameters part = parameters_of(run_.model);
  const std::int64_t t = layout_.tensor;
  std::int64_t sum = 0;
  for (std::int64_t i = chunk.first; i < chunk.first + chunk.layers; ++i)
    sum += part.attention / t + part.norms + (has_experts(run_.model, i) ? part.beside / t : part.dense / t);
  if (first) sum += part.embedding / t;
  if (last) {
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
  if (chunk.first + chunk.layers == run_.model.layers) sum += (run_.model.predicted - 1) * each;
  return sum;
}

std::uint64_t Work::boundary_bytes() const {
  return static_cast<std::uint64_t>(resident_ * run_.model.hidden * kActivation);
}

}  // namespace weft::training
