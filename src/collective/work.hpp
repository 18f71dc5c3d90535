#pragma once
// Programs as a schedule, for any executor.
//
// A message executor shares nothing, so there a send occupies its lane for as long as its share of the links needs, and
// the message takes only its latency. A packet executor knows how links are shared, so there a send is all there is.

#include <memory>
#include <vector>

#include "collective/program.hpp"
#include "schedule/schedule.hpp"

namespace weft::collective {

enum class Pace : std::uint8_t { timed, carried };

class Work final : public schedule::Schedule {
 public:
  Work(std::uint32_t ranks, std::vector<std::shared_ptr<const Program>> programs, Pace pace);

  std::uint32_t ranks() const override { return ranks_; }
  std::uint32_t lanes(std::uint32_t rank) const override { return first_lane_[rank + 1] - first_lane_[rank]; }
  bool next(std::uint32_t rank, std::uint32_t lane, schedule::Instruction& out) override;

 private:
  struct Cursor {
    std::uint32_t program = 0;
    std::uint32_t lane = 0;  // within the program
    std::uint64_t at = 0;
    bool takes = false;  // the step before was a recv, and is waited for
  };
  std::uint32_t ranks_;
  std::vector<std::shared_ptr<const Program>> programs_;
  Pace pace_;
  std::vector<std::uint32_t> first_lane_;  // by rank, and one behind the last
  std::vector<Cursor> cursors_;            // by lane
};

}  // namespace weft::collective
