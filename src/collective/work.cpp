#include "collective/work.hpp"

#include <utility>

namespace weft::collective {

using schedule::Instruction;

Work::Work(std::uint32_t ranks, std::vector<std::shared_ptr<const Program>> programs, Pace pace)
    : ranks_(ranks), programs_(std::move(programs)), pace_(pace) {
  first_lane_.reserve(ranks + std::size_t{1});
  first_lane_.push_back(0);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (std::uint32_t program = 0; program < programs_.size(); ++program)
      for (std::uint32_t lane = 0; lane < programs_[program]->lanes(rank); ++lane) cursors_.push_back({program, lane});
    first_lane_.push_back(static_cast<std::uint32_t>(cursors_.size()));
  }
}

bool Work::next(std::uint32_t rank, std::uint32_t lane, Instruction& out) {
  Cursor& cursor = cursors_[first_lane_[rank] + lane];
  if (cursor.takes) {
    cursor.takes = false;
    out = Instruction::wait(1);
    return true;
  }
  Step step;
  if (!programs_[cursor.program]->step(rank, cursor.lane, cursor.at, step)) return false;
  ++cursor.at;
  if (step.kind != Step::Kind::send) {
    cursor.takes = true;
    out = Instruction::recv(step.peer, step.tag);
    return true;
  }
  out = Instruction::send(step.peer, step.bytes, step.tag);
  if (pace_ == Pace::timed) {
    out.detached = true;
    if (!step.joined) out.time = occupancy(step.edge, step.bytes);
  }
  return true;
}

}  // namespace weft::collective
