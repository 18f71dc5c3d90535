#include "training/memory.hpp"

#include <algorithm>

#include "training/parameters.hpp"

namespace weft::training {
namespace {

using model::OptimizerKind;
using model::Recompute;
using model::RecomputeModule;
using model::Sharding;
using model::TrainingRun;

// A CUDA context, cuBLAS' workspace and NCCL's channels of a few communicators: 2 to 4 GB on every such job.
constexpr std::int64_t kBuffers = 3'000'000'000;

std::int64_t optimizer_bytes(OptimizerKind kind) { return kind == OptimizerKind::sgd ? 4 : 4 + 4 + 4; }

}  // namespace

// Korthikanti et al. (2022), with gates, shared heads of keys and experts.
std::int64_t kept_per_token(const TrainingRun& run, const Layout& layout, std::int64_t index) {
  const std::int64_t h = run.model.hidden;
  const std::int64_t t = layout.tensor;
  const std::int64_t resident = run.parallel.sequence ? t : 1;
  if (run.recompute == Recompute::full) return kActivation * h / resident;
  const AttentionShape shape = attention_of(run.model);
  // What came in, queries, keys, values and result of attention, and the output of every second matrix.
  if (run.recompute == Recompute::operators && !has_experts(run.model, index))
    return kActivation * h / resident +
           kActivation *
               ((shape.heads + shape.kv_heads) * (shape.head_dim + shape.value_dim) + run.model.feed_forward) / t;
  const std::int64_t dropout = run.model.biases ? 2 * h : 0;  // a byte for each element that may be dropped
  const std::int64_t norms = computed_again(run, RecomputeModule::layernorm) ? 2 : 4;  // what comes in, and out
  std::int64_t bytes = (norms * kActivation * h + dropout) / resident;
  if (computed_again(run, RecomputeModule::mla_up_proj))
    bytes += kActivation * (run.model.latent->query_rank + run.model.latent->key_value_rank + run.model.latent->rotary +
                            shape.heads * shape.value_dim / t);
  else
    bytes += kActivation * (shape.heads + shape.kv_heads) * (shape.head_dim + shape.value_dim) / t;
  if (run.attention == model::AttentionKind::unfused && run.recompute == Recompute::none)
    bytes += 5 * shape.heads * (run.sequence / layout.context) / t;
  const std::int64_t copies = run.model.gated ? 3 : 2;
  const bool experts = has_experts(run.model, index);
  if (!experts && computed_again(run, RecomputeModule::mlp)) return bytes;
  if (!experts) return bytes + kActivation * copies * run.model.feed_forward / t;
  const model::ExpertsSpec& spec = *run.model.experts;
  const std::int64_t kept = computed_again(run, RecomputeModule::moe_act) ? copies - 1 : copies;
  return bytes + kActivation * copies * spec.shared / t +
         kActivation * spec.per_token * spec.capacity.value_or(100) * (h + kept * spec.feed_forward) / resident / 100;
}

Memory memory_of(const TrainingRun& run, const Layout& layout, const Work& work, const PipelineJob& pipeline,
                 std::int64_t stage) {
  const std::int64_t tokens = run.micro_batch * run.sequence / layout.context;
  std::int64_t shared = 0;
  std::int64_t experts = 0;
  std::int64_t activations = 0;
  std::int64_t logits = 0;
  std::int64_t most = 0;  // that a layer keeps
  std::int64_t layers = 0;
  for (std::int64_t piece = 0; piece < layout.virtual_stages; ++piece) {
    const Chunk& chunk = layout.chunk(stage, piece);
    shared += work.shared_parameters(chunk);
    experts += work.expert_parameters(chunk);
    std::int64_t kept = 0;
    for (std::int64_t i = chunk.first; i < chunk.first + chunk.layers; ++i) {
      const std::int64_t each = kept_per_token(run, layout, i) * tokens;
      kept += each;
      most = std::max(most, each);
    }
    layers += chunk.layers;
    activations += kept * kept_pieces(pipeline, stage) / layout.virtual_stages;
    // Logits and their gradients, as 32-bit numbers; fused, one in the other's place.
    const std::int64_t bytes = run.fused_loss ? kActivation : 2 * 4;
    if (chunk.outputs) logits = bytes * tokens * run.model.vocabulary / layout.tensor;
  }
  // In host memory but for two layers: the one that computes, and the one that goes or comes.
  if (run.offload == model::Offload::activations) activations = std::min(activations, 2 * most);
  activations += logits;
  if (run.recompute == Recompute::full) {
    TrainingRun whole = run;  // of the layer that is computed again
    whole.recompute = Recompute::none;
    activations += kept_per_token(whole, layout, run.model.layers - 1) * tokens;
  }
  const std::int64_t expert_copies = layout.stage_ranks() / layout.expert;
  // What is kept of so many bytes for each parameter, from a degree of sharding on.
  const auto kept = [&](std::int64_t bytes, Sharding from) {
    if (run.sharding < from) return bytes * (shared + experts);
    const std::int64_t over = layout.shards;
    return bytes * (shared / over + experts / std::min(over, expert_copies));
  };
  Memory out;
  // From host memory come two layers: the one that computes, and the next.
  if (run.offload == model::Offload::parameters) {
    out.parameters = Bytes(2 * kParameter * (shared + experts) / std::max<std::int64_t>(1, layers));
  } else {
    out.parameters = Bytes(kept(kParameter, Sharding::zero3));
  }
  out.gradients = Bytes(kept(run.gradient_bytes, Sharding::zero2));
  // DualPipe's stages have two pieces, one for each direction (DeepSeek's DualPipe, README).
  if (run.schedule == model::PipelineSchedule::dualpipe && layout.pipeline > 1) {
    out.parameters = out.parameters * 2;
    out.gradients = out.gradients * 2;
  }
  const bool on_gpu = run.offload == model::Offload::none || run.offload == model::Offload::activations;
  if (on_gpu) out.optimizer = Bytes(kept(optimizer_bytes(run.optimizer), Sharding::zero1));
  out.activations = Bytes(activations);
  out.buffers = Bytes(kBuffers);
  return out;
}

}  // namespace weft::training
