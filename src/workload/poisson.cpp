#include "workload/poisson.hpp"

#include <utility>

#include "base/exponential.hpp"

namespace weft::workload {

using schedule::Instruction;

Poisson::Poisson(Process process) : process_(std::move(process)), sources_(process_.nodes) {
  for (std::uint32_t rank = 0; rank < process_.nodes; ++rank) {
    Source& source = sources_[rank];
    source.random = Random(process_.seed, 0, rank);
    source.left = process_.flows / process_.nodes + (rank < process_.flows % process_.nodes ? 1 : 0);
    if (process_.flows == 0) source.left = UINT64_MAX;
  }
}

bool Poisson::next(std::uint32_t rank, std::uint32_t, Instruction& out) {
  Source& source = sources_[rank];
  if (std::exchange(source.due, false)) {
    const std::uint32_t other = source.random.below(process_.nodes - 1);
    out = Instruction::put(other + (other >= rank ? 1 : 0), process_.sizes.draw(source.random));
    out.detached = true;
    return true;
  }
  if (source.left == 0) return false;
  const std::int64_t gap = draw_exponential(source.random, process_.gap);
  if (gap > process_.duration - source.time) return false;
  source.time += gap;
  --source.left;
  source.due = true;
  out = Instruction::at(source.time);
  return true;
}

}  // namespace weft::workload
