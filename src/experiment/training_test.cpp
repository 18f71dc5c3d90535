// Training on designs: what is refused, what is warned about, what groups share, and that a search says what a run
// says.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "experiment/experiment.hpp"
#include "experiment/faults.hpp"
#include "experiment/search_training.hpp"
#include "experiment/testing_design.hpp"
#include "experiment/warnings.hpp"
#include "training/parameters.hpp"

namespace weft::experiment {
namespace {

std::unique_ptr<Design> design_of(const std::string& fabric, const std::string& job,
                                  const std::string& server = "hgx-h100") {
  return testing::design_from("version: 1\nservers: {kind: " + server + ", count: 16}\nfabric: " + fabric +
                              "\nrun:\n  - training: " + job + "\n");
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

// `data: auto` is what is left; a precision that tensor cores do not have is refused with one that they have.
TEST(Training, DataMayBeLeftToTheOthersAndPrecisionsMustBeThere) {
  const auto design = design_of(kRails, "{model: llama3-8b, global_batch: 128, parallel: {tensor: 8, data: auto}}");
  check(*design, experiment_of(*design));
  EXPECT_FALSE(design->diagnostics().has_errors()) << spec::render_text(design->diagnostics(), false);
  for (const char* precision : {"mxfp8", "nvfp4"}) {
    const auto other =
        design_of(kRails, std::string("{model: llama3-8b, global_batch: 128, precision: ") + precision + "}");
    check(*other, experiment_of(*other));
    ASSERT_TRUE(other->diagnostics().has_errors()) << precision;
    EXPECT_EQ(other->diagnostics().sorted()[0].help, "precision: fp8");
  }
}

// FlashAttention-3 is made of Hopper's instructions.
TEST(Training, AKernelOfAnotherGenerationIsRefused) {
  const std::string job = "{model: llama3-8b, global_batch: 128, attention: flash3}";
  for (const auto& [server, help] :
       {std::pair{"hgx-h100", ""}, {"hgx-a100", "attention: flash2"}, {"hgx-b200", "attention: cudnn"}}) {
    const auto design = design_of(kRails, job, server);
    check(*design, experiment_of(*design));
    ASSERT_EQ(design->diagnostics().has_errors(), *help != '\0') << server;
    if (*help != '\0') {
      EXPECT_EQ(design->diagnostics().sorted()[0].help, help);
    }
  }
}

// A model that the catalog does not have is described without a kind.
TEST(Training, AModelOfOnesOwnHasAName) {
  const auto design = design_of(kRails,
                                "{model: {layers: 8, hidden: 1024, heads: 8, feed_forward: 4096, vocabulary: 1000}, "
                                "global_batch: 128}");
  EXPECT_EQ(training_of(design->cluster()).at(0).run.model.kind, "own model");
}

// Whatever a file says without effect is named: found by trying, so nobody has to think of it.
TEST(Training, KeysThatChangeNothingAreNamed) {
  const auto idle = [](const std::string& keys) {
    const auto design = design_of(kRails, "{global_batch: 256, " + keys + "}");
    const Experiment experiment = experiment_of(*design);
    check(*design, experiment);
    EXPECT_FALSE(design->diagnostics().has_errors()) << spec::render_text(design->diagnostics(), false);
    std::string found;
    for (const spec::Diagnostic& each : warnings_of(*design, experiment, {Fidelity::message}))
      if (each.error == spec::Error::idle_key) found += each.message.substr(0, each.message.find(' ')) + " ";
    return found;
  };
  const std::string dense = "model: llama3-8b, ";
  const std::string experts = "model: qwen3-30b-a3b, parallel: {expert: 8}, ";
  EXPECT_EQ(idle(dense + "schedule: zero-bubble"), "schedule ");
  EXPECT_EQ(idle(dense + "schedule: interleaved, parallel: {pipeline: 4}"), "schedule ");
  EXPECT_EQ(idle(dense + "schedule: zero-bubble, parallel: {pipeline: 4}"), "");
  EXPECT_EQ(idle(dense + "overlap: {tensor: true}"), "overlap.tensor ");
  EXPECT_EQ(idle(dense + "overlap: {tensor: true}, parallel: {tensor: 2}"), "");
  EXPECT_EQ(idle(dense + "overlap: {expert: true, pipeline: false}"), "overlap.pipeline overlap.expert ");
  EXPECT_EQ(idle(dense + "overlap: {data: false}"), "");
  EXPECT_EQ(idle(dense + "recompute: selective"), "recompute ");
  EXPECT_EQ(idle(dense + "recompute: selective, attention: unfused"), "");
  EXPECT_EQ(idle(dense + "parallel: {context_by: alltoall, sequence: false}"),
            "parallel.sequence parallel.context_by ");
  EXPECT_EQ(idle(dense + "parallel: {order: data-tensor-pipeline, tensor: 2}"), "");
  EXPECT_EQ(idle(dense + "jobs_by: domain"), "jobs_by ");
  EXPECT_EQ(idle(dense + "cuda_graphs: true, jitter: 5, dropout: true"), "");
  EXPECT_EQ(idle(experts + "moe: {dispatcher: deepep, imbalance: 120, overlap: true}"), "");
  EXPECT_EQ(idle("model: {kind: qwen3-30b-a3b, experts: {count: 128, per_token: 8, feed_forward: 768, capacity: 100}}, "
                 "parallel: {expert: 8}, moe: {imbalance: 150}"),
            "moe.imbalance ");
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

// Of what would fit, the quickest is said: here sharded gradients, where computing again costs a third.
TEST(Training, WhatWouldFitIsTheQuickestOfIt) {
  const auto design = design_of(kRails, "{model: llama3-8b, sequence: 8192, global_batch: 512}");
  const Experiment experiment = experiment_of(*design);
  check(*design, experiment);
  const auto warnings = warnings_of(*design, experiment, {Fidelity::message});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].help, "sharding: zero2 would fit");
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

// Equal jobs at the same time meet where the network is narrow. One behind another they share the spines, a leaf each
// in turn the uplinks too; where there is room for all, none of them notices.
TEST(Training, JobsAtTheSameTimeShareTheNetwork) {
  const auto job = [](const char* jobs) {
    return std::string("{model: llama3-8b, gpus: 32, global_batch: 32, sharding: none, overlap: {data: false}, ") +
           "recompute: full" + jobs + "}";
  };
  const auto data = static_cast<std::size_t>(training::Group::data);
  const auto exposed = [&](const std::string& fabric, const char* jobs, Fidelity fidelity = Fidelity::message) {
    return run_on(fabric, job(jobs), fidelity).step.parts.exposed[data];
  };
  const std::string tight = "{kind: tor-clos, servers_per_leaf: 2, oversubscription: 8}";
  const Duration alone = exposed(tight, "");
  const Duration apart = exposed(tight, ", jobs: 2");
  const Duration mixed = exposed(tight, ", jobs: 2, jobs_by: domain");
  EXPECT_GE(apart, alone);
  EXPECT_GT(mixed, apart * 3 / 2);
  EXPECT_GT(exposed(tight, ", jobs: 2, jobs_by: domain", Fidelity::flow), exposed(tight, "", Fidelity::flow) * 3 / 2);
  EXPECT_EQ(exposed(kRails, ", jobs: 2"), exposed(kRails, ""));
  const auto design = design_of(kRails, job(", jobs: 5"));
  check(*design, experiment_of(*design));
  ASSERT_TRUE(design->diagnostics().has_errors());
  EXPECT_EQ(design->diagnostics().sorted()[0].help, "jobs: 4, or gpus: at most 25");
}

// Of more GPUs than can be looked at one by one, the first groups and those near faults stand for all. A NIC has its
// server near, a leaf all of its servers; higher up, everybody behind a part meets what it does.
TEST(Training, FaultsHaveServersNearThem) {
  const auto near = [](const std::vector<std::string>& parts) {
    const auto design = design_of("{kind: rail-optimized, scalable_unit: 4}", "{model: llama3-8b, global_batch: 128}");
    std::vector<model::FaultSpec> faults;
    for (const std::string& part : parts) faults.emplace_back().part = part;
    return gpus_near(design->fabric(), faults);
  };
  const auto range = [](std::uint32_t first, std::uint32_t count) {
    std::vector<std::uint32_t> gpus(count);
    std::iota(gpus.begin(), gpus.end(), first);
    return gpus;
  };
  EXPECT_EQ(near({"s3/nic5"}), range(24, 8));
  EXPECT_EQ(near({"s3/nic5", "s3/nic0", "s2/nic1"}), range(16, 16));
  EXPECT_EQ(near({"leaf0:spine1"}), range(0, 32));
  EXPECT_EQ(near({"leaf0", "s15/nic7"})->size(), 40u);
}

// Groups of one server meet on its leaf's uplinks however long they are: all eight are counted, also where there are
// more ranks than are looked at.
TEST(Training, GroupsThatMeetAreCountedOfManyGpus) {
  const auto exposed = [](int servers) {
    const auto design = testing::design_from(
        "version: 1\nservers: {kind: hgx-h100, count: " + std::to_string(servers) +
        "}\nfabric: {kind: tor-clos, servers_per_leaf: 2, oversubscription: 8}\nrun:\n  - training: {model: llama3-8b, "
        "global_batch: " +
        std::to_string(servers) + ", parallel: {tensor: 8}, sharding: none, overlap: {data: false}}\n");
    const Experiment experiment = experiment_of(*design);
    check(*design, experiment);
    EXPECT_FALSE(design->diagnostics().has_errors()) << spec::render_text(design->diagnostics(), false);
    const auto data = static_cast<std::size_t>(training::Group::data);
    return static_cast<double>(run(*design, experiment, {}).training->step.parts.exposed[data].count());
  };
  // Of a ring 2 (N - 1) / N: 1.99 instead of 1.88.
  EXPECT_NEAR(exposed(160) / exposed(16), 1.06, 0.04);
}

// Racks of 72 and groups of 64: the first is inside one, the second is in two. The slower one stands for all.
TEST(Training, GroupsOverTwoDomainsAreTimedBesideThoseInOne) {
  const auto design = testing::design_from(
      "version: 1\nservers: {kind: gb200-nvl72, count: 36}\nfabric: {kind: rail-optimized, scalable_unit: 18}\nrun:\n"
      "  - training: {model: llama3-8b, gpus: 128, global_batch: 128, parallel: {pipeline: 2}}\n");
  const Experiment experiment = experiment_of(*design);
  check(*design, experiment);
  ASSERT_FALSE(design->diagnostics().has_errors()) << spec::render_text(design->diagnostics(), false);
  const TrainingResult result = *run(*design, experiment, {}).training;
  std::size_t found = 0;
  for (const TrainingExchange& each : result.exchanges) {
    if (each.group != training::Group::data) continue;
    ++found;
    EXPECT_EQ(each.nodes, 2u) << each.operation;
    // Of 64 ranks 8 are beyond the network, each with a NIC of 400 Gb/s: a ring goes over that of one channel or of
    // all.
    EXPECT_GT(each.time, transfer_time(Bytes(static_cast<std::int64_t>(each.bytes)), gigabits_per_second(8 * 400)));
  }
  EXPECT_GT(found, 0u);
}

// What a file asks for is taken where a group can, by all levels; what nobody can is said.
TEST(Training, AlgorithmsAreTheFilesWhereTheyCanBe) {
  const auto job = [](const char* algorithms) {
    return std::string(
               "{model: llama3-8b, gpus: 32, global_batch: 32, parallel: {tensor: 8}, sharding: none, "
               "algorithms: ") +
           algorithms + "}";
  };
  const auto taken = [&](const char* algorithms, training::Group group, Fidelity fidelity = Fidelity::message) {
    std::set<std::string> names;
    for (const TrainingExchange& each : run_on(kRails, job(algorithms), fidelity).exchanges)
      if (each.group == group) names.insert(each.algorithm);
    return names;
  };
  using training::Group;
  EXPECT_EQ(taken("[]", Group::tensor), std::set<std::string>{"Ring"});
  EXPECT_EQ(taken("[nvls]", Group::tensor), std::set<std::string>{"NVLS"});
  EXPECT_EQ(taken("[nvls]", Group::tensor, Fidelity::flow), std::set<std::string>{"NVLS"});
  EXPECT_EQ(taken("[nvls, tree]", Group::data), std::set<std::string>{"Tree"});
  EXPECT_EQ(taken("[tree, ring]", Group::tensor), std::set<std::string>{"Ring"}) << "no tree gathers";
  const auto wrong = design_of(kRails, job("[tre]"));
  check(*wrong, experiment_of(*wrong));
  ASSERT_TRUE(wrong->diagnostics().has_errors());
  EXPECT_EQ(wrong->diagnostics().sorted()[0].help, "did you mean Tree?");
  const auto idle = design_of(kRails, job("[pat, nvls]"));
  const auto warnings = warnings_of(*idle, experiment_of(*idle), {Fidelity::message});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].message.find("no collective of the step takes PAT: "), std::string::npos)
      << warnings[0].message;
}

// Beside what another level says stands what message level does; faults are known to each in its own way.
TEST(Training, OtherLevelsSayWhatMessageLevelSays) {
  const std::string job = "{model: llama3-8b, gpus: 32, global_batch: 32, sharding: none}";
  const std::string tight = "{kind: tor-clos, servers_per_leaf: 2, oversubscription: 8}";
  const TrainingResult messages = run_on(tight, job);
  EXPECT_FALSE(messages.by_messages);
  EXPECT_EQ(run_on(tight, job, Fidelity::flow).by_messages, messages.step.time);
}

// A search times a layout as `sim` does: to the picosecond, whatever was timed before it. A hundred layouts, drawn from
// all that three searches look at.
// A step asks for many collectives at once, and what transports lose in them is not added: it is said.
TEST(Training, WhatTransportsLoseIsNotKnown) {
  const std::string job = "{model: llama3-8b, global_batch: 128}";
  const auto unknown = [&](const std::string& transport) {
    return run_on(std::string(kRails) + "\ntransport: " + transport, job).not_known;
  };
  EXPECT_EQ(unknown("{kind: srd}"), "");
  EXPECT_NE(unknown("{kind: tcp}").find("TCP"), std::string::npos);
  const std::string lossless = "\nswitching: {flow_control: pfc}";
  EXPECT_NE(unknown("{kind: rocev2, balance: ecmp}" + lossless).find("DCQCN"), std::string::npos);
  EXPECT_NE(unknown("{kind: rocev2, balance: spray}" + lossless).find("overtake"), std::string::npos);
}

TEST(Training, ASearchSaysWhatARunSays) {
  std::mt19937_64 random(18);
  std::size_t compared = 0;
  for (const char* job : {"{model: {kind: llama3-8b, layers: 8}, gpus: 16, sequence: 4096, global_batch: 64}",
                          "{model: llama3-70b, gpus: 32, sequence: 16384, global_batch: 64}",
                          "{model: {kind: qwen3-30b-a3b, layers: 4}, gpus: 16, sequence: 4096, global_batch: 64}"}) {
    const auto design = design_of(kRails, job);
    const Experiment experiment = experiment_of(*design);
    const TrainingSearch found =
        search_training(*design, std::get<Training>(*experiment.workload), experiment, {100'000}, {});
    ASSERT_GT(found.best.size(), 50u);
    EXPECT_TRUE(std::is_sorted(found.best.begin(), found.best.end(),
                               [](const auto& a, const auto& b) { return a.step.time < b.step.time; }));
    for (std::size_t i = 0; i < 34; ++i, ++compared) {
      const TrainingCandidate& drawn = found.best[random() % found.best.size()];
      Experiment one = experiment;
      one.workload = std::make_shared<const Workload>(Training{drawn.run});
      EXPECT_EQ(run(*design, one, {}).training->step.time, drawn.step.time) << describe_layout(drawn.run, drawn.layout);
    }
  }
  EXPECT_GE(compared, 100u);
}

// All schedules, shardings and even cuts are looked at, but GPipe, which is never faster than 1F1B and keeps more.
TEST(Training, ASearchLooksAtAllSchedulesAndShardings) {
  const auto design = design_of(kRails, "{model: llama3-8b, gpus: 16, sequence: 4096, global_batch: 64}");
  const Experiment experiment = experiment_of(*design);
  const TrainingSearch found =
      search_training(*design, std::get<Training>(*experiment.workload), experiment, {100'000}, {});
  std::set<model::PipelineSchedule> schedules;
  std::set<std::pair<bool, model::Sharding>> shardings;
  std::set<std::int64_t> pieces;
  for (const TrainingCandidate& each : found.best) {
    const bool cut = each.layout.pipeline > 1;
    if (cut) schedules.insert(each.run.schedule);
    shardings.insert({cut, each.run.sharding});
    if (each.layout.pipeline == 2) pieces.insert(each.layout.virtual_stages);
  }
  EXPECT_EQ(schedules.size(), 4u);
  EXPECT_EQ(shardings.size(), 8u);
  EXPECT_EQ(pieces, (std::set<std::int64_t>{1, 2, 4, 8, 16})) << "of 32 layers";
}

// A batch smaller than the number of GPUs is cut where it can be: what is looked for need not be what comes first.
TEST(Training, ASearchBeginsWithAnyCutThatDivides) {
  const auto design = design_of(kRails, "{model: llama3-8b, sequence: 8192, global_batch: 32}");
  const model::TrainingRun run = training_of(design->cluster())[0].run;
  EXPECT_FALSE(training::layout_of(run, 128, 8)) << "one sequence for four GPUs";
  const auto cut = any_layout(*design, run);
  ASSERT_TRUE(cut);
  EXPECT_TRUE(training::layout_of(*cut, 128, 8));
  const Experiment experiment = experiment_of(*design);
  EXPECT_FALSE(search_training(*design, {run}, experiment, {1}, {}).best.empty());
  const auto nothing = design_of(kRails, "{model: {kind: llama3-8b, layers: 7}, gpus: 121, global_batch: 32}");
  EXPECT_FALSE(any_layout(*nothing, training_of(nothing->cluster())[0].run));
}

// By dollars fewer GPUs are tried as well: what is best costs at most what the fastest does, and its order is of GPU
// seconds.
TEST(Training, ASearchByDollarsTriesFewerGpus) {
  const auto design =
      design_of(kRails, "{model: {kind: llama3-8b, layers: 4}, gpus: 64, sequence: 4096, global_batch: 64}");
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

// What the file says beside degrees stays: jobs that run at the same time, also on fewer GPUs, and how a sequence is
// shared.
TEST(Training, ASearchKeepsWhatItDoesNotVary) {
  const auto design = design_of("{kind: tor-clos, servers_per_leaf: 2, oversubscription: 8}",
                                "{model: llama3-8b, gpus: 64, sequence: 32768, global_batch: 64, jobs: 2, "
                                "jobs_by: domain, parallel: {context_by: alltoall}}");
  const Experiment experiment = experiment_of(*design);
  const TrainingSearch found =
      search_training(*design, std::get<Training>(*experiment.workload), experiment, {1'000, BestBy::dollars}, {});
  std::set<std::int64_t> gpus;
  std::size_t parts = 0;
  for (std::size_t i = 0; i < found.best.size(); i += found.best.size() / 40) {
    const TrainingCandidate& each = found.best[i];
    EXPECT_EQ(each.run.parallel.context_by, model::ContextBy::alltoall);
    Experiment one = experiment;
    one.workload = std::make_shared<const Workload>(Training{each.run});
    EXPECT_EQ(run(*design, one, {}).training->step.time, each.step.time) << describe_layout(each.run, each.layout);
    gpus.insert(each.layout.gpus);
    parts += each.layout.context > 1 ? 1 : 0;
  }
  EXPECT_GT(gpus.size(), 1u);
  EXPECT_GT(parts, 0u);
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
