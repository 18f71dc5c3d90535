#pragma once
// Several kinds of traffic at once: each a schedule of its own on a run of ranks. What one sends is one-sided, so they
// share nothing but the network.

#include <cstdint>
#include <memory>
#include <vector>

#include "schedule/schedule.hpp"

namespace weft::workload {

inline constexpr std::size_t kMostStreams = 16;

class Streams final : public schedule::Schedule {
 public:
  struct Part {
    std::unique_ptr<schedule::Schedule> traffic;
    std::uint32_t first = 0;  // rank that is the traffic's first
  };
  explicit Streams(std::vector<Part> parts) : parts_(std::move(parts)) {}

  std::uint32_t ranks() const override;
  std::uint32_t lanes(std::uint32_t rank) const override;
  bool next(std::uint32_t rank, std::uint32_t lane, schedule::Instruction& out) override;

 private:
  std::vector<Part> parts_;
};

}  // namespace weft::workload
