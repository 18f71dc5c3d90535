#pragma once
// The cluster file as it is written, read by its field tables: nothing is derived here.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/places.hpp"
#include "base/ranges.hpp"
#include "model/choices.hpp"
#include "model/kinds.hpp"
#include "model/shape.hpp"
#include "model/training.hpp"

namespace weft::model {

inline constexpr std::int64_t kMaxGpus = 16'777'216;

struct ServerGroup : ServerKind {
  std::string name;
  std::int64_t count = 0;
  std::string site;
};

struct LinkSpec {
  std::optional<Bandwidth> rate;
  Length cable;
  CableKind medium;
  std::optional<Shaper> shaper;
};

struct SitesSpec {
  std::int64_t gateways = 1;
  std::int64_t links = 1;
  Bandwidth rate;
  Duration latency;
  std::int64_t uplinks = 1;
};

struct FabricSpec {
  FabricKind kind = FabricKind::none;
  SwitchKind leaf_switch;
  std::optional<SwitchKind> spine_switch;
  std::optional<SwitchKind> super_spine_switch;
  LinkSpec link;
  std::optional<LinkSpec> spine_link;
  std::optional<LinkSpec> super_spine_link;
  std::int64_t planes = 1;
  std::int64_t scalable_unit = 0;
  std::int64_t rails_per_leaf = 1;
  std::optional<std::int64_t> servers_per_leaf;
  std::optional<std::int64_t> spines;
  std::optional<std::int64_t> parallel_links;
  std::optional<Ratio> oversubscription;
  std::optional<std::int64_t> pod;
  std::optional<std::int64_t> super_spines;
  std::optional<std::int64_t> super_parallel_links;
  std::optional<Ratio> super_oversubscription;
  std::optional<std::int64_t> k;
  std::int64_t servers_per_router = 1;
  std::int64_t routers_per_group = 0;
  std::int64_t global_links = 0;
  std::optional<std::int64_t> groups;
  DragonflyRouting routing = DragonflyRouting::minimal;
  std::optional<SitesSpec> sites;
};

// The network beside the fabric that servers are managed by and talk to the world: every server hangs on two leaves.
struct FrontendSpec {
  SwitchKind leaf_switch;
  std::optional<std::int64_t> servers_per_leaf;
  Bandwidth rate;
  Length cable;
};

struct RoceSpec {
  std::int64_t qps = 1;
  bool split = false;
  RoceRecovery recovery = RoceRecovery::go_back_n;
  RoceControl control = RoceControl::dcqcn;
  std::int64_t ack_every = 8;
  std::optional<std::int64_t> window;
  std::optional<Duration> ack_timeout;
  std::int64_t retries = 7;
  Duration cnp_interval;
  std::optional<Duration> fast_cnp;
  Duration alpha_timer;
  Duration increase_timer;
  Bytes increase_bytes;
  std::int64_t fast_recovery = 5;
  std::optional<Bandwidth> additive_rate;
  std::optional<Bandwidth> hyper_rate;
  Bandwidth least_rate;
};

struct TcpSpec {
  TcpControl control = TcpControl::cubic;
  std::int64_t connections = 1;
  std::int64_t initial_window = 10;
  Bytes receive_window;
  Duration rto_min;
  Duration timer_least;
  Duration delayed_ack;
  bool tail_probe = true;
  bool pacing = false;
  bool ecn = false;
  bool idle_restart = false;
  std::int64_t plb_rounds = 0;
};

struct UetSpec {
  Bytes ack_bytes;
  std::int64_t recycle = 8;
  Share window;
  std::optional<Duration> delay_target;
  std::int64_t proportional = 4;
  std::int64_t fair = 5;
  std::optional<Duration> rto;
};

struct TransportSpec {
  TransportKind kind = TransportKind::srd;
  Balance balance = Balance::entropy;
  RoceSpec rocev2;
  TcpSpec tcp;
  UetSpec uet;
  std::optional<Bytes> mtu;
  std::int64_t paths = 64;
  Bytes header;
  std::int64_t burst = 1;
  std::int64_t ack_every = 8;
  std::int64_t bad_marks = 3;
  std::optional<std::int64_t> window;
  std::optional<Duration> delay_target;
  std::int64_t increase = 5;
  std::int64_t trim_cut = 96;
  Share most_cut;
  std::optional<Duration> reorder;
  std::optional<Duration> rto;
  std::optional<Duration> not_ready_wait;
  Duration give_up;
  std::optional<Duration> failover;
  std::int64_t receive_messages = 0;
};

struct ServiceSpec {
  std::string name;
  std::optional<std::int64_t> weight;
  bool lossless = false;
};

struct SwitchingSpec {
  std::optional<Forwarding> forwarding;
  PortClasses classes = PortClasses::two;
  std::vector<ServiceSpec> services;
  std::optional<Bytes> queue;
  Share mark_from;
  Share mark_to;
  Share mark_most;
  WhenFull full = WhenFull::trim;
  PortModel ports = PortModel::by_need;
  FlowControl flow_control = FlowControl::none;
  std::optional<std::int64_t> virtual_channels;
  std::optional<Bytes> buffer;
  Share alpha;
  std::optional<Length> headroom_for;
  Duration reaction;
  Bytes nic_buffer;
  std::optional<Duration> watchdog;
  Duration flowlet_gap;
  Duration load_interval;
};

struct FaultSpec {
  std::string part;
  FaultKind kind = FaultKind::down;
  Duration at;
  std::optional<Duration> lasts;
  std::optional<Share> share;
  std::optional<Duration> every;
};

// What does not depend on the shape of the network, and so can be set for a .topo file too.
struct TrafficRules {
  TransportSpec transport;
  SwitchingSpec switching;
  std::vector<FaultSpec> faults;
};

struct StorageTier {
  std::string name;
  StorageKind kind = StorageKind::object;
  std::optional<Bytes> size;
  std::optional<Bandwidth> rate;
  std::optional<Duration> latency;
  std::optional<Price> price;
};

struct TenantSpec {
  std::string name;
  Indices servers;
};

struct CollectiveRun {
  std::optional<std::int64_t> gpus;
  std::optional<std::int64_t> per_server;
  std::string on;     // placement.hpp: parse_gpus
  std::string split;  // split_gpus
  Sizes sizes;
  std::string stack;
  Duration skew;
  std::vector<std::string> slow_ranks;  // parse_slow_rank
  bool alongside = false;
  KeyPlaces places = {};
};

struct TrafficRun {
  std::string name;
  TrafficPattern pattern = TrafficPattern::permutation;
  Bytes size;
  std::optional<std::int64_t> nodes;
  std::int64_t first = 0;
  std::int64_t window = 8;
  Share load;
  FlowSizes sizes = FlowSizes::fixed;
  Duration duration;
  FlowArrivals arrivals = FlowArrivals::at_once;
  Verb verb = Verb::send;
  std::optional<TransportKind> transport;
  std::optional<std::string> service;
  KeyPlaces places = {};
};

// Work of other programs, in files of theirs.
struct TraceRun {
  std::optional<std::string> goal;    // one of
  std::optional<std::string> chakra;  // these
  std::optional<std::string> groups;
  KeyPlaces places = {};
};

struct RunSpec {
  std::optional<TrafficRun> traffic;
  std::optional<TraceRun> trace;
  std::optional<CollectiveRun> all_reduce;
  std::optional<CollectiveRun> all_gather;
  std::optional<CollectiveRun> reduce_scatter;
  std::optional<CollectiveRun> broadcast;
  std::optional<CollectiveRun> reduce;
  std::optional<CollectiveRun> all_to_all;
  std::optional<CollectiveRun> send_recv;
  std::optional<TrainingRun> training;
};

struct ClusterFile : TrafficRules {
  std::int64_t version = 1;
  std::string name;
  std::vector<ServerGroup> servers;
  FabricSpec fabric;
  std::optional<FrontendSpec> frontend;
  std::vector<StorageTier> storage;
  std::vector<TenantSpec> tenants;
  std::vector<RunSpec> run;
};

// Views of its field tables: the reference page and the JSON Schema.
std::string cluster_file_reference();
std::string cluster_file_schema();

}  // namespace weft::model
