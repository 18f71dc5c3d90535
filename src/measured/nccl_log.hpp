#pragma once
// What a log of NCCL_DEBUG=INFO (with INIT, NET, GRAPH, ENV and TUNING as far as they were on) says about a
// job: version, network, how ranks are joined, what was chosen. A log is text for people and changes with
// every version, so lines are searched for what is known to matter and the rest is passed over. What is kept
// is counts and first places, however long the log is.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "measured/hardware_report.hpp"
#include "measured/host_runs.hpp"
#include "measured/log_topology.hpp"
#include "measured/mentions.hpp"
#include "measured/trials.hpp"
#include "spec/diagnostics.hpp"

namespace weft::measured {

// One way of joining ranks: how often, and where it is said first.
struct LogCount {
  std::int64_t count = 0;
  spec::Place first;
};

struct LogInterface {
  std::string plugin;  // IB, Socket, OFI
  std::string name;    // mlx5_0, eth0
  std::string kind;    // IB, RoCE; empty for others
  spec::Place place;
};

struct LogChannels {
  std::optional<std::int64_t> collective;
  std::optional<std::int64_t> collnet;
  std::optional<std::int64_t> nvls;
  std::optional<std::int64_t> p2p;
  std::optional<std::int64_t> p2p_per_peer;
  std::optional<std::int64_t> all;  // "256 channels", of whatever kind
};

// A search result: how NCCL joins GPUs in a server and to the network.
struct LogGraph {
  std::int64_t pattern = 0;  // NCCL's numbers: 1, 2 and 3 trees, 4 ring, 5 NVLS
  std::int64_t channels = 0;
  std::string inside;  // the worst path: NVL, PIX, PXB, PHB, SYS
  std::string to_network;
  spec::Place place;
};

// What the tuner chose for one size.
struct LogChoice {
  std::string collective;  // AllReduce; empty in older versions
  std::int64_t bytes = 0;
  std::string algorithm;  // Ring, Tree, NVLS, ...
  std::string protocol;   // LL, LL128, Simple
  std::optional<std::int64_t> channels;
  spec::Place place;
};

struct LogTrial {
  Trial trial;
  spec::Place place;
};

struct LogWarning {
  std::string text;
  spec::Place place;
};

struct NcclLog {
  std::string version;  // 2.21.5
  std::string cuda;     // 12.4
  spec::Place version_place;
  std::optional<spec::Place> of_rccl;  // AMD's library says which it is
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> local_ranks;
  spec::Place size_place;  // of the first word about ranks
  std::set<std::string> hosts;

  std::map<std::string, LogCount> networks;  // "Using network IB": by name; several where several jobs are in one log
  std::vector<LogInterface> interfaces;
  LogCount plugin_missing;  // no libnccl-net.so
  LogCount no_ib_device;

  std::map<std::string, LogCount> paths;             // P2P/IPC, P2P/direct pointer, P2P/CUMEM, SHM, NVLS, NET/IB, ...
  std::map<std::int64_t, std::int64_t> net_devices;  // connections by number of the interface
  std::set<std::int64_t> net_ranks;                  // at their ends,
  std::set<std::int64_t> net_channels;               // and what they belong to
  std::map<std::int64_t, std::set<std::int64_t>> own_devices;  // by rank: those that it sends through itself
  LogCount net_with_gdr;                                       // connections over the network, /GDRDMA or not
  LogCount net_without_gdr;
  LogCount net_through_peer;  // PXN
  LogCount gdr_enabled;       // "GPU Direct RDMA Enabled for ..."
  LogCount gdr_disabled;
  LogCount p2p_disabled;  // "P2P is disabled between connected GPUs"
  LogCount nvls_available;
  LogCount nvls_unavailable;

  LogChannels channels;
  std::vector<std::vector<std::int64_t>> rings;  // ranks in order
  std::int64_t trees = 0;
  std::vector<LogGraph> graphs;
  std::vector<LogPart> system;  // as the first rank that printed it sees its server
  std::vector<LogChoice> choices;
  std::map<std::string, std::string> environment;
  // Variables as the processes of a host printed them: by name and value, the hosts.
  std::map<std::string, std::map<std::string, std::set<std::string>>> set_on;
  std::set<std::string> hosts_with_gdr;  // whose connections over the network have it,
  std::set<std::string> hosts_without_gdr;
  HardwareReport hardware;           // what other programs print of it
  std::vector<LogWarning> warnings;  // the first of them
  std::int64_t warning_count = 0;
  std::map<Mention, LogCount> mentions;  // what other programs' lines say
  std::vector<LogTrial> trials;          // what persons tried and what came of it
  std::vector<HostRun> host_runs;        // figures of several runs on different hosts
  bool says_nothing = false;             // that is known to matter
};

std::optional<NcclLog> read_nccl_log(std::uint32_t source, spec::Diagnostics& diagnostics);

}  // namespace weft::measured
