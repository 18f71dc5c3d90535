#pragma once
// Several collectives at once as one schedule: each rank of each on its GPU of the cluster, switches that reduce on
// those of their domain. What they have in common is the fabric.

#include <memory>
#include <vector>

#include "collective/work.hpp"
#include "schedule/schedule.hpp"

namespace weft::collective {

class Placed final : public schedule::Schedule {
 public:
  // `places`: the schedule's ranks by rank of the collective, each below `ranks`.
  struct Part {
    std::unique_ptr<Work> work;
    std::vector<std::uint32_t> places;
  };
  Placed(std::uint32_t ranks, std::vector<Part> parts);

  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(tenants_.size()); }
  std::uint32_t lanes(std::uint32_t rank) const override;
  bool next(std::uint32_t rank, std::uint32_t lane, schedule::Instruction& out) override;

  // To which part a message belongs, and what its tag was there.
  static std::uint32_t part_of(std::uint64_t tag) { return static_cast<std::uint32_t>(tag >> kTagBits); }
  static std::uint64_t tag_of(std::uint64_t tag) { return tag & ((std::uint64_t{1} << kTagBits) - 1); }

 private:
  static constexpr std::uint32_t kTagBits = 48;
  struct Tenant {
    std::uint32_t part;
    std::uint32_t rank;  // in it
    std::uint32_t lanes;
  };
  std::vector<Part> parts_;
  std::vector<std::vector<Tenant>> tenants_;  // by rank of the schedule
};

}  // namespace weft::collective
