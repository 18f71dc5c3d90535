#include "collective/chunks.hpp"

#include <algorithm>
#include <bit>

namespace weft::collective {
namespace {

constexpr std::uint64_t kKiB = 1024;

// A channel's buffer has 8 steps: 4 MiB for Simple; LL has 8 lines of 8 bytes for each of 512 threads in a step, LL128
// 120 bytes of 128 for each of 640 threads and 8 lines (NCCL src/include/device.h).
constexpr std::uint64_t kSimpleStep = 512 * kKiB;
constexpr std::uint64_t kLlStep = 32 * kKiB;
constexpr std::uint64_t kLl128Step = 640 * 8 * 120 * 15 / 16;
// With LL and LL128 flags travel with the data, so a rank passes on at once what its threads have taken: with LL a line
// of 8 bytes for each of 512 threads, with LL128 3,840 bytes for each warp, of which four go together here.
constexpr std::uint64_t kLlPass = 512 * 8;
constexpr std::uint64_t kLl128Pass = 4 * 3840;

struct Shrink {
  std::uint64_t times;  // chunks x channels x heads that the bytes must fill, or the chunk shrinks
  std::uint64_t to;
};

// NCCL src/enqueue.cc, and checked against published tables: the kinks of 8 x H100 are at 8 MiB, 64 MiB and 1 GiB.
std::uint64_t shrunk(std::uint64_t chunk, std::uint64_t bytes, std::uint64_t lanes,
                     std::initializer_list<Shrink> rules) {
  for (const Shrink& rule : rules)
    if (chunk > rule.to && bytes / (lanes * chunk) < rule.times) chunk = rule.to;
  return chunk;
}

// Halved until there are as many chunks as it takes to keep all stages of a chain or tree busy.
std::uint64_t pipelined(std::uint64_t chunk, std::uint64_t least, std::uint64_t bytes, std::uint64_t chunks) {
  while (chunk > least && bytes / chunk < chunks) chunk /= 2;
  return chunk;
}

}  // namespace

std::uint64_t chunk_size(const ChunkRule& rule) {
  const std::uint64_t lanes = std::uint64_t{rule.channels} * rule.heads;
  const std::uint64_t step = rule.protocol == Protocol::simple ? kSimpleStep
                             : rule.protocol == Protocol::ll   ? kLlStep
                                                               : kLl128Step;
  const std::uint64_t pass = rule.protocol == Protocol::ll ? kLlPass : kLl128Pass;
  switch (rule.algorithm) {
    case Algorithm::nvls:
      return shrunk(rule.nvls_chunk, rule.bytes, lanes, {{64, 64 * kKiB}, {8, 32 * kKiB}, {2, 16 * kKiB}});
    case Algorithm::nvls_tree: {
      const std::uint64_t near = rule.release.whole_steps() ? kSimpleStep : rule.nvls_chunk;
      const bool far = rule.nodes >= 4 && rule.release.far_chunks();
      return shrunk(far ? std::min(near, rule.far_chunk) : near, rule.bytes, lanes,
                    {{32, 256 * kKiB}, {16, 128 * kKiB}, {4, 64 * kKiB}, {1, 32 * kKiB}});
    }
    case Algorithm::ring:
      if (rule.chain && rule.protocol == Protocol::simple)
        return pipelined(step, 64 * kKiB, rule.bytes / lanes, 4 * std::uint64_t{rule.ranks});
      if (rule.chain) return pass;
      return rule.protocol == Protocol::simple ? 4 * step : step;
    case Algorithm::tree:
      return rule.protocol == Protocol::simple ? step : pass;
    default:
      return step;
  }
}

// Simple cuts a chunk in two. With LL and LL128 threads go through all lines of a chunk before they begin with the
// next.
std::uint32_t slices_of(Protocol protocol) { return protocol == Protocol::simple ? 2 : 1; }

// A channel is worth its while when each of its threads has something to do: 8 bytes each for LL and LL128, 64 for
// Simple; of a ring's channel with LL every rank has a part (NCCL src/enqueue.cc).
std::uint32_t channels_used(std::uint32_t most, Algorithm algorithm, Protocol protocol, std::uint64_t bytes,
                            std::uint32_t ranks) {
  const std::uint64_t threads = protocol == Protocol::ll128 ? 640 : 512;
  const std::uint64_t all_parts = protocol == Protocol::ll && algorithm == Algorithm::ring ? ranks : 1;
  const std::uint64_t each = threads * (protocol == Protocol::simple ? 64 : 8) * all_parts;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes / each, 1, most));
}

namespace {

// A power of two in all and for each peer, over the network two for each or, among many, one (NCCL src/graph/paths.cc).
std::uint32_t all_pair_channels(const PairRule& rule) { return std::bit_ceil(rule.channels); }
std::uint32_t most_for_a_peer(const PairRule& rule) {
  const std::uint32_t all = all_pair_channels(rule);
  return std::min(all, rule.nodes == 1 ? all : rule.ranks > 2 * all ? 1 : 2);
}

}  // namespace

// NCCL src/enqueue.cc: a peer's message is cut where every part is worth a channel, until parts are small enough.
PairCut pair_cut(const PairRule& rule, Protocol protocol) {
  constexpr std::uint64_t kLlBuffer = 64 * kKiB;  // a step of it, flags included
  const bool ll = protocol == Protocol::ll && rule.release.pairs_by_all_channels();
  const std::uint64_t step = ll ? kLlBuffer : rule.nodes > 1 ? 128 * kKiB : kSimpleStep;
  const std::uint64_t least_part = rule.nodes > 1 ? step / 2 : step / 8;
  const std::uint64_t most_part = rule.nodes > 1 ? step : 32 * step;
  const std::uint32_t all = all_pair_channels(rule);
  const std::uint32_t most = most_for_a_peer(rule);
  std::uint32_t each = most;
  while (each > 1 && std::uint64_t{each} * rule.ranks > all) each /= 2;
  // Until 2.8 all of them were taken whatever the size.
  if (!rule.release.grouped()) {
    const std::uint64_t bytes = rule.to_a_peer();
    each = static_cast<std::uint32_t>(std::min<std::uint64_t>(each, (bytes + least_part - 1) / least_part));
    while (2 * each <= most && (bytes + each - 1) / each > most_part) each *= 2;
  }
  return {each, rule.one_peer ? each : std::min(all, each * rule.ranks)};
}

// Up to NCCL_P2P_LL_THRESHOLD for a channel; between nodes NCCL sets up no buffers of LL for them
// (NCCL_ALLOC_P2P_NET_LL_BUFFERS).
Protocol pair_protocol(const PairRule& rule) {
  constexpr std::uint64_t kThreshold = 16 * kKiB;
  if (rule.nodes > 1 || !rule.release.pairs_by_ll()) return Protocol::simple;
  const std::uint32_t channels =
      rule.release.pairs_by_all_channels() ? most_for_a_peer(rule) : pair_cut(rule, Protocol::simple).each;
  return rule.to_a_peer() <= channels * kThreshold ? Protocol::ll : Protocol::simple;
}

}  // namespace weft::collective
