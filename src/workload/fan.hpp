#pragma once
// Every node sends to a list of others, all at once or a window at a time.

#include <cstdint>
#include <functional>
#include <vector>

#include "schedule/schedule.hpp"

namespace weft::workload {

class Fan final : public schedule::Schedule {
 public:
  struct Targets {
    std::function<std::uint32_t(std::uint32_t rank)> count;
    std::function<std::uint32_t(std::uint32_t rank, std::uint32_t i)> target;
  };
  // `window`: how many flows a node has unfinished; 0: all.
  Fan(std::uint32_t nodes, std::uint64_t bytes, std::uint32_t window, Targets targets);

  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(cursors_.size()); }
  std::uint32_t lanes(std::uint32_t rank) const override { return targets_.count(rank) > 0 ? 1 : 0; }
  bool next(std::uint32_t rank, std::uint32_t lane, schedule::Instruction& out) override;

 private:
  struct Cursor {
    std::uint32_t sent = 0;
    bool waited = false;  // for room in the window
  };
  std::uint64_t bytes_;
  std::uint32_t window_;
  Targets targets_;
  std::vector<Cursor> cursors_;
};

}  // namespace weft::workload
