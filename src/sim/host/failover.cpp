#include "sim/host/failover.hpp"

namespace weft::sim {

void Failover::failed(std::int64_t now, const NicPair& pair) {
  std::uint32_t index = index_.find(key(pair));
  if (index == FlatMap::kNone) {
    index = static_cast<std::uint32_t>(trouble_.size());
    index_.insert(key(pair), index);
    trouble_.emplace_back();
  }
  Trouble& trouble = trouble_[index];
  if (now < trouble.until) return;  // one of many parts that fail together
  trouble.until = now + (avoided_for_ << trouble.times);
  trouble.times = std::min(trouble.times + 1, kMostTimes);
}

Failover::ServerNics Failover::nics_around(std::uint32_t endpoint) const {
  const fabric::Fabric& fabric = layout_.fabric();
  const fabric::Node own = fabric.describe(fabric.nic_of(endpoint));
  const model::Group& group = fabric.cluster().groups[own.group];
  ServerNics nics;
  nics.first = group.first_nic + (own.server - group.first_server) * group.nics();
  nics.count = group.nics();
  nics.own = own.local;
  nics.ports = static_cast<std::uint32_t>(group.spec.nic.ports);
  nics.port = endpoint - fabric.endpoint(nics.first + nics.own, 0);
  return nics;
}

}  // namespace weft::sim
