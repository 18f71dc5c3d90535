#pragma once
// A connection matrix as a schedule: a node sends its flows at their times, one-sided, and triggers are
// signals. The matrix must outlive it.

#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "schedule/schedule.hpp"
#include "workload/matrix.hpp"

namespace weft::workload {

class MatrixSchedule final : public schedule::Schedule {
 public:
  explicit MatrixSchedule(const Matrix& matrix);

  std::uint32_t ranks() const override { return matrix_.nodes; }
  std::uint32_t lanes(std::uint32_t rank) const override { return first_[rank] < first_[rank + 1] ? 1 : 0; }
  bool next(std::uint32_t rank, std::uint32_t lane, schedule::Instruction& out) override;
  bool has_signals() const override { return !matrix_.triggers.empty(); }
  void fire(std::uint32_t signal, std::vector<schedule::Start>& begin) override;

 private:
  struct Cursor {
    Duration time = {};      // that the lane has come to
    std::uint32_t next = 0;  // into order_
  };
  schedule::Instruction send_of(std::uint32_t flow) const;

  const Matrix& matrix_;
  Triggers triggers_;
  std::vector<std::uint32_t> order_;  // flows with a time, by source, time and number
  std::vector<std::uint32_t> first_;  // into order_, by source
  std::vector<Cursor> cursors_;       // by source
};

}  // namespace weft::workload
