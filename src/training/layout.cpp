#include "training/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "training/parameters.hpp"

namespace weft::training {
namespace {

using model::LanguageModelKind;
using model::PipelineSchedule;
using model::Sharding;
using model::TrainingRun;

// Divisors of `of` next to `wanted`: "4 or 8".
std::string divisors_near(std::int64_t of, std::int64_t wanted) {
  std::int64_t below = 0;
  std::int64_t above = 0;
  for (std::int64_t each = 1; each <= of && each <= 65'536; ++each) {
    if (of % each != 0) continue;
    if (each < wanted) below = each;
    if (each > wanted && above == 0) above = each;
  }
  if (below > 0 && above > 0) return fmt::format("{} or {}", below, above);
  return fmt::format("{}", below > 0 ? below : std::max<std::int64_t>(above, 1));
}

// The most copies that so many pieces of a batch can be dealt to evenly.
std::int64_t most_copies(std::int64_t pieces, std::int64_t most) {
  std::int64_t copies = std::max<std::int64_t>(1, std::min(pieces, most));
  while (pieces % copies != 0) --copies;
  return copies;
}

Result<void, WrongLayout> wrong(std::string key, std::string what, std::string help) {
  return tl::unexpected(WrongLayout{std::move(key), std::move(what), std::move(help)});
}

Result<void, WrongLayout> check_model(const TrainingRun& run) {
  const LanguageModelKind& model = run.model;
  const AttentionShape shape = attention_of(model);
  const std::int64_t tensor = run.parallel.tensor;
  if (!model.head_dim && model.hidden % model.heads != 0)
    return wrong("model", fmt::format("{} heads do not divide a width of {}", model.heads, model.hidden),
                 "head_dim says how wide a head is");
  if (shape.heads % shape.kv_heads != 0)
    return wrong("model", fmt::format("{} heads cannot share {} heads of keys and values", shape.heads, shape.kv_heads),
                 fmt::format("kv_heads: {}", divisors_near(shape.heads, shape.kv_heads)));
  if (model.experts && model.experts->per_token > model.experts->count)
    return wrong("model", "a token visits more experts than there are",
                 fmt::format("per_token: at most {}", model.experts->count));
  if (const auto& experts = model.experts; experts && experts->count % experts->groups != 0)
    return wrong("model", fmt::format("{} groups do not divide {} experts", experts->groups, experts->count),
                 fmt::format("groups: {}", divisors_near(experts->count, experts->groups)));
  if (const auto& experts = model.experts; experts && experts->groups_per_token > experts->groups)
    return wrong("model", "a token visits more groups of experts than there are",
                 fmt::format("groups_per_token: at most {}", experts->groups));
  if (const auto& experts = model.experts) {
    const std::int64_t group = experts->count / experts->groups;
    if (experts->per_token > experts->groups_per_token * group)
      return wrong("model",
                   fmt::format("a token visits {} experts, and {} of {} groups have {}", experts->per_token,
                               experts->groups_per_token, experts->groups, experts->groups_per_token * group),
                   fmt::format("groups_per_token: {}", (experts->per_token + group - 1) / group));
  }
  if (shape.heads % tensor != 0)
    return wrong("parallel", fmt::format("tensor: {} does not divide {} heads", tensor, shape.heads),
                 fmt::format("tensor: {}", divisors_near(shape.heads, tensor)));
  if (const std::int64_t width = model.feed_forward; width % tensor != 0)
    return wrong("parallel", fmt::format("tensor: {} does not divide a feed-forward width of {}", tensor, width),
                 fmt::format("tensor: {}", divisors_near(width, tensor)));
  if (run.gradient_bytes != 2 && run.gradient_bytes != 4)
    return wrong("gradient_bytes", fmt::format("no number has {} bytes", run.gradient_bytes), "gradient_bytes: 2 or 4");
  if (run.parallel.expert > 1 && !model.experts)
    return wrong("parallel", fmt::format("expert: {} for a model without experts", run.parallel.expert), "expert: 1");
  if (model.experts && model.experts->count % run.parallel.expert != 0)
    return wrong("parallel",
                 fmt::format("expert: {} does not divide {} experts", run.parallel.expert, model.experts->count),
                 fmt::format("expert: {}", divisors_near(model.experts->count, run.parallel.expert)));
  return {};
}

Result<void, WrongLayout> check_pipeline(const TrainingRun& run, const Layout& layout) {
  const std::int64_t pieces = layout.pipeline * layout.virtual_stages;
  const bool interleaved = run.schedule == PipelineSchedule::interleaved;
  if (layout.virtual_stages > 1 && !interleaved)
    return wrong("virtual_stages", fmt::format("a stage has one piece with {}", enum_name(run.schedule)),
                 "schedule: interleaved, or virtual_stages: 1");
  if (interleaved && layout.pipeline > 1 && layout.micro_batches % layout.pipeline != 0)
    return wrong("schedule",
                 fmt::format("interleaved needs a multiple of {} micro-batches, and there are {}", layout.pipeline,
                             layout.micro_batches),
                 "another global_batch, micro_batch or pipeline");
  if (run.schedule == PipelineSchedule::dualpipe && (layout.pipeline % 2 != 0 || layout.micro_batches % 2 != 0))
    return wrong("schedule", "dualpipe feeds the pipeline from both ends: stages and micro-batches come in pairs",
                 "an even pipeline and an even number of micro-batches");
  // The first and the last piece may have the embedding and the output layer alone.
  if (pieces > run.model.layers + 2)
    return wrong("parallel", fmt::format("{} layers are fewer than {} pieces", run.model.layers, pieces),
                 fmt::format("pipeline x virtual_stages: at most {}", run.model.layers + 2));
  return {};
}

// As even as they can be; the first and the last piece, which have the embedding and the output layer, have less.
std::vector<std::int64_t> even_cut(std::int64_t layers, std::int64_t pieces) {
  std::vector<std::int64_t> each(static_cast<std::size_t>(pieces), (layers + pieces - 1) / pieces);
  std::int64_t over = each[0] * pieces - layers;
  std::size_t front = 0;
  std::size_t back = each.size() - 1;
  for (bool last = true; over > 0; --over, last = !last) --each[last ? back-- : front++];
  return each;
}

// What the file says of them.
Result<void, WrongLayout> check_cut(const TrainingRun& run, std::int64_t pieces) {
  const std::vector<std::int64_t>& each = run.parallel.layers;
  if (each.empty()) return {};
  const std::string help = fmt::format("layers: [{}], or none", fmt::join(even_cut(run.model.layers, pieces), ", "));
  if (static_cast<std::int64_t>(each.size()) != pieces)
    return wrong("parallel", fmt::format("layers: of {} pieces, and the pipeline has {}", each.size(), pieces), help);
  if (const std::int64_t all = std::accumulate(each.begin(), each.end(), std::int64_t{0}); all != run.model.layers)
    return wrong("parallel", fmt::format("layers: {} together, and the model has {}", all, run.model.layers), help);
  return {};
}

std::vector<Chunk> chunks_of(const std::vector<std::int64_t>& layers) {
  std::vector<Chunk> chunks;
  std::int64_t first = 0;
  for (const std::int64_t count : layers) {
    chunks.push_back({first, count});
    first += count;
  }
  chunks.front().embeds = true;
  chunks.back().outputs = true;
  return chunks;
}

// Strides by the order of dimensions.
void place(model::RankOrder order, Layout& layout) {
  using enum model::RankOrder;
  const auto strides = [](auto first, std::int64_t first_size, auto second, std::int64_t second_size, auto third) {
    *first = 1;
    *second = first_size;
    *third = first_size * second_size;
  };
  const std::int64_t copies = layout.context * layout.data;
  std::int64_t* const tensor = &layout.tensor_stride;
  std::int64_t* const copy = &layout.copy_stride;
  std::int64_t* const stage = &layout.stage_stride;
  switch (order) {
    case tensor_data_pipeline:
      return strides(tensor, layout.tensor, copy, copies, stage);
    case tensor_pipeline_data:
      return strides(tensor, layout.tensor, stage, layout.pipeline, copy);
    case data_tensor_pipeline:
      return strides(copy, copies, tensor, layout.tensor, stage);
    case data_pipeline_tensor:
      return strides(copy, copies, stage, layout.pipeline, tensor);
    case pipeline_tensor_data:
      return strides(stage, layout.pipeline, tensor, layout.tensor, copy);
    case pipeline_data_tensor:
      return strides(stage, layout.pipeline, copy, copies, tensor);
  }
}

bool experts_follow_each_other(const Layout& layout) {
  return layout.tensor == 1 || layout.copy_stride == layout.tensor_stride * layout.tensor;
}

// Modules that are computed again, and are there.
Result<void, WrongLayout> check_modules(const TrainingRun& run) {
  using enum model::RecomputeModule;
  const auto refuse = [](model::RecomputeModule module, std::string_view why) {
    return wrong("recompute_modules", fmt::format("{}: {}", enum_name(module), why), "without it");
  };
  const auto& experts = run.model.experts;
  for (const model::RecomputeModule each : run.recompute_modules) {
    if (run.recompute == model::Recompute::full || run.recompute == model::Recompute::operators)
      return refuse(each, fmt::format("`recompute: {}` does that already", enum_name(run.recompute)));
    if (each == mla_up_proj && !run.model.latent) return refuse(each, "the model's keys and values are not compressed");
    if (each == moe_act && !experts) return refuse(each, "the model has no experts");
    if (each == mlp && experts && experts->dense_layers == 0)
      return refuse(each, "every layer of the model has experts");
  }
  return {};
}

}  // namespace

Result<Layout, WrongLayout> layout_of(const TrainingRun& run, std::int64_t gpus, std::int64_t domain) {
  if (auto fine = check_model(run); !fine) return tl::unexpected(fine.error());
  Layout out;
  out.gpus = gpus;
  out.tensor = run.parallel.tensor;
  out.context = run.parallel.context;
  out.expert = run.parallel.expert;
  out.pipeline = run.parallel.pipeline;
  out.virtual_stages = run.virtual_stages;
  const std::int64_t copy = out.tensor * out.context * out.pipeline;
  const auto fail = [](auto... all) { return tl::unexpected(WrongLayout{all...}); };
  if (copy > gpus)
    return fail("parallel", fmt::format("tensor x context x pipeline = {}, and there are {} GPUs", copy, gpus),
                fmt::format("degrees whose product divides {}", gpus));
  if (gpus % copy != 0)
    return fail("parallel", fmt::format("tensor x context x pipeline = {} does not divide {} GPUs", copy, gpus),
                fmt::format("degrees whose product is {}, or gpus: {}", divisors_near(gpus, copy), gpus / copy * copy));
  const std::int64_t asked = run.parallel.data.value_or(0);
  out.data = asked > 0 ? asked : gpus / copy;
  if (out.data * copy != gpus)
    return fail("parallel", fmt::format("all degrees together are {}, and there are {} GPUs", out.data * copy, gpus),
                fmt::format("data: {}", gpus / copy));
  if (out.stage_ranks() % out.expert != 0)
    return fail(
        "parallel", fmt::format("expert: {} does not divide the {} GPUs of a stage", out.expert, out.stage_ranks()),
        fmt::format("expert: {}", divisors_near(std::gcd(out.stage_ranks(), run.model.experts->count), out.expert)));
  const std::int64_t at_once = out.data * run.micro_batch;
  if (run.global_batch % at_once != 0) {
    std::string help = fmt::format("global_batch: {}", (run.global_batch / at_once + 1) * at_once);
    if (const std::int64_t fewer = most_copies(run.global_batch / run.micro_batch, out.data);
        asked == 0 && fewer * 4 >= out.data * 3 && run.global_batch % run.micro_batch == 0 &&
        fewer * out.context * out.tensor % out.expert == 0)
      help += fmt::format(", or gpus: {}", fewer * copy);
    if (run.micro_batch > 1 && run.global_batch % out.data == 0)
      help += fmt::format(", or micro_batch: {}", divisors_near(run.global_batch / out.data, run.micro_batch));
    return fail("global_batch",
                fmt::format("{} sequences are no multiple of data x micro_batch = {}", run.global_batch, at_once),
                help);
  }
  out.micro_batches = run.global_batch / at_once;
  place(run.parallel.order, out);
  if (run.model.experts && !experts_follow_each_other(out))
    return fail("parallel",
                fmt::format("order: {} takes ranks apart that share experts", enum_name(run.parallel.order)),
                std::string("order: tensor-data-pipeline or pipeline-tensor-data"));
  if (const std::int64_t parts = out.context * (run.parallel.sequence ? out.tensor : 1); run.sequence % parts != 0)
    return fail("sequence", fmt::format("{} tokens cannot be cut into {} equal parts", run.sequence, parts),
                fmt::format("sequence: {}, a multiple of context x tensor", (run.sequence / parts + 1) * parts));
  if (const std::int64_t heads = attention_of(run.model).heads / out.tensor;
      run.parallel.context_by == model::ContextBy::alltoall && heads % out.context != 0)
    return fail("parallel", fmt::format("context: {} does not divide the {} heads of a GPU", out.context, heads),
                fmt::format("context: {}, or context_by: ring", divisors_near(heads, out.context)));
  if (auto fine = check_pipeline(run, out); !fine) return tl::unexpected(fine.error());
  const std::int64_t copies = out.data * out.context;
  out.shards = copies;
  out.domain = domain;
  if (run.parallel.shard) {
    if (run.sharding != Sharding::zero1 && run.sharding != Sharding::hybrid)
      return fail("parallel", fmt::format("shard: {} is of zero1 and hybrid", *run.parallel.shard),
                  "sharding: zero1 or hybrid, or no shard");
    out.shards = *run.parallel.shard;
    if (copies % out.shards != 0)
      return fail("parallel", fmt::format("shard: {} does not divide {} copies", out.shards, copies),
                  fmt::format("shard: {}", divisors_near(copies, out.shards)));
  } else if (run.sharding == Sharding::hybrid) {
    out.shards = std::max<std::int64_t>(1, domain / out.tensor);
    while (copies % out.shards != 0) --out.shards;
  }
  if (run.parameters_by == model::ParametersBy::broadcast && run.sharding != Sharding::zero1 &&
      run.sharding != Sharding::zero2)
    return fail("parameters_by", fmt::format("with {} nobody has updated parameters to send", enum_name(run.sharding)),
                "sharding: zero1 or zero2, or parameters_by: allgather");
  if (run.compile && run.framework != model::Framework::pytorch)
    return fail("compile", "torch.compile fuses operators of PyTorch; Megatron's are fused by hand",
                "framework: pytorch");
  if (run.offload == model::Offload::parameters && run.sharding != Sharding::zero3 && run.sharding != Sharding::hybrid)
    return fail("offload", "parameters come from host memory layer by layer where they are sharded",
                "sharding: zero3 or hybrid");
  if (!run.overlap.prefetch && run.sharding != Sharding::zero3 && run.sharding != Sharding::hybrid)
    return fail("overlap", "prefetch: false is of parameters that are gathered layer by layer",
                "sharding: zero3 or hybrid, or prefetch: true");
  if (auto fine = check_modules(run); !fine) return tl::unexpected(fine.error());
  if (!run.model.experts &&
      (run.moe.imbalance != 100 || run.moe.dispatcher != model::Dispatcher::alltoall || run.moe.overlap))
    return fail("moe", "the model has no experts", "without moe");
  const std::int64_t pieces = out.pipeline * out.virtual_stages;
  if (auto fine = check_cut(run, pieces); !fine) return tl::unexpected(fine.error());
  out.chunks = chunks_of(run.parallel.layers.empty() ? even_cut(run.model.layers, pieces) : run.parallel.layers);
  return out;
}

GroupPattern pattern_of(const Layout& layout, Group group) {
  const std::int64_t copies = layout.data * layout.context;
  const auto all = [&](std::int64_t size, std::int64_t stride) {
    return GroupPattern{size, stride, stride, layout.gpus / (size * stride), size * stride};
  };
  switch (group) {
    case Group::tensor:
      return all(layout.tensor, layout.tensor_stride);
    case Group::context:
      return all(layout.context, layout.copy_stride);
    case Group::expert:
      return all(layout.expert, layout.tensor > 1 ? layout.tensor_stride : layout.copy_stride);
    case Group::pipeline:
      return all(layout.pipeline, layout.stage_stride);
    case Group::data:
      return all(copies, layout.copy_stride);
    case Group::expert_data:
      // Of models without experts nobody asks.
      if (!experts_follow_each_other(layout)) return all(copies, layout.copy_stride);
      return all(layout.stage_ranks() / layout.expert,
                 layout.expert * (layout.tensor > 1 ? layout.tensor_stride : layout.copy_stride));
    case Group::shard:
      return all(layout.shards, layout.copy_stride);
    case Group::replica:
      return all(copies / layout.shards, layout.copy_stride * layout.shards);
    case Group::embedding: {  // of the first and the last stage
      if (layout.pipeline == 1) return {};
      const std::int64_t block = layout.stage_stride * layout.pipeline;
      return {2, block - layout.stage_stride, layout.stage_stride, layout.gpus / block, block};
    }
  }
  return {};
}

std::vector<std::uint32_t> ranks_of(const GroupPattern& pattern, std::int64_t group) {
  const std::int64_t first = group / pattern.lanes * pattern.block + group % pattern.lanes;
  std::vector<std::uint32_t> ranks;
  for (std::int64_t i = 0; i < pattern.size; ++i)
    ranks.push_back(static_cast<std::uint32_t>(first + i * pattern.stride));
  return ranks;
}

}  // namespace weft::training
