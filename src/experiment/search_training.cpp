#include "experiment/search_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/wide.hpp"
#include "collective/constants.hpp"
#include "experiment/collectives.hpp"
#include "experiment/group_times.hpp"

namespace weft::experiment {
namespace {

using model::AttentionKind;
using model::PipelineSchedule;
using model::Recompute;
using model::Sharding;
using model::TrainingRun;

std::vector<std::int64_t> powers_of_two(std::int64_t most) {
  std::vector<std::int64_t> all;
  for (std::int64_t each = 1; each <= most; each *= 2) all.push_back(each);
  return all;
}

// Whether so many pieces have equally many layers, but for the first and the last one, which have one less where they
// have the embedding and the output layer.
bool is_even(std::int64_t layers, std::int64_t pieces) {
  return layers % pieces == 0 || (layers + 2) % pieces == 0 || (layers + 1) % pieces == 0;
}

std::vector<std::int64_t> stages_for(std::int64_t layers, std::int64_t gpus) {
  std::vector<std::int64_t> all;
  for (std::int64_t each = 1; each <= std::min<std::int64_t>({layers, gpus, 128}); ++each)
    if (gpus % each == 0 && is_even(layers, each)) all.push_back(each);
  return all;
}

// A job cut in every way, until `visit` says false.
template <class Visit>
bool for_each_cut(const TrainingRun& asked, std::int64_t gpus, std::int64_t domain, Visit visit) {
  for (const std::int64_t tensor : powers_of_two(std::min(domain, asked.model.heads)))
    for (const std::int64_t pipeline : stages_for(asked.model.layers, gpus))
      for (const std::int64_t context : powers_of_two(std::clamp<std::int64_t>(asked.sequence / 8'192, 1, 16)))
        for (const std::int64_t expert : powers_of_two(asked.model.experts ? asked.model.experts->count : 1)) {
          TrainingRun run = asked;
          run.gpus = gpus;
          run.parallel.tensor = tensor;
          run.parallel.pipeline = pipeline;
          run.parallel.context = context;
          run.parallel.expert = expert;
          run.parallel.data.reset();
          run.parallel.layers.clear();
          if (!visit(std::move(run))) return false;
        }
  return true;
}

class Search {
 public:
  Search(const Design& design, const Training& work, const Experiment& experiment, const BestLayouts& wanted,
         const Observer& observer)
      : design_(design),
        work_(work),
        wanted_(wanted),
        gpus_(gpus_of(design.cluster(), work.run)),
        domain_(domain_of(design.cluster())),
        gpu_(*gpu_of(design.cluster(), work.run)),
        kernels_(gpu_),
        stack_(stack_of_training(design.cluster(), work.run)),
        experiment_(experiment),
        watch_(experiment.limits, observer) {
    place();
  }

  // Every GPU is worth its price only where it does as much as the others would do without it: by dollars, fewer of
  // them are tried as well, by halves, down to a scale-up domain.
  TrainingSearch run() {
    bool goes_on = vary_degrees();
    while (goes_on && wanted_.by == BestBy::dollars && gpus_ % 2 == 0 && gpus_ / 2 >= domain_) {
      gpus_ /= 2;
      if (work_.run.jobs > 1) place();
      goes_on = vary_degrees();
    }
    return finish();
  }

 private:
  // Where groups are does not depend on how many GPUs a job has, but for the jobs beside it.
  void place() {
    TrainingRun run = work_.run;
    run.gpus = gpus_;
    groups_.emplace(design_, experiment_, run, stack_, watch_);
  }

  bool vary_degrees() {
    return for_each_cut(work_.run, gpus_, domain_, [&](TrainingRun run) { return vary_rest(std::move(run)); });
  }

  bool vary_rest(TrainingRun run) {
    const std::int64_t pipeline = run.parallel.pipeline;
    std::vector<std::pair<PipelineSchedule, std::int64_t>> schedules = {{PipelineSchedule::one_f_one_b, 1}};
    if (pipeline > 1) {
      schedules.emplace_back(PipelineSchedule::zero_bubble, 1);
      schedules.emplace_back(PipelineSchedule::dualpipe, 1);
      for (std::int64_t pieces = 2; pipeline * pieces <= run.model.layers; ++pieces)
        if (is_even(run.model.layers, pipeline * pieces)) schedules.emplace_back(PipelineSchedule::interleaved, pieces);
    }
    std::vector<Recompute> recomputes = {Recompute::none, Recompute::full};
    if (run.attention == AttentionKind::unfused) recomputes.insert(recomputes.begin() + 1, Recompute::selective);
    for (const std::int64_t micro_batch : {1, 2, 4, 8})
      for (const auto& [schedule, pieces] : schedules)
        for (const Sharding sharding : {Sharding::zero1, Sharding::zero2, Sharding::zero3, Sharding::hybrid})
          for (const Recompute recompute : recomputes) {
            run.micro_batch = micro_batch;
            run.schedule = schedule;
            run.virtual_stages = pieces;
            run.sharding = sharding;
            run.recompute = recompute;
            // What the file says beside these, where it means anything.
            run.recompute_modules =
                recompute == Recompute::full ? std::vector<model::RecomputeModule>{} : work_.run.recompute_modules;
            run.overlap.prefetch =
                work_.run.overlap.prefetch || (sharding != Sharding::zero3 && sharding != Sharding::hybrid);
            if (!watch_({})) return false;
            consider(run);
          }
    return true;
  }

  void consider(const TrainingRun& run) {
    const auto layout = training::layout_of(run, gpus_, domain_);
    if (!layout) return;
    const training::Work work(run, *layout, kernels_);
    if (training::most_memory(run, *layout, work).total() > gpu_.memory) {
      ++out_.too_large;
      return;
    }
    ++out_.tried;
    GroupTimes times(*groups_, *layout);
    training::Step step = training::time_step(
        run, *layout, {kernels_, *gpu_.multiprocessors, host_rate(design_.cluster())}, {}, times, false);
    if (times.stuck()) return;
    // GPUs cost alike: dollars go with their number and the time.
    const auto worth = [&](const training::Step& each, const training::Layout& on) {
      const Wide seconds = each.time.count();
      return std::pair{wanted_.by == BestBy::dollars ? seconds * on.gpus : seconds, seconds};
    };
    const auto better = [&](const TrainingCandidate& each, const auto& than) {
      return worth(each.step, each.layout) < than;
    };
    const auto at = std::lower_bound(out_.best.begin(), out_.best.end(), worth(step, *layout), better);
    if (static_cast<std::size_t>(at - out_.best.begin()) >= wanted_.most) return;
    out_.best.insert(at, {run, *layout, std::move(step)});
    if (out_.best.size() > wanted_.most) out_.best.pop_back();
  }

  TrainingSearch finish() {
    out_.stopped_by = watch_.stopped_by();
    return std::move(out_);
  }

  const Design& design_;
  const Training& work_;
  BestLayouts wanted_;
  std::int64_t gpus_;
  std::int64_t domain_;
  const model::GpuKind& gpu_;
  compute::Kernels kernels_;
  const collective::Stack& stack_;
  const Experiment& experiment_;
  Watch watch_;
  std::optional<TimedGroups> groups_;
  TrainingSearch out_;
};

}  // namespace

TrainingSearch search_training(const Design& design, const Training& work, const Experiment& experiment,
                               const BestLayouts& wanted, const Observer& observer) {
  return Search(design, work, experiment, wanted, observer).run();
}

std::optional<TrainingRun> any_layout(const Design& design, const TrainingRun& asked) {
  const std::int64_t gpus = gpus_of(design.cluster(), asked);
  const std::int64_t domain = domain_of(design.cluster());
  std::optional<TrainingRun> found;
  for_each_cut(asked, gpus, domain, [&](TrainingRun run) {
    if (training::layout_of(run, gpus, domain)) found = std::move(run);
    return !found;
  });
  return found;
}

std::uint64_t messages_by_flows(const Design& design, const TrainingRun& run) {
  const model::Cluster& cluster = design.cluster();
  const model::GpuKind& gpu = *gpu_of(cluster, run);
  const compute::Kernels kernels(gpu);
  const auto layout = training::layout_of(run, gpus_of(cluster, run), domain_of(cluster));
  Experiment experiment;
  experiment.fidelity = Fidelity::message;
  const Observer nobody;
  Watch watch({}, nobody);
  TimedGroups groups(design, experiment, run, stack_of_training(cluster, run), watch);
  GroupTimes times(groups, *layout);
  training::time_step(run, *layout, {kernels, *gpu.multiprocessors, host_rate(cluster)}, {}, times, false);
  return groups.messages_by_links();
}

std::string describe_layout(const TrainingRun& run, const training::Layout& layout) {
  std::string text = fmt::format("tensor {}, pipeline {}", layout.tensor, layout.pipeline);
  if (layout.virtual_stages > 1) text += fmt::format(" x {} pieces", layout.virtual_stages);
  if (layout.context > 1) text += fmt::format(", context {}", layout.context);
  if (layout.context > 1 && run.parallel.context_by == model::ContextBy::alltoall) text += " by all-to-all";
  if (layout.expert > 1) text += fmt::format(", expert {}", layout.expert);
  text += fmt::format(", data {}, micro-batch {}", layout.data, run.micro_batch);
  if (layout.pipeline > 1) text += fmt::format(", {}", enum_name(run.schedule));
  std::vector<std::string_view> again;
  if (run.recompute != Recompute::none || run.recompute_modules.empty()) again.push_back(enum_name(run.recompute));
  for (const model::RecomputeModule each : run.recompute_modules) again.push_back(enum_name(each));
  text += fmt::format(", {}, recompute {}", enum_name(run.sharding), fmt::join(again, " and "));
  if (run.parallel.order != model::RankOrder::tensor_data_pipeline)
    text += fmt::format(", order {}", enum_name(run.parallel.order));
  return text;
}

std::string bound_by(const training::Step& step) {
  std::vector<std::pair<Duration, std::string>> losses;
  const training::Breakdown& parts = step.parts;
  for (std::size_t i = 0; i < training::kGroups; ++i)
    losses.emplace_back(parts.exposed[i], fmt::format("{} groups", enum_name(static_cast<training::Group>(i))));
  losses.emplace_back(parts.bubble, "other stages");
  losses.emplace_back(parts.beside, "communication beside computing");
  losses.emplace_back(parts.launching + parts.gaps + parts.host, "the host");
  losses.emplace_back(parts.computing[static_cast<std::size_t>(training::Part::recompute)], "recomputing");
  std::sort(losses.begin(), losses.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (std::size_t i = 0; i < 3; ++i) {
    const double percent = 100 * static_cast<double>(losses[i].first.count()) / static_cast<double>(step.time.count());
    if (percent >= 1) text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", losses[i].second, percent);
  }
  return text.empty() ? "computing" : text;
}

}  // namespace weft::experiment
