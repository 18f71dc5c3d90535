#include "model/cluster_file.hpp"

#include "model/field_limits.hpp"
#include "spec/fields.hpp"
#include "spec/schema.hpp"

namespace weft::spec {

using namespace weft::model;

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
const Table& table_of<FrontendSpec>() {
  static const Table table =
      TableOf<FrontendSpec>(
          "frontend",
          "The network beside the fabric that servers are managed by: each has a port on two leaves. For "
          "`weft render`, `weft lab` and the bill of materials; simulations do not use it.")
          .field("switch", &FrontendSpec::leaf_switch,
                 {.text = "Kind of its leaves.", .example = "tomahawk-4", .required = true, .section = "switches"})
          .field(
              "servers_per_leaf", &FrontendSpec::servers_per_leaf,
              {.text = "Servers that share a pair of leaves. Default: all of them. What joins several pairs is not in "
                       "the file.",
               .example = "32",
               .min = 1,
               .max = kMaxServers})
          .field("rate", &FrontendSpec::rate,
                 {.text = "Of each of a server's two ports.",
                  .fallback = "100Gbps",
                  .min = 1'000'000'000,
                  .max = 100'000'000'000'000})
          .field("cable", &FrontendSpec::cable,
                 {.text = "Length of each cable.", .fallback = "5m", .min = 0, .max = 100'000'000})
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
      TableOf<TenantSpec>("tenants", "A tenant and the servers it owns, for `weft place` and `weft render`.")
          .field("name", &TenantSpec::name, {.text = "What it is called.", .required = true})
          .field("servers", &TenantSpec::servers,
                 {.text = "Indices of its servers, counted over all groups.", .example = "0..15", .required = true})
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
          .field("frontend", &ClusterFile::frontend, {.text = "The network beside it. Default: not described."})
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
