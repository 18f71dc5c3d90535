#pragma once
// A language model and a training job, as the catalog and the cluster file write them: nothing is derived here.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/names.hpp"
#include "base/places.hpp"
#include "base/units.hpp"
#include "model/kinds.hpp"

namespace weft::model {

// Feed-forward networks of which a token visits a few.
struct ExpertsSpec {
  std::int64_t count = 0;
  std::int64_t per_token = 0;
  std::int64_t feed_forward = 0;         // width of one
  std::int64_t shared = 0;               // width of what every token visits beside them
  std::int64_t dense_layers = 0;         // at the start, without experts
  std::int64_t groups = 1;               // of experts
  std::int64_t groups_per_token = 1;     // that a token's experts are in at most
  std::optional<std::int64_t> capacity;  // per cent of the mean: what an expert takes, dropped or padded
};

// Attention whose keys and values are kept as one short vector (MLA).
struct LatentSpec {
  std::int64_t query_rank = 0;  // 0: queries are not compressed
  std::int64_t key_value_rank = 0;
  std::int64_t rotary = 0;  // of head_dim, the part that knows positions, which heads share
};

struct LanguageModelKind : Kind {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::optional<std::int64_t> kv_heads;
  std::optional<std::int64_t> head_dim;
  std::optional<std::int64_t> value_dim;
  std::int64_t feed_forward = 0;
  bool gated = true;
  std::int64_t vocabulary = 0;
  bool tied = false;
  std::int64_t positions = 0;
  bool biases = false;
  std::optional<std::int64_t> window;
  std::int64_t window_every = 1;
  std::optional<LatentSpec> latent;
  std::optional<ExpertsSpec> experts;
  std::int64_t predicted = 1;
};

enum class PipelineSchedule { one_f_one_b, interleaved, zero_bubble, dualpipe, gpipe };
constexpr auto names_of(PipelineSchedule) {
  using enum PipelineSchedule;
  return std::to_array<EnumName<PipelineSchedule>>({{one_f_one_b, "1f1b"},
                                                    {interleaved, "interleaved"},
                                                    {zero_bubble, "zero-bubble"},
                                                    {dualpipe, "dualpipe"},
                                                    {gpipe, "gpipe"}});
}

enum class Sharding { none, zero1, zero2, zero3, hybrid };
constexpr auto names_of(Sharding) {
  using enum Sharding;
  return std::to_array<EnumName<Sharding>>(
      {{none, "none"}, {zero1, "zero1"}, {zero2, "zero2"}, {zero3, "zero3"}, {hybrid, "hybrid"}});
}

enum class Recompute { none, selective, operators, full };
constexpr auto names_of(Recompute) {
  using enum Recompute;
  return std::to_array<EnumName<Recompute>>(
      {{none, "none"}, {selective, "selective"}, {operators, "operators"}, {full, "full"}});
}

// Parts of a layer that Megatron-Core computes again by themselves, by its own names.
enum class RecomputeModule { layernorm, mla_up_proj, mlp, moe_act };
constexpr auto names_of(RecomputeModule) {
  using enum RecomputeModule;
  return std::to_array<EnumName<RecomputeModule>>(
      {{layernorm, "layernorm"}, {mla_up_proj, "mla_up_proj"}, {mlp, "mlp"}, {moe_act, "moe_act"}});
}

enum class TrainingPrecision { bf16, fp8, mxfp8, nvfp4, fp16, fp8_rowwise };
constexpr auto names_of(TrainingPrecision) {
  using enum TrainingPrecision;
  return std::to_array<EnumName<TrainingPrecision>>(
      {{bf16, "bf16"}, {fp8, "fp8"}, {mxfp8, "mxfp8"}, {nvfp4, "nvfp4"}, {fp16, "fp16"}, {fp8_rowwise, "fp8-rowwise"}});
}

// Whose kernels run between matrix products.
enum class Framework { megatron, pytorch };
constexpr auto names_of(Framework) {
  using enum Framework;
  return std::to_array<EnumName<Framework>>({{megatron, "megatron"}, {pytorch, "pytorch"}});
}

// What is kept in host memory.
enum class Offload { none, optimizer, parameters, activations };
constexpr auto names_of(Offload) {
  using enum Offload;
  return std::to_array<EnumName<Offload>>(
      {{none, "none"}, {optimizer, "optimizer"}, {parameters, "parameters"}, {activations, "activations"}});
}

enum class Dispatcher { alltoall, allgather, deepep };
constexpr auto names_of(Dispatcher) {
  using enum Dispatcher;
  return std::to_array<EnumName<Dispatcher>>({{alltoall, "alltoall"}, {allgather, "allgather"}, {deepep, "deepep"}});
}

// How GPUs that share a sequence come to each other's keys and values.
enum class ContextBy { ring, alltoall };
constexpr auto names_of(ContextBy) {
  using enum ContextBy;
  return std::to_array<EnumName<ContextBy>>({{ring, "ring"}, {alltoall, "alltoall"}});
}

// How parameters that one copy has updated come to the others.
enum class ParametersBy { allgather, broadcast };
constexpr auto names_of(ParametersBy) {
  using enum ParametersBy;
  return std::to_array<EnumName<ParametersBy>>({{allgather, "allgather"}, {broadcast, "broadcast"}});
}

// How tokens come to their experts.
struct MoeSpec {
  Dispatcher dispatcher = Dispatcher::alltoall;
  std::int64_t imbalance = 100;  // per cent of the mean that the busiest GPU gets
  bool overlap = false;          // as OverlapSpec::expert
};

enum class AttentionKind { unfused, flash2, flash3, cudnn, triton };
constexpr auto names_of(AttentionKind) {
  using enum AttentionKind;
  return std::to_array<EnumName<AttentionKind>>(
      {{unfused, "unfused"}, {flash2, "flash2"}, {flash3, "flash3"}, {cudnn, "cudnn"}, {triton, "triton"}});
}

enum class OptimizerKind { adam, sgd, lamb };
constexpr auto names_of(OptimizerKind) {
  using enum OptimizerKind;
  return std::to_array<EnumName<OptimizerKind>>({{adam, "adam"}, {sgd, "sgd"}, {lamb, "lamb"}});
}

// Which ranks follow each other: the first dimension's do, the last one's are farthest apart. Context goes with data.
enum class RankOrder {
  tensor_data_pipeline,
  tensor_pipeline_data,
  data_tensor_pipeline,
  data_pipeline_tensor,
  pipeline_tensor_data,
  pipeline_data_tensor
};
constexpr auto names_of(RankOrder) {
  using enum RankOrder;
  return std::to_array<EnumName<RankOrder>>({{tensor_data_pipeline, "tensor-data-pipeline"},
                                             {tensor_pipeline_data, "tensor-pipeline-data"},
                                             {data_tensor_pipeline, "data-tensor-pipeline"},
                                             {data_pipeline_tensor, "data-pipeline-tensor"},
                                             {pipeline_tensor_data, "pipeline-tensor-data"},
                                             {pipeline_data_tensor, "pipeline-data-tensor"}});
}

struct ParallelSpec {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t context = 1;
  std::int64_t expert = 1;
  std::optional<std::int64_t> data;  // nothing or 0: what is left
  bool sequence = true;
  std::optional<std::int64_t> shard;  // nothing: as the sharding says
  RankOrder order = RankOrder::tensor_data_pipeline;
  ContextBy context_by = ContextBy::ring;
  std::vector<std::int64_t> layers;  // of each piece of the pipeline; empty: as even as they can be
};

struct OverlapSpec {
  bool tensor = false;
  bool pipeline = true;
  bool data = true;
  bool expert = false;
  bool prefetch = true;
};

// Where equal jobs that run at the same time are: one behind another, or scale-up domain by scale-up domain in turn.
enum class JobsBy { block, domain };
constexpr auto names_of(JobsBy) {
  using enum JobsBy;
  return std::to_array<EnumName<JobsBy>>({{block, "block"}, {domain, "domain"}});
}

struct TrainingRun {
  LanguageModelKind model;
  std::optional<std::int64_t> gpus;
  std::int64_t sequence = 0;
  std::int64_t global_batch = 0;
  std::int64_t micro_batch = 1;
  ParallelSpec parallel;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  std::int64_t virtual_stages = 1;
  Sharding sharding = Sharding::zero1;
  ParametersBy parameters_by = ParametersBy::allgather;
  Recompute recompute = Recompute::none;
  std::vector<RecomputeModule> recompute_modules;
  TrainingPrecision precision = TrainingPrecision::bf16;
  AttentionKind attention = AttentionKind::flash2;
  OptimizerKind optimizer = OptimizerKind::adam;
  std::int64_t gradient_bytes = 4;
  Framework framework = Framework::megatron;
  bool compile = false;
  bool dropout = false;
  bool fused_loss = false;
  bool cuda_graphs = false;
  Offload offload = Offload::none;
  MoeSpec moe;
  std::int64_t jitter = 0;  // per mille
  OverlapSpec overlap;
  std::string stack;
  std::vector<std::string> algorithms;
  std::vector<std::string> slow_ranks;
  std::int64_t jobs = 1;
  JobsBy jobs_by = JobsBy::block;
  KeyPlaces places = {};
};

}  // namespace weft::model
