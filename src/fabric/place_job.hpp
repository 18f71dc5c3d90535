#pragma once
// Which GPUs a job should get: as near to each other as they fit, each next to a NIC, in servers that it may use.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "fabric/fabric.hpp"

namespace weft::fabric {

struct JobNeed {
  std::uint32_t gpus = 1;
  std::int64_t nics_per_thousand_gpus = 0;  // 0: however few
  std::vector<std::uint32_t> servers;       // that it may use, ascending
};

struct PlacedServer {
  std::uint32_t server = 0;
  std::vector<std::uint32_t> gpus;  // within the server, ascending
  std::uint32_t unit = 0;
};

enum class Within { server, domain, unit, pod, site, cluster };

struct Placement {
  std::vector<PlacedServer> servers;
  Within within = Within::cluster;  // the smallest that holds all of it
  std::vector<std::string> units;   // by name
  std::uint32_t far_gpus = 0;       // that reach their NIC through host memory
  std::vector<std::string> traded;  // what was given up for what, in words
};

// GPUs of a server in the order a job should take them: next to a NIC of their own first.
std::vector<std::uint32_t> gpus_by_nearness(const model::Group& group);

// What does not fit is told: how many GPUs there are.
struct NoRoom {
  std::uint64_t available = 0;
};
Result<Placement, NoRoom> place_job(const Fabric& fabric, const JobNeed& need);

}  // namespace weft::fabric
