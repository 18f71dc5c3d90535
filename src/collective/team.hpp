#pragma once
// The GPUs of a job, as ranks, and what joins them: which share a scale-up domain, and through which NICs each domain
// meets the network.
//
// A port is what the GPUs of a domain see as one way into the network: the NICs nearest to a GPU, taken together (the
// four EFA NICs beside a GPU of a P5 are one), and the GPU that stands next to them. Data that arrive at a port go to
// that GPU; what other GPUs send through it crosses NVLink to it first (PXN). That works for the sender only: a job
// without the GPU next to a NIC is reached through the root complexes and host memory.

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/fabric.hpp"

namespace weft::collective {

struct Port {
  std::vector<std::uint32_t> nics;  // of the cluster
  std::uint32_t rank = 0;           // that stands next to it
  std::uint32_t root = 0;           // complex that its NICs hang on, within its domain
  bool direct = false;              // to that rank without host memory
  Bandwidth nic_rate;               // of all its NICs
  Bandwidth pcie_rate;              // of the narrowest link between NICs and GPU
};

struct Domain {
  std::uint32_t first_rank = 0;
  std::uint32_t ranks = 0;
  std::vector<Port> ports;
};

class Team {
 public:
  // GPUs of the cluster, no one twice; ranks are given domain by domain, in the order of the GPUs.
  Team(const fabric::Fabric& fabric, std::vector<std::uint32_t> gpus);

  // Some of its domains, in order, as far apart as the whole.
  Team only(const std::vector<std::uint32_t>& nodes) const;

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(gpus_.size()); }
  std::uint32_t gpu(std::uint32_t rank) const { return gpus_[rank]; }
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(domains_.size()); }
  const Domain& domain(std::uint32_t node) const { return domains_[node]; }
  std::uint32_t node_of(std::uint32_t rank) const { return node_[rank]; }
  // Which of all domains of the cluster a node is.
  std::uint32_t place_of_node(std::uint32_t node) const;
  // The port that a rank's own NICs are, within its domain, and whether they reach it without host memory.
  std::uint32_t port_of(std::uint32_t rank) const { return port_[rank]; }
  bool direct(std::uint32_t rank) const { return direct_[rank]; }
  // Where rails are networks of their own: the port of a domain by which a port of another one is reached, its own one if
  // that is joined to it.
  std::uint32_t port_towards(std::uint32_t node, std::uint32_t own, std::uint32_t other, std::uint32_t theirs) const;
  bool has_rails_apart() const;
  // The root complex it hangs on, within its domain, and how many that one has.
  std::uint32_t root(std::uint32_t rank) const;
  std::uint32_t roots(std::uint32_t node) const;
  // The same number of ranks in every domain.
  bool even() const;
  // The same ranks of equal servers in every domain.
  bool alike() const { return different_ == 1; }
  std::uint32_t most_per_node() const;
  // Of the domain with the fewest.
  std::uint32_t least_ports() const;
  const model::Group& group(std::uint32_t rank) const;
  // Latency of cables, switches and NICs between the two domains that are farthest apart, of those looked at.
  Duration network_latency() const { return network_latency_; }
  // Whether every switch of the network can add up what passes it (SHARP).
  bool network_reduces() const;
  // Of the links between two GPUs of the first domain that has two.
  Duration inside_latency() const;
  // Empty, or why the ranks cannot all talk to each other.
  const std::string& broken() const { return broken_; }

 private:
  void add_domain(std::uint32_t first, std::uint32_t end);
  bool add_copy(std::uint32_t first, std::uint32_t end);
  void measure_network();

  const fabric::Fabric& fabric_;
  std::vector<std::uint32_t> gpus_;  // by rank
  std::vector<std::uint32_t> node_;  // by rank
  std::vector<std::uint32_t> port_;  // by rank
  std::vector<bool> direct_;         // by rank
  std::vector<Domain> domains_;
  std::uint32_t different_ = 0;  // domains that are not like the one before
  Duration network_latency_;
  std::string broken_;
};

// The first `count` GPUs when `per_server` is 0, else the first `per_server` of each server.
std::vector<std::uint32_t> pick_gpus(const model::Cluster& cluster, std::uint32_t count, std::uint32_t per_server);

}  // namespace weft::collective
