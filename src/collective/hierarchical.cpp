#include "collective/hierarchical.hpp"

#include <utility>

#include "collective/ring.hpp"

namespace weft::collective {

Hierarchical::Hierarchical(Shape shape)
    : shape_(std::move(shape)),
      size_(shape_.pairs.ranks()),
      nodes_(static_cast<std::uint32_t>(shape_.pairs.first.size() - 1)),
      local_(size_ / nodes_) {
  const Operation wanted = shape_.operation;
  const bool reduces = wanted != Operation::all_gather;
  const bool spreads = wanted != Operation::reduce_scatter;
  phases_ = {Phase{Operation::reduce_scatter, true, reduces ? local_ - 1 : 0},
             Phase{wanted, false, ring_steps(wanted, nodes_)},
             Phase{Operation::all_gather, true, spreads ? local_ - 1 : 0}};
}

bool Hierarchical::step(std::uint32_t rank, std::uint32_t, std::uint64_t at, Step& out) const {
  const std::uint64_t per_round = 2 * (phases_[0].steps + phases_[1].steps + phases_[2].steps);
  if (per_round == 0) return false;
  out = Step{};
  out.round = at / per_round;
  if (out.round >= rounds()) return false;
  std::uint64_t now = at % per_round / 2;
  std::size_t number = 0;
  while (now >= phases_[number].steps) now -= phases_[number++].steps;
  const Phase& phase = phases_[number];

  const bool sends = at % 2 == 0;
  const std::uint32_t node = rank / local_;
  const std::uint32_t place = phase.inside ? rank % local_ : node;
  const std::uint32_t ring = phase.inside ? local_ : nodes_;
  const std::uint32_t next = (place + (sends ? 1 : ring - 1)) % ring;
  const std::uint32_t block = ring_block(phase.operation, ring, place, now, sends);
  out.peer = phase.inside ? node * local_ + next : next * local_ + rank % local_;
  out.kind = sends ? Step::Kind::send : ring_adds(phase.operation, ring, now) ? Step::Kind::reduce : Step::Kind::recv;
  out.first = phase.inside ? block * nodes_ : rank % local_ * nodes_ + block;
  out.stride = phase.inside ? 1 : 0;
  out.count = phase.inside ? nodes_ : 1;
  out.tag = shape_.tag + number;
  out.bytes = shape_.rounds.size(out.round) * out.count;
  if (sends) out.edge = shape_.pairs.of(rank, out.peer);
  return true;
}

}  // namespace weft::collective
