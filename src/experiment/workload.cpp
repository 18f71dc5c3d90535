#include "experiment/workload.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "experiment/fingerprint.hpp"

namespace weft::experiment {
namespace {

std::string describe_job(const CollectiveJob& job) {
  return fmt::format("{} of {}{}", collective::name(job.operation),
                     job.on.empty() ? counted(job.gpus, "GPU") : "GPUs " + job.on,
                     job.split.empty() ? "" : " split " + job.split);
}

void add_job(const CollectiveJob& job, Fingerprint& fingerprint) {
  fingerprint.add(collective::name(job.operation));
  fingerprint.add(job.gpus);
  for (const Bytes size : job.sizes) fingerprint.add(static_cast<std::uint64_t>(size.count()));
  fingerprint.add(job.stack);
  fingerprint.add(job.per_server);
  fingerprint.add(job.on);
  fingerprint.add(job.split);
  fingerprint.add(static_cast<std::uint64_t>(job.skew.count()));
  for (const std::string& rank : job.slow_ranks) fingerprint.add(rank);
}

void add_choice(const CollectiveChoice& choice, Fingerprint& fingerprint) {
  for (const collective::Algorithm each : choice.algorithms) fingerprint.add(collective::name(each));
  fingerprint.add(choice.all ? "all" : "");
  fingerprint.add(choice.protocol ? collective::name(*choice.protocol) : "");
  fingerprint.add(choice.channels);
  fingerprint.add(choice.pxn ? "" : "no PXN");
}

std::string describe_collectives(const Collectives& work) {
  std::string text;
  for (const CollectiveJob& job : work.jobs) text += (text.empty() ? "" : " beside ") + describe_job(job);
  return work.beside ? text + " beside " + work.beside->name : text;
}

std::uint64_t fingerprint_of(const Collectives& work) {
  Fingerprint fingerprint;
  for (const CollectiveJob& job : work.jobs) add_job(job, fingerprint);
  add_choice(work.choice, fingerprint);
  if (work.beside) fingerprint.add(work.beside->fingerprint);
  return fingerprint.value();
}

std::uint64_t fingerprint_of(const Training& work) {
  const model::TrainingRun& run = work.run;
  const model::LanguageModelKind& model = run.model;
  Fingerprint all;
  for (const std::int64_t each : {model.layers,
                                  model.hidden,
                                  model.heads,
                                  model.kv_heads.value_or(0),
                                  model.head_dim.value_or(0),
                                  model.value_dim.value_or(0),
                                  model.feed_forward,
                                  std::int64_t{model.gated},
                                  model.vocabulary,
                                  std::int64_t{model.tied},
                                  model.positions,
                                  std::int64_t{model.biases},
                                  model.window.value_or(0),
                                  model.window_every,
                                  model.predicted,
                                  run.gpus.value_or(0),
                                  run.sequence,
                                  run.global_batch,
                                  run.micro_batch,
                                  run.parallel.tensor,
                                  run.parallel.pipeline,
                                  run.parallel.context,
                                  run.parallel.expert,
                                  run.parallel.data.value_or(0),
                                  std::int64_t{run.parallel.sequence},
                                  run.parallel.shard.value_or(0),
                                  run.virtual_stages,
                                  run.gradient_bytes,
                                  std::int64_t{run.compile},
                                  std::int64_t{run.dropout},
                                  run.moe.imbalance,
                                  run.jitter,
                                  std::int64_t{run.cuda_graphs},
                                  std::int64_t{run.overlap.tensor},
                                  std::int64_t{run.overlap.pipeline},
                                  std::int64_t{run.overlap.data},
                                  std::int64_t{run.overlap.expert},
                                  std::int64_t{run.overlap.prefetch}})
    all.add(static_cast<std::uint64_t>(each));
  for (const std::string_view each :
       {enum_name(run.schedule), enum_name(run.sharding), enum_name(run.recompute), enum_name(run.precision),
        enum_name(run.attention), enum_name(run.optimizer), enum_name(run.framework), enum_name(run.offload),
        enum_name(run.moe.dispatcher), enum_name(run.parallel.order)})
    all.add(each);
  for (const model::RecomputeModule each : run.recompute_modules) all.add(enum_name(each));
  if (const auto& experts = model.experts)
    for (const std::int64_t each :
         {experts->count, experts->per_token, experts->feed_forward, experts->shared, experts->dense_layers})
      all.add(static_cast<std::uint64_t>(each));
  // What came later is added where it is said, so that older digests stay.
  if (run.moe.overlap) all.add("moe.overlap");
  if (run.jobs > 1) all.add(fmt::format("{} jobs by {}", run.jobs, enum_name(run.jobs_by)));
  if (run.parallel.context_by != model::ContextBy::ring) all.add(enum_name(run.parallel.context_by));
  if (run.parameters_by != model::ParametersBy::allgather) all.add(enum_name(run.parameters_by));
  if (run.fused_loss) all.add("fused loss");
  for (const std::int64_t each : run.parallel.layers) all.add(static_cast<std::uint64_t>(each));
  if (model.experts && model.experts->groups > 1)
    for (const std::int64_t each : {model.experts->groups, model.experts->groups_per_token})
      all.add(static_cast<std::uint64_t>(each));
  if (model.experts && model.experts->capacity) all.add(static_cast<std::uint64_t>(*model.experts->capacity));
  if (const auto& latent = model.latent)
    for (const std::int64_t each : {latent->query_rank, latent->key_value_rank, latent->rotary})
      all.add(static_cast<std::uint64_t>(each));
  for (const std::string& each : run.algorithms) all.add("algorithm " + each);
  all.add(run.stack);
  for (const std::string& each : run.slow_ranks) all.add(each);
  return all.value();
}

}  // namespace

std::string describe(const Workload& workload) {
  return std::visit(Match{[](const Traffic& traffic) { return traffic.name; },
                          [](const Collectives& work) { return describe_collectives(work); },
                          [](const Training& work) { return "training " + work.run.model.kind; }},
                    workload);
}

std::uint64_t fingerprint(const Workload& workload) {
  return std::visit(Match{[](const Traffic& traffic) { return traffic.fingerprint; },
                          [](const Collectives& work) { return fingerprint_of(work); },
                          [](const Training& work) { return fingerprint_of(work); }},
                    workload);
}

Fidelity usual_fidelity(const Workload& workload) {
  return std::visit(Match{[](const Traffic&) { return Fidelity::packet; },
                          [](const Collectives& work) { return work.beside ? Fidelity::packet : Fidelity::message; },
                          [](const Training&) { return Fidelity::message; }},
                    workload);
}

bool same_work(const Workload& one, const Workload& other) {
  const auto what = [](const Workload& each) {
    const auto* training = std::get_if<Training>(&each);
    if (training == nullptr) return fingerprint(each);
    Training bare;
    bare.run.model = training->run.model;
    bare.run.sequence = training->run.sequence;
    bare.run.global_batch = training->run.global_batch;
    return fingerprint_of(bare);
  };
  return one.index() == other.index() && what(one) == what(other);
}

}  // namespace weft::experiment
