#pragma once
// The cluster as plain immutable data: what the file says, expanded, checked and numbered.

#include <cstdint>
#include <string>
#include <vector>

#include "model/cluster_file.hpp"
#include "model/diagram.hpp"
#include "model/shape.hpp"

namespace weft::model {

// A group of equal servers, numbered after the groups before it.
struct Group {
  ServerGroup spec;
  LinkKind pcie;      // of the server
  LinkKind nic_pcie;  // of the NIC's slot
  Diagram diagram;
  std::uint32_t site = 0;
  std::uint32_t servers = 0;
  std::uint32_t first_server = 0;
  std::uint32_t first_gpu = 0;
  std::uint32_t first_nic = 0;
  std::uint32_t gpus() const { return static_cast<std::uint32_t>(spec.gpus); }
  std::uint32_t nics() const { return static_cast<std::uint32_t>(spec.nics); }
};

struct Cluster {
  std::string name;
  ClusterFile file;
  std::vector<Group> groups;
  std::vector<std::string> sites;
  Shape shape;
  std::uint32_t servers = 0;
  std::uint32_t gpus = 0;
  std::uint32_t nics = 0;

  // Of the frontend: servers on one pair of leaves, and leaves in all; 0: the file does not describe it.
  std::uint32_t servers_per_frontend_leaf() const {
    return file.frontend ? static_cast<std::uint32_t>(file.frontend->servers_per_leaf.value_or(servers)) : 0;
  }
  std::uint32_t frontend_leaves() const {
    const std::uint32_t each = servers_per_frontend_leaf();
    return each == 0 ? 0 : 2 * ((servers + each - 1) / each);
  }
};

}  // namespace weft::model
