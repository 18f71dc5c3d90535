#pragma once
// Edges for programs in which anybody talks to anybody: they depend on who sends, and on whether it stays inside.

#include <cstdint>
#include <vector>

#include "collective/program.hpp"

namespace weft::collective {

struct Pairs {
  std::vector<std::uint32_t> node;   // by rank: its scale-up domain, in order
  std::vector<std::uint32_t> first;  // by node its first rank, and one behind the last
  std::vector<Edge> within;          // by sending rank
  std::vector<Edge> across;

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(node.size()); }
  const Edge& of(std::uint32_t from, std::uint32_t to) const {
    return node[from] == node[to] ? within[from] : across[from];
  }
};

}  // namespace weft::collective
