#include "workload/matrix_schedule.hpp"

#include <algorithm>
#include <tuple>

namespace weft::workload {

using schedule::Instruction;

static_assert(kNoTrigger == schedule::kNoSignal, "a trigger's index is its signal");

MatrixSchedule::MatrixSchedule(const Matrix& matrix)
    : matrix_(matrix), triggers_(matrix), first_(matrix.nodes + std::size_t{1}), cursors_(matrix.nodes) {
  for (std::uint32_t i = 0; i < matrix.flows.size(); ++i) {
    if (matrix.flows[i].started_by != kNoTrigger) continue;
    order_.push_back(i);
    ++first_[matrix.flows[i].source + 1];
  }
  const auto key = [&](std::uint32_t i) {
    return std::tuple(matrix.flows[i].source, matrix.flows[i].start.count(), i);
  };
  std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  for (std::uint32_t rank = 0; rank < matrix.nodes; ++rank) {
    first_[rank + 1] += first_[rank];
    cursors_[rank].next = first_[rank];
  }
}

Instruction MatrixSchedule::send_of(std::uint32_t flow) const {
  const MatrixFlow& each = matrix_.flows[flow];
  Instruction made = Instruction::put(each.destination, each.bytes);
  made.detached = true;
  made.when_sent = each.when_sent;
  made.when_received = each.when_received;
  return made;
}

bool MatrixSchedule::next(std::uint32_t rank, std::uint32_t, Instruction& out) {
  Cursor& at = cursors_[rank];
  if (at.next == first_[rank + 1]) return false;
  const std::uint32_t flow = order_[at.next];
  if (matrix_.flows[flow].start > at.time) {
    at.time = matrix_.flows[flow].start;
    out = Instruction::at(at.time);
  } else {
    ++at.next;
    out = send_of(flow);
  }
  return true;
}

void MatrixSchedule::fire(std::uint32_t signal, std::vector<schedule::Start>& begin) {
  for (const std::uint32_t flow : triggers_.fire(signal)) begin.push_back({matrix_.flows[flow].source, send_of(flow)});
}

}  // namespace weft::workload
