#pragma once
// A server in the words of the cluster file, as far as a topology file or a matrix tells it: names of the
// catalog, counts, and where parts hang. What the file leaves open is filled in with what is most likely, and
// a warning says so.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "measured/topology.hpp"
#include "model/catalog.hpp"
#include "model/kinds.hpp"

namespace weft::measured {

// A GPU or NIC that is joined worse than the others of its kind, or a PCIe switch worse than what is below it.
struct WeakPart {
  enum class Kind { gpu, nic, pcie_switch } kind = Kind::gpu;
  std::int64_t index = 0;
  std::int64_t pcie_gen = 0;
  std::int64_t pcie_lanes = 0;
  std::int64_t nvlinks = 0;
  spec::Place place;
};

struct ServerOutline {
  std::string gpu;  // kind
  std::int64_t gpus = 0;
  std::int64_t pcie_gen = 5;
  std::int64_t pcie_lanes = 16;

  std::string nic;  // kind; empty without NICs
  std::int64_t nics = 0;
  std::int64_t nic_ports = 1;
  Bandwidth nic_rate;  // of the whole NIC
  std::int64_t nic_gen = 5;
  std::int64_t nic_lanes = 16;
  std::vector<std::string> nic_names;  // mlx5_0, as far as they are known

  std::int64_t sockets = 1;
  std::string socket_link;  // kind; empty with one socket
  std::int64_t pcie_switches = 0;
  std::vector<std::int64_t> gpu_switch;  // by GPU, in NCCL's order; CPU without switches
  std::vector<std::int64_t> nic_switch;
  std::vector<std::int64_t> switch_socket;

  std::string nvlink;  // kind; empty: no scale-up network that joins all GPUs
  std::int64_t nvlinks_per_gpu = 0;
  std::int64_t nvswitches = 0;
  bool nvlink_direct = false;  // without a switch; one stands for the links that join the GPUs
  std::vector<std::vector<std::int64_t>> nvlinks_between;  // GPU by GPU, where they are joined directly
  std::optional<Bandwidth> host_link;                      // NVLink-C2C, both ways
  std::int64_t hosts = 1;                                  // that share the NVLink network
  std::vector<WeakPart> weak;
};

std::optional<ServerOutline> outline_of(const Topology& topology, const model::Catalog& catalog,
                                        spec::Diagnostics& diagnostics);

// As many as a network that is never in the way can join.
std::int64_t most_servers(const ServerOutline& server);

// A cluster file of `nodes` such servers, on a network that is never in the way.
std::string cluster_text(const ServerOutline& server, std::int64_t nodes, const model::Catalog& catalog,
                         spec::Diagnostics& diagnostics);

// The server of the catalog that has such GPUs, for what a file cannot tell; nullopt when there is none.
std::optional<model::ServerKind> catalog_server_with(const std::string& gpu, std::int64_t gpus,
                                                     const model::Catalog& catalog, spec::Diagnostics& diagnostics);

}  // namespace weft::measured
