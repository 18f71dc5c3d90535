#pragma once
// Traffic beside other work: what it sends is one-sided and in streams of its own, so the two share nothing but the
// network. The work is stream 0, and the traffic's streams follow.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "schedule/schedule.hpp"

namespace weft::workload {

class Beside final : public schedule::Schedule {
 public:
  // The work must outlive it.
  Beside(schedule::Schedule& work, std::unique_ptr<schedule::Schedule> traffic)
      : work_(work), traffic_(std::move(traffic)) {}

  // Lanes of a rank that are the work's: the first ones.
  std::uint32_t lanes_of_work(std::uint32_t rank) const { return rank < work_.ranks() ? work_.lanes(rank) : 0; }

  std::uint32_t ranks() const override { return std::max(work_.ranks(), traffic_->ranks()); }
  std::uint32_t lanes(std::uint32_t rank) const override {
    return lanes_of_work(rank) + (rank < traffic_->ranks() ? traffic_->lanes(rank) : 0);
  }
  bool next(std::uint32_t rank, std::uint32_t lane, schedule::Instruction& out) override {
    const std::uint32_t own = lanes_of_work(rank);
    if (lane < own) return work_.next(rank, lane, out);
    if (!traffic_->next(rank, lane - own, out)) return false;
    ++out.stream;
    return true;
  }

 private:
  schedule::Schedule& work_;
  std::unique_ptr<schedule::Schedule> traffic_;
};

}  // namespace weft::workload
