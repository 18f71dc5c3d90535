#pragma once
// Which servers stand below which leaves, block by block, by arithmetic (see model::Wiring).

#include <vector>

#include "draw/fabric_parts.hpp"

namespace weft::draw {

// Servers and the leaves they share: a scalable unit, a ToR with its servers, a chassis.
struct Block {
  std::uint32_t first_leaf = 0;
  std::uint32_t leaves = 1;
  std::vector<ServerRun> runs;  // several where groups share a chassis
  std::uint32_t servers() const;
};

class SiteBlocks {
 public:
  SiteBlocks(const fabric::Fabric& fabric, std::uint32_t site);

  std::uint32_t count() const { return count_; }
  std::uint32_t per_pod() const { return per_pod_; }
  Block block(std::uint32_t index) const;
  std::uint64_t servers(std::uint32_t first, std::uint32_t blocks) const;

 private:
  struct Part {  // blocks of one server group
    std::uint32_t group;
    std::uint32_t first;
    std::uint32_t count;
  };
  std::uint64_t servers_before(std::uint32_t block) const;

  const fabric::Fabric& fabric_;
  bool shared_ = false;  // one chassis for all groups
  std::uint32_t count_ = 0;
  std::uint32_t per_pod_ = 1;
  std::vector<Part> parts_;
};

}  // namespace weft::draw
