#pragma once
// What the derivations of all kinds of fabrics share: how the servers' NICs meet the first switches, whether a switch
// has the ports, and what is said where something does not close. Each kind has a file of its own that goes on from
// here: derive_clos.cpp, derive_dragonfly.cpp.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/names.hpp"
#include "base/result.hpp"
#include "model/cluster.hpp"
#include "spec/diagnostics.hpp"

namespace weft::model::derivation {

using spec::Error;

// The keys that may be to blame: of the fabric section, but for the first two, which are the servers'.
enum class Key {
  count,
  nics,
  kind,
  planes,
  link,
  scalable_unit,
  servers_per_leaf,
  servers_per_router,
  spines,
  oversubscription,
  pod,
  super_spines,
  super_oversubscription,
  super_parallel_links,
  super_spine_link,
  super_spine_switch,
  k,
  groups,
  global_links,
  sites
};
constexpr auto names_of(Key) {
  using enum Key;
  return std::to_array<EnumName<Key>>({{count, "count"},
                                       {nics, "nics"},
                                       {kind, "kind"},
                                       {planes, "planes"},
                                       {link, "link"},
                                       {scalable_unit, "scalable_unit"},
                                       {servers_per_leaf, "servers_per_leaf"},
                                       {servers_per_router, "servers_per_router"},
                                       {spines, "spines"},
                                       {oversubscription, "oversubscription"},
                                       {pod, "pod"},
                                       {super_spines, "super_spines"},
                                       {super_oversubscription, "super_oversubscription"},
                                       {super_parallel_links, "super_parallel_links"},
                                       {super_spine_link, "super_spine_link"},
                                       {super_spine_switch, "super_spine_switch"},
                                       {k, "k"},
                                       {groups, "groups"},
                                       {global_links, "global_links"},
                                       {sites, "sites"}});
}

struct Problem {
  Error error;
  Key key;
  std::string message;
  std::string help;                       // empty: other values of `key` are tried
  std::size_t group = 0;                  // of servers, where `key` is theirs
  std::vector<std::int64_t> values = {};  // to try for `key` before searching
  // Ratios to try, for `ratio_key`, and the uplinks each of them means.
  Key ratio_key = Key::oversubscription;
  std::vector<std::pair<Ratio, std::int64_t>> ratios = {};
};

using Attempt = Result<Shape, Problem>;

inline Failure<Problem> fail(Error error, Key key, std::string message, std::string help = "") {
  return Failure<Problem>({error, key, std::move(message), std::move(help)});
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::uint32_t u32(std::int64_t n) { return static_cast<std::uint32_t>(n); }
// "3:1", in lowest terms.
std::string ratio_text(std::int64_t over, std::int64_t under);
Wire wire_of(const LinkSpec& link, Bandwidth rate);

// Where the server groups hang, within one plane.
struct ShapePlan {
  const Cluster& cluster;
  const FabricSpec& spec;
  Shape shape = {};
  std::vector<SiteShape> sites = {};  // with leaves (or routers), without pods
  std::uint32_t leaf_down = 0;        // NIC ports of a leaf

  Bandwidth nic_rate() const {
    Bandwidth fastest;
    for (const Wiring& wiring : shape.wiring) fastest = std::max(fastest, wiring.wire.rate);
    return fastest;
  }
  std::int64_t leaves() const {  // of the largest site
    std::int64_t most = 0;
    for (const SiteShape& site : sites) most = std::max<std::int64_t>(most, site.leaves);
    return most;
  }
};

std::optional<Problem> check_servers(const Cluster& cluster, const FabricSpec& spec);
// Lays the server groups onto leaves: one formula for every kind (see Wiring).
void wire_groups(ShapePlan& plan);
// The key that says how many servers share a leaf.
Key block_key(FabricKind kind);
// `key` is to blame where the switch has too few ports.
std::optional<Problem> check_ports(const SwitchKind& kind, std::string_view tier, Key key,
                                   const std::vector<PortUse>& uses);

Attempt attempt_clos(const Cluster& cluster, const FabricSpec& spec);
Attempt attempt_dragonfly(const Cluster& cluster, const FabricSpec& spec);

}  // namespace weft::model::derivation
