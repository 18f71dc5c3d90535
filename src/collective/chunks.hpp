#pragma once
// How NCCL cuts a message: how many of its channels a size is worth, and how large the chunks are.

#include <cstdint>

#include "collective/names.hpp"

namespace weft::collective {

// Parts of a chunk that follow each other through a ring, with the protocol Simple.
inline constexpr std::uint32_t kSlices = 2;

struct ChunkRule {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  std::uint64_t bytes = 0;  // of the whole collective
  std::uint32_t channels = 1;
  std::uint32_t heads = 1;  // NVLS
  std::uint32_t ranks = 1;
  std::uint32_t nodes = 1;
  bool chain = false;  // broadcast and reduce: a ring cut open
};

std::uint64_t chunk_size(const ChunkRule& rule);

std::uint32_t channels_used(std::uint32_t most, Algorithm algorithm, Protocol protocol, std::uint64_t bytes,
                            std::uint32_t ranks);

}  // namespace weft::collective
