#include "experiment/run_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "collective/alike.hpp"
#include "collective/constants.hpp"
#include "experiment/group_times.hpp"
#include "experiment/network.hpp"
#include "experiment/run_collectives.hpp"
#include "experiment/unknowns.hpp"
#include "experiment/worst_place.hpp"
#include "fabric/summary.hpp"
#include "model/placement.hpp"

namespace weft::experiment {
namespace {

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

void check_algorithms(const TrainingRun& run, spec::Diagnostics& diagnostics) {
  for (const std::string& text : run.algorithms) {
    if (collective::algorithm_named(text)) continue;
    std::vector<std::string> names;
    for (const collective::Algorithm each : collective::kAlgorithms) names.emplace_back(collective::name(each));
    const auto guess = did_you_mean(text, names);
    diagnostics.add(Error::unknown_key, run.places.of("algorithms"),
                    fmt::format("algorithms has no '{}'", text.substr(0, 40)),
                    guess ? fmt::format("did you mean {}?", *guess) : fmt::format("one of {}", either(names)));
  }
}

// What a GPU has instead of an attention kernel that was not written for it; empty: it is. FlashAttention-3 is made of
// Hopper's instructions (its README).
std::string attention_instead(const TrainingRun& run, const model::GpuKind& gpu) {
  if (run.attention != model::AttentionKind::flash3) return "";
  const std::string_view generation = compute::generation_of(gpu.kind).name;
  return generation == "Ampere" ? "flash2" : generation == "Blackwell" ? "cudnn" : "";
}

// What a GPU has instead of a precision that it has not; empty: it has it. Scales of blocks came with 4 bits.
std::string precision_instead(const TrainingRun& run, const model::GpuKind& gpu) {
  using enum model::TrainingPrecision;
  const bool blocks = run.precision == mxfp8 || run.precision == nvfp4;
  if (blocks && !gpu.fp4_dense) return gpu.fp8_dense ? "fp8" : "bf16";
  const bool bytes = run.precision == fp8 || run.precision == fp8_rowwise;
  return bytes && !gpu.fp8_dense ? "bf16" : "";
}

}  // namespace

std::vector<Training> training_of(const model::Cluster& cluster) {
  std::vector<Training> made;
  for (const model::RunSpec& run : cluster.file.run) {
    if (!run.training) continue;
    made.push_back({*run.training});
    if (std::string& name = made.back().run.model.kind; name.empty()) name = "own model";
  }
  return made;
}

std::int64_t gpus_of(const model::Cluster& cluster, const TrainingRun& run) {
  return run.gpus.value_or(static_cast<std::int64_t>(cluster.gpus) / run.jobs);
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

const collective::Stack& stack_of_training(const model::Cluster& cluster, const TrainingRun& run) {
  spec::Diagnostics nothing;  // what could be wrong was said before
  return *stack_of(as_job(run, cluster), cluster, nothing);
}

std::vector<collective::Algorithm> algorithms_of(const TrainingRun& run) {
  std::vector<collective::Algorithm> made;
  for (const std::string& text : run.algorithms)
    if (const auto algorithm = collective::algorithm_named(text)) made.push_back(*algorithm);
  return made;
}

const model::GpuKind* gpu_of(const model::Cluster& cluster, const TrainingRun& run) {
  std::int64_t left = run.jobs * gpus_of(cluster, run);
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
  if (const auto all = static_cast<std::int64_t>(cluster.gpus);
      run.jobs > all || (run.jobs > 1 && run.jobs * gpus > all))
    return diagnostics.add(Error::out_of_range, run.places.of("jobs"),
                           fmt::format("{} jobs of {} GPUs, the cluster has {}", run.jobs,
                                       grouped(std::max<std::int64_t>(1, gpus)), grouped(all)),
                           run.jobs > all ? fmt::format("jobs: at most {}", all)
                                          : fmt::format("jobs: {}, or gpus: at most {}", all / gpus, all / run.jobs));
  if (run.jobs > 1 && run.jobs_by == model::JobsBy::domain && gpus % domain_of(cluster) != 0)
    return diagnostics.add(Error::bad_layout, run.places.of("jobs_by"),
                           fmt::format("{} GPUs are no whole scale-up domains of {}", gpus, domain_of(cluster)),
                           "jobs_by: block");
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
  if (const std::string precision = precision_instead(run, *gpu); !precision.empty())
    return diagnostics.add(Error::bad_layout, run.places.of("precision"),
                           fmt::format("tensor cores of {} have no {}", gpu->kind, enum_name(run.precision)),
                           "precision: " + precision);
  if (const std::string kernel = attention_instead(run, *gpu); !kernel.empty())
    return diagnostics.add(Error::bad_layout, run.places.of("attention"),
                           fmt::format("flash3 is written for Hopper, and this is {}", gpu->kind),
                           "attention: " + kernel);
  const auto layout = training::layout_of(run, gpus, domain_of(cluster));
  if (!layout)
    return diagnostics.add(Error::bad_layout, run.places.of(layout.error().key), layout.error().what,
                           layout.error().help);
  slow_of(run, gpus, diagnostics);
  check_algorithms(run, diagnostics);
  if (gpus > 1) {
    Collectives all{{as_job(run, cluster)}, {}, {}};
    // Groups are looked at, not all ranks as one: what is wrong with two domains is wrong with all.
    const bool only_messages =
        std::all_of(fidelities.begin(), fidelities.end(), [](Fidelity each) { return each == Fidelity::message; });
    const bool some_stand_for_all = worst_place(design, experiment) || gpus_near_faults(design, experiment, run);
    if (only_messages && some_stand_for_all) all.jobs[0].gpus = static_cast<std::uint32_t>(2 * domain_of(cluster));
    if (run.jobs * gpus > std::int64_t{collective::kMostOneByOne} && !all_faults(design, experiment).empty() &&
        !some_stand_for_all)
      return diagnostics.add(
          Error::not_simulated, design.place("faults", "part"),
          fmt::format("{} GPUs are too many to look at one by one, and with these faults no few stand for all",
                      grouped(run.jobs * gpus)),
          fmt::format("faults of NICs and leaves alone, or of what is above the leaves alone; one job; or {} GPUs",
                      grouped(collective::kMostOneByOne)));
    check_collectives(design, all, experiment, fidelities);
  }
}

namespace {

// The same step at message level, which costs next to nothing beside the others: what the levels differ by.
std::optional<Duration> by_messages(const Design& design, const Training& work, const Experiment& experiment,
                                    const training::Hardware& hardware, const collective::Stack& stack,
                                    const std::vector<training::SlowRank>& slow, const training::Layout& layout,
                                    Watch& watch) {
  if (experiment.fidelity == Fidelity::message || !all_faults(design, experiment).empty()) return {};
  Experiment other = experiment;
  other.fidelity = Fidelity::message;
  TimedGroups groups(design, other, work.run, stack, watch);
  GroupTimes times(groups, layout);
  const Duration time = training::time_step(work.run, layout, hardware, slow, times, false).time;
  return times.stuck() ? std::nullopt : std::optional(time);
}

}  // namespace

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
  result.fidelity = experiment.fidelity;
  result.layout = *training::layout_of(run, gpus, domain_of(cluster));
  const collective::Stack& stack = stack_of_training(cluster, run);
  const training::Hardware hardware{kernels, *gpu.multiprocessors, host_rate(cluster)};
  const std::vector<training::SlowRank> slow = slow_of(run, gpus, nothing);
  TimedGroups groups(design, experiment, run, stack, watch);
  GroupTimes times(groups, result.layout);
  result.step = training::time_step(run, result.layout, hardware, slow, times, experiment.wanted.messages > 0);
  result.by_messages = by_messages(design, work, experiment, hardware, stack, slow, result.layout, watch);
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
  if (const auto worst = groups.worst_place())
    result.faults = fmt::format(
        "every leaf is taken to have {:.1f} % of its links upwards and every pod {:.1f} %, as the narrowest one has",
        worst->leaf * 1e-4, worst->pod * 1e-4);
  const bool crosses = std::any_of(result.exchanges.begin(), result.exchanges.end(),
                                   [](const TrainingExchange& each) { return each.nodes > 1; });
  if (experiment.fidelity != Fidelity::packet && crosses) result.not_known = Unknowns(design, experiment).of_any();
  out.stuck = times.stuck() && watch.stopped_by().empty();
  out.stopped_by = watch.stopped_by();
  return out;
}

}  // namespace weft::experiment
