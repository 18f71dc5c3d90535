#pragma once
// Open loop: flows begin at their times, whether or not earlier ones are done. Every node draws from its own stream, so
// that what it does depends on no other and on no executor.

#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "base/units.hpp"
#include "schedule/schedule.hpp"
#include "workload/fan.hpp"
#include "workload/sizes.hpp"

namespace weft::workload {

class Arrivals final : public schedule::Schedule {
 public:
  struct Process {
    std::uint32_t nodes;
    SizeDistribution sizes;
    Duration gap;         // between two flows of a node, on average
    std::uint64_t flows;  // in all; 0: no limit
    Duration duration;
    std::uint64_t seed;
    bool paced = false;         // every gap is the same, and only the first time is drawn; else exponential: Poisson
    Fan::Targets targets = {};  // to whom, in turn; nothing: a random other each time
  };
  explicit Arrivals(Process process);

  std::uint32_t ranks() const override { return process_.nodes; }
  std::uint32_t lanes(std::uint32_t rank) const override { return sends(rank) ? 1 : 0; }
  bool next(std::uint32_t rank, std::uint32_t lane, schedule::Instruction& out) override;

 private:
  struct Source {
    Random random;
    Duration time = {};
    std::uint64_t left = 0;
    std::uint32_t turn = 0;
    bool due = false;  // the flow whose time was just given comes next
    bool begun = false;
  };
  bool sends(std::uint32_t rank) const { return !process_.targets.count || process_.targets.count(rank) > 0; }
  Duration gap(Source& source) const;
  std::uint32_t target(std::uint32_t rank, Source& source) const;

  Process process_;
  std::vector<Source> sources_;
};

}  // namespace weft::workload
