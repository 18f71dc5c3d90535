#include "training/parameters.hpp"

#include <algorithm>

namespace weft::training {

using model::LanguageModelKind;

AttentionShape attention_of(const LanguageModelKind& model) {
  AttentionShape shape;
  shape.heads = model.heads;
  shape.kv_heads = model.kv_heads.value_or(model.heads);
  shape.head_dim = model.head_dim.value_or(model.hidden / model.heads);
  shape.value_dim = model.value_dim.value_or(shape.head_dim);
  return shape;
}

bool has_experts(const LanguageModelKind& model, std::int64_t layer) {
  return model.experts && layer >= model.experts->dense_layers;
}

bool has_window(const LanguageModelKind& model, std::int64_t layer) {
  return model.window && (model.window_every == 1 || layer % model.window_every != model.window_every - 1);
}

Parameters parameters_of(const LanguageModelKind& model) {
  const AttentionShape shape = attention_of(model);
  const std::int64_t h = model.hidden;
  const std::int64_t matrices = model.gated ? 3 : 2;
  Parameters out;
  out.embedding = (model.vocabulary + model.positions) * h;
  out.output = model.tied ? 0 : model.vocabulary * h;
  if (model.latent) {
    const std::int64_t q = model.latent->query_rank;
    const std::int64_t kv = model.latent->key_value_rank;
    const std::int64_t queries = shape.heads * shape.head_dim;
    const std::int64_t keys = shape.heads * (shape.head_dim - model.latent->rotary);
    out.attention = (q > 0 ? h * q + q * queries + q : h * queries) + h * (kv + model.latent->rotary) + kv +
                    kv * (keys + shape.heads * shape.value_dim) + shape.heads * shape.value_dim * h;
  } else {
    const std::int64_t widths = shape.heads * shape.head_dim + shape.kv_heads * (shape.head_dim + shape.value_dim);
    out.attention = h * widths + shape.heads * shape.value_dim * h + (model.biases ? widths + h : 0);
  }
  out.dense = matrices * h * model.feed_forward + (model.biases ? (matrices - 1) * model.feed_forward + h : 0);
  if (model.experts) {
    out.expert = matrices * h * model.experts->feed_forward;
    out.beside = matrices * h * model.experts->shared + h * model.experts->count;
  }
  out.norms = 2 * h * (model.biases ? 2 : 1);
  out.last_norm = h * (model.biases ? 2 : 1);
  return out;
}

namespace {

// Of all layers: `of_experts` counts so many experts of those that have any.
std::int64_t in_layers(const LanguageModelKind& model, const Parameters& part, std::int64_t of_experts) {
  std::int64_t sum = 0;
  const auto layer = [&](bool experts) {
    return part.attention + part.norms + (experts ? part.beside + of_experts * part.expert : part.dense);
  };
  for (std::int64_t i = 0; i < model.layers; ++i) sum += layer(has_experts(model, i));
  // A further predicted token has a layer, and a matrix that joins two vectors to one.
  sum +=
      (model.predicted - 1) * (layer(model.experts.has_value()) + 2 * model.hidden * model.hidden + 3 * model.hidden);
  return sum;
}

}  // namespace

std::int64_t total(const LanguageModelKind& model) {
  const Parameters part = parameters_of(model);
  return part.embedding + part.output + part.last_norm +
         in_layers(model, part, model.experts ? model.experts->count : 0);
}

std::int64_t active(const LanguageModelKind& model) {
  const Parameters part = parameters_of(model);
  return part.embedding + part.output + part.last_norm +
         in_layers(model, part, model.experts ? model.experts->per_token : 0);
}

double flops_per_token(const LanguageModelKind& model, std::int64_t sequence, bool causal) {
  const Parameters part = parameters_of(model);
  const AttentionShape shape = attention_of(model);
  const std::int64_t layers = in_layers(model, part, model.experts ? model.experts->per_token : 0);
  const double matrices = static_cast<double>(layers - model.layers * part.norms) +
                          static_cast<double>(model.predicted * model.vocabulary) * static_cast<double>(model.hidden);
  double keys = 0;  // of all layers
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const double seen = causal ? static_cast<double>(sequence) / 2 : static_cast<double>(sequence);
    keys += has_window(model, i) ? std::min(seen, static_cast<double>(*model.window)) : seen;
  }
  const double attention = static_cast<double>(shape.heads * (shape.head_dim + shape.value_dim)) * keys;
  return 6 * (matrices + attention);
}

}  // namespace weft::training
