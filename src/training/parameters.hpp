#pragma once
// What a language model is made of, in numbers: parameters by part, and operations per token.

#include <cstdint>

#include "model/training.hpp"

namespace weft::training {

// Of one layer's attention, as matrices.
struct AttentionShape {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
};
AttentionShape attention_of(const model::LanguageModelKind& model);

bool has_experts(const model::LanguageModelKind& model, std::int64_t layer);
// Whether a layer's queries see a window of keys only.
bool has_window(const model::LanguageModelKind& model, std::int64_t layer);

struct Parameters {
  std::int64_t embedding = 0;  // tokens and learned positions
  std::int64_t output = 0;     // 0 where it is tied
  std::int64_t attention = 0;  // of a layer
  std::int64_t dense = 0;      // feed-forward network of a layer without experts
  std::int64_t expert = 0;     // of one expert
  std::int64_t beside = 0;     // of a layer with experts: router and what every token visits
  std::int64_t norms = 0;      // of a layer
  std::int64_t last_norm = 0;
};
Parameters parameters_of(const model::LanguageModelKind& model);

std::int64_t total(const model::LanguageModelKind& model);
// Those that a token meets.
std::int64_t active(const model::LanguageModelKind& model);

// Of a forward and a backward pass, without anything computed twice: six for each parameter of a matrix that a token
// meets, the output layer included, and attention over the sequence, whole or, as `causal` says, only what its mask
// leaves. The embedding is looked up.
double flops_per_token(const model::LanguageModelKind& model, std::int64_t sequence, bool causal);

}  // namespace weft::training
