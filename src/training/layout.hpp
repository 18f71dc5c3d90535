#pragma once
// How a job is cut over its GPUs: who has which layers, and who talks to whom.
//
// Ranks are counted in the job's order of dimensions, by default with tensor parallelism fastest, then context, data and
// pipeline (as Megatron-LM's). Groups of experts are ranks that follow each other within a stage, whatever else they are.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/training.hpp"

namespace weft::training {

enum class Group : std::uint8_t { tensor, context, expert, pipeline, data, expert_data, shard, replica, embedding };
constexpr auto names_of(Group) {
  using enum Group;
  return std::to_array<EnumName<Group>>({{tensor, "tensor"},
                                         {context, "context"},
                                         {expert, "expert"},
                                         {pipeline, "pipeline"},
                                         {data, "data"},
                                         {expert_data, "expert-data"},
                                         {shard, "shard"},
                                         {replica, "replica"},
                                         {embedding, "embedding"}});
}
inline constexpr std::size_t kGroups = 9;

// Layers of the model that one stage has in one piece.
struct Chunk {
  std::int64_t first = 0;
  std::int64_t layers = 0;  // none: the embedding or the output layer alone
  bool embeds = false;      // the embedding is here,
  bool outputs = false;     // and the output layer
};

struct Layout {
  std::int64_t gpus = 0;
  std::int64_t tensor = 1;
  std::int64_t context = 1;
  std::int64_t expert = 1;
  std::int64_t data = 1;
  std::int64_t pipeline = 1;
  std::int64_t virtual_stages = 1;
  std::int64_t shards = 1;         // over which what is sharded is cut
  std::int64_t domain = 1;         // GPUs of a scale-up domain
  std::int64_t micro_batches = 1;  // of a copy of the model
  // From a rank to the next of its tensor group, to that of the next part of a sequence (or copy of the model) and to
  // that of the next stage.
  std::int64_t tensor_stride = 1;
  std::int64_t copy_stride = 1;
  std::int64_t stage_stride = 1;
  std::vector<Chunk> chunks;       // pipeline x virtual_stages, in the order of the layers

  std::int64_t stage_ranks() const { return tensor * context * data; }
  std::int64_t stage_of(std::int64_t rank) const { return rank / stage_stride % pipeline; }
  std::int64_t copy_of(std::int64_t rank) const { return rank / copy_stride % (context * data) / context; }
  const Chunk& chunk(std::int64_t stage, std::int64_t piece) const {
    return chunks[static_cast<std::size_t>(piece * pipeline + stage)];
  }
};

// What is wrong with a job's numbers: which key, and what would be right.
struct WrongLayout {
  std::string key;
  std::string what;
  std::string help;
};

// Of a job on so many GPUs; `domain` is how many share a scale-up domain.
Result<Layout, WrongLayout> layout_of(const model::TrainingRun& run, std::int64_t gpus, std::int64_t domain);

// Where the groups of a kind are: each has `size` ranks that are `stride` apart; `lanes` of them begin one rank behind
// another in each of `blocks` blocks of `block` ranks.
struct GroupPattern {
  std::int64_t size = 1;
  std::int64_t stride = 1;
  std::int64_t lanes = 1;
  std::int64_t blocks = 1;
  std::int64_t block = 1;
  auto operator<=>(const GroupPattern&) const = default;
};
GroupPattern pattern_of(const Layout& layout, Group group);
// Ranks of one group, ordered.
std::vector<std::uint32_t> ranks_of(const GroupPattern& pattern, std::int64_t group);

}  // namespace weft::training
