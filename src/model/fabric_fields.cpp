// The field tables of `fabric`.
#include "model/cluster_file.hpp"

#include "model/field_limits.hpp"
#include "spec/fields.hpp"

namespace weft::spec {

using namespace weft::model;

namespace {

const auto kClos = enum_names({FabricKind::rail_optimized, FabricKind::tor_clos});
const auto kClosOrRailOnly = enum_names({FabricKind::rail_optimized, FabricKind::tor_clos, FabricKind::rail_only});
const auto kTreeKinds =
    enum_names({FabricKind::rail_optimized, FabricKind::tor_clos, FabricKind::rail_only, FabricKind::fat_tree});
const auto kAllFabrics = enum_names({FabricKind::single_chassis, FabricKind::rail_optimized, FabricKind::rail_only,
                                     FabricKind::tor_clos, FabricKind::fat_tree, FabricKind::dragonfly});

}  // namespace

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
                  .min = 10'000'000,
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

}  // namespace weft::spec
