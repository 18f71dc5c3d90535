#pragma once
// Ring all-reduce, all-gather and reduce-scatter over one channel.
//
// A step is cut into slices, so that one slice travels while the next is being sent. The rank at place i of the ring,
// in step s, sends block i - s (one further back for reduce-scatter, so that block i ends at place i) and takes the
// block before it. The first n - 1 steps of an all-reduce add, the others copy.

#include <vector>

#include "collective/names.hpp"
#include "collective/program.hpp"

namespace weft::collective {

// The arithmetic of a ring of `size`: which block the rank at `place` sends or takes in a step, whether it adds what it
// takes, and how many steps there are.
std::uint32_t ring_block(Operation operation, std::uint32_t size, std::uint32_t place, std::uint64_t step, bool sends);
bool ring_adds(Operation operation, std::uint32_t size, std::uint64_t step);
std::uint32_t ring_steps(Operation operation, std::uint32_t size);

class Ring final : public Program {
 public:
  struct Shape {
    Operation operation = Operation::all_reduce;
    std::vector<std::uint32_t> order;  // ranks, each sends to the next
    std::vector<Edge> edges;           // from order[i] to the next
    Rounds rounds;                     // of a block; there are as many blocks as ranks
    std::uint32_t slices = 1;          // of a chunk
    std::uint64_t tag = 0;
  };
  explicit Ring(Shape shape);

  std::uint32_t lanes(std::uint32_t rank) const override { return place_of(rank) == kNone ? 0 : 1; }
  bool step(std::uint32_t rank, std::uint32_t lane, std::uint64_t at, Step& out) const override;
  std::uint32_t blocks() const override { return size_; }
  std::uint64_t rounds() const override { return shape_.rounds.count() * shape_.slices; }
  std::uint64_t messages() const override { return rounds() * steps_ * size_; }

  const Shape& shape() const { return shape_; }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  std::uint32_t place_of(std::uint32_t rank) const { return rank < place_.size() ? place_[rank] : kNone; }

  Shape shape_;
  std::uint32_t size_;
  std::uint32_t steps_;               // of one round
  std::vector<std::uint32_t> place_;  // by rank
};

}  // namespace weft::collective
