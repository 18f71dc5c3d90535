#pragma once
// Which GPUs a job has, in what groups, and which of its ranks are slow: the short notations that cluster files and the
// command line share.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace weft::model {

struct Cluster;

// What is wrong with a text, and what would be right.
struct Refusal {
  std::string what;
  std::string help;
};

// Servers of one name and a number each, with so many GPUs.
struct NamedServers {
  std::string name;
  std::uint32_t servers = 0;
  std::uint32_t first_gpu = 0;
  std::uint32_t gpus = 0;  // of a server
};

std::vector<NamedServers> named_servers(const Cluster& cluster);

// 3, 0..7, 0..63/8 (every eighth), 0..255/128x8 (eight of every 128), or all of servers by name: s3, s0..s15,
// s0..s15/2; or several with commas; in order, none twice, all below `count`.
Result<std::vector<std::uint32_t>, Refusal> parse_gpus(std::string_view text, std::uint32_t count,
                                                       const std::vector<NamedServers>& servers = {});

// Into equal groups of at least two: /8 neighbours, %8 every eighth. Empty: one group.
Result<std::vector<std::vector<std::uint32_t>>, Refusal> split_gpus(const std::string& how,
                                                                    const std::vector<std::uint32_t>& gpus);

struct SlowRank {
  std::uint32_t rank = 0;
  std::int64_t speed_per_mille = 0;  // that is left
};
// 3=50%, of so many ranks.
Result<SlowRank, Refusal> parse_slow_rank(std::string_view text, std::uint32_t ranks);

}  // namespace weft::model
