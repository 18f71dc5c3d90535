#include "draw/clos_blocks.hpp"

#include <algorithm>

namespace weft::draw {

std::uint32_t Block::servers() const {
  std::uint32_t n = 0;
  for (const ServerRun& run : runs) n += run.count;
  return n;
}

SiteBlocks::SiteBlocks(const fabric::Fabric& fabric, std::uint32_t site) : fabric_(fabric) {
  const model::Cluster& cluster = fabric.cluster();
  std::uint32_t leaves_per_block = 1;
  for (std::uint32_t g = 0; g < cluster.groups.size(); ++g) {
    if (cluster.groups[g].site != site) continue;
    const model::Wiring& wiring = cluster.shape.wiring[g];
    const std::uint32_t blocks = (cluster.groups[g].servers + wiring.servers_per_block - 1) / wiring.servers_per_block;
    parts_.push_back({g, count_, blocks});
    count_ += blocks;
    leaves_per_block = std::max(leaves_per_block, wiring.leaves_per_block);
  }
  const model::ClosShape& clos = fabric.clos()->shape();
  shared_ = count_ > 1 && clos.sites[site].leaves == 1;
  if (shared_) count_ = 1;
  per_pod_ = std::max(1u, clos.leaves_per_pod / leaves_per_block);
}

Block SiteBlocks::block(std::uint32_t index) const {
  const model::Cluster& cluster = fabric_.cluster();
  Block out;
  for (const Part& part : parts_) {
    const model::Wiring& wiring = cluster.shape.wiring[part.group];
    if (!shared_ && (index < part.first || index >= part.first + part.count)) continue;
    const std::uint32_t own = shared_ ? 0 : index - part.first;
    const std::uint32_t first = own * wiring.servers_per_block;
    out.first_leaf = wiring.first_leaf + own * wiring.leaves_per_block;
    out.leaves = wiring.leaves_per_block;
    out.runs.push_back(
        {part.group, first, std::min(wiring.servers_per_block, cluster.groups[part.group].servers - first)});
  }
  return out;
}

std::uint64_t SiteBlocks::servers_before(std::uint32_t block) const {
  std::uint64_t n = 0;
  for (const Part& part : parts_) {
    if (block <= part.first) continue;
    const std::uint64_t blocks = std::min(block - part.first, part.count);
    n += std::min<std::uint64_t>(blocks * fabric_.cluster().shape.wiring[part.group].servers_per_block,
                                 fabric_.cluster().groups[part.group].servers);
  }
  return n;
}

std::uint64_t SiteBlocks::servers(std::uint32_t first, std::uint32_t blocks) const {
  return servers_before(first + blocks) - servers_before(first);
}

}  // namespace weft::draw
