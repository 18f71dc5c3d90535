#pragma once
// Rings in two levels: a block for each rank of a domain, reduced over the domain, then over the ranks with the same
// number in all domains, then spread over the domain. The network carries 1/m of the data of each of m ranks.
//
// Domains are equal. Blocks are numbered (number in the domain) x domains + domain.

#include <array>

#include "collective/names.hpp"
#include "collective/pairs.hpp"
#include "collective/program.hpp"

namespace weft::collective {

class Hierarchical final : public Program {
 public:
  struct Shape {
    Operation operation = Operation::all_reduce;  // or all_gather, reduce_scatter
    Pairs pairs;
    Rounds rounds;  // of a block
    std::uint64_t tag = 0;
  };
  explicit Hierarchical(Shape shape);

  std::uint32_t lanes(std::uint32_t rank) const override { return rank < size_ ? 1 : 0; }
  bool step(std::uint32_t rank, std::uint32_t lane, std::uint64_t at, Step& out) const override;
  std::uint32_t blocks() const override { return size_; }
  std::uint64_t rounds() const override { return shape_.rounds.count(); }
  std::uint64_t messages() const override {
    return rounds() * size_ * (phases_[0].steps + phases_[1].steps + phases_[2].steps);
  }

 private:
  Shape shape_;
  std::uint32_t size_;
  std::uint32_t nodes_;
  std::uint32_t local_;  // ranks of a domain
  struct Phase {
    Operation operation;
    bool inside;
    std::uint64_t steps;
  };
  std::array<Phase, 3> phases_;
};

}  // namespace weft::collective
