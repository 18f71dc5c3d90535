#pragma once
// Which entropy the next packet takes. One whose packet came back unmarked is taken again (REPS); otherwise all are
// taken in turn, each round from another start, passing over those that were marked, trimmed or lost lately (htsim's
// "mixed" balancing). There, of several passed over in a row only the first comes nearer to its return; so done, a
// permutation at full load took 5 % longer in our tests' network.

#include <algorithm>
#include <cstdint>

#include "base/hash.hpp"
#include "transport/uet/config.hpp"

namespace weft::transport {

struct UetPaths {
  static constexpr std::uint32_t kMost = 64;
  static constexpr std::uint32_t kCache = 8;
  static constexpr std::uint32_t kNone = 0xFF;

  std::uint32_t salt;  // of the pair: its rounds begin elsewhere than those of others
  std::uint16_t turn;
  std::uint8_t start;     // of the round
  std::uint8_t recycled;  // entropies in the cache
  std::uint8_t oldest;    // of those
  std::uint8_t cache[kCache];
  std::uint8_t penalty[kMost];  // turns for which it is passed over

  void begin(std::uint64_t pair) {
    *this = UetPaths{};
    salt = static_cast<std::uint32_t>(mix64(pair));
  }

  void good(const UetConfig& config, std::uint32_t path) {
    if (config.recycle == 0) return;
    if (recycled == config.recycle) {
      oldest = static_cast<std::uint8_t>((oldest + 1) % kCache);
      --recycled;
    }
    cache[(oldest + recycled++) % kCache] = static_cast<std::uint8_t>(path);
  }

  void bad(const UetConfig& config, std::uint32_t path, std::uint32_t by) {
    penalty[path] = static_cast<std::uint8_t>(std::min(config.lost_penalty, penalty[path] + by));
  }

  // `avoid`: the one that failed, or kNone. What is recycled counts in `reused`.
  std::uint32_t choose(const UetConfig& config, std::uint32_t avoid, std::uint64_t& reused) {
    while (recycled > 0) {
      const std::uint32_t path = cache[oldest];
      oldest = static_cast<std::uint8_t>((oldest + 1) % kCache);
      --recycled;
      if (path == avoid) continue;
      ++reused;
      return path;
    }
    std::uint32_t path = fresh(config.paths);
    for (std::uint32_t tries = 1; tries < config.paths && (penalty[path] > 0 || path == avoid); ++tries) {
      if (penalty[path] > 0) --penalty[path];
      path = fresh(config.paths);
    }
    return path == avoid ? (path + 1) % config.paths : path;
  }

 private:
  std::uint32_t fresh(std::uint32_t paths) {
    if (turn % paths == 0) start = static_cast<std::uint8_t>(pick(mix64(salt + (std::uint64_t{turn} << 32)), paths));
    return (start + turn++) % paths;
  }
};

}  // namespace weft::transport
