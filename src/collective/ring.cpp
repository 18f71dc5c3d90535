#include "collective/ring.hpp"

#include <algorithm>
#include <utility>

namespace weft::collective {

std::uint32_t ring_block(Operation operation, std::uint32_t size, std::uint32_t place, std::uint64_t step, bool sends) {
  const std::uint32_t back =
      static_cast<std::uint32_t>(step % size) + (sends ? 0 : 1) + (operation == Operation::reduce_scatter ? 1 : 0);
  return static_cast<std::uint32_t>((place + 2 * std::uint64_t{size} - back) % size);
}

bool ring_adds(Operation operation, std::uint32_t size, std::uint64_t step) {
  return operation != Operation::all_gather && step + 1 < size;
}

std::uint32_t ring_steps(Operation operation, std::uint32_t size) {
  return (size - 1) * (operation == Operation::all_reduce ? 2 : 1);
}

Ring::Ring(Shape shape) : shape_(std::move(shape)), size_(static_cast<std::uint32_t>(shape_.order.size())) {
  steps_ = ring_steps(shape_.operation, size_);
  place_.assign(*std::max_element(shape_.order.begin(), shape_.order.end()) + std::size_t{1}, kNone);
  for (std::uint32_t place = 0; place < size_; ++place) place_[shape_.order[place]] = place;
}

// A round in order: the slices of step 0 are sent; then slice by slice, step s - 1 is taken and step s sent; then the
// slices of the last step are taken.
bool Ring::step(std::uint32_t rank, std::uint32_t, std::uint64_t at, Step& out) const {
  const std::uint64_t slices = shape_.slices;
  const std::uint64_t per_round = 2 * slices * steps_;
  if (per_round == 0) return false;
  const std::uint64_t round = at / per_round;
  if (round >= shape_.rounds.count()) return false;
  const std::uint64_t now = at % per_round;
  const bool first = now < slices;
  const bool last = now >= per_round - slices;
  const std::uint64_t pair = (now - slices) / 2;
  const bool sends = first || (!last && (now - slices) % 2 == 1);
  const std::uint64_t slice = first ? now : last ? now - (per_round - slices) : pair % slices;
  const std::uint64_t step = first ? 0 : last ? steps_ - 1 : pair / slices + (sends ? 1 : 0);

  const std::uint32_t place = place_[rank];
  const std::uint64_t chunk = shape_.rounds.size(round);
  out = Step{};
  if (sends) {
    out.kind = Step::Kind::send;
    out.edge = shape_.edges[place];
  } else {
    out.kind = ring_adds(shape_.operation, size_, step) ? Step::Kind::reduce : Step::Kind::recv;
  }
  out.peer = shape_.order[sends ? (place + 1 == size_ ? 0 : place + 1) : (place == 0 ? size_ - 1 : place - 1)];
  out.tag = shape_.tag;
  out.bytes = chunk * (slice + 1) / slices - chunk * slice / slices;
  out.round = round * slices + slice;
  out.first = ring_block(shape_.operation, size_, place, step, sends);
  return true;
}

}  // namespace weft::collective
