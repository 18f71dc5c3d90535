// The field tables of `transport`.
#include "model/cluster_file.hpp"

#include "model/field_limits.hpp"
#include "spec/fields.hpp"

namespace weft::spec {

using namespace weft::model;

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
                 {.text = "How senders answer congestion: by DCQCN, or not at all, which is InfiniBand's default.",
                  .fallback = "dcqcn"})
          .field("ack_every", &RoceSpec::ack_every,
                 {.text = "Packets per acknowledgement.", .fallback = "8", .min = 1, .max = 64})
          .field("window", &RoceSpec::window,
                 {.text = "Packets of a queue pair not yet acknowledged. Default: 8 unloaded round trips' worth; NICs "
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
                 {.text = "Between two CNPs of one queue pair, at least (DCQCN: 50 us; NVIDIA's NICs: 4 us).",
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
                 {.text = "Between two rate increases (DCQCN; NVIDIA's NICs: 300 us).",
                  .fallback = "55us",
                  .min = 1,
                  .max = kMaxTime})
          .field("increase_bytes", &RoceSpec::increase_bytes,
                 {.text = "Sent between two rate increases (DCQCN; NVIDIA's NICs: 32767 B).",
                  .fallback = "10MB",
                  .min = 1,
                  .max = 1'000'000'000'000})
          .field("fast_recovery", &RoceSpec::fast_recovery,
                 {.text = "Increases that only go half way back (DCQCN; NVIDIA's NICs: 1).",
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
          .field(
              "kind", &TransportSpec::kind,
              {.text =
                   "Protocol. `infiniband`: reliable connections as RoCEv2's, in InfiniBand's own packets over links "
                   "with credits; the default where switches are InfiniBand's (`link_layer`) or flow_control is "
                   "`credits`, but for EFA. `tcp-over-srd`: one stream of bytes per peer, in order, whose segments SRD "
                   "carries over many paths, "
                   "as ENA Express does. `raw`: packets leave as fast as the NIC sends and nobody "
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
          .field("rocev2", &TransportSpec::rocev2, {.text = "What is RoCEv2's own, and InfiniBand's."})
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
                          "one flow fills 1 Tbps over a round trip of 8 us (W0507). Where full packets are dropped, "
                          "4,095.",
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
                          "unloaded round trips, more than a queue of a link at a quarter of its rate; as measured "
                          "where switches do not trim.",
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

}  // namespace weft::spec
