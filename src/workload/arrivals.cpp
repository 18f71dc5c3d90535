#include "workload/arrivals.hpp"

#include <utility>

#include "base/exponential.hpp"

namespace weft::workload {

using schedule::Instruction;

Arrivals::Arrivals(Process process) : process_(std::move(process)), sources_(process_.nodes) {
  for (std::uint32_t rank = 0; rank < process_.nodes; ++rank) {
    Source& source = sources_[rank];
    source.random = Random(process_.seed, 0, rank);
    source.left = process_.flows / process_.nodes + (rank < process_.flows % process_.nodes ? 1 : 0);
    if (process_.flows == 0) source.left = UINT64_MAX;
  }
}

// Paced sources begin anywhere within their first gap: in step, they would meet at every port.
Duration Arrivals::gap(Source& source) const {
  if (!process_.paced) return Duration(draw_exponential(source.random, process_.gap.count()));
  if (std::exchange(source.begun, true)) return process_.gap;
  return Duration(static_cast<std::int64_t>(source.random.next() % static_cast<std::uint64_t>(process_.gap.count())));
}

std::uint32_t Arrivals::target(std::uint32_t rank, Source& source) const {
  if (process_.targets.count) return process_.targets.target(rank, source.turn++ % process_.targets.count(rank));
  const std::uint32_t other = source.random.below(process_.nodes - 1);
  return other + (other >= rank ? 1 : 0);
}

bool Arrivals::next(std::uint32_t rank, std::uint32_t, Instruction& out) {
  Source& source = sources_[rank];
  if (std::exchange(source.due, false)) {
    const std::uint32_t peer = target(rank, source);
    out = Instruction::put(peer, process_.sizes.draw(source.random));
    out.detached = true;
    return true;
  }
  if (source.left == 0) return false;
  const Duration wait = gap(source);
  if (wait > process_.duration - source.time) return false;
  source.time += wait;
  --source.left;
  source.due = true;
  out = Instruction::at(source.time);
  return true;
}

}  // namespace weft::workload
