// Training jobs that nobody thought of: drawn layouts, held against closed forms and against each other.

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <random>
#include <string>

#include "experiment/experiment.hpp"
#include "experiment/testing_design.hpp"
#include "training/parameters.hpp"

namespace weft::experiment {
namespace {

struct Drawn {
  std::string model;
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t context = 1;
  std::int64_t expert = 1;
  std::int64_t micro_batches = 8;
  std::int64_t micro_batch = 1;
  std::string schedule = "1f1b";
  std::string sharding = "zero1";
  std::string recompute = "none";
  std::string more;

  static constexpr std::int64_t kGpus = 64;
  std::int64_t data() const { return kGpus / tensor / pipeline / context; }
  std::string text() const {
    return "{model: " + model +
           ", sequence: 2048, global_batch: " + std::to_string(data() * micro_batch * micro_batches) +
           ", micro_batch: " + std::to_string(micro_batch) + ", parallel: {tensor: " + std::to_string(tensor) +
           ", pipeline: " + std::to_string(pipeline) + ", context: " + std::to_string(context) +
           ", expert: " + std::to_string(expert) + "}, schedule: " + schedule + ", sharding: " + sharding +
           ", recompute: " + recompute + more + "}";
  }
};

Drawn draw(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto one_of = [&](auto... all) {
    const std::common_type_t<decltype(all)...> values[] = {all...};
    return values[random() % sizeof...(all)];
  };
  Drawn out;
  out.model = one_of("llama3-8b", "llama2-13b", "qwen3-30b-a3b", "mpt-7b", "gpt3-175b");
  out.tensor = one_of(1, 2, 4, 8);
  out.pipeline = one_of(1, 2, 4);
  out.context = one_of(1, 1, 2);
  out.micro_batches = one_of(8, 16);
  out.micro_batch = one_of(1, 2);
  out.schedule = one_of("1f1b", "zero-bubble", "gpipe", "dualpipe");
  if (out.pipeline == 1) out.schedule = "1f1b";
  out.sharding = one_of("none", "zero1", "zero2", "zero3", "hybrid");
  out.recompute = one_of("none", "selective", "full");
  if (out.model == "qwen3-30b-a3b") out.expert = one_of(1, 4, 8, 16);
  out.more = one_of("", ", framework: pytorch", ", cuda_graphs: true", ", overlap: {tensor: true}",
                    ", overlap: {data: false}", ", offload: activations", ", gradient_bytes: 2");
  return out;
}

TrainingResult run_of(const Drawn& job, const std::string& servers = "kind: hgx-h100, count: 8",
                      Fidelity fidelity = Fidelity::message, const std::string& text = "") {
  const auto design = testing::design_from("version: 1\nservers: {" + servers +
                                           "}\nfabric: {kind: rail-optimized, scalable_unit: 8}\nrun:\n  - training: " +
                                           (text.empty() ? job.text() : text) + "\n");
  Experiment experiment{.workload = std::make_shared<const Workload>(training_of(design->cluster()).at(0))};
  experiment.fidelity = fidelity;
  check(*design, experiment);
  EXPECT_FALSE(design->diagnostics().has_errors()) << job.text() << "\n"
                                                   << spec::render_text(design->diagnostics(), false);
  return *run(*design, experiment, {}).training;
}

double over(Duration a, Duration b) { return static_cast<double>(a.count()) / static_cast<double>(b.count()); }

constexpr std::uint64_t kDraws = 24;

// The parts are the step; no step is faster than its operations at the peak; a network of twice the rate never makes it
// longer, and one of a quarter never shorter.
TEST(DrawnTraining, PartsAddUpAndAFasterNetworkIsNeverSlower) {
  for (std::uint64_t seed = 1; seed <= kDraws; ++seed) {
    const Drawn job = draw(seed);
    const TrainingResult plain = run_of(job);
    SCOPED_TRACE(std::to_string(seed) + ": " + job.text());
    EXPECT_EQ(plain.step.parts.sum(), plain.step.time);
    EXPECT_GE(plain.step.parts.bubble.count(), 0);
    EXPECT_LT(plain.step.flops_per_gpu, plain.peak_flops);
    const TrainingResult fast = run_of(job, "kind: hgx-h100, count: 8, nic: {rate: 800Gbps}");
    const TrainingResult slow = run_of(job, "kind: hgx-h100, count: 8, nic: {rate: 100Gbps}");
    EXPECT_LE(fast.step.time, plain.step.time);
    EXPECT_GE(slow.step.time, plain.step.time);
  }
}

// The same model and batch may be compared, however they are cut and carried; another batch may not.
TEST(DrawnTraining, IsComparedByWhatIsDone) {
  const auto work = [](std::int64_t tensor, const char* stack, std::int64_t batch) {
    Training made;
    made.run.model.layers = 8;
    made.run.parallel.tensor = tensor;
    made.run.stack = stack;
    made.run.global_batch = batch;
    return Workload(made);
  };
  EXPECT_TRUE(same_work(work(1, "efa", 64), work(8, "tcp", 64)));
  EXPECT_FALSE(same_work(work(1, "efa", 64), work(1, "efa", 128)));
  EXPECT_FALSE(same_work(work(1, "efa", 64), Workload(Collectives())));
}

// Memory never grows with what is meant to save it.
TEST(DrawnTraining, WhatSavesMemorySavesIt) {
  for (std::uint64_t seed = 1; seed <= kDraws; ++seed) {
    Drawn job = draw(seed);
    SCOPED_TRACE(std::to_string(seed) + ": " + job.text());
    job.more.clear();
    std::int64_t before = std::numeric_limits<std::int64_t>::max();
    for (const char* sharding : {"none", "zero1", "zero2", "zero3"}) {
      job.sharding = sharding;
      const std::int64_t total = run_of(job).step.memory.total().count();
      EXPECT_LE(total, before) << sharding;
      before = total;
    }
    before = std::numeric_limits<std::int64_t>::max();
    for (const char* recompute : {"none", "selective", "full"}) {
      job.recompute = recompute;
      const std::int64_t kept = run_of(job).step.memory.activations.count();
      // A layer that is computed again is there whole while it is.
      if (job.pipeline == 1) {
        EXPECT_LE(kept, before) << recompute;
      }
      before = kept;
    }
    job.recompute = "none";
    const std::int64_t kept = run_of(job).step.memory.activations.count();
    job.more = ", offload: activations";
    EXPECT_LE(run_of(job).step.memory.activations.count(), kept);
  }
}

// Of 1F1B and GPipe the bubble is (stages - 1) passes, however many micro-batches there are: twice as many halve its
// share. Stages are alike but for embedding and output layer.
TEST(DrawnTraining, TwiceTheMicroBatchesHalveTheBubblesShare) {
  std::size_t tried = 0;
  for (std::uint64_t seed = 1; seed <= kDraws; ++seed) {
    Drawn job = draw(seed);
    if (job.pipeline == 1) continue;
    ++tried;
    SCOPED_TRACE(std::to_string(seed) + ": " + job.text());
    for (const char* schedule : {"1f1b", "gpipe"}) {
      job.schedule = schedule;
      job.sharding = "zero1";
      job.micro_batches = 16;
      const TrainingResult few = run_of(job);
      job.micro_batches = 32;
      const TrainingResult many = run_of(job);
      const auto share = [](const TrainingResult& each) { return over(each.step.parts.bubble, each.step.time); };
      if (share(few) < 0.02) continue;
      EXPECT_NEAR(share(many) / share(few), 0.5, 0.1) << schedule;
    }
  }
  EXPECT_GE(tried, 10u);
}

// Tensor groups whose ranks are in different servers wait longer than those inside one.
TEST(DrawnTraining, TensorGroupsOverServersAreSlower) {
  for (std::uint64_t seed = 1; seed <= kDraws; ++seed) {
    Drawn job = draw(seed);
    if (job.tensor == 1 || job.expert > 1 || job.model == "qwen3-30b-a3b" || job.context > 1) continue;
    SCOPED_TRACE(std::to_string(seed) + ": " + job.text());
    const TrainingResult inside = run_of(job);
    std::string text = job.text();
    text.replace(text.find("expert: 1}"), 10, "expert: 1, order: data-pipeline-tensor}");
    const TrainingResult across = run_of(job, "kind: hgx-h100, count: 8", Fidelity::message, text);
    EXPECT_GT(across.step.communicating[static_cast<std::size_t>(training::Group::tensor)],
              inside.step.communicating[static_cast<std::size_t>(training::Group::tensor)]);
  }
}

// Where groups share nothing on the way, flows take what messages take.
TEST(DrawnTraining, FlowsAgreeWithMessagesWhereNothingIsShared) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Drawn job = draw(seed);
    SCOPED_TRACE(std::to_string(seed) + ": " + job.text());
    const TrainingResult messages = run_of(job);
    const TrainingResult flows = run_of(job, "kind: hgx-h100, count: 8", Fidelity::flow);
    EXPECT_NEAR(over(flows.step.time, messages.step.time), 1, 0.03);
  }
}

}  // namespace
}  // namespace weft::experiment
