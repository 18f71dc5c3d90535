#pragma once
// All that a topology, a matrix, outputs of nccl-tests and logs of NCCL say about a job, in one place: what
// hypotheses about a slow collective are ranked by.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "measured/nccl_log.hpp"
#include "measured/nccl_tests.hpp"
#include "measured/server_outline.hpp"
#include "measured/smi_matrix.hpp"
#include "measured/topology.hpp"

namespace weft::measured {

// A value and where it is said; the place is "nowhere" for what follows from several.
template <class T>
struct Fact {
  T value{};
  spec::Place place;
};

enum class NetTransport { infiniband, roce, ofi, socket, other };

struct NetUse {
  NetTransport transport = NetTransport::other;
  std::string name;  // as NCCL calls it: IB, IBext_v8, Socket, AWS Libfabric
  std::int64_t connections = 0;
  spec::Place place;
};

// Where a larger message takes less time than a smaller one, the smaller was sent in a worse way.
struct Crossover {
  std::size_t table = 0;
  std::size_t row = 0;       // the larger one
  std::int64_t percent = 0;  // of the smaller one's time
};

struct Facts {
  // The job.
  std::optional<Fact<std::int64_t>> nodes;
  std::optional<Fact<std::int64_t>> ranks;
  std::optional<Fact<std::int64_t>> gpus_per_node;
  std::optional<Fact<std::string>> nccl_version;
  std::string gpu_name;
  std::optional<spec::Place> of_rccl;              // the job ran on AMD's GPUs
  std::map<std::string, std::string> environment;  // NCCL_*, from wherever it was said
  // As the processes of a host printed it: by name and value, the hosts.
  std::map<std::string, std::map<std::string, std::set<std::string>>> set_on;

  // The machine.
  std::optional<ServerOutline> server;  // with the links that are weaker than others
  std::optional<bool> can_gpudirect;    // whether NCCL found that all GPUs and NICs of the topology can
  std::string cpu_vendor;
  std::int64_t cpu_family = 0;
  std::int64_t cpu_model = 0;

  // The network.
  std::vector<NetUse> networks;  // more than one: parts of the job, or jobs, differ
  std::vector<LogInterface> interfaces;
  std::int64_t net_devices_used = 0;  // interfaces that connections go through,
  std::int64_t net_ranks = 0;         // ranks at their ends,
  std::int64_t net_channels = 0;      // and channels
  bool plugin_missing = false;
  bool no_ib_device = false;
  std::optional<bool> gpudirect;  // of connections over the network: all, none; nothing when mixed or not said
  std::int64_t with_gpudirect = 0;
  std::int64_t without_gpudirect = 0;
  std::set<std::string> hosts_with_gdr;
  std::set<std::string> hosts_without_gdr;
  std::map<std::int64_t, std::set<std::int64_t>> own_devices;  // NICs that a rank sends through itself
  HardwareReport hardware;                                     // what other programs print of NICs and links

  // Inside a server.
  std::int64_t p2p = 0;            // connections from GPU to GPU
  std::int64_t shared_memory = 0;  // through host memory
  bool p2p_disabled = false;       // by the environment, or because it does not work
  std::vector<LogGraph> graphs;

  // What NCCL chose.
  LogChannels channels;
  std::vector<LogChoice> choices;
  std::string algorithm;  // forced by NCCL_ALGO, or chosen for the largest size
  std::string protocol;

  // What was measured.
  std::vector<BenchmarkTable> tables;
  std::vector<Crossover> crossovers;
  std::int64_t jobs_at_once = 1;  // processes that each ran alone
  std::int64_t wrong = 0;
  std::int64_t failures = 0;
  std::vector<LogWarning> warnings;
  std::map<Mention, LogCount> mentions;
  std::vector<LogTrial> trials;
  std::vector<HostRun> host_runs;
  LogCount nvls_unavailable;
};

// What there is to go by; nullptr for what there is not.
struct Evidence {
  const Topology* topology = nullptr;
  const SmiMatrix* matrix = nullptr;
  const ServerOutline* server = nullptr;  // of either
  const Benchmark* benchmark = nullptr;
  const NcclLog* log = nullptr;
};

Facts gather(const Evidence& evidence);

// Variables that decide how ranks are joined and that some hosts have otherwise than others, in words: "NCCL_IB_DISABLE
// is 1 on node3, and not set on node1, node2".
std::vector<std::string> uneven_settings(const Facts& facts);
// a, b, c and 5 more
std::string names_of(const std::set<std::string>& names);

}  // namespace weft::measured
