#include "training/step.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>

#include "base/wide.hpp"
#include "training/constants.hpp"
#include "training/parameters.hpp"

namespace weft::training {
namespace {

using collective::Operation;
using model::Framework;
using model::Offload;
using model::Sharding;
using model::TrainingRun;

// What a server's CPUs read and write for each of its GPUs while they update parameters: an estimate, 200 GB/s for
// eight GPUs, as two sockets with six or eight channels of DDR4 have.
constexpr std::int64_t kHostMemory = 25'000'000'000;  // bytes per second

Duration copied(std::int64_t bytes, std::int64_t bytes_per_second) {
  return Duration(
      static_cast<std::int64_t>(Wide{bytes} * 1'000'000'000'000 / std::max<std::int64_t>(1, bytes_per_second)));
}

// The largest of so many numbers that are drawn from a normal distribution, on average, in thousandths of its standard
// deviation (Blom's approximation: the quantile at (n - 0.375) / (n + 0.25)).
std::int64_t largest_of(std::int64_t many) {
  if (many < 2) return 0;
  const double tail = 1 - (static_cast<double>(many) - 0.375) / (static_cast<double>(many) + 0.25);
  // Abramowitz and Stegun, 26.2.23.
  const double t = std::sqrt(-2 * std::log(tail));
  const double quantile =
      t - (2.515517 + 0.802853 * t + 0.010328 * t * t) / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);
  return static_cast<std::int64_t>(1000 * std::max(0.0, quantile));
}

PipelineJob pipeline_of(const TrainingRun& run, const Layout& layout) {
  PipelineJob job;
  job.schedule = run.schedule;
  job.stages = layout.pipeline;
  job.pieces = layout.virtual_stages;
  job.micro_batches = layout.micro_batches;
  job.blocks = !run.overlap.pipeline;
  return job;
}

// Per mille of what the stage that computes longest computes, on tensor cores. Waiting is left out: a better network
// must not make a step slower, and how fast clocks rise again in a pause is not known.
std::int64_t tensor_share(const TrainingRun& run, const Layout& layout, const compute::Kernels& kernels) {
  const Work work(run, layout, kernels);
  std::vector<std::pair<Duration, Duration>> stages(
      static_cast<std::size_t>(layout.pipeline));  // all, and tensor cores
  for (std::size_t i = 0; i < layout.chunks.size(); ++i) {
    const Passes passes = work.chunk(layout.chunks[i]);
    auto& [all, tensor] = stages[i % stages.size()];
    for (const Pass* pass : {&passes.forward, &passes.backward, &passes.weights}) {
      all += pass->computing();
      tensor += pass->tensor;
    }
  }
  const auto& [all, tensor] = *std::max_element(stages.begin(), stages.end());
  const std::int64_t gaps = run.cuda_graphs ? 0 : gaps_of(run.framework);
  return static_cast<std::int64_t>(Wide{tensor.count()} * 1'000'000 /
                                   std::max<Wide>(1, Wide{all.count()} * (1'000 + gaps)));
}

class Stepping {
 public:
  Stepping(const TrainingRun& run, const Layout& layout, const Hardware& hardware, Communication& communication)
      : run_(run),
        layout_(layout),
        kernels_(hardware.kernels),
        multiprocessors_(std::max<std::int64_t>(1, hardware.multiprocessors)),
        host_(hardware.host.count() / 8),
        communication_(communication),
        work_(run, layout, hardware.kernels) {}

  Step step(const std::vector<SlowRank>& slow, bool keep_slots) {
    time_pieces();
    const PipelineRun healthy = run_pipeline(job_, keep_slots);
    Duration end = finish(healthy);
    out_.slots = healthy.slots;
    const Duration without = end;
    for (const auto& [copy, stages] : slow_stages(slow))
      end = std::max(end, finish(run_pipeline(slowed(stages), false)));
    const std::size_t longest =
        static_cast<std::size_t>(std::max_element(healthy.busy.begin(), healthy.busy.end()) - healthy.busy.begin());
    out_.longest = static_cast<std::int64_t>(longest);
    out_.parts.slow = end - without + jitter(out_.longest);
    out_.time = without + out_.parts.slow + after_gradients(longest);
    add_up(out_.longest);
    out_.hop = job_.hop;
    if (keep_slots) out_.passes = pieces_;
    return std::move(out_);
  }

 private:
  TimedPass timed(const Pass& pass) {
    TimedPass out;
    out.busy = pass.busy;
    out.tensor = pass.tensor;
    out.computing = pass.computing();
    out.host = std::max(Duration{}, copied(pass.host_bytes, host_) - out.computing);
    if (!run_.cuda_graphs) {
      out.launching = kernels_.paced(out.computing, pass.kernels) - out.computing;
      out.gaps = out.computing * gaps_of(run_.framework) / 1'000;
    }
    for (const Transfer& each : pass.transfers) {
      const Exchange exchange = exchange_of(each.group, each.operation, each.bytes);
      const Duration hidden = std::min(exchange.time, each.beside);
      const auto group = static_cast<std::size_t>(each.group);
      out.exposed[group] += (exchange.time - hidden) * each.times;
      out.communicating[group] += exchange.time * each.times;
      // Computing has fewer multiprocessors meanwhile.
      const std::int64_t taken = std::min(exchange.multiprocessors, multiprocessors_ / 2);
      out.beside += hidden * taken / (multiprocessors_ - taken) * each.times;
    }
    return out;
  }

  // The host may take longer for a layer with experts than the GPU. Where experts are exchanged beside computing of
  // another micro-batch, it launches a forward and a backward pass in turn.
  std::array<TimedPass, 3> timed(const Passes& passes) {
    const std::array<const Pass*, 3> each = {&passes.forward, &passes.backward, &passes.weights};
    std::array<TimedPass, 3> out = {timed(*each[0]), timed(*each[1]), timed(*each[2])};
    if (run_.cuda_graphs) return out;
    const auto late = [&](std::initializer_list<std::size_t> together) {
      Duration host;
      Duration gpu;
      for (const std::size_t i : together) {
        host += each[i]->host;
        gpu += out[i].time();
      }
      const auto count = static_cast<std::int64_t>(together.size());
      for (const std::size_t i : together) out[i].launching += std::max(Duration{}, host - gpu) / count;
    };
    if (run_.overlap.expert || run_.moe.overlap) {
      late({0, 1, 2});
    } else {
      late({0});
      late({1, 2});
    }
    return out;
  }

  Exchange exchange_of(Group group, Operation operation, std::uint64_t bytes) {
    if (pattern_of(layout_, group).size < 2 || bytes == 0) return {};
    return communication_.exchange(group, operation, bytes);
  }
  Duration time_of(Group group, Operation operation, std::int64_t bytes, std::int64_t times = 1) {
    const Duration time = exchange_of(group, operation, static_cast<std::uint64_t>(bytes)).time * times;
    out_.communicating[static_cast<std::size_t>(group)] += time;
    return time;
  }

  void time_pieces() {
    job_ = pipeline_of(run_, layout_);
    for (const Chunk& chunk : layout_.chunks) {
      pieces_.push_back(timed(work_.chunk(chunk)));
      const auto& each = pieces_.back();
      job_.times.push_back({each[0].time(), each[1].time(), each[2].time()});
    }
    if (layout_.pipeline > 1) job_.hop = hop();
  }

  // From one stage to the next. Where all GPUs of a tensor group have the same, Megatron-LM has each of them send a
  // part through its own NIC, and gathers the parts behind (Narayanan et al. 2021, 4.1; its releases up to
  // Megatron-Core do so unless --no-scatter-gather-tensors-in-pipeline is said).
  Duration hop() {
    const std::uint64_t bytes = work_.boundary_bytes();
    const auto send = [&](std::uint64_t part) {
      return communication_.exchange(Group::pipeline, Operation::send_recv, part).time;
    };
    if (run_.framework != Framework::megatron || run_.parallel.sequence || layout_.tensor == 1) return send(bytes);
    return send(bytes / static_cast<std::uint64_t>(layout_.tensor)) +
           communication_.exchange(Group::tensor, Operation::all_gather, bytes).time;
  }

  // The slow ones of each copy of the model, by stage: what is left of their speed. A slow GPU slows its whole stage.
  std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> slow_stages(const std::vector<SlowRank>& slow) const {
    std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> out;
    for (const SlowRank& each : slow) {
      auto& speed = out[layout_.copy_of(each.rank)].try_emplace(layout_.stage_of(each.rank), 1'000).first->second;
      speed = std::min(speed, each.speed_per_mille);
    }
    return out;
  }
  PipelineJob slowed(const std::map<std::int64_t, std::int64_t>& stages) const {
    PipelineJob job = job_;
    for (const auto& [stage, speed] : stages)
      for (std::int64_t piece = 0; piece < job.pieces; ++piece) {
        PieceTimes& each = job.times[static_cast<std::size_t>(piece * job.stages + stage)];
        each = {each.forward * 1'000 / speed, each.backward * 1'000 / speed, each.weights * 1'000 / speed};
      }
    return job;
  }

  // Parameters of a stage.
  std::int64_t shared(std::int64_t stage) const {
    std::int64_t sum = 0;
    for (std::int64_t piece = 0; piece < layout_.virtual_stages; ++piece)
      sum += work_.shared_parameters(layout_.chunk(stage, piece));
    return sum;
  }
  std::int64_t experts(std::int64_t stage) const {
    std::int64_t sum = 0;
    for (std::int64_t piece = 0; piece < layout_.virtual_stages; ++piece)
      sum += work_.expert_parameters(layout_.chunk(stage, piece));
    return sum;
  }
  std::int64_t layers(std::int64_t stage) const {
    std::int64_t sum = 0;
    for (std::int64_t piece = 0; piece < layout_.virtual_stages; ++piece) sum += layout_.chunk(stage, piece).layers;
    return std::max<std::int64_t>(1, sum);
  }

  // What is left of a transfer that goes layer by layer beside `window`: at least the last layer's.
  Duration left_of(Duration time, Duration window, std::int64_t layers) const {
    if (!run_.overlap.data) return time;
    return std::max(time / layers, time - window * (layers - 1) / layers);
  }

  // When every stage has its gradients summed up over all copies.
  Duration finish(const PipelineRun& pipeline) {
    out_.parts.exposed[static_cast<std::size_t>(Group::data)] = {};
    Duration last;
    Duration bare;
    for (std::int64_t stage = 0; stage < layout_.pipeline; ++stage) {
      const auto index = static_cast<std::size_t>(stage);
      const Duration sum = gradients(stage);
      last = std::max(last, pipeline.ends[index] + left_of(sum, pipeline.last_pass[index], layers(stage)));
      bare = std::max(bare, pipeline.ends[index]);
    }
    out_.parts.exposed[static_cast<std::size_t>(Group::data)] = last - bare;
    if (run_.model.tied && layout_.pipeline > 1) {
      const Duration tie = exchange_of(Group::embedding, Operation::all_reduce,
                                       static_cast<std::uint64_t>(run_.model.vocabulary / layout_.tensor *
                                                                  run_.model.hidden * run_.gradient_bytes))
                               .time;
      out_.parts.exposed[static_cast<std::size_t>(Group::embedding)] = tie;
      last += tie;
    }
    return last;
  }

  // Who exchanges something waits for the slowest: GPUs of a tensor and context group in every pass, copies and stages
  // at the end of the step, by when the passes of each have evened out in part.
  Duration jitter(std::int64_t stage) const {
    if (run_.jitter == 0) return {};
    Duration pass;
    for (std::int64_t piece = 0; piece < layout_.virtual_stages; ++piece)
      for (const TimedPass& each : pieces_[static_cast<std::size_t>(piece * layout_.pipeline + stage)])
        pass += each.computing;
    const std::int64_t inside = largest_of(layout_.tensor * layout_.context);
    const std::int64_t across = largest_of(layout_.data * layout_.pipeline);
    const auto root = static_cast<std::int64_t>(1'000 * std::sqrt(static_cast<double>(layout_.micro_batches)));
    const Wide millionths = Wide{run_.jitter} * (Wide{inside} * layout_.micro_batches + Wide{across} * root / 1'000);
    return Duration(static_cast<std::int64_t>(Wide{pass.count()} * millionths / 1'000'000));
  }

  // Of a stage's gradients, over all copies.
  Duration gradients(std::int64_t stage) {
    const std::int64_t bytes = run_.gradient_bytes;
    if (run_.sharding == Sharding::zero2 || run_.sharding == Sharding::zero3) return {};
    if (run_.sharding == Sharding::hybrid)
      return exchange_of(Group::replica, Operation::all_reduce,
                         static_cast<std::uint64_t>((shared(stage) + experts(stage)) / layout_.shards * bytes))
          .time;
    // States that only some of the copies share: everybody needs its part of the sum.
    const bool whole = run_.sharding == Sharding::none || layout_.shards < layout_.data * layout_.context;
    const Operation operation = whole ? Operation::all_reduce : Operation::reduce_scatter;
    return exchange_of(Group::data, operation, static_cast<std::uint64_t>(shared(stage) * bytes)).time +
           exchange_of(Group::expert_data, operation, static_cast<std::uint64_t>(experts(stage) * bytes)).time;
  }

  // New parameters, of which each has a part.
  Duration to_all_copies(Group group, std::int64_t bytes) {
    if (run_.parameters_by == model::ParametersBy::allgather) return time_of(group, Operation::all_gather, bytes);
    const std::int64_t parts = pattern_of(layout_, group).size;
    return time_of(group, Operation::broadcast, bytes / parts, parts);
  }

  // Norm of all gradients, optimizer, and the new parameters to all copies.
  Duration after_gradients(std::size_t stage) {
    const auto at = static_cast<std::int64_t>(stage);
    const std::int64_t copies = run_.sharding == Sharding::none ? 1 : layout_.shards;
    const std::int64_t expert_copies =
        run_.sharding == Sharding::none ? 1 : std::min(copies, layout_.stage_ranks() / layout_.expert);
    const std::int64_t own = shared(at) / copies + experts(at) / expert_copies;
    const bool on_gpu = run_.offload == Offload::none || run_.offload == Offload::activations;
    const Duration update = on_gpu ? updated(own) : Duration{};
    const Duration host = on_gpu ? Duration{} : updated_by_host(own);
    out_.parts.computing[static_cast<std::size_t>(Part::optimizer)] = update;
    out_.parts.host = host;
    Duration spread;
    if (run_.sharding == Sharding::zero1 || run_.sharding == Sharding::zero2) {
      Duration forward;
      for (std::int64_t piece = 0; piece < layout_.virtual_stages; ++piece)
        forward += job_.times[static_cast<std::size_t>(piece * layout_.pipeline + at)].forward;
      const bool some = layout_.shards < layout_.data * layout_.context;
      const Duration all = to_all_copies(some ? Group::shard : Group::data, shared(at) * kParameter) +
                           to_all_copies(Group::expert_data, experts(at) * kParameter);
      const bool waited = run_.parameters_by == model::ParametersBy::broadcast;
      spread = waited ? all : left_of(all, forward, layers(at));
    }
    out_.communicating[static_cast<std::size_t>(Group::data)] += gradients(at);
    out_.parts.exposed[static_cast<std::size_t>(Group::data)] += spread;
    return update + host + spread;
  }

  // The norm is read and every gradient scaled by it; those of a scaled loss are scaled back and looked through before.
  // Megatron-LM sets what gradients are summed up in to nothing.
  Duration updated(std::int64_t own) const {
    const std::int64_t gradient = run_.gradient_bytes;
    const auto moved = [&](std::int64_t bytes) { return kernels_.memory_bound(Bytes(own * bytes)); };
    Duration time = moved(gradient) + moved(2 * gradient);
    if (run_.precision == model::TrainingPrecision::fp16) time += moved(2 * gradient);
    if (run_.framework == Framework::megatron) time += moved(gradient);
    return time +
           kernels_.optimizer({own, static_cast<compute::Optimizer>(run_.optimizer), run_.gradient_bytes, kParameter});
  }

  // Gradients go to the host and new parameters come back, unless parameters live there: then both have gone layer by
  // layer.
  Duration updated_by_host(std::int64_t own) const {
    const compute::OptimizerStep step{own, static_cast<compute::Optimizer>(run_.optimizer), run_.gradient_bytes,
                                      kParameter};
    const std::int64_t moved = run_.offload == Offload::optimizer ? own * (run_.gradient_bytes + kParameter) : 0;
    return copied(moved, host_) + copied(compute::bytes_of(step).count(), kHostMemory);
  }

  void add_up(std::int64_t stage) {
    for (std::int64_t piece = 0; piece < layout_.virtual_stages; ++piece) {
      const auto& passes = pieces_[static_cast<std::size_t>(piece * layout_.pipeline + stage)];
      for (const TimedPass& pass : passes) {
        for (std::size_t i = 0; i < kParts; ++i) out_.parts.computing[i] += pass.busy[i] * layout_.micro_batches;
        for (std::size_t i = 0; i < kGroups; ++i) {
          out_.parts.exposed[i] += pass.exposed[i] * layout_.micro_batches;
          out_.communicating[i] += pass.communicating[i] * layout_.micro_batches;
        }
        out_.parts.beside += pass.beside * layout_.micro_batches;
        out_.parts.launching += pass.launching * layout_.micro_batches;
        out_.parts.gaps += pass.gaps * layout_.micro_batches;
        out_.parts.host += pass.host * layout_.micro_batches;
      }
    }
    // What is left is waiting for other stages: for what they send, and for their turn.
    const Duration rest = out_.time - out_.parts.sum();
    if (layout_.pipeline > 1) {
      const Duration sending = job_.hop * (2 * layout_.virtual_stages * layout_.micro_batches);
      out_.communicating[static_cast<std::size_t>(Group::pipeline)] += sending;
      if (job_.blocks) out_.parts.exposed[static_cast<std::size_t>(Group::pipeline)] = std::min(rest, sending);
    }
    out_.parts.bubble = out_.time - out_.parts.sum();
    const double seconds = static_cast<double>(out_.time.count()) * 1e-12;
    const double tokens = static_cast<double>(run_.global_batch) * static_cast<double>(run_.sequence);
    out_.tokens_per_second = tokens / seconds;
    out_.flops_per_gpu =
        flops_per_token(run_.model, run_.sequence, false) * out_.tokens_per_second / static_cast<double>(layout_.gpus);
    out_.memory = most_memory(run_, layout_, work_);
  }

  const TrainingRun& run_;
  const Layout& layout_;
  const compute::Kernels& kernels_;
  std::int64_t multiprocessors_;
  std::int64_t host_;  // bytes per second
  Communication& communication_;
  Work work_;
  PipelineJob job_;
  std::vector<std::array<TimedPass, 3>> pieces_;  // as the layout's chunks: forward, backward, weights
  Step out_;
};

}  // namespace

Duration Breakdown::network() const {
  Duration sum;
  for (const Duration each : exposed) sum += each;
  return sum;
}

Duration Breakdown::sum() const {
  Duration sum = network() + beside + launching + gaps + host + slow + bubble;
  for (const Duration each : computing) sum += each;
  return sum;
}

Step time_step(const TrainingRun& run, const Layout& layout, const Hardware& hardware,
               const std::vector<SlowRank>& slow, Communication& communication, bool keep_slots) {
  const compute::Kernels& loaded = hardware.kernels.loaded(tensor_share(run, layout, hardware.kernels));
  return Stepping(run, layout, {loaded, hardware.multiprocessors, hardware.host}, communication).step(slow, keep_slots);
}

Memory most_memory(const TrainingRun& run, const Layout& layout, const Work& work) {
  const PipelineJob pipeline = pipeline_of(run, layout);
  Memory most;
  for (std::int64_t stage = 0; stage < layout.pipeline; ++stage)
    if (const Memory memory = memory_of(run, layout, work, pipeline, stage); memory.total() > most.total())
      most = memory;
  return most;
}

}  // namespace weft::training
