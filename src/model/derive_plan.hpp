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

#include "base/result.hpp"
#include "model/cluster.hpp"
#include "spec/diagnostics.hpp"

namespace weft::model::derivation {

using spec::Error;

struct Problem {
  Error error;
  std::string key;  // of the fabric section; "count" and "nics" are the servers'
  std::string message;
  std::string help;                       // empty: other values of `key` are tried
  std::size_t group = 0;                  // of servers, where `key` is theirs
  std::vector<std::int64_t> values = {};  // to try for `key` before searching
  // Ratios to try, for `ratio_key`, and the uplinks each of them means.
  std::string ratio_key = "";
  std::vector<std::pair<Ratio, std::int64_t>> ratios = {};
};

using Attempt = Result<Shape, Problem>;

inline Failure<Problem> fail(Error error, std::string key, std::string message, std::string help = "") {
  return Failure<Problem>({error, std::move(key), std::move(message), std::move(help)});
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::uint32_t u32(std::int64_t n) { return static_cast<std::uint32_t>(n); }
// "3:1", in lowest terms.
std::string ratio_text(std::int64_t over, std::int64_t under);
Wire wire_of(const LinkSpec& link, Bandwidth rate);

// Where the server groups hang, within one plane.
struct Plan {
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
void wire_groups(Plan& plan);
// The key that says how many servers share a leaf.
std::string_view block_key(FabricKind kind);
// `key` is to blame where the switch has too few ports.
std::optional<Problem> check_ports(const SwitchKind& kind, std::string_view tier, std::string key,
                                   const std::vector<PortUse>& uses);

Attempt attempt_clos(const Cluster& cluster, const FabricSpec& spec);
Attempt attempt_dragonfly(const Cluster& cluster, const FabricSpec& spec);

}  // namespace weft::model::derivation
