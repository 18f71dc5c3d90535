#include "collective/pat.hpp"

#include <bit>
#include <utility>

namespace weft::collective {

Pat::Pat(Shape shape)
    : shape_(std::move(shape)),
      size_(shape_.pairs.ranks()),
      steps_(static_cast<std::uint32_t>(std::countr_zero(std::bit_ceil(size_)))) {}

bool Pat::step(std::uint32_t rank, std::uint32_t, std::uint64_t at, Step& out) const {
  const std::uint64_t per_round = 2 * std::uint64_t{steps_};
  if (per_round == 0) return false;
  const std::uint64_t round = at / per_round;
  if (round >= rounds()) return false;
  const auto now = static_cast<std::uint32_t>(at % per_round / 2);
  const bool gathers = shape_.operation == Operation::all_gather;
  const bool sends = at % 2 == 0;
  const std::uint32_t distance = 1u << (gathers ? steps_ - 1 - now : now);
  const std::uint32_t ahead = static_cast<std::uint32_t>((std::uint64_t{rank} + distance) % size_);
  const std::uint32_t behind = (rank + size_ - distance) % size_;
  out = Step{};
  // A gathering rank sends its own blocks ahead; a reducing one sends the blocks of the rank behind it back there.
  const bool to_ahead = sends == gathers;
  out.kind = sends ? Step::Kind::send : gathers ? Step::Kind::recv : Step::Kind::reduce;
  out.peer = to_ahead ? ahead : behind;
  out.first = to_ahead ? rank : behind;
  out.stride = (size_ - 2 * distance % size_) % size_;
  out.count = (size_ - distance + 2 * distance - 1) / (2 * distance);
  out.tag = shape_.tag + distance;
  out.bytes = shape_.rounds.size(round) * out.count;
  out.round = round;
  if (sends) out.edge = shape_.pairs.of(rank, out.peer);
  return true;
}

}  // namespace weft::collective
