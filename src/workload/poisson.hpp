#pragma once
// Flows begin at random times, whether or not earlier ones are done, towards random others. Every node
// draws from its own stream, so that what it does depends on no other and on no executor.

#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "schedule/schedule.hpp"
#include "workload/sizes.hpp"

namespace weft::workload {

class Poisson final : public schedule::Schedule {
 public:
  struct Process {
    std::uint32_t nodes;
    SizeDistribution sizes;
    std::int64_t gap;       // ps between two flows of a node, on average
    std::uint64_t flows;    // in all; 0: no limit
    std::int64_t duration;  // ps
    std::uint64_t seed;
  };
  explicit Poisson(Process process);

  std::uint32_t ranks() const override { return process_.nodes; }
  std::uint32_t lanes(std::uint32_t) const override { return 1; }
  bool next(std::uint32_t rank, std::uint32_t lane, schedule::Instruction& out) override;

 private:
  struct Source {
    Random random;
    std::int64_t time = 0;
    std::uint64_t left = 0;
    bool due = false;  // the flow whose time was just given comes next
  };
  Process process_;
  std::vector<Source> sources_;
};

}  // namespace weft::workload
