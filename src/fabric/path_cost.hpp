#pragma once
// What a path costs alone, as alpha and beta: latency before the last byte, and the rate of its
// narrowest part. Without sharing, queues, or the chunk that is filled where data rest in memory.

#include "fabric/fabric.hpp"

namespace weft::fabric {

struct PathCost {
  Duration latency;
  Bandwidth rate;  // 0: to itself, there is nothing to cross

  Duration of(Bytes size) const { return rate.count() == 0 ? latency : latency + transfer_time(size, rate); }
};

PathCost path_cost(const Fabric& fabric, const Path& path);

}  // namespace weft::fabric
