// A .topo file is lines of "Key value"; keys before the first "Tier n" are global, those after it
// describe the switches of that tier and the links below them:
//
//   Nodes 1024 / Tiers 3 / Podsize 64
//   Tier 0: Downlink_speed_Gbps, Radix_Down, Radix_Up, Downlink_Latency_ns, Switch_Latency_ns,
//           Oversubscribed, Queue_*; from tier 1 on Bundle, the parallel links to each switch below
//
// Counts follow as in htsim: a pod has Podsize / Radix_Down(0) leaves, each with Radix_Up(0) uplinks
// in bundles of Bundle(1); a spine has Radix_Up(1) uplinks in bundles of Bundle(2).

#include "model/topo_file.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <map>

#include "base/text.hpp"
#include "model/rule_checks.hpp"

namespace weft::model {
namespace {

using spec::Diagnostics;
using spec::Error;
using spec::Place;

constexpr std::int64_t kMost = 1'000'000;

struct Value {
  std::int64_t number = 0;
  Place place;
};

class TopoReader {
 public:
  TopoReader(std::uint32_t source, Diagnostics& diagnostics) : source_(source), diagnostics_(diagnostics) {}

  void read() {
    const std::string& text = diagnostics_.sources().text(source_);
    std::uint32_t line = 0;
    std::map<std::string, Value>* section = &globals;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = text.find('\n', at);
      if (end == std::string::npos) end = text.size();
      read_line(std::string_view(text).substr(at, end - at), ++line, section);
      at = end + 1;
    }
  }

  // A value of the globals or of a tier; complains when it is required and missing.
  std::int64_t get(const std::map<std::string, Value>& section, const std::string& key,
                   std::optional<std::int64_t> fallback = std::nullopt) {
    if (const auto found = section.find(key); found != section.end()) return found->second.number;
    if (!fallback && &section == &globals)
      refuse(first_, fmt::format("'{}' is missing", spelled(key)),
             fmt::format("a line such as {} 1024, before the first Tier", spelled(key)));
    if (!fallback && &section != &globals) {
      const auto tier = static_cast<std::size_t>(&section - tiers.data());
      refuse(begins_[tier].value_or(last_), fmt::format("'{}' of tier {} is missing", spelled(key), tier),
             fmt::format("a line {} and a number, below Tier {}", spelled(key), tier));
    }
    return fallback.value_or(1);
  }

  // Where a value stands, or another one that it follows from.
  Place place(const std::map<std::string, Value>& section, const std::string& key) const {
    const auto found = section.find(key);
    return found == section.end() ? first_ : found->second.place;
  }

  void refuse(const Place& place, std::string message, std::string help) {
    diagnostics_.add(Error::bad_topo, place, std::move(message), std::move(help));
  }

  std::map<std::string, Value> globals;
  std::array<std::map<std::string, Value>, 3> tiers;

 private:
  // As htsim's own files write it.
  static std::string spelled(const std::string& key) {
    static const std::map<std::string, std::string> names = {{"nodes", "Nodes"},
                                                             {"radix_down", "Radix_Down"},
                                                             {"radix_up", "Radix_Up"},
                                                             {"downlink_speed_gbps", "Downlink_speed_Gbps"},
                                                             {"downlink_latency_ns", "Downlink_Latency_ns"}};
    const auto found = names.find(key);
    return found == names.end() ? key : found->second;
  }

  void read_line(std::string_view text, std::uint32_t line, std::map<std::string, Value>*& section) {
    if (const auto hash = text.find('#'); hash != std::string_view::npos) text = text.substr(0, hash);
    const auto skip = [&](std::size_t from, bool blanks) {
      while (from < text.size() && (std::string_view(" \t\r").find(text[from]) != std::string_view::npos) == blanks)
        ++from;
      return from;
    };
    const std::size_t begin = skip(0, true);
    if (begin == text.size()) return;
    const std::size_t end = skip(begin, false);
    const std::size_t number = skip(end, true);
    std::string key;
    for (const char c : text.substr(begin, end - begin))
      key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const Place place{source_, line, static_cast<std::uint32_t>(begin + 1), static_cast<std::uint32_t>(end - begin)};
    if (first_.line == 0) first_ = place;
    last_ = place;
    static const std::vector<std::string> known = {"nodes",
                                                   "tiers",
                                                   "podsize",
                                                   "tier",
                                                   "oversubscribed",
                                                   "downlink_speed_gbps",
                                                   "radix_down",
                                                   "radix_up",
                                                   "downlink_latency_ns",
                                                   "switch_latency_ns",
                                                   "bundle",
                                                   "queue_down",
                                                   "queue_up"};
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      const auto guess = did_you_mean(key, known);
      refuse(place, fmt::format("unknown key '{}'", spec::shown(key)),
             guess                 ? fmt::format("did you mean '{}'?", *guess)
             : section == &globals ? "before the first Tier stand Nodes, Tiers and Podsize"
                                   : "a tier has Radix_*, Downlink_*, Switch_Latency_ns, Bundle and Queue_*");
      return;
    }
    Value value{0, place};
    const auto digits = text.substr(number, skip(number, false) - number);
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value.number);
    const std::int64_t least = key.ends_with("latency_ns") || key == "tier" ? 0 : 1;
    if (error != std::errc{} || stop != digits.data() + digits.size() || value.number < least || value.number > kMost) {
      refuse(place,
             digits.empty() ? fmt::format("'{}' has no value", key)
                            : fmt::format("'{}' cannot be '{}'", key, spec::shown(digits)),
             fmt::format("a whole number from {} to {}", least, grouped(kMost)));
      return;
    }
    if (key == "tier") {
      if (value.number > 2) {
        refuse(place, fmt::format("there is no tier {}", value.number),
               "tiers are numbered 0 (leaves), 1 (spines) and 2 (cores)");
        section = &no_tier_;
        return;
      }
      section = &tiers[static_cast<std::size_t>(value.number)];
      begins_[static_cast<std::size_t>(value.number)] = place;
    } else if ((key == "nodes" || key == "tiers" || key == "podsize") != (section == &globals)) {
      refuse(place,
             section == &globals ? fmt::format("'{}' belongs to a tier", key)
                                 : fmt::format("'{}' belongs to the whole file", key),
             section == &globals ? "write it below a line such as Tier 0" : "write it before the first Tier");
    } else if (const auto [first, is_new] = section->emplace(key, value); !is_new) {
      diagnostics_.add(Error::duplicate_key, place, fmt::format("'{}' stands here a second time", key),
                       fmt::format("the first is on line {}; keep one of them", first->second.place.line));
    }
  }

  std::uint32_t source_;
  Diagnostics& diagnostics_;
  std::map<std::string, Value> no_tier_;  // keys of a tier that does not exist
  // What is missing is missed at the line of its tier, or behind everything.
  std::array<std::optional<Place>, 3> begins_;
  Place first_;  // key of the file
  Place last_;
};

Wire link_below(TopoReader& topo, std::size_t tier) {
  const auto& section = topo.tiers[tier];
  return {gigabits_per_second(topo.get(section, "downlink_speed_gbps")),
          nanoseconds(topo.get(section, "downlink_latency_ns"))};
}

std::uint32_t u32(std::int64_t n) { return static_cast<std::uint32_t>(n); }

// A .topo file says nothing about transport, switching and faults; --set may, and where it does not
// they are as in htsim.
TrafficRules read_rules(const std::vector<std::string>& set, const Catalog& catalog, Diagnostics& diagnostics) {
  spec::Node root;
  root.kind = spec::Node::Kind::map;
  for (const std::string& assignment : set) spec::apply_set(root, assignment, diagnostics);
  for (const spec::Entry& entry : root.entries)
    if (entry.key == "version" || entry.key == "name" || entry.key == "servers" || entry.key == "fabric")
      diagnostics.add(Error::bad_set, entry.key_place,
                      fmt::format("--set cannot change '{}' of a .topo file", entry.key),
                      "edit the file itself; --set is for transport, switching and faults here");
  TrafficRules rules;
  if (diagnostics.has_errors()) return rules;
  catalog.reader(diagnostics).read(root, rules);
  if (!diagnostics.has_errors()) check_rules(rules, root, diagnostics);
  if (!rules.switching.forwarding) rules.switching.forwarding = Forwarding::store_and_forward;
  const bool own = rules.transport.kind == TransportKind::rocev2 ||
                   rules.transport.kind == TransportKind::infiniband;  // one of five
  if (!rules.transport.mtu && !own) rules.transport.mtu = Bytes(4086);
  return rules;
}

}  // namespace

std::optional<Cluster> load_topo(std::uint32_t source, const std::string& name, const std::vector<std::string>& set,
                                 const Catalog& catalog, Diagnostics& diagnostics) {
  if (!spec::check_text(source, diagnostics)) return std::nullopt;
  TopoReader topo(source, diagnostics);
  topo.read();
  const TrafficRules rules = read_rules(set, catalog, diagnostics);
  if (topo.globals.empty() && topo.tiers[0].empty() && !diagnostics.has_errors())
    diagnostics.add(Error::empty_file, {source, 0, 0, 1}, "the file describes nothing",
                    "a .topo file starts with lines such as Nodes 1024 and Tiers 3");
  if (diagnostics.has_errors()) return std::nullopt;
  const std::int64_t nodes = topo.get(topo.globals, "nodes");
  const std::int64_t tiers = topo.get(topo.globals, "tiers", 3);
  const std::int64_t pod_size = topo.get(topo.globals, "podsize", nodes);
  const std::int64_t leaf_down = topo.get(topo.tiers[0], "radix_down");
  const std::int64_t leaf_up = topo.get(topo.tiers[0], "radix_up");
  const std::int64_t spine_down = topo.get(topo.tiers[1], "radix_down");
  if (tiers != 2 && tiers != 3)
    topo.refuse(topo.place(topo.globals, "tiers"), fmt::format("Tiers is {}", tiers), "Tiers 2 or Tiers 3");
  if (diagnostics.has_errors()) return std::nullopt;

  ClosShape clos;
  clos.tiers = u32(tiers);
  clos.leaf_down = u32(leaf_down);
  clos.bundle = u32(topo.get(topo.tiers[1], "bundle", 1));
  const std::int64_t per_pod = tiers == 3 ? pod_size : nodes;
  const auto require = [&](bool holds, const Place& place, std::string message, std::string help) {
    if (!holds) topo.refuse(place, std::move(message), std::move(help));
  };
  const Place nodes_place = topo.place(topo.globals, "nodes");
  require(nodes % per_pod == 0, nodes_place, fmt::format("{} nodes are no whole number of pods of {}", nodes, per_pod),
          "Nodes is a multiple of Podsize");
  require(per_pod % leaf_down == 0, topo.place(topo.tiers[0], "radix_down"),
          fmt::format("a pod of {} is no whole number of leaves with {}", counted(per_pod, "node"), leaf_down),
          tiers == 3 ? "Podsize is a multiple of Radix_Down of tier 0" : "Nodes is a multiple of Radix_Down of tier 0");
  require(leaf_up % clos.bundle == 0, topo.place(topo.tiers[1], "bundle"),
          fmt::format("{} uplinks of a leaf cannot be bundles of {}", leaf_up, clos.bundle),
          "Radix_Up of tier 0 is a multiple of Bundle of tier 1");
  if (diagnostics.has_errors()) return std::nullopt;
  clos.leaves_per_pod = u32(per_pod / leaf_down);
  clos.spines_per_pod = u32(leaf_up / clos.bundle);
  require(spine_down == static_cast<std::int64_t>(clos.leaves_per_pod) * clos.bundle,
          topo.place(topo.tiers[1], "radix_down"),
          fmt::format("a spine has {} down, but a pod has {} with {} each", counted(spine_down, "port"),
                      counted(clos.leaves_per_pod, "leaf switch"), counted(clos.bundle, "link")),
          fmt::format("Radix_Down {} in tier 1", static_cast<std::int64_t>(clos.leaves_per_pod) * clos.bundle));
  const std::int64_t pods = nodes / per_pod;
  if (tiers == 3) {
    clos.super_bundle = u32(topo.get(topo.tiers[2], "bundle", 1));
    const std::int64_t spine_up = topo.get(topo.tiers[1], "radix_up");
    const std::int64_t core_down = topo.get(topo.tiers[2], "radix_down");
    const bool up_fits = spine_up % clos.super_bundle == 0;
    const Place core_place = topo.place(topo.tiers[2], "radix_down");
    require(up_fits && core_down % (pods * clos.super_bundle) == 0,
            up_fits ? core_place : topo.place(topo.tiers[1], "radix_up"),
            fmt::format("a spine has {} up and a core {} down, for {} in bundles of {}", counted(spine_up, "port"),
                        core_down, counted(pods, "pod"), clos.super_bundle),
            fmt::format("Radix_Down {} in tier 2, and Radix_Up of tier 1 a multiple of {}", pods * clos.super_bundle,
                        clos.super_bundle));
    if (diagnostics.has_errors()) return std::nullopt;
    const std::int64_t spines_of_core = core_down / (pods * clos.super_bundle);
    require(clos.spines_per_pod % spines_of_core == 0, core_place,
            fmt::format("a core is joined to {} of every pod, which has {}", counted(spines_of_core, "spine"),
                        clos.spines_per_pod),
            fmt::format("Radix_Down {} in tier 2", pods * clos.super_bundle));
    clos.supers_per_group = u32(spine_up / clos.super_bundle);
    clos.super_groups = u32(clos.spines_per_pod / std::max<std::int64_t>(1, spines_of_core));
    clos.super_wire = link_below(topo, 2);
  }
  const std::int64_t switches = nodes / leaf_down + pods * clos.spines_per_pod +
                                static_cast<std::int64_t>(clos.super_groups) * clos.supers_per_group;
  require(switches <= kMostSwitches, nodes_place, fmt::format("this fabric would have {} switches", grouped(switches)),
          fmt::format("at most {}", grouped(kMostSwitches)));
  clos.spine_wire = link_below(topo, 1);
  clos.sites = {{0, u32(nodes / leaf_down), 0, u32(pods)}};
  const Wire nic_wire = link_below(topo, 0);

  auto bare = catalog.load<SwitchKind>("switches", "tomahawk-5", diagnostics);
  auto pcie = catalog.load<LinkKind>("links", "pcie6", diagnostics);
  auto gpu = catalog.load<GpuKind>("gpus", "h100-sxm", diagnostics);
  auto nic = catalog.load<NicKind>("nics", "connectx-7", diagnostics);
  if (diagnostics.has_errors() || !bare || !pcie || !gpu || !nic) return std::nullopt;

  pcie->latency = Duration(0);  // htsim's hosts add nothing

  Cluster cluster;
  cluster.name = name;
  cluster.sites = {""};
  Group group;
  group.spec.kind = "htsim-node";
  group.spec.name = "s";
  group.spec.count = nodes;
  group.spec.gpus = group.spec.nics = 1;
  group.spec.gpu = *gpu;
  group.spec.gpu.kind = "host";
  group.spec.gpu.power = Power(0);
  group.spec.nic = *nic;
  group.spec.nic.rate = nic_wire.rate;
  group.spec.nic.latency = Duration(0);
  group.spec.nic.pcie_gen = group.spec.pcie_gen = 6;
  group.spec.nic.pcie_lanes = group.spec.pcie_lanes = 32;
  group.pcie = group.nic_pcie = *pcie;
  group.diagram = make_diagram(group.spec);
  group.servers = u32(nodes);
  cluster.servers = cluster.gpus = cluster.nics = u32(nodes);
  cluster.file.servers = {group.spec};
  static_cast<TrafficRules&>(cluster.file) = rules;
  cluster.file.fabric.kind = FabricKind::topo;
  cluster.groups = {group};
  for (std::size_t tier = 0; tier < static_cast<std::size_t>(tiers); ++tier) {
    SwitchKind kind = *bare;
    kind.kind = fmt::format("htsim-tier{}", tier);
    kind.breakout.clear();
    kind.latency = nanoseconds(topo.get(topo.tiers[tier], "switch_latency_ns", 0));
    kind.power.reset();
    const std::int64_t up = tier + 1 < static_cast<std::size_t>(tiers) ? topo.get(topo.tiers[tier], "radix_up") : 0;
    kind.ports = topo.get(topo.tiers[tier], "radix_down") + up;
    kind.rate = std::max(link_below(topo, tier).rate,
                         tier + 1 < static_cast<std::size_t>(tiers) ? link_below(topo, tier + 1).rate : Bandwidth{});
    cluster.shape.switches.push_back(kind);
  }
  cluster.shape.wiring = {Wiring{.servers_per_block = u32(leaf_down), .wire = nic_wire}};
  cluster.shape.layout = clos;
  if (diagnostics.has_errors()) return std::nullopt;
  return cluster;
}

}  // namespace weft::model
