#pragma once
// What is known about a slow job: what was measured, what the files say, and the machine that it ran on.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measured/facts.hpp"
#include "why/machine.hpp"

namespace weft::why {

// One figure that was measured. An average (nccl-tests prints one over all sizes) has several sizes.
struct Observation {
  std::vector<std::uint64_t> sizes;
  double bus = 0;      // GB/s
  bool steady = true;  // two runs agreed; others are shown and not counted
  spec::Place place;

  std::uint64_t largest() const { return sizes.back(); }
  bool is_average() const { return sizes.size() > 1; }
};

struct Situation {
  measured::Facts facts;
  Job job;
  std::uint32_t nodes = 1;
  std::vector<Observation> observations;  // by size; may be empty
  std::optional<double> hoped;            // busbw in GB/s that was expected
  std::size_t table = 0;                  // of facts.tables, that the observations are
  bool fabric_known = false;              // from a cluster file and not from a topology

  // Cards that the log tells of; 0: it does not say. An excerpt with fewer connections than cards tells of its
  // interfaces only.
  std::int64_t cards_used(std::int64_t cards) const {
    if (facts.net_devices_used > 0 && facts.with_gpudirect + facts.without_gpudirect >= 2 * cards)
      return facts.net_devices_used;
    std::int64_t listed = 0;
    for (const measured::LogInterface& each : facts.interfaces) listed += each.plugin == "IB";
    return listed;
  }
  std::uint32_t per_node() const { return job.gpus / nodes; }
  bool several_nodes() const { return nodes > 1; }
  const std::string* environment(const std::string& name) const {
    const auto found = facts.environment.find(name);
    return found == facts.environment.end() ? nullptr : &found->second;
  }
};

}  // namespace weft::why
