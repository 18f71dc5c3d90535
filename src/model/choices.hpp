#pragma once
// The closed sets of the cluster file, with the names that stand in it. What each value means is told by the text of
// its field.

#include <cstdint>

#include "base/names.hpp"

namespace weft::model {

enum class FabricKind {
  none,
  single_chassis,
  rail_optimized,
  rail_only,
  tor_clos,
  fat_tree,
  dragonfly,
  topo,  // of htsim's .topo files; a cluster file cannot say it
};
constexpr auto names_of(FabricKind) {
  using enum FabricKind;
  return std::to_array<EnumName<FabricKind>>({{none, "none"},
                                              {single_chassis, "single-chassis"},
                                              {rail_optimized, "rail-optimized"},
                                              {rail_only, "rail-only"},
                                              {tor_clos, "tor-clos"},
                                              {fat_tree, "fat-tree"},
                                              {dragonfly, "dragonfly"},
                                              {topo, "topo"}});
}

enum class DragonflyRouting { minimal, valiant, ugal };
constexpr auto names_of(DragonflyRouting) {
  using enum DragonflyRouting;
  return std::to_array<EnumName<DragonflyRouting>>({{minimal, "minimal"}, {valiant, "valiant"}, {ugal, "ugal"}});
}

enum class LinkLayer { ethernet, infiniband };
constexpr auto names_of(LinkLayer) {
  using enum LinkLayer;
  return std::to_array<EnumName<LinkLayer>>({{ethernet, "ethernet"}, {infiniband, "infiniband"}});
}

enum class TransportKind { srd, rocev2, infiniband, uet, tcp, tcp_over_srd, raw };
constexpr auto names_of(TransportKind) {
  using enum TransportKind;
  return std::to_array<EnumName<TransportKind>>({{srd, "srd"},
                                                 {rocev2, "rocev2"},
                                                 {infiniband, "infiniband"},
                                                 {uet, "uet"},
                                                 {tcp, "tcp"},
                                                 {tcp_over_srd, "tcp-over-srd"},
                                                 {raw, "raw"}});
}

enum class RoceRecovery { go_back_n, selective };
constexpr auto names_of(RoceRecovery) {
  using enum RoceRecovery;
  return std::to_array<EnumName<RoceRecovery>>({{go_back_n, "go-back-n"}, {selective, "selective"}});
}

enum class RoceControl { dcqcn, none };
constexpr auto names_of(RoceControl) {
  using enum RoceControl;
  return std::to_array<EnumName<RoceControl>>({{dcqcn, "dcqcn"}, {none, "none"}});
}

enum class TcpControl { cubic, dctcp };
constexpr auto names_of(TcpControl) {
  using enum TcpControl;
  return std::to_array<EnumName<TcpControl>>({{cubic, "cubic"}, {dctcp, "dctcp"}});
}

// How packets choose among equal paths.
enum class Balance : std::uint8_t {
  entropy,         // the host chooses a number per burst; switches hash it
  ecmp,            // switches hash who talks to whom
  spray,           // switches choose at random, packet by packet
  flowlet,         // after a pause in a flow, the port with the shortest queue (DLB)
  flowlet_global,  // likewise, and the next switch's queue counts (GLB)
  adaptive,        // the port with the shortest queue, packet by packet
  pinned,          // every queue pair of a leaf has its uplink, in turn
};
constexpr auto names_of(Balance) {
  using enum Balance;
  return std::to_array<EnumName<Balance>>({{entropy, "entropy"},
                                           {ecmp, "ecmp"},
                                           {spray, "spray"},
                                           {flowlet, "flowlet"},
                                           {flowlet_global, "flowlet-global"},
                                           {adaptive, "adaptive"},
                                           {pinned, "pinned"}});
}

enum class Forwarding { cut_through, store_and_forward };
constexpr auto names_of(Forwarding) {
  using enum Forwarding;
  return std::to_array<EnumName<Forwarding>>({{cut_through, "cut-through"}, {store_and_forward, "store-and-forward"}});
}

enum class PortClasses { two, one };
constexpr auto names_of(PortClasses) {
  using enum PortClasses;
  return std::to_array<EnumName<PortClasses>>({{two, "two"}, {one, "one"}});
}

enum class WhenFull { trim, drop };
constexpr auto names_of(WhenFull) {
  using enum WhenFull;
  return std::to_array<EnumName<WhenFull>>({{trim, "trim"}, {drop, "drop"}});
}

enum class PortModel { by_need, computed, exact };
constexpr auto names_of(PortModel) {
  using enum PortModel;
  return std::to_array<EnumName<PortModel>>({{by_need, "auto"}, {computed, "computed"}, {exact, "exact"}});
}

// What keeps data from being lost.
enum class FlowControl : std::uint8_t { none, pause, credits, scheduled };
constexpr auto names_of(FlowControl) {
  using enum FlowControl;
  return std::to_array<EnumName<FlowControl>>(
      {{none, "none"}, {pause, "pfc"}, {credits, "credits"}, {scheduled, "scheduled"}});
}

enum class FaultKind { down, blackhole, flapping, lossy, corrupting, slow, slow_receiver, host_pause, clock_jump };
constexpr auto names_of(FaultKind) {
  using enum FaultKind;
  return std::to_array<EnumName<FaultKind>>({{down, "down"},
                                             {blackhole, "blackhole"},
                                             {flapping, "flapping"},
                                             {lossy, "lossy"},
                                             {corrupting, "corrupting"},
                                             {slow, "slow"},
                                             {slow_receiver, "slow-receiver"},
                                             {host_pause, "host-pause"},
                                             {clock_jump, "clock-jump"}});
}

enum class StorageKind { object, parallel_fs, nvme, block };
constexpr auto names_of(StorageKind) {
  using enum StorageKind;
  return std::to_array<EnumName<StorageKind>>(
      {{object, "object"}, {parallel_fs, "parallel-fs"}, {nvme, "nvme"}, {block, "block"}});
}

enum class TrafficPattern { one, permutation, incast, outcast, all_to_all, ring, poisson };
constexpr auto names_of(TrafficPattern) {
  using enum TrafficPattern;
  return std::to_array<EnumName<TrafficPattern>>({{one, "one"},
                                                  {permutation, "permutation"},
                                                  {incast, "incast"},
                                                  {outcast, "outcast"},
                                                  {all_to_all, "all-to-all"},
                                                  {ring, "ring"},
                                                  {poisson, "poisson"}});
}

enum class FlowSizes { fixed, uniform, web_search, data_mining, hadoop };
constexpr auto names_of(FlowSizes) {
  using enum FlowSizes;
  return std::to_array<EnumName<FlowSizes>>({{fixed, "fixed"},
                                             {uniform, "uniform"},
                                             {web_search, "web-search"},
                                             {data_mining, "data-mining"},
                                             {hadoop, "hadoop"}});
}

enum class FlowArrivals { at_once, paced, poisson };
constexpr auto names_of(FlowArrivals) {
  using enum FlowArrivals;
  return std::to_array<EnumName<FlowArrivals>>({{at_once, "at-once"}, {paced, "paced"}, {poisson, "poisson"}});
}

enum class Verb { send, write, read, tagged };
constexpr auto names_of(Verb) {
  using enum Verb;
  return std::to_array<EnumName<Verb>>({{send, "send"}, {write, "write"}, {read, "read"}, {tagged, "tagged"}});
}

}  // namespace weft::model
