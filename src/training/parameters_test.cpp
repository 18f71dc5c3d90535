// Parameters that follow from the catalog's numbers, against what the models' makers publish.

#include "training/parameters.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "model/catalog.hpp"

namespace weft::training {
namespace {

model::LanguageModelKind named(const std::string& name) {
  spec::Diagnostics diagnostics;
  const model::Catalog catalog = model::Catalog::embedded(diagnostics);
  auto found = catalog.load<model::LanguageModelKind>("models", name, diagnostics);
  EXPECT_TRUE(found && !diagnostics.has_errors()) << name;
  return *found;
}

struct Published {
  const char* model;
  double billions;         // in all
  double active_billions;  // that a token meets; 0: all
  double within;           // of 1: how the count was rounded
};

class PublishedCounts : public testing::TestWithParam<Published> {};

TEST_P(PublishedCounts, FollowFromTheNumbersOfTheCatalog) {
  const Published& each = GetParam();
  const model::LanguageModelKind model = named(each.model);
  EXPECT_NEAR(static_cast<double>(total(model)) / 1e9, each.billions, each.billions * each.within) << each.model;
  if (each.active_billions == 0) return;
  EXPECT_NEAR(static_cast<double>(active(model)) / 1e9, each.active_billions, each.active_billions * each.within);
}

// Exact counts are of the models' published weights; the others as they are rounded in their papers.
INSTANTIATE_TEST_SUITE_P(
    Models, PublishedCounts,
    testing::Values(Published{"megatron-1.7b", 1.7, 0, 0.03}, Published{"megatron-3.6b", 3.6, 0, 0.02},
                    Published{"megatron-7.5b", 7.5, 0, 0.01}, Published{"megatron-18.4b", 18.4, 0, 0.005},
                    Published{"megatron-39.1b", 39.1, 0, 0.005}, Published{"megatron-76.1b", 76.1, 0, 0.005},
                    Published{"megatron-145.6b", 145.6, 0, 0.005}, Published{"megatron-310.1b", 310.1, 0, 0.005},
                    Published{"megatron-529.6b", 529.6, 0, 0.005}, Published{"megatron-1008b", 1008.0, 0, 0.005},
                    Published{"megatron-22b", 22, 0, 0.01}, Published{"gpt3-175b", 175, 0, 0.005},
                    Published{"mpt-7b", 6.658859008, 0, 0.002}, Published{"mpt-13b", 12.853954560, 0, 0.002},
                    Published{"mpt-30b", 29.975214080, 0, 0.002}, Published{"mpt-70b", 64.862437376, 0, 0.002},
                    Published{"mpt-1b", 1.315950592, 0, 0.002}, Published{"mpt-3b", 2.651837440, 0, 0.002},
                    Published{"llama2-7b", 6.738415616, 0, 1e-6}, Published{"llama2-13b", 13.015864320, 0, 1e-6},
                    Published{"llama2-70b", 68.976648192, 0, 1e-6}, Published{"llama3-8b", 8.030261248, 0, 1e-6},
                    Published{"llama3-70b", 70.553706496, 0, 1e-6}, Published{"llama3-405b", 405.853388800, 0, 1e-6},
                    Published{"mixtral-8x7b", 46.702792704, 12.9, 0.01},
                    Published{"mixtral-8x22b", 140.620634112, 39.1, 0.01}, Published{"deepseek-v3", 684.5, 0, 0.01},
                    Published{"qwen3-8b", 8.190735360, 0, 1e-4}, Published{"qwen3-32b", 32.762123264, 0, 1e-4},
                    Published{"qwen3-30b-a3b", 30.532122624, 3.3, 0.02},
                    Published{"qwen3-235b-a22b", 235.093634560, 22, 0.02}, Published{"gpt-oss-20b", 20.9, 0, 0.01},
                    Published{"gpt-oss-120b", 116.8, 0, 0.01}, Published{"nemotron4-15b", 15.6, 0, 0.01},
                    Published{"nemotron4-340b", 340, 0, 0.01}),
    [](const auto& each) {
      std::string name = each.param.model;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
      return name;
    });

// The formula of Narayanan et al. (2021) without recompute: 72 B s l h^2 (1 + s/6h + V/12lh), for a batch of B.
TEST(FlopsPerToken, AreMegatronsFormula) {
  const model::LanguageModelKind model = named("gpt3-175b");
  const double h = 12288, l = 96, s = 2048, v = 51200;
  EXPECT_NEAR(flops_per_token(model, 2048, false) / (72 * l * h * h * (1 + s / (6 * h) + v / (12 * l * h))), 1, 1e-3);
}

// A token of DeepSeek-V3 meets 37 billion parameters of the main model, without what predicts the second token.
TEST(ActiveParameters, OfDeepSeekV3) {
  model::LanguageModelKind model = named("deepseek-v3");
  model.predicted = 1;
  EXPECT_NEAR(static_cast<double>(total(model)) / 1e9, 671, 1);
  EXPECT_NEAR(static_cast<double>(active(model)) / 1e9, 37.5, 0.5);
}

}  // namespace
}  // namespace weft::training
