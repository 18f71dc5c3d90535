#pragma once
// A schedule written out in full, for tests.

#include <utility>
#include <vector>

#include "schedule/schedule.hpp"

namespace weft::schedule {

class Script final : public Schedule {
 public:
  explicit Script(std::uint32_t ranks) : lanes_(ranks) {}

  void add(std::uint32_t rank, std::vector<Instruction> lane) { lanes_[rank].push_back({std::move(lane), 0}); }
  std::size_t pulled(std::uint32_t rank, std::uint32_t lane) const { return lanes_[rank][lane].pulled; }

  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(lanes_.size()); }
  std::uint32_t lanes(std::uint32_t rank) const override { return static_cast<std::uint32_t>(lanes_[rank].size()); }
  bool next(std::uint32_t rank, std::uint32_t lane, Instruction& out) override {
    Lane& from = lanes_[rank][lane];
    if (from.pulled == from.all.size()) return false;
    out = from.all[from.pulled++];
    return true;
  }

 private:
  struct Lane {
    std::vector<Instruction> all;
    std::size_t pulled;
  };
  std::vector<std::vector<Lane>> lanes_;
};

}  // namespace weft::schedule
