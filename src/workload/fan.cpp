#include "workload/fan.hpp"

#include <utility>

namespace weft::workload {

using schedule::Instruction;

Fan::Fan(std::uint32_t nodes, std::uint64_t bytes, std::uint32_t window, Targets targets)
    : bytes_(bytes), window_(window), targets_(std::move(targets)), cursors_(nodes) {}

bool Fan::next(std::uint32_t rank, std::uint32_t, Instruction& out) {
  Cursor& at = cursors_[rank];
  if (at.sent == targets_.count(rank)) return false;
  if (window_ > 0 && at.sent >= window_ && !std::exchange(at.waited, true)) {
    out = Instruction::wait(window_);
    return true;
  }
  at.waited = false;
  out = Instruction::put(targets_.target(rank, at.sent++), bytes_);
  out.detached = window_ == 0;
  return true;
}

}  // namespace weft::workload
