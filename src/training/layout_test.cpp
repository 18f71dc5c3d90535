#include "training/layout.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <set>

#include "training/testing_runs.hpp"

namespace weft::training {
namespace {

constexpr Group kAll[] = {Group::tensor, Group::context,     Group::expert, Group::pipeline,
                          Group::data,   Group::expert_data, Group::shard,  Group::replica};

// Whatever the degrees, the groups of a kind have every rank once.
RC_GTEST_PROP(Layout, GroupsOfAKindPartitionTheRanks, ()) {
  model::TrainingRun run = small_run();
  run.parallel.tensor = std::int64_t{1} << *rc::gen::inRange(0, 3);
  run.parallel.pipeline = std::int64_t{1} << *rc::gen::inRange(0, 3);
  run.parallel.context = std::int64_t{1} << *rc::gen::inRange(0, 2);
  const std::int64_t data = *rc::gen::inRange<std::int64_t>(1, 5);
  run.sharding = *rc::gen::element(model::Sharding::zero1, model::Sharding::hybrid);
  run.parallel.order = static_cast<model::RankOrder>(*rc::gen::inRange(0, 6));
  run.global_batch = 16 * data;
  const std::int64_t gpus = run.parallel.tensor * run.parallel.pipeline * run.parallel.context * data;
  const auto layout = layout_of(run, gpus, 8);
  RC_ASSERT(layout.has_value());
  for (const Group group : kAll) {
    const GroupPattern pattern = pattern_of(*layout, group);
    std::set<std::uint32_t> seen;
    for (std::int64_t i = 0; i < pattern.lanes * pattern.blocks; ++i)
      for (const std::uint32_t rank : ranks_of(pattern, i)) RC_ASSERT(seen.insert(rank).second);
    RC_ASSERT(static_cast<std::int64_t>(seen.size()) == gpus);
    RC_ASSERT(*seen.rbegin() == gpus - 1);
  }
}

TEST(Layout, TensorGroupsFollowEachOtherAndPipelinesGoOverTheWhole) {
  model::TrainingRun run = small_run();
  run.parallel.tensor = 2;
  run.parallel.pipeline = 4;
  const Layout layout = layout_of(run, 16, 8).value();
  EXPECT_EQ(ranks_of(pattern_of(layout, Group::tensor), 1), (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(ranks_of(pattern_of(layout, Group::data), 1), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(ranks_of(pattern_of(layout, Group::pipeline), 1), (std::vector<std::uint32_t>{1, 5, 9, 13}));
  EXPECT_EQ(ranks_of(pattern_of(layout, Group::embedding), 1), (std::vector<std::uint32_t>{1, 13}));
}

// The other orders: Megatron-LM's --use-tp-pp-dp-mapping, and tensor groups that are farthest apart.
TEST(Layout, AnOrderSaysWhichRanksFollowEachOther) {
  model::TrainingRun run = small_run();
  run.parallel.tensor = 2;
  run.parallel.pipeline = 4;
  run.parallel.order = model::RankOrder::tensor_pipeline_data;
  const Layout stages = layout_of(run, 16, 8).value();
  EXPECT_EQ(ranks_of(pattern_of(stages, Group::tensor), 1), (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(ranks_of(pattern_of(stages, Group::pipeline), 1), (std::vector<std::uint32_t>{1, 3, 5, 7}));
  EXPECT_EQ(ranks_of(pattern_of(stages, Group::data), 1), (std::vector<std::uint32_t>{1, 9}));
  EXPECT_EQ(ranks_of(pattern_of(stages, Group::embedding), 2), (std::vector<std::uint32_t>{8, 14}));
  EXPECT_EQ(stages.stage_of(13), 2);
  EXPECT_EQ(stages.copy_of(13), 1);
  run.parallel.order = model::RankOrder::data_pipeline_tensor;
  const Layout apart = layout_of(run, 16, 8).value();
  EXPECT_EQ(ranks_of(pattern_of(apart, Group::tensor), 1), (std::vector<std::uint32_t>{1, 9}));
  EXPECT_EQ(ranks_of(pattern_of(apart, Group::data), 1), (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(apart.stage_of(13), 2);
  EXPECT_EQ(apart.copy_of(13), 1);
}

TEST(Layout, WhatAnOrderOrAModuleHasNoMeaningForIsRefused) {
  model::TrainingRun run = small_run();
  const auto refused = [&](const char* key) {
    const auto layout = layout_of(run, 16, 8);
    ASSERT_FALSE(layout.has_value()) << key;
    EXPECT_EQ(layout.error().key, key);
  };
  run.recompute_modules = {model::RecomputeModule::mla_up_proj};
  refused("recompute_modules");
  run.recompute_modules = {model::RecomputeModule::moe_act};
  refused("recompute_modules");
  run.recompute_modules = {model::RecomputeModule::layernorm};
  EXPECT_TRUE(layout_of(run, 16, 8).has_value());
  run.recompute = model::Recompute::full;
  refused("recompute_modules");
  run = small_run();
  run.overlap.prefetch = false;
  refused("overlap");
  run = small_run();
  run.sharding = model::Sharding::zero3;
  run.parameters_by = model::ParametersBy::broadcast;
  refused("parameters_by");
  run = small_run();
  run.model.experts = model::ExpertsSpec{8, 2, 64, 0, 0, 1, 1, {}};
  run.parallel.tensor = 2;
  run.parallel.order = model::RankOrder::tensor_pipeline_data;
  run.parallel.pipeline = 2;
  refused("parallel");
  run.parallel.order = model::RankOrder::pipeline_tensor_data;
  EXPECT_TRUE(layout_of(run, 16, 8).has_value());
}

// Llama 3's paper: of 126 layers over 16 stages the first and the last have one less.
TEST(Layout, TheFirstAndTheLastStageHaveLessWhereLayersDoNotDivide) {
  model::TrainingRun run = small_run();
  run.model.layers = 126;
  run.parallel.pipeline = 16;
  const Layout layout = layout_of(run, 16, 8).value();
  EXPECT_EQ(layout.chunks.front().layers, 7);
  EXPECT_EQ(layout.chunks.back().layers, 7);
  EXPECT_EQ(layout.chunks[5].layers, 8);
  EXPECT_EQ(layout.chunks.back().first + layout.chunks.back().layers, 126);
}

// DeepSeek-V3 as Megatron-Bridge cuts it: the last stage, which predicts two tokens, has a single layer.
TEST(Layout, StagesHaveTheLayersThatTheFileSays) {
  model::TrainingRun run = small_run();
  run.parallel.pipeline = 4;
  run.parallel.layers = {3, 2, 2, 1};
  const Layout layout = layout_of(run, 8, 8).value();
  std::vector<std::pair<std::int64_t, std::int64_t>> cut;
  for (const Chunk& each : layout.chunks) cut.emplace_back(each.first, each.layers);
  EXPECT_EQ(cut, (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 3}, {3, 2}, {5, 2}, {7, 1}}));
  EXPECT_TRUE(layout.chunks.front().embeds && layout.chunks.back().outputs);
}

TEST(Layout, WhatDoesNotDivideIsNamedWithWhatWould) {
  const auto wrong = [](auto change, std::int64_t gpus = 8) {
    model::TrainingRun run = small_run();
    change(run);
    const auto layout = layout_of(run, gpus, 8);
    return layout ? std::string("fine") : layout.error().what + " | " + layout.error().help;
  };
  EXPECT_EQ(wrong([](auto& run) { run.parallel.tensor = 3; }), "tensor: 3 does not divide 16 heads | tensor: 2 or 4");
  EXPECT_EQ(wrong([](auto& run) { run.parallel.expert = 2; }), "expert: 2 for a model without experts | expert: 1");
  EXPECT_EQ(wrong([](auto& run) { run.parallel.data = 4; }),
            "all degrees together are 4, and there are 8 GPUs | data: 8");
  EXPECT_EQ(wrong([](auto& run) { run.global_batch = 12; }),
            "12 sequences are no multiple of data x micro_batch = 8 | global_batch: 16, or gpus: 6");
  EXPECT_EQ(wrong([](auto& run) { run.virtual_stages = 2; }),
            "a stage has one piece with 1f1b | schedule: interleaved, or virtual_stages: 1");
  EXPECT_EQ(wrong([](auto& run) { run.parallel.pipeline = 16; }, 12),
            "tensor x context x pipeline = 16, and there are 12 GPUs | degrees whose product divides 12");
  EXPECT_EQ(wrong([](auto& run) { run.parallel.pipeline = 8; }, 20),
            "tensor x context x pipeline = 8 does not divide 20 GPUs | degrees whose product is 5 or 10, or gpus: 16");
  EXPECT_EQ(wrong([](auto& run) { run.micro_batch = 3; }),
            "32 sequences are no multiple of data x micro_batch = 24 | global_batch: 48, or micro_batch: 2 or 4");
  EXPECT_EQ(wrong([](auto& run) {
              run.sequence = 2047;
              run.parallel.tensor = 2;
            }),
            "2047 tokens cannot be cut into 2 equal parts | sequence: 2048, a multiple of context x tensor");
  EXPECT_EQ(wrong(
                [](auto& run) {
                  run.parallel.tensor = 8;
                  run.parallel.context = 4;
                  run.parallel.context_by = model::ContextBy::alltoall;
                },
                32),
            "context: 4 does not divide the 2 heads of a GPU | context: 2, or context_by: ring");
  const auto groups = [&](std::int64_t all, std::int64_t of_token) {
    return wrong([=](auto& run) { run.model.experts = model::ExpertsSpec{16, 4, 64, 0, 0, all, of_token, {}}; });
  };
  EXPECT_EQ(groups(3, 1), "3 groups do not divide 16 experts | groups: 2 or 4");
  EXPECT_EQ(groups(4, 5), "a token visits more groups of experts than there are | groups_per_token: at most 4");
  EXPECT_EQ(groups(8, 1), "a token visits 4 experts, and 1 of 8 groups have 2 | groups_per_token: 2");
  EXPECT_EQ(groups(8, 2), "fine");
  EXPECT_EQ(wrong([](auto& run) { run.moe.overlap = true; }), "the model has no experts | without moe");
  EXPECT_EQ(wrong([](auto& run) {
              run.parallel.layers = {4, 4};
            }),
            "layers: of 2 pieces, and the pipeline has 1 | layers: [8], or none");
  EXPECT_EQ(wrong([](auto& run) {
              run.parallel.pipeline = 2;
              run.parallel.layers = {4, 3};
            }),
            "layers: 7 together, and the model has 8 | layers: [4, 4], or none");
  EXPECT_EQ(wrong([](auto& run) { run.parallel.data = 0; }), "fine") << "what is left";
  EXPECT_EQ(wrong([](auto& run) { run.gradient_bytes = 3; }), "no number has 3 bytes | gradient_bytes: 2 or 4");
  // A rack of 72 GPUs: what is suggested divides them and the experts.
  EXPECT_EQ(wrong(
                [](auto& run) {
                  run.model.experts = model::ExpertsSpec{128, 4, 64, 0, 0, 1, 1, {}};
                  run.parallel.expert = 64;
                  run.global_batch = 72;
                },
                72),
            "expert: 64 does not divide the 72 GPUs of a stage | expert: 8");
}

}  // namespace
}  // namespace weft::training
