#pragma once
// How NCCL cuts a message: how many of its channels a size is worth, and how large the chunks are.

#include <algorithm>
#include <cstdint>

#include "collective/constants.hpp"
#include "collective/names.hpp"

namespace weft::collective {

struct ChunkRule {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  std::uint64_t bytes = 0;  // of the whole collective
  std::uint32_t channels = 1;
  std::uint32_t heads = 1;  // NVLS
  std::uint32_t ranks = 1;
  std::uint32_t nodes = 1;
  bool chain = false;                    // broadcast and reduce: a ring cut open
  std::uint64_t nvls_chunk = 128 << 10;  // what chunks of NVLS begin with,
  std::uint64_t far_chunk = 64 << 10;    // and of NVLSTree from four nodes on;
  Release release = {"", "", 28};        // older ones begin NVLSTree otherwise
};

std::uint64_t chunk_size(const ChunkRule& rule);

// Parts of a chunk that follow each other through a ring.
std::uint32_t slices_of(Protocol protocol);

std::uint32_t channels_used(std::uint32_t most, Algorithm algorithm, Protocol protocol, std::uint64_t bytes,
                            std::uint32_t ranks);

// How point-to-point messages are cut.
struct PairRule {
  std::uint32_t channels;  // of rings
  std::uint32_t ranks;
  std::uint32_t nodes;
  bool one_peer;  // else all
  std::uint64_t bytes;
  Release release;

  std::uint64_t to_a_peer() const { return std::max<std::uint64_t>(1, one_peer ? bytes : bytes / ranks); }
};
struct PairCut {
  std::uint32_t each;      // channels that a peer's message goes by,
  std::uint32_t channels;  // and that all messages use at once
};
PairCut pair_cut(const PairRule& rule, Protocol protocol);
Protocol pair_protocol(const PairRule& rule);

}  // namespace weft::collective
