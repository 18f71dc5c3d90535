// Training on designs: what is refused, what is warned about, what groups share, and that a search says what a run
// says.

#include <gtest/gtest.h>

#include <algorithm>

#include "experiment/experiment.hpp"
#include "experiment/search_training.hpp"
#include "experiment/warnings.hpp"
#include "training/parameters.hpp"

namespace weft::experiment {
namespace {

std::unique_ptr<Design> design_of(const std::string& fabric, const std::string& job) {
  spec::Diagnostics diagnostics;
  auto catalog = std::make_shared<const model::Catalog>(model::Catalog::embedded(diagnostics));
  const std::uint32_t source = diagnostics.sources().add(
      "test.weft.yaml",
      "version: 1\nservers: {kind: hgx-h100, count: 16}\nfabric: " + fabric + "\nrun:\n  - training: " + job + "\n");
  auto design = Design::read(source, "test", {}, catalog, diagnostics);
  EXPECT_NE(design, nullptr) << spec::render_text(diagnostics, false);
  return design;
}

constexpr const char* kRails = "{kind: rail-optimized, scalable_unit: 16}";

Experiment experiment_of(const Design& design, Fidelity fidelity = Fidelity::message) {
  Experiment made{.workload = std::make_shared<const Workload>(training_of(design.cluster()).at(0))};
  made.fidelity = fidelity;
  return made;
}

TrainingResult run_on(const std::string& fabric, const std::string& job, Fidelity fidelity = Fidelity::message,
                      std::vector<model::FaultSpec> faults = {}) {
  const auto design = design_of(fabric, job);
  Experiment experiment = experiment_of(*design, fidelity);
  experiment.faults = std::move(faults);
  check(*design, experiment);
  EXPECT_FALSE(design->diagnostics().has_errors()) << spec::render_text(design->diagnostics(), false);
  return *run(*design, experiment, {}).training;
}

TEST(Training, WhatDoesNotDivideIsRefusedAtItsPlace) {
  const auto design = design_of(kRails, "{model: llama3-8b, global_batch: 128, parallel: {tensor: 3}}");
  check(*design, experiment_of(*design));
  ASSERT_TRUE(design->diagnostics().has_errors());
  const spec::Diagnostic first = design->diagnostics().sorted()[0];
  EXPECT_EQ(first.error, spec::Error::bad_layout);
  EXPECT_EQ(first.place.line, 5u);
  EXPECT_EQ(first.help, "tensor: 2 or 4");
}

// What is suggested fits when it is tried.
TEST(Training, WhatDoesNotFitIsWarnedAboutWithWhatWould) {
  const auto design = design_of(kRails, "{model: llama3-70b, global_batch: 128, sharding: none}");
  const Experiment experiment = experiment_of(*design);
  check(*design, experiment);
  ASSERT_FALSE(design->diagnostics().has_errors());
  const auto warnings = warnings_of(*design, experiment, {Fidelity::message});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].error, spec::Error::does_not_fit);
  EXPECT_EQ(warnings[0].help, "parallel: {tensor: 8, pipeline: 4}, recompute: full would fit");
  // 70.6 G parameters: two bytes of each, four of a gradient, twelve of Adam.
  EXPECT_NE(warnings[0].message.find(" and has 80.0 GB: parameters 141.1 GB, gradients 282.2 GB, optimizer 846.6 GB, "),
            std::string::npos)
      << warnings[0].message;
  const auto other = design_of(kRails,
                               "{model: llama3-70b, global_batch: 128, sharding: none, "
                               "parallel: {tensor: 8, pipeline: 4}, recompute: full}");
  EXPECT_TRUE(warnings_of(*other, experiment_of(*other), {Fidelity::message}).empty());
}

// Gradients over uplinks at 1:8 take longer than at 1:1, at message and at flow level, and both levels agree.
TEST(Training, DataGroupsShareTheUplinksTheyMeetOn) {
  const std::string job =
      "{model: llama3-8b, gpus: 32, global_batch: 32, sharding: none, overlap: {data: false}, recompute: full}";
  const std::string tight = "{kind: tor-clos, servers_per_leaf: 2, oversubscription: 8}";
  const std::string wide = "{kind: tor-clos, servers_per_leaf: 2}";
  const auto data = static_cast<std::size_t>(training::Group::data);
  const TrainingResult slow = run_on(tight, job);
  const TrainingResult fast = run_on(wide, job);
  EXPECT_GT(slow.step.parts.exposed[data], fast.step.parts.exposed[data] * 2);
  EXPECT_EQ(slow.step.parts.sum(), slow.step.time);
  const TrainingResult flows = run_on(tight, job, Fidelity::flow);
  EXPECT_NEAR(static_cast<double>(flows.step.time.count()) / static_cast<double>(slow.step.time.count()), 1, 0.1);
}

// A search times a layout as `sim` does: to the picosecond, whatever was timed before it.
TEST(Training, ASearchSaysWhatARunSays) {
  const auto design = design_of(kRails, "{model: llama3-8b, sequence: 4096, global_batch: 256}");
  const Experiment experiment = experiment_of(*design);
  const TrainingSearch found =
      search_training(*design, std::get<Training>(*experiment.workload), experiment, {1'000}, {});
  ASSERT_GT(found.best.size(), 50u);
  EXPECT_TRUE(std::is_sorted(found.best.begin(), found.best.end(),
                             [](const auto& a, const auto& b) { return a.step.time < b.step.time; }));
  for (std::size_t i = 0; i < found.best.size(); i += found.best.size() / 20) {
    Experiment one = experiment;
    one.workload = std::make_shared<const Workload>(Training{found.best[i].run});
    EXPECT_EQ(run(*design, one, {}).training->step.time, found.best[i].step.time)
        << describe_layout(found.best[i].run, found.best[i].layout);
  }
}

// By dollars fewer GPUs are tried as well: what is best costs at most what the fastest does, and its order is of GPU
// seconds.
TEST(Training, ASearchByDollarsTriesFewerGpus) {
  const auto design = design_of(kRails, "{model: llama3-8b, sequence: 4096, global_batch: 256}");
  const Experiment experiment = experiment_of(*design);
  const Training& work = std::get<Training>(*experiment.workload);
  const auto cost = [](const TrainingCandidate& each) {
    return static_cast<double>(each.step.time.count()) * static_cast<double>(each.layout.gpus);
  };
  const TrainingSearch fast = search_training(*design, work, experiment, {1}, {});
  const TrainingSearch cheap = search_training(*design, work, experiment, {100, BestBy::dollars}, {});
  ASSERT_EQ(fast.best.size(), 1u);
  ASSERT_FALSE(cheap.best.empty());
  EXPECT_LT(cost(cheap.best[0]), cost(fast.best[0]));
  EXPECT_LT(cheap.best[0].layout.gpus, fast.best[0].layout.gpus);
  EXPECT_TRUE(std::is_sorted(cheap.best.begin(), cheap.best.end(),
                             [&](const auto& a, const auto& b) { return cost(a) < cost(b); }));
  Experiment one = experiment;
  one.workload = std::make_shared<const Workload>(Training{cheap.best[0].run});
  EXPECT_EQ(run(*design, one, {}).training->step.time, cheap.best[0].step.time) << "on as many GPUs as it says";
}

// Tensor groups belong into the scale-up domain: across servers the same step takes longer.
TEST(Training, WhereGroupsAreDecidesWhatTheyWaitFor) {
  const std::string job = "{model: llama3-8b, gpus: 32, global_batch: 32, parallel: {tensor: 4, order: ";
  const TrainingResult inside = run_on(kRails, job + "tensor-data-pipeline}}");
  const TrainingResult across = run_on(kRails, job + "data-tensor-pipeline}}");
  const auto tensor = static_cast<std::size_t>(training::Group::tensor);
  EXPECT_GT(across.step.parts.exposed[tensor], inside.step.parts.exposed[tensor] * 2);
  EXPECT_GT(across.step.time, inside.step.time);
}

// Without prefetching the parameters of every layer are waited for, gradients are not.
TEST(Training, ParametersThatAreNotGatheredAheadAreWaitedFor) {
  const std::string job =
      "{model: llama3-8b, gpus: 32, global_batch: 128, sharding: zero3, gradient_bytes: 2, overlap: {prefetch: ";
  const TrainingResult ahead = run_on(kRails, job + "true}}");
  const TrainingResult late = run_on(kRails, job + "false}}");
  const auto shard = static_cast<std::size_t>(training::Group::shard);
  const Duration gathers = late.step.communicating[shard] * 2 / 3;
  EXPECT_NEAR(static_cast<double>(late.step.parts.exposed[shard].count()), static_cast<double>(gathers.count()),
              static_cast<double>(gathers.count()) * 0.1);
  EXPECT_GT(late.step.time, ahead.step.time);
}

// Two figures of a document on GPU networks: gradients of Llama 3 70B are 141 GB as 16-bit numbers, and an all-reduce
// by rings moves twice that, less what stays: with 8 copies 247 GB, which it rounds to 245.
TEST(Training, AnIterationOfLlama70BMoves245Gigabytes) {
  const auto design = design_of(kRails, "{model: llama3-70b, global_batch: 128}");
  const double gradients = 2.0 * static_cast<double>(training::total(training_of(design->cluster())[0].run.model));
  EXPECT_NEAR(gradients / 1e9, 141, 0.5);
  EXPECT_NEAR(gradients * 2 * 7 / 8 / 1e9, 245, 3);
}

}  // namespace
}  // namespace weft::experiment
