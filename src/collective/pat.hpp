#pragma once
// PAT (parallel aggregated trees): all-gather and reduce-scatter in log2(n) steps, far peers first and with little,
// near peers last and with much; reduce-scatter is the same backwards.
//
// In the step of distance d, a rank holds the blocks of the ranks 0, 2d, 4d, ... behind it, and sends those to the rank
// d ahead that are not older than the ring is long; so it works for any number of ranks.

#include "collective/names.hpp"
#include "collective/pairs.hpp"
#include "collective/program.hpp"

namespace weft::collective {

class Pat final : public Program {
 public:
  struct Shape {
    Operation operation = Operation::all_gather;  // or reduce_scatter
    Pairs pairs;
    Rounds rounds;  // of a rank's block
    std::uint64_t tag = 0;
  };
  explicit Pat(Shape shape);

  std::uint32_t lanes(std::uint32_t rank) const override { return rank < size_ ? 1 : 0; }
  bool step(std::uint32_t rank, std::uint32_t lane, std::uint64_t at, Step& out) const override;
  std::uint32_t blocks() const override { return size_; }
  std::uint64_t rounds() const override { return shape_.rounds.count(); }
  std::uint64_t messages() const override { return rounds() * steps_ * size_; }

 private:
  Shape shape_;
  std::uint32_t size_;
  std::uint32_t steps_;
};

}  // namespace weft::collective
