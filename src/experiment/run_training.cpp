#include "experiment/run_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "collective/constants.hpp"
#include "experiment/group_times.hpp"
#include "experiment/network.hpp"
#include "experiment/run_collectives.hpp"
#include "fabric/summary.hpp"
#include "model/placement.hpp"

namespace weft::experiment {
namespace {

using model::Recompute;
using model::Sharding;
using model::TrainingRun;
using spec::Error;

// A job whose collectives are looked up and checked as any others.
CollectiveJob as_job(const TrainingRun& run, const model::Cluster& cluster) {
  CollectiveJob job;
  job.operation = collective::Operation::all_reduce;
  job.gpus = static_cast<std::uint32_t>(gpus_of(cluster, run));
  job.sizes = {Bytes(1)};
  job.stack = run.stack;
  job.places = run.places;
  return job;
}

std::vector<training::SlowRank> slow_of(const TrainingRun& run, std::int64_t gpus, spec::Diagnostics& diagnostics) {
  std::vector<training::SlowRank> made;
  for (const std::string& text : run.slow_ranks) {
    if (const auto slow = model::parse_slow_rank(text, static_cast<std::uint32_t>(gpus)))
      made.push_back({slow->rank, slow->speed_per_mille});
    else
      diagnostics.add(Error::bad_range, run.places.of("slow_ranks"), slow.error().what, slow.error().help);
  }
  return made;
}

training::Memory memory_of(const TrainingRun& run, const training::Layout& layout, const compute::Kernels& kernels) {
  return training::most_memory(run, layout, training::Work(run, layout, kernels));
}

// Changes that are tried, cheapest first, until the job fits.
std::string what_would_fit(const TrainingRun& run, std::int64_t gpus, std::int64_t domain,
                           const compute::Kernels& kernels, Bytes memory) {
  std::vector<std::pair<std::string, TrainingRun>> tried;
  const auto attempt = [&](std::string text, auto change) {
    TrainingRun other = run;
    other.parallel.data.reset();
    change(other);
    tried.emplace_back(std::move(text), std::move(other));
  };
  if (run.sharding == Sharding::none)
    attempt("sharding: zero1", [](TrainingRun& each) { each.sharding = Sharding::zero1; });
  if (run.recompute != Recompute::full)
    attempt("recompute: full", [](TrainingRun& each) {
      each.recompute = Recompute::full;
      each.recompute_modules.clear();
    });
  for (const std::int64_t tensor : {2, 4, 8})
    if (tensor > run.parallel.tensor)
      attempt(fmt::format("parallel.tensor: {}", tensor), [=](TrainingRun& each) { each.parallel.tensor = tensor; });
  for (const std::int64_t pipeline : {2, 4, 8, 16, 32, 64})
    if (pipeline > run.parallel.pipeline)
      attempt(fmt::format("parallel.pipeline: {}", pipeline),
              [=](TrainingRun& each) { each.parallel.pipeline = pipeline; });
  if (run.sharding != Sharding::zero3)
    attempt("sharding: zero3", [](TrainingRun& each) { each.sharding = Sharding::zero3; });
  for (const std::int64_t pipeline : {2, 4, 8, 16, 32, 64})
    attempt(fmt::format("parallel: {{tensor: 8, pipeline: {}}}, recompute: full", pipeline), [=](TrainingRun& each) {
      each.parallel.tensor = 8;
      each.parallel.pipeline = pipeline;
      each.recompute = Recompute::full;
      each.recompute_modules.clear();
    });
  for (const auto& [text, other] : tried) {
    const auto layout = training::layout_of(other, gpus, domain);
    if (layout && memory_of(other, *layout, kernels).total() <= memory) return text + " would fit";
  }
  return "more GPUs, or GPUs with more memory";
}

std::string gigabytes(Bytes bytes) { return fmt::format("{:.1f} GB", static_cast<double>(bytes.count()) / 1e9); }

}  // namespace

std::vector<Training> training_of(const model::Cluster& cluster) {
  std::vector<Training> made;
  for (const model::RunSpec& run : cluster.file.run)
    if (run.training) made.push_back({*run.training});
  return made;
}

std::int64_t gpus_of(const model::Cluster& cluster, const TrainingRun& run) {
  return run.gpus.value_or(static_cast<std::int64_t>(cluster.gpus));
}

std::int64_t domain_of(const model::Cluster& cluster) {
  const model::Group& group = cluster.groups[0];
  return group.spec.gpus * (group.spec.scale_up ? group.spec.scale_up->servers : 1);
}

Bandwidth host_rate(const model::Cluster& cluster) {
  const model::Group& group = cluster.groups[0];
  const model::ServerKind& server = group.spec;
  if (server.host_link) return server.host_link->one_way();
  const std::int64_t sharing =
      server.pcie_switches > 0 ? std::max<std::int64_t>(1, server.gpus / server.pcie_switches) : 1;
  return group.pcie.one_way(server.pcie_lanes) / sharing;
}

const model::GpuKind* gpu_of(const model::Cluster& cluster, const TrainingRun& run) {
  std::int64_t left = gpus_of(cluster, run);
  const model::GpuKind& first = cluster.groups[0].spec.gpu;
  for (const model::Group& group : cluster.groups) {
    if (left <= 0) break;
    if (group.spec.gpu.kind != first.kind) return nullptr;
    left -= group.spec.gpus * group.spec.count;
  }
  return first.fp16_dense && first.memory_bandwidth && first.multiprocessors ? &first : nullptr;
}

void check_training(Design& design, const Training& work, const Experiment& experiment,
                    const std::vector<Fidelity>& fidelities) {
  spec::Diagnostics& diagnostics = design.diagnostics();
  const model::Cluster& cluster = design.cluster();
  const TrainingRun& run = work.run;
  const std::int64_t gpus = gpus_of(cluster, run);
  if (gpus > static_cast<std::int64_t>(cluster.gpus))
    return diagnostics.add(Error::out_of_range, run.places.of("gpus"),
                           fmt::format("{} GPUs, the cluster has {}", grouped(gpus), grouped(cluster.gpus)),
                           "a larger cluster, or fewer GPUs");
  const model::GpuKind* gpu = gpu_of(cluster, run);
  if (gpu == nullptr)
    return diagnostics.add(Error::not_simulated, run.places.whole,
                           "training needs GPUs of one kind whose compute rate, memory bandwidth and number of "
                           "multiprocessors are known",
                           "`weft catalog gpus`, or gpu: {fp16_dense, memory_bandwidth, multiprocessors}");
  const auto layout = training::layout_of(run, gpus, domain_of(cluster));
  if (!layout)
    return diagnostics.add(Error::bad_layout, run.places.of(layout.error().key), layout.error().what,
                           layout.error().help);
  slow_of(run, gpus, diagnostics);
  if (gpus > 1) {
    const Collectives all{{as_job(run, cluster)}, {}, {}};
    check_collectives(design, all, experiment, fidelities);
  }
}

std::vector<spec::Diagnostic> training_warnings(const Design& design, const Training& work) {
  const model::Cluster& cluster = design.cluster();
  const TrainingRun& run = work.run;
  const std::int64_t gpus = gpus_of(cluster, run);
  const model::GpuKind& gpu = *gpu_of(cluster, run);
  const compute::Kernels kernels(gpu);
  const training::Memory memory = memory_of(run, *training::layout_of(run, gpus, domain_of(cluster)), kernels);
  if (memory.total() <= gpu.memory) return {};
  return {{Error::does_not_fit, run.places.whole,
           fmt::format("a GPU needs {} and has {}: parameters {}, gradients {}, optimizer {}, activations {}",
                       gigabytes(memory.total()), gigabytes(gpu.memory), gigabytes(memory.parameters),
                       gigabytes(memory.gradients), gigabytes(memory.optimizer), gigabytes(memory.activations)),
           what_would_fit(run, gpus, domain_of(cluster), kernels, gpu.memory)}};
}

Outcome run_training(const Design& design, const Training& work, const Experiment& experiment,
                     const Observer& observer) {
  const model::Cluster& cluster = design.cluster();
  const TrainingRun& run = work.run;
  const std::int64_t gpus = gpus_of(cluster, run);
  const model::GpuKind& gpu = *gpu_of(cluster, run);
  spec::Diagnostics nothing;  // what could be wrong was said before
  Watch watch(experiment.limits, observer);
  const compute::Kernels kernels(gpu);
  Outcome out;
  TrainingResult& result = out.training.emplace();
  result.model = run.model.kind;
  result.executor = name(experiment.fidelity);
  result.layout = *training::layout_of(run, gpus, domain_of(cluster));
  TimedGroups groups(design, experiment, *stack_of(as_job(run, cluster), cluster, nothing), watch);
  GroupTimes times(groups, result.layout);
  result.step = training::time_step(run, result.layout, {kernels, *gpu.multiprocessors, host_rate(cluster)},
                                    slow_of(run, gpus, nothing), times, experiment.wanted.messages > 0);
  result.exchanges = times.exchanges();
  result.memory = gpu.memory;
  result.peak_flops = static_cast<double>(kernels.peak(training::precision_of(run.precision)).count());
  result.basis = kernels.basis();
  const fabric::Costs costs = fabric::summarise(design.fabric()).costs;
  const double of_cluster = static_cast<double>(gpus) / static_cast<double>(cluster.gpus);
  const double tokens = result.step.tokens_per_second;
  result.joules_per_token = static_cast<double>(costs.power().count()) * 1e-3 * of_cluster / tokens;
  if (costs.price) result.dollars_per_million = static_cast<double>(costs.price->count()) / 3600 * of_cluster / tokens;
  result.drawn = groups.is_drawn();
  if (experiment.fidelity != Fidelity::packet) result.not_known = why_no_shares(design);
  out.stuck = times.stuck() && watch.stopped_by().empty();
  out.stopped_by = watch.stopped_by();
  return out;
}

}  // namespace weft::experiment
