#include "workload/patterns.hpp"

#include <numeric>

#include "base/random.hpp"

namespace weft::workload {
namespace {

// A random cycle through all nodes is a permutation in which nobody sends to itself (Sattolo).
std::vector<std::uint32_t> random_cycle(std::uint32_t nodes, std::uint64_t seed) {
  std::vector<std::uint32_t> to(nodes);
  std::iota(to.begin(), to.end(), 0u);
  Random random(seed, 0, 0);
  for (std::uint32_t i = nodes; i-- > 1;) std::swap(to[i], to[random.below(i)]);
  return to;
}

}  // namespace

const std::vector<std::string>& pattern_names() {
  static const std::vector<std::string> names = {"permutation", "incast", "outcast", "ring"};
  return names;
}

Matrix make_pattern(const std::string& name, std::uint32_t nodes, std::uint64_t bytes, std::uint64_t seed) {
  Matrix matrix;
  matrix.nodes = nodes;
  const auto add = [&](std::uint32_t from, std::uint32_t to) {
    MatrixFlow flow;
    flow.source = from;
    flow.destination = to;
    flow.bytes = bytes;
    matrix.flows.push_back(flow);
  };
  const std::vector<std::uint32_t> cycle = name == "permutation" ? random_cycle(nodes, seed) : std::vector<std::uint32_t>{};
  for (std::uint32_t i = 0; i < nodes; ++i) {
    if (name == "permutation") add(i, cycle[i]);
    if (name == "ring") add(i, (i + 1) % nodes);
    if (name == "incast" && i > 0) add(i, 0);
    if (name == "outcast" && i > 0) add(0, i);
  }
  return matrix;
}

}  // namespace weft::workload
