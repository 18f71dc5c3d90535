// The field tables of language models and of training jobs.
#include "model/training.hpp"

#include "model/cluster_file.hpp"
#include "spec/fields.hpp"

namespace weft::spec {

using namespace weft::model;

namespace {

// Far above what anybody trains, and low enough that products of four of them and a batch can be counted.
constexpr std::int64_t kMaxLayers = 4'096;
constexpr std::int64_t kMaxWidth = 1 << 20;
constexpr std::int64_t kMaxHeads = 1'024;
constexpr std::int64_t kMaxHeadDim = 1'024;
constexpr std::int64_t kMaxVocabulary = 1 << 22;
constexpr std::int64_t kMaxExperts = 4'096;
constexpr std::int64_t kMaxSequence = 1 << 24;
constexpr std::int64_t kMaxBatch = 1 << 24;

FieldOptions width(std::string text, std::string example, std::int64_t most, bool required = false) {
  return {.text = std::move(text), .example = std::move(example), .required = required, .min = 1, .max = most};
}

}  // namespace

template <>
const Table& table_of<ExpertsSpec>() {
  static const Table table =
      TableOf<ExpertsSpec>("experts", "Feed-forward networks of which each token visits a few.")
          .field("count", &ExpertsSpec::count, width("Experts of a layer.", "256", kMaxExperts, true))
          .field("per_token", &ExpertsSpec::per_token, width("Experts that a token visits.", "8", kMaxExperts, true))
          .field("feed_forward", &ExpertsSpec::feed_forward, width("Width of an expert.", "2048", kMaxWidth, true))
          .field("shared", &ExpertsSpec::shared,
                 {.text = "Width of what every token visits beside them.", .fallback = "0", .min = 0, .max = kMaxWidth})
          .field("dense_layers", &ExpertsSpec::dense_layers,
                 {.text = "Layers at the start that have no experts.", .fallback = "0", .min = 0, .max = kMaxLayers})
          .field("groups", &ExpertsSpec::groups,
                 {.text = "Groups that experts are in, one behind another.",
                  .fallback = "1",
                  .min = 1,
                  .max = kMaxExperts})
          .field("groups_per_token", &ExpertsSpec::groups_per_token,
                 {.text = "Groups that a token's experts are in at most: fewer servers to send it to (`deepep`).",
                  .fallback = "1",
                  .min = 1,
                  .max = kMaxExperts})
          .field("capacity", &ExpertsSpec::capacity,
                 {.text = "Per cent of the mean that an expert takes: what comes beyond is dropped, what is missing "
                          "padded. Default: all that comes.",
                  .example = "125",
                  .min = 1,
                  .max = 10'000})
          .build();
  return table;
}

template <>
const Table& table_of<LatentSpec>() {
  static const Table table =
      TableOf<LatentSpec>("latent", "Keys and values as one short vector per token (MLA).")
          .field("query_rank", &LatentSpec::query_rank,
                 {.text = "Length of the vector that queries come from; 0: they are not compressed.",
                  .fallback = "0",
                  .min = 0,
                  .max = kMaxWidth})
          .field("key_value_rank", &LatentSpec::key_value_rank,
                 width("Length of the vector that keys and values come from.", "512", kMaxWidth, true))
          .field("rotary", &LatentSpec::rotary,
                 width("Part of `head_dim` that knows positions; all heads share its keys.", "64", kMaxHeadDim, true))
          .build();
  return table;
}

template <>
const Table& table_of<LanguageModelKind>() {
  static const Table table =
      TableOf<LanguageModelKind>("language_model", "A transformer: layers of attention and feed-forward networks.")
          .include<Kind>()
          .field("layers", &LanguageModelKind::layers, width("Layers.", "80", kMaxLayers, true))
          .field("hidden", &LanguageModelKind::hidden, width("Width of the residual stream.", "8192", kMaxWidth, true))
          .field("heads", &LanguageModelKind::heads, width("Attention heads.", "64", kMaxHeads, true))
          .field("kv_heads", &LanguageModelKind::kv_heads,
                 width("Heads of keys and values (GQA). Default: as `heads`.", "8", kMaxHeads))
          .field("head_dim", &LanguageModelKind::head_dim,
                 width("Width of a head's queries and keys. Default: hidden / heads.", "128", kMaxHeadDim))
          .field("value_dim", &LanguageModelKind::value_dim,
                 width("Width of a head's values. Default: as `head_dim`.", "128", kMaxHeadDim))
          .field("feed_forward", &LanguageModelKind::feed_forward,
                 width("Width of the feed-forward network.", "28672", kMaxWidth, true))
          .field("gated", &LanguageModelKind::gated,
                 {.text = "The feed-forward network has a gate (SwiGLU): three matrices instead of two.",
                  .fallback = "true"})
          .field("vocabulary", &LanguageModelKind::vocabulary, width("Tokens.", "128256", kMaxVocabulary, true))
          .field("tied", &LanguageModelKind::tied,
                 {.text = "The output layer has the embedding's parameters.", .fallback = "false"})
          .field("positions", &LanguageModelKind::positions,
                 {.text = "Learned embeddings of positions; 0: none.", .fallback = "0", .min = 0, .max = kMaxSequence})
          .field("biases", &LanguageModelKind::biases, {.text = "Matrices and norms have biases.", .fallback = "false"})
          .field("window", &LanguageModelKind::window,
                 width("Keys that a query sees at most (sliding window). Default: all.", "4096", kMaxSequence))
          .field("window_every", &LanguageModelKind::window_every,
                 {.text = "One layer in so many sees all keys, the others the window; 1: every layer has the window.",
                  .fallback = "1",
                  .min = 1,
                  .max = kMaxLayers})
          .field("latent", &LanguageModelKind::latent, {.text = "Keys and values as one short vector (MLA)."})
          .field("experts", &LanguageModelKind::experts, {.text = "Experts instead of one feed-forward network."})
          .field("predicted", &LanguageModelKind::predicted,
                 {.text = "Tokens that are predicted at a time: each beyond the first costs a layer and an output "
                          "layer (MTP).",
                  .fallback = "1",
                  .min = 1,
                  .max = 16})
          .build();
  return table;
}

template <>
const Table& table_of<ParallelSpec>() {
  const auto degree = [](std::string text) {
    return FieldOptions{.text = std::move(text), .fallback = "1", .min = 1, .max = kMaxGpus};
  };
  static const Table table =
      TableOf<ParallelSpec>("parallel", "Over how many GPUs each dimension of the job is cut.")
          .field("tensor", &ParallelSpec::tensor, degree("Parts of every matrix."))
          .field("pipeline", &ParallelSpec::pipeline, degree("Stages of layers."))
          .field("layers", &ParallelSpec::layers,
                 {.text = "Layers of each piece of the pipeline, in the order in which tokens pass them. Default: as "
                          "even as they can be, fewer in the first and the last one.",
                  .example = "[9, 8, 8, 7]",
                  .min = 0,
                  .max = kMaxLayers})
          .field("context", &ParallelSpec::context, degree("Parts of a sequence."))
          .field("context_by", &ParallelSpec::context_by,
                 {.text = "How they meet: `ring` passes keys and values round beside attention, `alltoall` (Ulysses) "
                          "gives each GPU the whole sequence of some heads before it, and takes it back behind.",
                  .fallback = "ring"})
          .field("expert", &ParallelSpec::expert, degree("Parts of the experts; inside `data` x `context` x `tensor`."))
          .field("data", &ParallelSpec::data,
                 {.text = "Copies of the model that each see other sequences; 0 or `auto`: what is left of `gpus`.",
                  .fallback = "auto",
                  .min = 0,
                  .max = kMaxGpus,
                  .meant = {{"auto", "0"}}})
          .field("sequence", &ParallelSpec::sequence,
                 {.text = "Norms and residuals are cut along the sequence where matrices are cut: all-gather and "
                          "reduce-scatter instead of all-reduce.",
                  .fallback = "true"})
          .field("shard", &ParallelSpec::shard,
                 {.text = "GPUs over which `sharding` cuts; the copies beyond keep the same. Default: all copies, with "
                          "`hybrid` those of a scale-up domain.",
                  .example = "8",
                  .min = 1,
                  .max = kMaxGpus})
          .field(
              "order", &ParallelSpec::order,
              {.text = "Where groups are placed: ranks of the first dimension follow each other, those of the last are "
                       "farthest apart (`context` goes with `data`). `tensor-data-pipeline` is Megatron-LM's, "
                       "`tensor-pipeline-data` its --use-tp-pp-dp-mapping. Experts need `data` directly behind "
                       "`tensor`.",
               .fallback = "tensor-data-pipeline"})
          .build();
  return table;
}

template <>
const Table& table_of<OverlapSpec>() {
  static const Table table =
      TableOf<OverlapSpec>("overlap", "Which communication goes on beside computing.")
          .field("tensor", &OverlapSpec::tensor,
                 {.text = "All-gathers and reduce-scatters of `tensor`, piece by piece beside their matrices.",
                  .fallback = "false"})
          .field("pipeline", &OverlapSpec::pipeline,
                 {.text = "Activations go to the next stage beside computing.", .fallback = "true"})
          .field("data", &OverlapSpec::data,
                 {.text = "Gradients and parameters go beside the backward and forward pass.", .fallback = "true"})
          .field("expert", &OverlapSpec::expert,
                 {.text = "All-to-all of experts beside computing of another micro-batch.", .fallback = "false"})
          .field("prefetch", &OverlapSpec::prefetch,
                 {.text = "With `zero3` and `hybrid`: parameters of the next layer are gathered beside this one's "
                          "computing (FSDP's prefetching, which its first releases did not do unless told).",
                  .fallback = "true"})
          .build();
  return table;
}

template <>
const Table& table_of<MoeSpec>() {
  static const Table table =
      TableOf<MoeSpec>("moe", "How tokens come to their experts.")
          .field(
              "dispatcher", &MoeSpec::dispatcher,
              {.text = "`alltoall` sends a token once for each expert it visits, `allgather` all tokens to all GPUs of "
                       "the group, `deepep` a token once to each scale-up domain (or GPU) that has one of them.",
               .fallback = "alltoall"})
          .field("imbalance", &MoeSpec::imbalance,
                 {.text = "Per cent of the mean that the busiest GPU of a group gets: the others wait for it.",
                  .fallback = "100",
                  .min = 100,
                  .max = 10'000})
          .field("overlap", &MoeSpec::overlap,
                 {.text = "All-to-all beside computing of another micro-batch; the same as `overlap.expert`.",
                  .fallback = "false"})
          .build();
  return table;
}

template <>
const Table& table_of<TrainingRun>() {
  static const Table table =
      TableOf<TrainingRun>("training", "One step of training a language model.")
          .field("model", &TrainingRun::model,
                 {.text = "What is trained.", .example = "llama3-70b", .required = true, .section = "models"})
          .field("gpus", &TrainingRun::gpus,
                 {.text = "How many GPUs take part. Default: all, or each of `jobs` its share.",
                  .example = "512",
                  .min = 1,
                  .max = kMaxGpus})
          .field("sequence", &TrainingRun::sequence,
                 {.text = "Tokens of a sequence.", .fallback = "4096", .min = 1, .max = kMaxSequence})
          .field("global_batch", &TrainingRun::global_batch,
                 {.text = "Sequences of a step.", .example = "1024", .required = true, .min = 1, .max = kMaxBatch})
          .field("micro_batch", &TrainingRun::micro_batch,
                 {.text = "Sequences that a GPU computes at a time.", .fallback = "1", .min = 1, .max = kMaxBatch})
          .field("parallel", &TrainingRun::parallel, {.text = "How the job is cut."})
          .field("schedule", &TrainingRun::schedule,
                 {.text = "In which order a stage does forward and backward passes.", .fallback = "1f1b"})
          .field("virtual_stages", &TrainingRun::virtual_stages,
                 {.text = "Pieces of the model that a stage has; with `interleaved` more than one.",
                  .fallback = "1",
                  .min = 1,
                  .max = kMaxLayers})
          .field("sharding", &TrainingRun::sharding,
                 {.text = "What copies of the model keep only a part of: `zero1` optimizer states, `zero2` gradients "
                          "too, `zero3` parameters too (FSDP), `hybrid` as `zero3` within a scale-up domain.",
                  .fallback = "zero1"})
          .field(
              "parameters_by", &TrainingRun::parameters_by,
              {.text = "How updated parameters come to the other copies with `zero1` and `zero2`: one all-gather, or "
                       "each rank broadcasts its own in turn, and nothing is computed meanwhile (InternEvo).",
               .fallback = "allgather"})
          .field("recompute", &TrainingRun::recompute,
                 {.text = "What is computed again in the backward pass instead of kept: `selective` the inside of "
                          "attention (nothing where it is fused), `operators` every second matrix and all that is "
                          "between matrices (torchtitan's selective checkpoints), `full` whole layers.",
                  .fallback = "none"})
          .field("recompute_modules", &TrainingRun::recompute_modules,
                 {.text = "Beside that, single parts of a layer that are computed again, by Megatron-Core's names: "
                          "`layernorm`, `mla_up_proj` (from the latent vectors to queries, keys and values), `mlp` (of "
                          "layers without experts), `moe_act` (of experts).",
                  .example = "[mla_up_proj]"})
          .field(
              "precision", &TrainingRun::precision,
              {.text =
                   "Of matrix products. `fp8` has one scale for a tensor, `fp8-rowwise` one for each row, `mxfp8` and "
                   "`nvfp4` one for each block. `fp16` is `bf16` with a scaled loss, whose gradients are scaled "
                   "back and looked through before the optimizer.",
               .fallback = "bf16"})
          .field("attention", &TrainingRun::attention,
                 {.text = "Kernel of attention; `triton` is FlashAttention as it was written in Triton in 2022.",
                  .fallback = "flash2"})
          .field("optimizer", &TrainingRun::optimizer, {.text = "What updates parameters.", .fallback = "adam"})
          .field("gradient_bytes", &TrainingRun::gradient_bytes,
                 {.text = "Of a gradient, where it is summed up and sent.", .fallback = "4", .min = 2, .max = 4})
          .field(
              "framework", &TrainingRun::framework,
              {.text = "Whose kernels run between matrix products: `megatron` fused ones (Apex, Transformer Engine), "
                       "`pytorch` one for each operator.",
               .fallback = "megatron"})
          .field("compile", &TrainingRun::compile,
                 {.text = "`torch.compile`: operators of `pytorch` are fused.", .fallback = "false"})
          .field(
              "dropout", &TrainingRun::dropout,
              {.text = "Dropout behind each block and, where attention is not fused, inside it.", .fallback = "false"})
          .field(
              "fused_loss", &TrainingRun::fused_loss,
              {.text = "Cross entropy is one kernel each way on 16-bit logits (FlashAttention's, Liger's, Megatron's "
                       "`--cross-entropy-loss-fusion`) instead of operators on 32-bit ones.",
               .fallback = "false"})
          .field("offload", &TrainingRun::offload,
                 {.text = "What is kept in host memory: `optimizer` its states, `parameters` these too (either is "
                          "updated by the CPU), `activations` what the backward pass needs, from layer to layer.",
                  .fallback = "none"})
          .field("moe", &TrainingRun::moe, {.text = "How tokens come to their experts."})
          .field("jitter", &TrainingRun::jitter,
                 {.text = "Standard deviation of a GPU's time for a pass, in per mille of it: groups wait for their "
                          "slowest.",
                  .fallback = "0",
                  .min = 0,
                  .max = 1'000})
          .field("cuda_graphs", &TrainingRun::cuda_graphs,
                 {.text = "Kernels are launched as graphs: the host is never too slow.", .fallback = "false"})
          .field("overlap", &TrainingRun::overlap, {.text = "What goes on beside computing."})
          .field("stack", &TrainingRun::stack,
                 {.text = "Of NCCL, as for collectives. Default: by NIC.", .example = "ib"})
          .field("algorithms", &TrainingRun::algorithms,
                 {.text = "Of collectives: each takes the first of these that its group can do (NCCL_ALGO), or what "
                          "NCCL would choose. Default: all as NCCL would choose.",
                  .example = "[nvls, tree]"})
          .field("slow_ranks", &TrainingRun::slow_ranks,
                 {.text = "Ranks and what is left of their speed.", .example = "[3=50%]"})
          .field(
              "jobs", &TrainingRun::jobs,
              {.text = "Equal jobs that run at the same time, each on `gpus`: their collectives meet on the network. "
                       "Several items of `run` run one after another, each alone.",
               .fallback = "1",
               .min = 1,
               .max = 64})
          .field("jobs_by", &TrainingRun::jobs_by,
                 {.text = "Where they are: `block` one behind another, `domain` a scale-up domain each in turn.",
                  .fallback = "block"})
          .places(&TrainingRun::places)
          .build();
  return table;
}

}  // namespace weft::spec
