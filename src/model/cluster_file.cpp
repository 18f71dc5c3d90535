#include "model/cluster_file.hpp"

#include "spec/fields.hpp"
#include "spec/schema.hpp"

namespace weft::spec {

using namespace weft::model;

namespace {

const auto kClos = enum_names({FabricKind::rail_optimized, FabricKind::tor_clos});
const auto kClosOrRailOnly = enum_names({FabricKind::rail_optimized, FabricKind::tor_clos, FabricKind::rail_only});
const auto kTreeKinds =
    enum_names({FabricKind::rail_optimized, FabricKind::tor_clos, FabricKind::rail_only, FabricKind::fat_tree});
const auto kAllFabrics = enum_names({FabricKind::single_chassis, FabricKind::rail_optimized, FabricKind::rail_only,
                                     FabricKind::tor_clos, FabricKind::fat_tree, FabricKind::dragonfly});
constexpr std::int64_t kMaxQueue = INT64_C(1) << 33;
constexpr std::int64_t kMaxTime = 3'600'000'000'000'000;  // an hour
constexpr std::int64_t kMaxServers = 2'000'000;
constexpr std::int64_t kMaxSwitches = 1'000'000;
constexpr std::int64_t kMaxParallel = 4096;
constexpr std::int64_t kMaxSkew = 1'000'000'000'000;                 // a second
constexpr std::int64_t kMaxStorage = 1'000'000'000'000'000'000;      // 1,000 PB
constexpr std::int64_t kMaxStorageRate = 1'000'000'000'000'000'000;  // 1,000 Pb/s

}  // namespace

template <>
const Table& table_of<ServerGroup>() {
  static const Table table =
      TableOf<ServerGroup>("servers",
                           "A group of equal servers: a kind from the catalog, how many, and "
                           "whatever differs from the kind.")
          .field("name", &ServerGroup::name,
                 {.text = "Servers are called name0, name1, ... Default: s, or a letter per group."})
          .field("count", &ServerGroup::count,
                 {.text = "How many servers.", .example = "32", .required = true, .min = 1, .max = kMaxServers})
          .field("site", &ServerGroup::site,
                 {.text = "Site the group stands on; see `fabric.sites`.", .example = "tokyo"})
          .include<ServerKind>()
          .build();
  return table;
}

template <>
const Table& table_of<Shaper>() {
  static const Table table = TableOf<Shaper>("shaper", "A token bucket before the cable, as Linux's tbf.")
                                 .field("rate", &Shaper::rate,
                                        {.text = "At which tokens flow in.",
                                         .example = "100Gbps",
                                         .required = true,
                                         .min = 1'000'000,
                                         .max = 100'000'000'000'000})
                                 .field("burst", &Shaper::burst,
                                        {.text = "Tokens that the bucket holds; a whole packet must fit.",
                                         .example = "64KiB",
                                         .required = true,
                                         .min = 65536 + 256,
                                         .max = kMaxQueue})
                                 .field("queue", &Shaper::queue,
                                        {.text = "Bytes that may wait for tokens; more are dropped.",
                                         .fallback = "1MiB",
                                         .min = 0,
                                         .max = kMaxQueue})
                                 .build();
  return table;
}

template <>
const Table& table_of<LinkSpec>() {
  static const Table table =
      TableOf<LinkSpec>("link", "The cables of one tier.")
          .field("rate", &LinkSpec::rate,
                 {.text = "Of one port, one way. Default: the rate of the NIC's port.",
                  .example = "400Gbps",
                  .min = 1'000'000'000,
                  .max = 100'000'000'000'000})
          .field("cable", &LinkSpec::cable,
                 {.text = "Length of each cable.", .fallback = "5m", .min = 0, .max = 100'000'000})
          .field("medium", &LinkSpec::medium, {.text = "Kind of cable.", .fallback = "fiber", .section = "cables"})
          .field("shaper", &LinkSpec::shaper, {.text = "Holds packets back before the cable. Default: nothing does."})
          .build();
  return table;
}

template <>
const Table& table_of<SitesSpec>() {
  static const Table table =
      TableOf<SitesSpec>("sites",
                         "Long links between sites: each site has gateways above its top switches, "
                         "and gateway i of every site is joined to gateway i of every other.")
          .field("gateways", &SitesSpec::gateways,
                 {.text = "Gateways per site and plane.", .fallback = "1", .min = 1, .max = 64})
          .field("links", &SitesSpec::links,
                 {.text = "Parallel links between a pair of gateways.", .fallback = "1", .min = 1, .max = kMaxParallel})
          .field("uplinks", &SitesSpec::uplinks,
                 {.text = "Links from each top switch of a site to each of its gateways.",
                  .fallback = "1",
                  .min = 1,
                  .max = kMaxParallel})
          .field("rate", &SitesSpec::rate,
                 {.text = "Of one link between sites.",
                  .fallback = "400Gbps",
                  .min = 1'000'000,
                  .max = 100'000'000'000'000})
          .field("latency", &SitesSpec::latency,
                 {.text = "One way between two sites; 1 to 5 ms between availability zones.",
                  .fallback = "1ms",
                  .min = 0,
                  .max = 1'000'000'000'000})
          .build();
  return table;
}

template <>
const Table& table_of<FabricSpec>() {
  static const Table table =
      TableOf<FabricSpec>("fabric", "The network between the servers.")
          .field("kind", &FabricSpec::kind,
                 {.text = "Shape. `none` is for servers joined by scale-up links alone.",
                  .required = true,
                  .except = enum_names({FabricKind::topo}),
                  .meant = {{"scale-up", "none"}, {"scale_up", "none"}, {"nvlink", "none"}}})
          .field("switch", &FabricSpec::leaf_switch,
                 {.text = "Switch of the lowest tier, and of all tiers unless said otherwise.",
                  .fallback = "tomahawk-5",
                  .section = "switches"})
          .field("spine_switch", &FabricSpec::spine_switch,
                 {.text = "Switch of the second tier.", .only_for = kTreeKinds, .section = "switches"})
          .field("super_spine_switch", &FabricSpec::super_spine_switch,
                 {.text = "Switch of the third tier.", .only_for = kTreeKinds, .section = "switches"})
          .field("link", &FabricSpec::link,
                 {.text = "From NICs to switches, and between switches unless said otherwise.",
                  .example = "{rate: 400Gbps, cable: 5m}"})
          .field("spine_link", &FabricSpec::spine_link, {.text = "Between leaf and spine.", .only_for = kTreeKinds})
          .field("super_spine_link", &FabricSpec::super_spine_link,
                 {.text = "Between spine and super-spine.", .only_for = kTreeKinds})
          .field("planes", &FabricSpec::planes,
                 {.text = "Independent copies of the fabric; port i of every NIC goes to plane i.",
                  .fallback = "1",
                  .min = 1,
                  .max = 16,
                  .only_for = kAllFabrics})
          .field("scalable_unit", &FabricSpec::scalable_unit,
                 {.text = "Servers of one scalable unit: NIC i of each goes to its rail leaf i.",
                  .example = "16",
                  .required = true,
                  .min = 1,
                  .max = kMaxServers,
                  .only_for = enum_names({FabricKind::rail_optimized})})
          .field("rails_per_leaf", &FabricSpec::rails_per_leaf,
                 {.text = "Rails that share one leaf.",
                  .fallback = "1",
                  .min = 1,
                  .max = 64,
                  .only_for = enum_names({FabricKind::rail_optimized})})
          .field("servers_per_leaf", &FabricSpec::servers_per_leaf,
                 {.text = "Servers below one leaf (ToR). Default: as many as its ports allow.",
                  .example = "4",
                  .min = 1,
                  .max = kMaxServers,
                  .only_for = enum_names({FabricKind::tor_clos, FabricKind::rail_only})})
          .field("spines", &FabricSpec::spines,
                 {.text = "Spines each leaf is joined to; with super-spines, per pod.",
                  .example = "4",
                  .min = 1,
                  .max = kMaxSwitches,
                  .only_for = kClosOrRailOnly})
          .field("parallel_links", &FabricSpec::parallel_links,
                 {.text = "Links between a leaf and each of its spines.",
                  .example = "2",
                  .min = 1,
                  .max = kMaxParallel,
                  .only_for = kClosOrRailOnly})
          .field("oversubscription", &FabricSpec::oversubscription,
                 {.text = "Bandwidth below a leaf over bandwidth above it. Default 1, unless spines "
                          "and parallel_links say it.",
                  .example = "3:1",
                  .only_for = kClosOrRailOnly})
          .field("pod", &FabricSpec::pod,
                 {.text = "Scalable units (rail-optimized) or leaves (tor-clos) of one pod. Pods "
                          "make a third tier of super-spines.",
                  .example = "4",
                  .min = 1,
                  .max = kMaxServers,
                  .only_for = kClos})
          .field("super_spines", &FabricSpec::super_spines,
                 {.text = "Super-spines in all. Default: as many as full bandwidth needs.",
                  .example = "4",
                  .min = 1,
                  .max = kMaxSwitches,
                  .only_for = kClos})
          .field("super_parallel_links", &FabricSpec::super_parallel_links,
                 {.text = "Links between a spine and each of its super-spines.",
                  .min = 1,
                  .max = kMaxParallel,
                  .only_for = kClos})
          .field("super_oversubscription", &FabricSpec::super_oversubscription,
                 {.text = "Bandwidth below a spine over bandwidth above it. Default 1.",
                  .example = "7:1",
                  .only_for = kClos})
          .field("k", &FabricSpec::k,
                 {.text = "Ports per switch of the k-ary fat tree; even. Default: all ports of the "
                          "switch.",
                  .example = "16",
                  .min = 2,
                  .max = 1024,
                  .only_for = enum_names({FabricKind::fat_tree})})
          .field("servers_per_router", &FabricSpec::servers_per_router,
                 {.text = "Servers on one router.",
                  .fallback = "1",
                  .min = 1,
                  .max = 4096,
                  .only_for = enum_names({FabricKind::dragonfly})})
          .field("routers_per_group", &FabricSpec::routers_per_group,
                 {.text = "Routers of a group, all joined to each other.",
                  .example = "8",
                  .required = true,
                  .min = 1,
                  .max = 4096,
                  .only_for = enum_names({FabricKind::dragonfly})})
          .field("global_links", &FabricSpec::global_links,
                 {.text = "Links from one router to other groups.",
                  .example = "4",
                  .required = true,
                  .min = 0,
                  .max = 4096,
                  .only_for = enum_names({FabricKind::dragonfly})})
          .field("groups", &FabricSpec::groups,
                 {.text = "Groups. Default: as many as the servers need.",
                  .min = 1,
                  .max = kMaxSwitches,
                  .only_for = enum_names({FabricKind::dragonfly})})
          .field("routing", &FabricSpec::routing,
                 {.text = "minimal: over the direct global link; valiant: over a random group; "
                          "ugal: whichever is less loaded.",
                  .fallback = "minimal",
                  .only_for = enum_names({FabricKind::dragonfly})})
          .field("sites", &FabricSpec::sites, {.text = "Links between sites.", .only_for = kTreeKinds})
          .build();
  return table;
}

template <>
const Table& table_of<RoceSpec>() {
  static const Table table =
      TableOf<RoceSpec>("rocev2", "RoCEv2: reliable connections with DCQCN (Zhu et al., SIGCOMM 2015).")
          .field("qps", &RoceSpec::qps,
                 {.text = "Queue pairs to each peer, messages in turn (NCCL_IB_QPS_PER_CONNECTION).",
                  .fallback = "1",
                  .min = 1,
                  .max = 16})
          .field("split", &RoceSpec::split,
                 {.text = "Each message over all queue pairs (NCCL_IB_SPLIT_DATA_ON_QPS).", .fallback = "false"})
          .field("recovery", &RoceSpec::recovery,
                 {.text = "After a loss: everything behind it again, as InfiniBand specifies, or only what is missing "
                          "(IRN, SIGCOMM 2018).",
                  .fallback = "go-back-n"})
          .field("control", &RoceSpec::control,
                 {.text = "How senders answer congestion: by DCQCN, or not at all.", .fallback = "dcqcn"})
          .field("ack_every", &RoceSpec::ack_every,
                 {.text = "Packets per acknowledgement.", .fallback = "8", .min = 1, .max = 64})
          .field("window", &RoceSpec::window,
                 {.text = "Packets of a queue pair not yet acknowledged. Default: 8 unloaded round trips' worth; cards "
                          "have no such limit.",
                  .example = "256",
                  .min = 1,
                  .max = 1'000'000})
          .field("ack_timeout", &RoceSpec::ack_timeout,
                 {.text = "Silence before all is sent again. Default: 67 ms with go-back-n (NCCL_IB_TIMEOUT 14), 320 "
                          "us with selective (IRN).",
                  .example = "1ms",
                  .min = 1'000'000,
                  .max = kMaxTime})
          .field("retries", &RoceSpec::retries,
                 {.text = "After silence (NCCL_IB_RETRY_CNT).", .fallback = "7", .min = 0, .max = 7})
          .field("cnp_interval", &RoceSpec::cnp_interval,
                 {.text = "Between two CNPs of one queue pair, at least (DCQCN: 50 us; NVIDIA's cards: 4 us).",
                  .fallback = "50us",
                  .min = 0,
                  .max = kMaxTime})
          .field(
              "fast_cnp", &RoceSpec::fast_cnp,
              {.text =
                   "Switches that mark a packet send the CNP themselves, so far apart at least. Default: they do not.",
               .example = "10us",
               .min = 1,
               .max = kMaxTime})
          .field("alpha_timer", &RoceSpec::alpha_timer,
                 {.text = "Without a CNP before a sender thinks better of the network (DCQCN).",
                  .fallback = "55us",
                  .min = 1,
                  .max = kMaxTime})
          .field("increase_timer", &RoceSpec::increase_timer,
                 {.text = "Between two rate increases (DCQCN; NVIDIA's cards: 300 us).",
                  .fallback = "55us",
                  .min = 1,
                  .max = kMaxTime})
          .field("increase_bytes", &RoceSpec::increase_bytes,
                 {.text = "Sent between two rate increases (DCQCN; NVIDIA's cards: 32767 B).",
                  .fallback = "10MB",
                  .min = 1,
                  .max = 1'000'000'000'000})
          .field("fast_recovery", &RoceSpec::fast_recovery,
                 {.text = "Increases that only go half way back (DCQCN; NVIDIA's cards: 1).",
                  .fallback = "5",
                  .min = 1,
                  .max = 255})
          .field("additive_rate", &RoceSpec::additive_rate,
                 {.text = "Step of the rate. Default: 1/1000 of the line rate, as DCQCN on 40 Gb/s.",
                  .example = "40Mbps",
                  .min = 1,
                  .max = kMaxStorageRate})
          .field("hyper_rate", &RoceSpec::hyper_rate,
                 {.text = "Step after long calm. Default: 1/100 of the line rate.",
                  .example = "400Mbps",
                  .min = 1,
                  .max = kMaxStorageRate})
          .field("least_rate", &RoceSpec::least_rate,
                 {.text = "Of a queue pair (HPCC, SIGCOMM 2019).",
                  .fallback = "100Mbps",
                  .min = 1,
                  .max = kMaxStorageRate})
          .build();
  return table;
}

template <>
const Table& table_of<TcpSpec>() {
  static const Table table =
      TableOf<TcpSpec>("tcp", "TCP as Linux does it: SACK, RACK-TLP, PRR.")
          .field("control", &TcpSpec::control,
                 {.text = "Congestion control: CUBIC (RFC 9438), Linux's default, or DCTCP (RFC 8257).",
                  .fallback = "cubic"})
          .field(
              "connections", &TcpSpec::connections,
              {.text = "To each peer, messages in turn (NCCL_NSOCKS_PERTHREAD).", .fallback = "1", .min = 1, .max = 8})
          .field("initial_window", &TcpSpec::initial_window,
                 {.text = "Segments (RFC 6928).", .fallback = "10", .min = 1, .max = 1000})
          .field(
              "receive_window", &TcpSpec::receive_window,
              {.text = "Where Linux's autotuning ends (tcp_rmem).", .fallback = "6MiB", .min = 65536, .max = 32 << 20})
          .field("rto_min", &TcpSpec::rto_min,
                 {.text = "Least retransmission timeout (Linux TCP_RTO_MIN).",
                  .fallback = "200ms",
                  .min = 1'000'000,
                  .max = kMaxTime})
          .field("timer_least", &TcpSpec::timer_least,
                 {.text = "Least time of tail probes and of waiting for reordered segments, beyond what their formulas "
                          "say (Linux TCP_TIMEOUT_MIN_US). "
                          "Where rto_min is set lower, so should this be: else the timeout comes before the probe.",
                  .fallback = "2ms",
                  .min = 0,
                  .max = kMaxTime})
          .field("delayed_ack", &TcpSpec::delayed_ack,
                 {.text = "Linux TCP_DELACK_MIN.", .fallback = "40ms", .min = 0, .max = kMaxTime})
          .field("tail_probe", &TcpSpec::tail_probe, {.text = "RFC 8985, section 7.", .fallback = "true"})
          .field("pacing", &TcpSpec::pacing,
                 {.text = "Spread the window over the round trip, as the fq qdisc.", .fallback = "false"})
          .field("ecn", &TcpSpec::ecn, {.text = "CUBIC takes a mark for a loss (RFC 3168).", .fallback = "false"})
          .field("idle_restart", &TcpSpec::idle_restart,
                 {.text = "Slow start after an idle timeout. Linux's default is true, data centres turn it off.",
                  .fallback = "false"})
          .field("plb_rounds", &TcpSpec::plb_rounds,
                 {.text = "Rounds in a row with half the segments marked before another path is tried (PLB, SIGCOMM "
                          "2022); 0: never.",
                  .fallback = "0",
                  .min = 0,
                  .max = 255})
          .build();
  return table;
}

template <>
const Table& table_of<UetSpec>() {
  static const Table table =
      TableOf<UetSpec>("uet", "Ultra Ethernet's reliable unordered delivery, as uet-htsim has it.")
          .field("ack_bytes", &UetSpec::ack_bytes,
                 {.text = "Received before an unmarked packet is acknowledged.",
                  .fallback = "16KiB",
                  .min = 1,
                  .max = 1 << 30})
          .field("recycle", &UetSpec::recycle,
                 {.text = "Entropies of unmarked packets remembered (REPS).", .fallback = "8", .min = 0, .max = 8})
          .field("window", &UetSpec::window,
                 {.text = "Greatest window, of what fills the round trip; also the first.",
                  .fallback = "150%",
                  .min = 10'000,
                  .max = 10'000'000})
          .field("delay_target", &UetSpec::delay_target,
                 {.text = "Queueing that is fine. Default: 3/4 of the unloaded round trip, all of it where nothing is "
                          "trimmed.",
                  .example = "9us",
                  .min = 1,
                  .max = kMaxTime})
          .field("proportional", &UetSpec::proportional,
                 {.text = "Packets per round trip that a window grows without delay (NSCC's alpha).",
                  .fallback = "4",
                  .min = 0,
                  .max = 255})
          .field("fair", &UetSpec::fair,
                 {.text = "Packets per round trip, unmarked though above the target (NSCC's beta).",
                  .fallback = "5",
                  .min = 0,
                  .max = 255})
          .field(
              "rto", &UetSpec::rto,
              {.text = "Before a packet without an answer is sent again. Default: 15 us and six unloaded round trips.",
               .example = "100us",
               .min = 1,
               .max = kMaxTime})
          .build();
  return table;
}

template <>
const Table& table_of<TransportSpec>() {
  static const Table table =
      TableOf<TransportSpec>("transport", "How data crosses the fabric.")
          .field("kind", &TransportSpec::kind,
                 {.text = "Protocol. `tcp-over-srd`: one stream of bytes per peer, in order, whose segments SRD "
                          "carries over many paths, "
                          "as ENA Express does. `raw`: packets leave as fast as the card sends and nobody "
                          "acknowledges, repeats or slows down.",
                  .fallback = "srd"})
          .field(
              "balance", &TransportSpec::balance,
              {.text = "How packets choose among equal paths. `entropy`: the host chooses a number that switches hash; "
                       "`ecmp`: switches hash who talks to whom; `spray`: switches choose at random, packet by packet; "
                       "`flowlet`: after a pause in a flow, the port with the shortest queue (DLB); `flowlet-global`: "
                       "likewise, and the next "
                       "switch's queue counts (GLB); `adaptive`: the port with the shortest queue, packet by packet; "
                       "`pinned`: every queue pair "
                       "of a leaf has its uplink.",
               .fallback = "entropy"})
          .field("rocev2", &TransportSpec::rocev2, {.text = "What is RoCEv2's own."})
          .field("tcp", &TransportSpec::tcp, {.text = "What is TCP's own."})
          .field("uet", &TransportSpec::uet, {.text = "What is Ultra Ethernet's own."})
          .field("mtu", &TransportSpec::mtu,
                 {.text = "Payload of one packet; of TCP the whole IP packet; of RoCEv2 256B, 512B, 1KiB, 2KiB or "
                          "4KiB, as InfiniBand's. Default: 4096B, TCP 9000B, over SRD "
                          "8900B (AWS: the most that ENA Express takes); "
                          "4086B for a .topo file, as htsim, but for RoCEv2.",
                  .example = "4096B",
                  .min = 64,
                  .max = 9000})
          .field("paths", &TransportSpec::paths,
                 {.text = "Paths between two endpoints that are used at once; 64 as EFA's SRD (Shalev et al., IEEE "
                          "Micro 2020).",
                  .fallback = "64",
                  .min = 1,
                  .max = 64})
          .field("header", &TransportSpec::header,
                 {.text = "Of every packet of SRD and Ultra Ethernet, beside its payload; an acknowledgement is "
                          "nothing else. As uet-htsim.",
                  .fallback = "64B",
                  .min = 16,
                  .max = 256})
          .field("burst", &TransportSpec::burst,
                 {.text = "Packets per choice of path: 1 balances best, more makes trains for segmentation offload.",
                  .fallback = "1",
                  .min = 1,
                  .max = 16})
          .field("ack_every", &TransportSpec::ack_every,
                 {.text = "Packets per acknowledgement; senders ask for one where they would wait.",
                  .fallback = "8",
                  .min = 1,
                  .max = 64})
          .field("bad_marks", &TransportSpec::bad_marks,
                 {.text = "Trimmed packets in a row, or packets about as slow as those, after which a path is left for "
                          "another.",
                  .fallback = "3",
                  .min = 1,
                  .max = 6})
          .field("window", &TransportSpec::window,
                 {.text = "Packets in flight to one peer at most. Default: 1.5 unloaded round trips' worth and "
                          "ack_every, at most 255: with packets of 4 KiB "
                          "one flow fills 1 Tbps over a round trip of 8 us (W0507).",
                  .example = "64",
                  .min = 1,
                  .max = 255})
          .field("delay_target", &TransportSpec::delay_target,
                 {.text = "Queueing, over all hops, that is fine. Default: 4/5 of the unloaded round trip; swept from "
                          "25 to 80 %, "
                          "below 70 % a permutation loses 5 % and more.",
                  .example = "5us",
                  .min = 1,
                  .max = kMaxTime})
          .field(
              "increase", &TransportSpec::increase,
              {.text =
                   "Packets by which a window grows per round trip; with fewer than 4, shares become equal too slowly.",
               .fallback = "5",
               .min = 1,
               .max = 255})
          .field("trim_cut", &TransportSpec::trim_cut,
                 {.text = "1/256 packets by which a window shrinks for each trimmed packet.",
                  .fallback = "96",
                  .min = 0,
                  .max = 65535})
          .field("most_cut", &TransportSpec::most_cut,
                 {.text = "Of the window, lost in one round trip at most (Swift, SIGCOMM 2020).",
                  .fallback = "50%",
                  .min = 10'000,
                  .max = 1'000'000})
          .field("reorder", &TransportSpec::reorder,
                 {.text = "By which a later packet may overtake before an earlier one counts as lost. Default: 5 "
                          "unloaded round trips, more than a queue of a link at a quarter of its rate.",
                  .example = "20us",
                  .min = 1,
                  .max = kMaxTime})
          .field("rto", &TransportSpec::rto,
                 {.text = "Silence after a probe before everything is sent again. Default: 5 unloaded round trips; "
                          "doubles each time.",
                  .example = "60us",
                  .min = 1,
                  .max = kMaxTime})
          .field("not_ready_wait", &TransportSpec::not_ready_wait,
                 {.text = "Before a packet for which the receiver had no room is tried again. Default: the unloaded "
                          "round trip.",
                  .example = "10us",
                  .min = 1,
                  .max = kMaxTime})
          .field("give_up", &TransportSpec::give_up,
                 {.text = "Silence of a peer after which its messages fail, where no other NIC gets through: longer "
                          "than routing takes to converge (BGP without BFD: 3 s), "
                          "shorter than the watchdogs of jobs.",
                  .fallback = "5s",
                  .min = 1,
                  .max = kMaxTime})
          .field("failover", &TransportSpec::failover,
                 {.text = "Silence of a peer after which what a NIC has for it goes by another NIC, or port, of the "
                          "server (NCCL does so since "
                          "2.29.7 when a queue pair's retries are used up). RoCE notices no sooner than after its "
                          "first retry. Default: give_up; for "
                          "rocev2 1 + retries timeouts of at least 67 ms.",
                  .example = "2ms",
                  .min = 1,
                  .max = kMaxTime})
          .field("receive_messages", &TransportSpec::receive_messages,
                 {.text = "Incomplete messages that an endpoint holds.", .fallback = "16384", .min = 1, .max = 65535})
          .build();
  return table;
}

template <>
const Table& table_of<ServiceSpec>() {
  static const Table table =
      TableOf<ServiceSpec>("services", "A class of traffic that has queues of its own at every port.")
          .field("name", &ServiceSpec::name, {.text = "What streams call it.", .example = "storage", .required = true})
          .field("weight", &ServiceSpec::weight,
                 {.text = "Its part of a port beside other weights (ETS, 802.1Qaz). Default: served before all that "
                          "have weights, in the order of the list.",
                  .example = "3",
                  .min = 1,
                  .max = 100})
          .field("lossless", &ServiceSpec::lossless, {.text = "`flow_control` is for it.", .fallback = "false"})
          .build();
  return table;
}

template <>
const Table& table_of<SwitchingSpec>() {
  static const Table table =
      TableOf<SwitchingSpec>("switching", "What switches do with packets.")
          .field("forwarding", &SwitchingSpec::forwarding,
                 {.text = "When a packet is sent on: as soon as its header is in, or when all of it is. Default: "
                          "cut-through; store-and-forward for a .topo file, as htsim.",
                  .example = "cut-through"})
          .field(
              "classes", &SwitchingSpec::classes,
              {.text = "`two`: acknowledgements and trimmed headers go before data; `one`: first come, first served.",
               .fallback = "two"})
          .field("services", &SwitchingSpec::services,
                 {.text = "Classes of data beside each other, up to 7. Default: one for all. More than one needs exact "
                          "ports."})
          .field("queue", &SwitchingSpec::queue,
                 {.text =
                      "Bytes of data that may wait at a port. Default: the rate times the longest unloaded round trip.",
                  .example = "512KiB",
                  .min = 1024,
                  .max = kMaxQueue})
          .field("mark_from", &SwitchingSpec::mark_from,
                 {.text = "Part of the queue from which on packets are marked (ECN), at random and ever more.",
                  .fallback = "20%",
                  .min = 0,
                  .max = 1'000'000})
          .field("mark_to", &SwitchingSpec::mark_to,
                 {.text = "Part of the queue from which on all are. Equal to mark_from: a step.",
                  .fallback = "80%",
                  .min = 0,
                  .max = 1'000'000})
          .field("mark_most", &SwitchingSpec::mark_most,
                 {.text = "Of the packets, marked just below mark_to (DCQCN's Pmax: 1%).",
                  .fallback = "100%",
                  .min = 1,
                  .max = 1'000'000})
          .field("full", &SwitchingSpec::full,
                 {.text = "What becomes of a packet that finds the queue full: only its header goes on, before data, "
                          "or nothing.",
                  .fallback = "trim"})
          .field("ports", &SwitchingSpec::ports,
                 {.text = "`computed`: when a packet leaves is known when it comes, which is fast; `exact`: real "
                          "queues in a shared buffer. "
                          "`auto`: exact where something needs it.",
                  .fallback = "auto"})
          .field("flow_control", &SwitchingSpec::flow_control,
                 {.text = "What keeps data from being lost: nothing, pauses (PFC, 802.1Qbb), credits (InfiniBand), or "
                          "a scheduled fabric: "
                          "leaves ask the port that a packet is for and send cells over all uplinks "
                          "(`transport.balance` says nothing then). "
                          "Needs exact ports.",
                  .fallback = "none"})
          .field("virtual_channels", &SwitchingSpec::virtual_channels,
                 {.text = "Of a lossless service in a Dragonfly: a packet takes the next one behind every global link, "
                          "and no ports can wait for each other in a circle. Each is one of a port's 8 classes (PFC: "
                          "priorities), with headroom or credits of its own. Default: what the routing needs, 2 for "
                          "minimal and 3 for detours.",
                  .example = "3",
                  .min = 1,
                  .max = 7})
          .field("buffer", &SwitchingSpec::buffer,
                 {.text = "Of one switch, for all its ports. Default: as the catalog says; 64MiB for a .topo file.",
                  .example = "64MiB",
                  .min = 65536,
                  .max = kMaxQueue})
          .field("alpha", &SwitchingSpec::alpha,
                 {.text = "Of the free buffer, that one queue may take (dynamic threshold, Choudhury and Hahne 1998).",
                  .fallback = "100%",
                  .min = 10'000,
                  .max = 16'000'000})
          .field("headroom_for", &SwitchingSpec::headroom_for,
                 {.text = "PFC: the length of cable that headroom is meant for, whatever hangs there. Default: the "
                          "cables as they are.",
                  .example = "5m",
                  .min = 1,
                  .max = 100'000'000})
          .field("reaction", &SwitchingSpec::reaction,
                 {.text = "PFC: from the arrival of a pause until it takes effect; an estimate (802.3 allows 394 "
                          "quanta at 100 Gb/s: 2 us).",
                  .fallback = "300ns",
                  .min = 0,
                  .max = kMaxTime})
          .field("nic_buffer", &SwitchingSpec::nic_buffer,
                 {.text = "That a card has for what its host has not taken yet; an estimate.",
                  .fallback = "2MiB",
                  .min = 65536,
                  .max = kMaxQueue})
          .field("watchdog", &SwitchingSpec::watchdog,
                 {.text = "PFC: a queue that was paused for so long is thrown away. Default: never; SONiC's is 200 ms.",
                  .example = "200ms",
                  .min = 1,
                  .max = kMaxTime})
          .field("flowlet_gap", &SwitchingSpec::flowlet_gap,
                 {.text = "Silence after which a flow may take another port (Junos: inactivity-interval).",
                  .fallback = "16us",
                  .min = 1,
                  .max = kMaxTime})
          .field("load_interval", &SwitchingSpec::load_interval,
                 {.text = "Between two reports of other switches' queues (flowlet-global); an estimate.",
                  .fallback = "10us",
                  .min = 1,
                  .max = kMaxTime})
          .build();
  return table;
}

template <>
const Table& table_of<FaultSpec>() {
  static const Table table =
      TableOf<FaultSpec>("faults", "Something that breaks during a run.")
          .field(
              "part", &FaultSpec::part,
              {.text = "A switch, a NIC, or the links between two parts.", .example = "leaf0:spine1", .required = true})
          .field(
              "kind", &FaultSpec::kind,
              {.text = "`down`: packets on the wire are lost, and the switches at its ends notice and use other ports; "
                       "`blackhole`: lost without anybody noticing; `flapping`: down again and again; `lossy` and "
                       "`corrupting`: some packets are; "
                       "`slow`: at a part of its rate; `slow-receiver`: a host takes what its NIC receives at a part "
                       "of the rate (exact ports).",
               .fallback = "down"})
          .field("at", &FaultSpec::at, {.text = "When it begins.", .fallback = "0us", .min = 0, .max = kMaxTime})
          .field("for", &FaultSpec::lasts,
                 {.text = "How long; of a flapping part, each time. Default: to the end of the run.",
                  .example = "50us",
                  .min = 1,
                  .max = kMaxTime})
          .field("share", &FaultSpec::share,
                 {.text = "Lossy, corrupting: of the packets; slow, slow-receiver: of the rate that is left.",
                  .example = "0.1%",
                  .min = 1,
                  .max = 1'000'000})
          .field("every", &FaultSpec::every,
                 {.text = "Flapping: from one time down to the next.", .example = "200us", .min = 1, .max = kMaxTime})
          .build();
  return table;
}

template <>
const Table& table_of<TrafficRules>() {
  static const Table table =
      TableOf<TrafficRules>("rules", "What does not depend on the shape of the network.")
          .field("transport", &TrafficRules::transport, {.text = "How data crosses it."})
          .field("switching", &TrafficRules::switching, {.text = "What switches do with packets."})
          .field("faults", &TrafficRules::faults, {.text = "What breaks during a run."})
          .build();
  return table;
}

template <>
const Table& table_of<StorageTier>() {
  static const Table table =
      TableOf<StorageTier>("storage", "A storage tier. Not used by any command yet.")
          .field("name", &StorageTier::name, {.text = "What it is called.", .required = true})
          .field("kind", &StorageTier::kind, {.text = "Sort of storage.", .required = true})
          .field("size", &StorageTier::size, {.text = "Capacity.", .example = "2.5TB", .min = 1, .max = kMaxStorage})
          .field("rate", &StorageTier::rate,
                 {.text = "Bandwidth in all.", .example = "1200Gbps", .min = 1, .max = kMaxStorageRate})
          .field("latency", &StorageTier::latency,
                 {.text = "Of one access.", .example = "500us", .min = 0, .max = 3'600'000'000'000'000})
          .field("price", &StorageTier::price,
                 {.text = "Per hour.", .example = "$8.25/h", .min = 0, .max = 1'000'000'000'000})
          .build();
  return table;
}

template <>
const Table& table_of<TenantSpec>() {
  static const Table table =
      TableOf<TenantSpec>("tenants", "A tenant and the servers it owns. Not used by any command yet.")
          .field("name", &TenantSpec::name, {.text = "What it is called.", .required = true})
          .field("servers", &TenantSpec::servers,
                 {.text = "Indices of its servers, counted over all groups.", .example = "0..15", .required = true})
          .build();
  return table;
}

template <>
const Table& table_of<CollectiveRun>() {
  static const Table table =
      TableOf<CollectiveRun>("collective", "One collective operation.")
          .field("gpus", &CollectiveRun::gpus,
                 {.text = "How many GPUs take part. Default: all.", .example = "64", .min = 1, .max = kMaxGpus})
          .field("per_server", &CollectiveRun::per_server,
                 {.text = "How many of each server's GPUs take part. Default: all.",
                  .example = "2",
                  .min = 1,
                  .max = kMaxGpus})
          .field("on", &CollectiveRun::on,
                 {.text = "Which GPUs take part, instead of how many, counted over all servers: `0..15,32..47`; "
                          "`0..63/8` is every "
                          "eighth, `0..255/128x8` eight of every 128.",
                  .example = "0..63/8"})
          .field("split", &CollectiveRun::split,
                 {.text = "Into groups that each do it, all at the same time: `/8` puts eight ranks that follow each "
                          "other into one, "
                          "`\"%8\"` every eighth. The slowest group is shown.",
                  .example = "/8"})
          .field("sizes", &CollectiveRun::sizes,
                 {.text = "Message sizes.", .fallback = "8B..8GiB", .example = "[1MiB, 1GiB]"})
          .field(
              "stack", &CollectiveRun::stack,
              {.text = "Network plugin, launch mode and, where it is not the newest, release of NCCL (`efa-pytorch`, "
                       "`ib-nccl2.26`), whose latencies and rules count. Default: by network card.",
               .example = "ib"})
          .field("skew", &CollectiveRun::skew,
                 {.text = "Ranks come at times drawn by the seed, the last so much later than the first.",
                  .fallback = "0us",
                  .example = "20us",
                  .min = 0,
                  .max = kMaxSkew})
          .field("slow_ranks", &CollectiveRun::slow_ranks,
                 {.text = "Ranks, counted in each group, and what is left of their speed.", .example = "[3=50%]"})
          .field(
              "alongside", &CollectiveRun::alongside,
              {.text =
                   "At the same time as the collective before it, on the same fabric. Else one runs after the other.",
               .fallback = "false"})
          .build();
  return table;
}

template <>
const Table& table_of<TrafficRun>() {
  static const Table table =
      TableOf<TrafficRun>("traffic", "A stream of flows. Several in one list share the fabric at the same time.")
          .field("name", &TrafficRun::name,
                 {.text = "What it is called in the result.", .example = "storage", .required = true})
          .field("pattern", &TrafficRun::pattern,
                 {.text = "Who sends to whom, as `--pattern`.", .fallback = "permutation"})
          .field("size", &TrafficRun::size,
                 {.text = "Bytes of a flow.", .fallback = "2MB", .min = 1, .max = std::int64_t{1} << 40})
          .field("nodes", &TrafficRun::nodes,
                 {.text = "GPUs that take part. Default: all from `first` on.",
                  .example = "64",
                  .min = 2,
                  .max = kMaxGpus})
          .field("first", &TrafficRun::first,
                 {.text = "The first of them.", .fallback = "0", .min = 0, .max = kMaxGpus})
          .field("window", &TrafficRun::window,
                 {.text = "all-to-all: flows of a GPU at a time; 0: all.", .fallback = "8", .min = 0, .max = 64})
          .field("load", &TrafficRun::load,
                 {.text = "Open loop: what a GPU sends, of its line rate; headers come on top.",
                  .fallback = "50%",
                  .min = 1000,
                  .max = 1'000'000})
          .field("sizes", &TrafficRun::sizes,
                 {.text = "Open loop: of flows, `size` on average, or as published.", .fallback = "fixed"})
          .field("duration", &TrafficRun::duration,
                 {.text = "Open loop: how long flows begin.", .fallback = "1ms", .min = 1, .max = kMaxTime})
          .field("arrivals", &TrafficRun::arrivals,
                 {.text = "When flows begin. `at-once`: at the start, or when the window has room; `paced` and "
                          "`poisson` are open loop: at equal or random "
                          "intervals, whether or not earlier ones are done, to the pattern's targets in turn. The "
                          "pattern poisson always is.",
                  .fallback = "at-once"})
          .field("verb", &TrafficRun::verb,
                 {.text = "What SRD is asked to do. `write`: as `send`, without telling the receiver; `read`: the "
                          "sender of the pattern asks, and the bytes "
                          "come from its target.",
                  .fallback = "send"})
          .field("transport", &TrafficRun::transport,
                 {.text = "Protocol. Default: as `transport.kind`.", .example = "tcp"})
          .field("service", &TrafficRun::service,
                 {.text = "One of `switching.services`. Default: the first.", .example = "storage"})
          .build();
  return table;
}

template <>
const Table& table_of<RunSpec>() {
  static const Table table =
      TableOf<RunSpec>("run", "One piece of work, which `weft sim` carries out.")
          .field("traffic", &RunSpec::traffic, {.text = "Flows of a pattern."})
          .field("all_reduce", &RunSpec::all_reduce, {.text = "Sum over all, result to all."})
          .field("all_gather", &RunSpec::all_gather, {.text = "Everybody's part to everybody."})
          .field("reduce_scatter", &RunSpec::reduce_scatter, {.text = "Sum over all, a part each."})
          .field("broadcast", &RunSpec::broadcast, {.text = "One to all."})
          .field("reduce", &RunSpec::reduce, {.text = "All to one, summed."})
          .field("all_to_all", &RunSpec::all_to_all, {.text = "A different part to each."})
          .field("send_recv", &RunSpec::send_recv, {.text = "Neighbour to neighbour."})
          .build();
  return table;
}

template <>
const Table& table_of<ClusterFile>() {
  static const Table table =
      TableOf<ClusterFile>("cluster file", "The whole file.")
          .field("version", &ClusterFile::version, {.text = "Format of the file: 1.", .example = "1", .required = true})
          .field("name", &ClusterFile::name, {.text = "What the cluster is called.", .example = "acp"})
          .field("servers", &ClusterFile::servers,
                 {.text = "One group of servers, or a list of groups.", .required = true, .section = "servers"})
          .field("fabric", &ClusterFile::fabric, {.text = "The network between them.", .required = true})
          .include<TrafficRules>()
          .field("storage", &ClusterFile::storage, {.text = "Storage tiers."})
          .field("tenants", &ClusterFile::tenants, {.text = "Who owns which servers."})
          .field("run", &ClusterFile::run, {.text = "Work to run on it."})
          .build();
  return table;
}

}  // namespace weft::spec

namespace weft::model {

std::string cluster_file_schema() { return spec::json_schema(spec::table_of<ClusterFile>(), "weft cluster file"); }

std::string cluster_file_reference() {
  return spec::reference_page(
      spec::table_of<ClusterFile>(),
      "# The cluster file\n"
      "\n"
      "Generated by `weft schema --reference` from the same field table that parses the file.\n"
      "\n"
      "YAML, named `something.weft.yaml`. Numbers carry units: rates `400Gbps` or `50GB/s`, times\n"
      "`600ns`, sizes `8MiB` or `80GB`, lengths `5m`, power `700W`, prices `$98.32/h`, purchases\n"
      "`$30k`. Rates are one way unless the key says `both_ways`. Indices are written `3`, `[0, 4]`,\n"
      "`0..7` or `0..3,8..11`; sizes `1MiB`, `[1KiB, 1MiB]` or `8B..8GiB` (doubling). Where one value\n"
      "is expected a list may stand if the table says so, and a list of one may be written without\n"
      "brackets. A kind from the catalog is a name, or a mapping with `kind` and whatever differs:\n"
      "`nic: {kind: connectx-7, ports: 2}`. Every key can be set from the command line:\n"
      "`--set fabric.spines=8`.\n");
}

}  // namespace weft::model
