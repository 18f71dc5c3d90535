// Works forward from the file to counts (`attempt`). When that fails, the same forward function is
// tried with other values of the key that is to blame, and the nearest one that closes is named:
// so a suggestion is never a guess.

#include "model/derive_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "base/text.hpp"
#include "model/derive_plan.hpp"

namespace weft::model {
namespace {

using spec::Error;
using namespace derivation;

// A fabric that joins nothing.
Attempt attempt_none(const Cluster& cluster) {
  for (const Group& group : cluster.groups) {
    const std::int64_t domain = group.spec.scale_up ? group.spec.scale_up->servers : 1;
    if (cluster.groups.size() > 1 || group.servers > domain)
      return fail(Error::no_nics, Key::kind,
                  fmt::format("kind none joins nothing, but there are {}", counted(cluster.servers, "server")),
                  domain > 1 ? "choose another kind of fabric, as `weft init --kind nvl72-racks` does; none is for one "
                               "server or one scale-up domain"
                             : "choose another kind of fabric; none is for one server or one scale-up domain");
  }
  return Shape{};
}

Attempt attempt(const Cluster& cluster, const FabricSpec& spec) {
  if (spec.kind == FabricKind::none) return attempt_none(cluster);
  if (auto problem = check_servers(cluster, spec)) return Failure<Problem>(*problem);
  switch (spec.kind) {
    case FabricKind::single_chassis:
    case FabricKind::rail_optimized:
    case FabricKind::rail_only:
    case FabricKind::tor_clos:
    case FabricKind::fat_tree:
      return attempt_clos(cluster, spec);
    case FabricKind::dragonfly:
      return attempt_dragonfly(cluster, spec);
    case FabricKind::none:
    case FabricKind::topo:  // brings its shape
      break;
  }
  std::abort();
}

// The value nearest to `from` with which everything closes.
std::optional<std::int64_t> nearest(std::int64_t from, const std::function<bool(std::int64_t)>& works) {
  constexpr std::int64_t kReach = 512;
  for (std::int64_t apart = 1; apart <= kReach; ++apart) {
    if (from > apart && works(from - apart)) return from - apart;
    if (works(from + apart)) return from + apart;
  }
  // Far too large: down by halves.
  for (std::int64_t value = from / 2; value > 0; value /= 2)
    if (works(value)) return value;
  return std::nullopt;
}

// What would be right: other values of the key to blame, tried for real.
std::string what_would_work(const Cluster& cluster, const FabricSpec& spec, const Problem& problem) {
  const Key key = problem.key;
  std::vector<std::string> ratios;
  for (const auto& [ratio, links] : problem.ratios) {
    FabricSpec other = spec;
    (problem.ratio_key == Key::oversubscription ? other.oversubscription : other.super_oversubscription) = ratio;
    if (ratio.over <= 1'000'000 && ratio.under <= 1'000'000 && attempt(cluster, other))
      ratios.push_back(fmt::format("{} ({})", ratio_text(ratio.over, ratio.under), counted(links, "uplink")));
  }
  if (!ratios.empty()) return fmt::format("{}: {} would work", enum_name(problem.ratio_key), either(ratios));
  const auto with = [&](auto FabricSpec::*member, std::int64_t from) -> std::string {
    const auto works = [&](std::int64_t candidate) {
      FabricSpec other = spec;
      other.*member = candidate;
      return attempt(cluster, other).has_value();
    };
    std::optional<std::int64_t> value;
    for (const std::int64_t candidate : problem.values)
      if (!value && works(candidate)) value = candidate;
    if (!value) value = nearest(from, works);
    return value ? fmt::format("{}: {} would work", enum_name(key), *value) : "";
  };
  std::string help;
  if (key == Key::scalable_unit) help = with(&FabricSpec::scalable_unit, spec.scalable_unit);
  if (key == Key::servers_per_leaf) help = with(&FabricSpec::servers_per_leaf, spec.servers_per_leaf.value_or(1));
  if (key == Key::servers_per_router) help = with(&FabricSpec::servers_per_router, spec.servers_per_router);
  if (key == Key::spines && spec.spines) help = with(&FabricSpec::spines, *spec.spines);
  if (key == Key::super_spines && spec.super_spines) help = with(&FabricSpec::super_spines, *spec.super_spines);
  if (key == Key::groups) help = with(&FabricSpec::groups, spec.groups.value_or(1));
  if (key == Key::global_links) help = with(&FabricSpec::global_links, spec.global_links);
  for (std::int64_t uplinks = key == Key::sites ? spec.sites->uplinks - 1 : 0; uplinks > 0 && help.empty(); --uplinks) {
    FabricSpec other = spec;
    other.sites->uplinks = uplinks;
    if (attempt(cluster, other)) help = fmt::format("sites.uplinks: {} would work", uplinks);
  }
  if (key == Key::pod) help = with(&FabricSpec::pod, spec.pod.value_or(1));
  if (key == Key::k) help = with(&FabricSpec::k, spec.k.value_or(spec.leaf_switch.ports));
  if (!help.empty() || cluster.groups.size() > 1) return help;
  // No single key of the fabric helps: the largest number of servers that it can carry.
  std::int64_t low = 0;
  std::int64_t high = cluster.servers;
  while (high - low > 1) {
    Cluster fewer = cluster;
    const std::int64_t middle = (low + high) / 2;
    fewer.servers = fewer.groups[0].servers = u32(middle);
    (attempt(fewer, spec) ? low : high) = middle;
  }
  return low > 0 ? fmt::format("count: {} would fit this fabric", low) : "";
}

// Where a key stands; what is not written is blamed on the nearest thing that is.
spec::Place place_of(const spec::Node& root, Key key, std::size_t group = 0) {
  const bool of_servers = key == Key::count || key == Key::nics;
  const spec::Entry* section = root.find(of_servers ? "servers" : "fabric");
  if (section == nullptr) return root.place;
  const auto& items = section->value.items;
  const spec::Node& node = group < items.size() ? items[group] : section->value;
  const spec::Entry* entry = node.find(enum_name(key));
  if (entry == nullptr) entry = node.find("kind");
  return entry != nullptr ? entry->value.place : node.place;
}

}  // namespace

std::int64_t links_per_port(const SwitchKind& kind, Bandwidth rate) {
  std::int64_t most = kind.rate >= rate ? 1 : 0;
  for (const std::string& text : kind.breakout) {
    const auto x = text.find('x');
    const auto split = parse<BandwidthDimension>(std::string_view(text).substr(x + 1));
    // The finest split that still carries the link: a 100G cable takes a quarter of 4x200G.
    if (split && *split >= rate) most = std::max<std::int64_t>(most, std::atoll(text.c_str()));
  }
  return most;
}

std::int64_t ports_needed(const SwitchKind& kind, const std::vector<PortUse>& uses) {
  std::int64_t total = 0;
  for (const PortUse& use : uses) {
    if (use.count == 0) continue;
    const std::int64_t links = links_per_port(kind, use.rate);
    if (links == 0) return -1;
    total += ceil_div(use.count, links);
  }
  return total;
}

std::optional<Shape> derive_shape(const Cluster& cluster, const spec::Node& root, spec::Diagnostics& diagnostics) {
  const FabricSpec& spec = cluster.file.fabric;
  const bool has_sites = spec.sites.has_value();
  const bool joins_sites =
      spec.kind != FabricKind::none && spec.kind != FabricKind::single_chassis && spec.kind != FabricKind::dragonfly;
  if (has_sites != (cluster.sites.size() > 1)) {
    diagnostics.add(Error::bad_sites, place_of(root, Key::sites),
                    has_sites ? "'sites' joins sites, but all servers stand on one"
                              : fmt::format("the servers stand on {} sites that nothing joins", cluster.sites.size()),
                    has_sites ? "give the server groups a site, or remove 'sites'"
                    : joins_sites
                        ? "add to the fabric sites: {latency: 1ms, rate: 400Gbps}"
                        : fmt::format("fabric kind {} cannot join sites; tor-clos can", enum_name(spec.kind)));
    return std::nullopt;
  }
  auto shape = attempt(cluster, spec);
  if (shape) return std::move(*shape);
  Problem problem = std::move(shape.error());
  if (problem.help.empty()) problem.help = what_would_work(cluster, spec, problem);
  if (problem.help.empty())
    problem.help = "a switch with more ports, another tier (pod) or fewer servers would be needed";
  diagnostics.add(problem.error, place_of(root, problem.key, problem.group), problem.message, problem.help);
  return std::nullopt;
}

}  // namespace weft::model
