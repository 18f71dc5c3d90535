#include "experiment/training_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/hash.hpp"
#include "base/wide.hpp"
#include "experiment/group_times.hpp"
#include "experiment/run_training.hpp"

namespace weft::experiment {
namespace {

using model::Recompute;
using model::Sharding;
using model::TrainingRun;
using spec::Error;

training::Memory memory_of(const TrainingRun& run, const training::Layout& layout, const compute::Kernels& kernels) {
  return training::most_memory(run, layout, training::Work(run, layout, kernels));
}

// Collectives by the rates of links alone: enough to say which of several layouts is quicker, for however many GPUs.
class BareLinks final : public training::Communication {
 public:
  BareLinks(const model::ServerKind& server, const training::Layout& layout)
      : layout_(layout),
        inside_(server.scale_up ? server.scale_up->link.one_way() : gigabits_per_second(200)),
        outside_(server.nic.rate * std::max<std::int64_t>(1, server.nics) / std::max<std::int64_t>(1, server.gpus)) {}

  training::Exchange exchange(training::Group group, collective::Operation, std::uint64_t bytes) override {
    const training::GroupPattern pattern = training::pattern_of(layout_, group);
    // Members of a domain send to others through the NICs of all of them.
    const std::int64_t together =
        std::clamp<std::int64_t>(layout_.domain / std::max<std::int64_t>(1, pattern.stride), 1, pattern.size);
    const Bandwidth rate = together == pattern.size ? inside_ : outside_ * together;
    return {Duration(static_cast<std::int64_t>(Wide{bytes} * 8 * 1'000'000'000'000 /
                                               std::max<std::int64_t>(1, rate.count()))),
            8};
  }

 private:
  const training::Layout& layout_;
  Bandwidth inside_;
  Bandwidth outside_;
};

// Of changes with which the job fits, the one whose step is shortest.
std::string what_would_fit(const TrainingRun& run, std::int64_t gpus, std::int64_t domain,
                           const training::Hardware& hardware, const model::ServerKind& server, Bytes memory) {
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
  if (run.offload == model::Offload::none)
    attempt("offload: activations", [](TrainingRun& each) { each.offload = model::Offload::activations; });
  for (const Sharding sharding : {Sharding::zero2, Sharding::zero3})
    if (sharding > run.sharding)
      attempt(fmt::format("sharding: {}", enum_name(sharding)), [=](TrainingRun& each) { each.sharding = sharding; });
  for (const std::int64_t pipeline : {2, 4, 8, 16, 32, 64})
    attempt(fmt::format("parallel: {{tensor: 8, pipeline: {}}}, recompute: full", pipeline), [=](TrainingRun& each) {
      each.parallel.tensor = 8;
      each.parallel.pipeline = pipeline;
      each.recompute = Recompute::full;
      each.recompute_modules.clear();
    });
  const std::string* best = nullptr;
  Duration least;
  for (const auto& [text, other] : tried) {
    const auto layout = training::layout_of(other, gpus, domain);
    if (!layout || memory_of(other, *layout, hardware.kernels).total() > memory) continue;
    BareLinks links(server, *layout);
    const Duration time = training::time_step(other, *layout, hardware, {}, links, false).time;
    if (best != nullptr && time >= least) continue;
    best = &text;
    least = time;
  }
  return best == nullptr ? "more GPUs, or GPUs with more memory" : *best + " would fit";
}

std::string gigabytes(Bytes bytes) { return fmt::format("{:.1f} GB", static_cast<double>(bytes.count()) / 1e9); }

// Every collective takes its own time, whatever the network: what a key changes shows.
class AnyNetwork final : public training::Communication {
 public:
  explicit AnyNetwork(const training::Layout& layout) : layout_(layout) {}

  training::Exchange exchange(training::Group group, collective::Operation operation, std::uint64_t bytes) override {
    const training::GroupPattern pattern = training::pattern_of(layout_, group);
    std::uint64_t hash = mix64(static_cast<std::uint64_t>(operation));
    for (const std::int64_t each : {pattern.size, pattern.stride, pattern.lanes, pattern.blocks, pattern.block})
      hash = mix64(hash ^ static_cast<std::uint64_t>(each));
    return {Duration(static_cast<std::int64_t>(bytes * 20 + pick(hash, 1'000'000))), 8};
  }

 private:
  const training::Layout& layout_;
};

// Takes a value back to what it is where the file says nothing; false where it is that already.
template <class T>
bool back(T& value, const T& usual) {
  return std::exchange(value, usual) != usual;
}

struct Key {
  std::string_view name;
  bool (*reset)(TrainingRun& run, const TrainingRun& usual);
};

// Keys that may have no meaning beside others and are not refused then. `jobs_by` is not here: one job is one job.
constexpr auto kKeys = std::to_array<Key>({
    {"schedule", [](auto& run, auto& usual) { return back(run.schedule, usual.schedule); }},
    {"sharding", [](auto& run, auto& usual) { return back(run.sharding, usual.sharding); }},
    {"parameters_by", [](auto& run, auto& usual) { return back(run.parameters_by, usual.parameters_by); }},
    {"recompute", [](auto& run, auto& usual) { return back(run.recompute, usual.recompute); }},
    {"dropout", [](auto& run, auto& usual) { return back(run.dropout, usual.dropout); }},
    {"offload", [](auto& run, auto& usual) { return back(run.offload, usual.offload); }},
    {"jitter", [](auto& run, auto& usual) { return back(run.jitter, usual.jitter); }},
    {"cuda_graphs", [](auto& run, auto& usual) { return back(run.cuda_graphs, usual.cuda_graphs); }},
    {"moe.dispatcher", [](auto& run, auto& usual) { return back(run.moe.dispatcher, usual.moe.dispatcher); }},
    {"moe.imbalance", [](auto& run, auto& usual) { return back(run.moe.imbalance, usual.moe.imbalance); }},
    {"moe.overlap", [](auto& run, auto& usual) { return back(run.moe.overlap, usual.moe.overlap); }},
    {"parallel.sequence", [](auto& run, auto& usual) { return back(run.parallel.sequence, usual.parallel.sequence); }},
    {"parallel.order", [](auto& run, auto& usual) { return back(run.parallel.order, usual.parallel.order); }},
    {"parallel.context_by",
     [](auto& run, auto& usual) { return back(run.parallel.context_by, usual.parallel.context_by); }},
    {"overlap.tensor", [](auto& run, auto& usual) { return back(run.overlap.tensor, usual.overlap.tensor); }},
    {"overlap.pipeline", [](auto& run, auto& usual) { return back(run.overlap.pipeline, usual.overlap.pipeline); }},
    {"overlap.data", [](auto& run, auto& usual) { return back(run.overlap.data, usual.overlap.data); }},
    {"overlap.expert", [](auto& run, auto& usual) { return back(run.overlap.expert, usual.overlap.expert); }},
    {"overlap.prefetch", [](auto& run, auto& usual) { return back(run.overlap.prefetch, usual.overlap.prefetch); }},
});

bool are_equal(const training::Step& a, const training::Step& b) {
  const auto words = [](const training::Step& step) {
    const training::Breakdown& parts = step.parts;
    return std::tuple(step.time, step.hop, parts.computing, parts.exposed, parts.beside, parts.launching, parts.gaps,
                      parts.host, parts.slow, parts.bubble, step.communicating, step.memory.parameters,
                      step.memory.gradients, step.memory.optimizer, step.memory.activations);
  };
  return words(a) == words(b);
}

// Keys of the file without which the step would be the same: tried, not listed by rules.
std::vector<std::string_view> idle_keys(const TrainingRun& run, std::int64_t gpus, std::int64_t domain,
                                        const training::Hardware& hardware) {
  const auto step_of = [&](const TrainingRun& each, const training::Layout& layout) {
    AnyNetwork network(layout);
    return training::time_step(each, layout, hardware, {}, network, false);
  };
  const training::Step step = step_of(run, *training::layout_of(run, gpus, domain));
  const TrainingRun usual;
  std::vector<std::string_view> found;
  for (const Key& key : kKeys) {
    TrainingRun other = run;
    if (!key.reset(other, usual)) continue;
    const auto layout = training::layout_of(other, gpus, domain);
    if (layout && are_equal(step_of(other, *layout), step)) found.push_back(key.name);
  }
  if (run.jobs == 1 && run.jobs_by != usual.jobs_by) found.push_back("jobs_by");
  return found;
}

// Algorithms of the file that no collective of the step takes, at message level.
std::vector<spec::Diagnostic> idle_algorithms(const Design& design, const TrainingRun& run,
                                              const training::Layout& layout, const training::Hardware& hardware) {
  if (run.algorithms.empty()) return {};
  Experiment experiment;
  experiment.fidelity = Fidelity::message;
  const Observer nobody;
  Watch watch({}, nobody);
  TimedGroups groups(design, experiment, run, stack_of_training(design.cluster(), run), watch);
  GroupTimes times(groups, layout);
  training::time_step(run, layout, hardware, {}, times, false);
  std::vector<spec::Diagnostic> made;
  for (const collective::Algorithm algorithm : algorithms_of(run)) {
    const std::string_view name = collective::name(algorithm);
    const std::vector<TrainingExchange>& all = times.exchanges();
    if (std::any_of(all.begin(), all.end(), [&](const TrainingExchange& each) { return each.algorithm == name; }))
      continue;
    made.push_back({Error::idle_key, run.places.of("algorithms"),
                    fmt::format("no collective of the step takes {}{}", name, groups.why_nobody(algorithm)),
                    "without it"});
  }
  return made;
}

}  // namespace

std::vector<spec::Diagnostic> training_warnings(const Design& design, const Training& work) {
  const model::Cluster& cluster = design.cluster();
  const TrainingRun& run = work.run;
  const std::int64_t gpus = gpus_of(cluster, run);
  const std::int64_t domain = domain_of(cluster);
  const model::GpuKind& gpu = *gpu_of(cluster, run);
  const compute::Kernels kernels(gpu);
  std::vector<spec::Diagnostic> made;
  const training::Hardware hardware{kernels, *gpu.multiprocessors, host_rate(cluster)};
  for (const std::string_view key : idle_keys(run, gpus, domain, hardware))
    made.push_back({Error::idle_key, run.places.of(key.substr(0, key.find('.'))),
                    fmt::format("{} changes nothing here: the step is the same without it", key), "without it"});
  for (spec::Diagnostic& each : idle_algorithms(design, run, *training::layout_of(run, gpus, domain), hardware))
    made.push_back(std::move(each));
  const training::Memory memory = memory_of(run, *training::layout_of(run, gpus, domain), kernels);
  if (memory.total() > gpu.memory)
    made.push_back(
        {Error::does_not_fit, run.places.whole,
         fmt::format("a GPU needs {} and has {}: parameters {}, gradients {}, optimizer {}, activations {}",
                     gigabytes(memory.total()), gigabytes(gpu.memory), gigabytes(memory.parameters),
                     gigabytes(memory.gradients), gigabytes(memory.optimizer), gigabytes(memory.activations)),
         what_would_fit(run, gpus, domain, hardware, cluster.groups[0].spec, gpu.memory)});
  return made;
}

}  // namespace weft::experiment
