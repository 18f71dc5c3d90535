#include "model/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/result.hpp"
#include "base/text.hpp"
#include "model/derive_shape.hpp"
#include "model/infiniband.hpp"
#include "model/rule_checks.hpp"
#include "model/run_checks.hpp"
#include "model/topo_file.hpp"
#include "spec/files.hpp"

namespace weft::model {
namespace {

using spec::Diagnostics;
using spec::Entry;
using spec::Error;
using spec::Node;
using spec::Place;

// Places of one server group in the user's tree.
struct GroupPlaces {
  const Node& node;
  Place of(std::string_view key) const {
    const Entry* entry = node.find(key);
    if (entry == nullptr) entry = node.find("kind");
    return entry != nullptr ? entry->value.place : node.place;
  }
  Place item(std::string_view key, std::size_t index) const {
    const Entry* entry = node.find(key);
    return entry != nullptr && index < entry->value.items.size() ? entry->value.items[index].place : of(key);
  }
};

void check_list(const std::vector<std::int64_t>& list, std::string_view key, std::int64_t length, std::string_view part,
                std::int64_t places, std::string_view what, const GroupPlaces& at, Diagnostics& diagnostics) {
  if (list.empty()) return;
  if (static_cast<std::int64_t>(list.size()) != length) {
    diagnostics.add(Error::placement_mismatch, at.of(key),
                    fmt::format("'{}' has {} for {}", key, counted(static_cast<std::int64_t>(list.size()), "number"),
                                counted(length, part)),
                    fmt::format("one number per {}, each from 0 to {}", part, places - 1));
    return;
  }
  const auto worst = std::max_element(list.begin(), list.end());
  if (*worst >= places)
    diagnostics.add(Error::placement_mismatch, at.item(key, static_cast<std::size_t>(worst - list.begin())),
                    fmt::format("'{}' names {} {}, but the server has {}", key, what, *worst, counted(places, what)),
                    fmt::format("numbers from 0 to {}", places - 1));
}

// A link that is not PCIe must say what it carries: nothing crosses a link of rate 0.
void check_both_ways(const LinkKind& link, Place place, Diagnostics& diagnostics) {
  if (link.both_ways) return;
  diagnostics.add(Error::missing_key, place,
                  fmt::format("the link '{}' does not say what it carries ('both_ways')", link.kind),
                  fmt::format("another of `weft catalog links`, or {{kind: {}, both_ways: 900GB/s}}", link.kind));
}

void check_diagram(const ServerGroup& group, const GroupPlaces& at, Diagnostics& diagnostics) {
  const bool switched = group.pcie_switches > 0;
  const std::int64_t places = switched ? group.pcie_switches : group.sockets;
  const std::string_view what = switched ? "PCIe switch" : "CPU";
  check_list(group.gpu_switch, "gpu_switch", group.gpus, "GPU", places, what, at, diagnostics);
  check_list(group.nic_switch, "nic_switch", group.nics, "NIC", places, what, at, diagnostics);
  check_list(group.switch_socket, "switch_socket", group.pcie_switches, "PCIe switch", group.sockets, "CPU", at,
             diagnostics);
  if (group.sockets > 1 && !group.socket_link)
    diagnostics.add(Error::placement_mismatch, at.of("sockets"),
                    fmt::format("{} CPUs need a 'socket_link' between them", group.sockets),
                    "socket_link: upi, xgmi or another of `weft catalog links`");
  if (group.socket_link) check_both_ways(*group.socket_link, at.of("socket_link"), diagnostics);
  if (group.host_link) check_both_ways(*group.host_link, at.of("host_link"), diagnostics);
}

void check_domain(const ServerGroup& group, const GroupPlaces& at, Diagnostics& diagnostics) {
  if (!group.scale_up) return;
  const ScaleUp& domain = *group.scale_up;
  const Place place = at.of("scale_up");
  const std::int64_t chips = group.gpus * domain.servers;
  if (domain.torus.empty() == (domain.switches == 0)) {
    diagnostics.add(Error::domain_mismatch, place, "a scale-up network has either switches or a torus",
                    "scale_up: {link: nvlink4, switches: 4}, or {link: neuronlink-v2, torus: [4, 4]}");
    return;
  }
  check_both_ways(domain.link, place, diagnostics);
  if (!domain.torus.empty()) {
    std::int64_t positions = 1;
    for (const std::int64_t side : domain.torus) positions = std::min(positions * side, kMaxGpus);
    if (positions != chips)
      diagnostics.add(
          Error::domain_mismatch, place,
          fmt::format("the torus has {} for {} of one domain", counted(positions, "position"), counted(chips, "GPU")),
          "the sides of the torus multiply to the GPUs of one domain");
  }
  if (group.count % domain.servers != 0) {
    // Few servers may be meant as domains: 4 racks of an NVL72 are 72 servers.
    const std::int64_t whole = group.count / domain.servers * domain.servers;
    const std::string help =
        whole > 0 ? fmt::format("count: {} or {} would work", whole, whole + domain.servers)
                  : fmt::format("count: {} ({}) or {} (1 domain) would work", group.count * domain.servers,
                                counted(group.count, "domain"), domain.servers);
    diagnostics.add(Error::domain_mismatch, at.of("count"),
                    fmt::format("{} cannot fill scale-up domains of {}; count is of servers, not of domains",
                                counted(group.count, "server"), domain.servers),
                    help);
  }
}

void check_breakouts(const ClusterFile& file, const Node& root, Diagnostics& diagnostics) {
  const auto check = [&](const std::optional<SwitchKind>& kind, std::string_view key, std::string_view of = "fabric") {
    if (!kind) return;
    for (const std::string& text : kind->breakout) {
      const auto x = text.find('x');
      const bool digits =
          x != std::string::npos && x > 0 && x <= 3 && text.find_first_not_of("0123456789") == x && text[0] != '0';
      const auto rate =
          digits ? parse<BandwidthDimension>(text.substr(x + 1)) : Failure<UnitFault>(UnitFault::not_a_number);
      const std::int64_t parts = digits ? std::atoll(text.c_str()) : 0;
      if (rate && rate->count() > 0 && rate->count() <= kind->rate.count() / parts) continue;
      Place place = root.place;
      if (const Entry* section = root.find(of)) {
        place = section->value.place;
        if (const Entry* entry = section->value.find(key)) {
          place = entry->value.place;
          if (const Entry* own = entry->value.find("breakout")) place = own->value.place;
        }
      }
      if (rate && rate->count() > 0) {
        diagnostics.add(Error::out_of_range, place,
                        fmt::format("a port of {} cannot be split into {}", exact(kind->rate), spec::shown(text)),
                        "breakout: [] says that ports do not split");
      } else {
        diagnostics.add(Error::wrong_type, place, fmt::format("'breakout' cannot be '{}'", spec::shown(text)),
                        "ways x rate, for example breakout: [2x400Gbps, 4x200Gbps]");
      }
    }
  };
  check(file.fabric.leaf_switch, "switch");
  check(file.fabric.spine_switch, "spine_switch");
  check(file.fabric.super_spine_switch, "super_spine_switch");
  if (file.frontend) check(file.frontend->leaf_switch, "switch", "frontend");
}

// A warning for cables that are longer than their kind is sold.
void check_cables(const FabricSpec& fabric, const Node& root, Diagnostics& diagnostics) {
  if (fabric.kind == FabricKind::none) return;
  const auto check = [&](const LinkSpec& link, std::string_view key) {
    if (!link.medium.max_length || link.cable <= *link.medium.max_length) return;
    Place place = root.place;
    if (const Entry* section = root.find("fabric")) {
      place = section->value.place;
      if (const Entry* entry = section->value.find(key)) {
        place = entry->value.place;
        for (const std::string_view part : {"medium", "cable"})
          if (const Entry* own = entry->value.find(part)) place = own->value.place;
      }
    }
    const std::string kind =
        link.medium.kind.empty() ? "this cable" : fmt::format("'{}'", spec::shown(link.medium.kind));
    diagnostics.add(
        Error::long_cable, place,
        fmt::format("{} of {} is longer than it is sold ({})", exact(link.cable), kind, exact(*link.medium.max_length)),
        fmt::format("{}: {{cable: {}}}, or another medium of `weft catalog cables`", key,
                    exact(*link.medium.max_length)));
  };
  check(fabric.link, "link");
  if (fabric.spine_link) check(*fabric.spine_link, "spine_link");
  if (fabric.super_spine_link) check(*fabric.super_spine_link, "super_spine_link");
}

// The user's node for each group: the list's items, or the one mapping.
const Node& group_node(const Node& servers, std::size_t index) {
  return servers.is_sequence() && index < servers.items.size() ? servers.items[index] : servers;
}

bool usable_name(std::string_view name) {
  constexpr std::size_t kLongest = 40;
  return name.size() <= kLongest && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
                  c == '_';
         });
}

// Switches are called leaf0, spine3, ...: of servers 'leaf' or 'leaf1' it could not be told which leaf10 is meant.
bool is_name_of_switches(std::string_view name) {
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  constexpr std::string_view kTiers[] = {"leaf", "spine", "super", "gateway", "router"};
  return std::find(std::begin(kTiers), std::end(kTiers), name) != std::end(kTiers);
}

// a, b, ..., z, aa, ab, ...
std::string letters(std::size_t index) {
  std::string out;
  for (std::size_t rest = index + 1; rest > 0; rest = (rest - 1) / 26)
    out.insert(out.begin(), static_cast<char>('a' + (rest - 1) % 26));
  return out;
}

// Servers are called name0, name1, ...: with groups 's' and 's1' there could be two s10.
bool names_collide(const ServerGroup& shorter, const ServerGroup& longer) {
  if (!longer.name.starts_with(shorter.name)) return false;
  const std::string digits = longer.name.substr(shorter.name.size());
  if (digits.empty()) return true;
  if (digits[0] == '0' || digits.size() > 7 || digits.find_first_not_of("0123456789") != std::string::npos)
    return false;
  return std::atoll((digits + "0").c_str()) < shorter.count;
}

void check_names(const std::vector<ServerGroup>& groups, std::size_t index, Place place, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < index; ++i) {
    const ServerGroup& other = groups[i];
    const ServerGroup& mine = groups[index];
    if (other.name == mine.name) {
      diagnostics.add(Error::same_name, place, fmt::format("two groups of servers are called '{}'", mine.name),
                      "give each group a name of its own");
      return;
    }
    const bool other_shorter = other.name.size() < mine.name.size();
    if (!names_collide(other_shorter ? other : mine, other_shorter ? mine : other)) continue;
    diagnostics.add(Error::same_name, place,
                    fmt::format("groups '{}' and '{}' both have a server {}0", other.name, mine.name,
                                other_shorter ? mine.name : other.name),
                    "let group names end in something else than a digit");
    return;
  }
}

// What a kind of server takes has the GPUs of that kind in it; with others, fewer or hotter ones it takes as much more
// or less as they do.
void settle_power(ServerGroup& spec, const Node& written, const Catalog& catalog, Diagnostics& diagnostics) {
  if (!spec.power || spec.kind.empty() || written.find("power") != nullptr) return;
  const auto kind = catalog.load<ServerKind>("servers", spec.kind, diagnostics, written.place);
  if (!kind || !kind->power) return;
  const Power more = spec.gpu.power * spec.gpus - kind->gpu.power * kind->gpus;
  spec.power = std::max(Power(0), *kind->power + more);
}

void number_groups(Cluster& cluster, const Node& servers, const Catalog& catalog, Diagnostics& diagnostics) {
  std::int64_t total_gpus = 0;
  std::int64_t total_nics = 0;
  for (std::size_t i = 0; i < cluster.file.servers.size(); ++i) {
    ServerGroup& spec = cluster.file.servers[i];
    const GroupPlaces at{group_node(servers, i)};
    if (spec.name.empty()) spec.name = cluster.file.servers.size() == 1 ? "s" : letters(i);
    if (!usable_name(spec.name)) {
      diagnostics.add(Error::out_of_range, at.of("name"),
                      fmt::format("servers cannot be called '{}'", spec::shown(spec.name)),
                      "at most 40 letters, digits, dots, dashes and underscores");
    } else if (is_name_of_switches(spec.name)) {
      diagnostics.add(Error::same_name, at.of("name"),
                      fmt::format("servers '{}0' are called as switches are", spec.name),
                      fmt::format("another name, for example {}-server", spec.name));
    } else {
      check_names(cluster.file.servers, i, at.of("name"), diagnostics);
    }
    check_diagram(spec, at, diagnostics);
    check_domain(spec, at, diagnostics);
    total_gpus += spec.gpus * spec.count;
    total_nics += spec.nics * spec.nic.ports * spec.count;
    if (total_gpus > kMaxGpus || total_nics > 4 * kMaxGpus) {
      diagnostics.add(Error::too_many_gpus, at.of("count"),
                      total_gpus > kMaxGpus
                          ? fmt::format("the servers so far have {}", counted(total_gpus, "GPU"))
                          : fmt::format("the servers so far have {}", counted(total_nics, "NIC port")),
                      fmt::format("at most {} GPUs and {} NIC ports", grouped(kMaxGpus), grouped(4 * kMaxGpus)));
      return;
    }
    if (diagnostics.has_errors()) continue;

    Group group;
    const auto pcie = [&](std::int64_t gen, std::string_view key) {
      const auto known = catalog.names("links");
      if (std::find(known.begin(), known.end(), fmt::format("pcie{}", gen)) == known.end()) {
        diagnostics.add(Error::unknown_kind, at.of(key),
                        fmt::format("the catalog does not know PCIe generation {}", gen),
                        fmt::format("add a link 'pcie{}' to a directory given with --catalog", gen));
        return LinkKind{};
      }
      return catalog.load<LinkKind>("links", fmt::format("pcie{}", gen), diagnostics, at.of(key)).value_or(LinkKind{});
    };
    group.pcie = pcie(spec.pcie_gen, "pcie_gen");
    group.nic_pcie = spec.nics > 0 ? pcie(spec.nic.pcie_gen, "nic") : LinkKind{};
    group.diagram = make_diagram(spec);
    group.servers = static_cast<std::uint32_t>(spec.count);
    group.first_server = cluster.servers;
    group.first_gpu = cluster.gpus;
    group.first_nic = cluster.nics;
    if (!spec.p2p) spec.scale_up.reset();
    settle_power(spec, at.node, catalog, diagnostics);
    group.spec = spec;
    const auto site = std::find(cluster.sites.begin(), cluster.sites.end(), spec.site);
    group.site = static_cast<std::uint32_t>(site - cluster.sites.begin());
    if (site == cluster.sites.end()) cluster.sites.push_back(spec.site);
    cluster.servers += group.servers;
    cluster.gpus += group.servers * group.gpus();
    cluster.nics += group.servers * group.nics();
    cluster.groups.push_back(std::move(group));
  }
}

// A server has one owner.
void check_owners(const std::vector<TenantSpec>& tenants, const Node& section, Diagnostics& diagnostics) {
  struct Owned {
    std::int64_t first;
    std::int64_t last;
    std::size_t tenant;
  };
  std::vector<Owned> all;
  for (std::size_t i = 0; i < tenants.size(); ++i)
    for (const Indices::Range& range : tenants[i].servers.ranges) all.push_back({range.first, range.last, i});
  std::stable_sort(all.begin(), all.end(), [](const Owned& a, const Owned& b) { return a.first < b.first; });
  std::set<std::size_t> told;
  Owned furthest{-1, -1, 0};
  for (const Owned& each : all) {
    const std::size_t later = std::max(each.tenant, furthest.tenant);
    if (each.first <= furthest.last && each.tenant != furthest.tenant && told.insert(later).second)
      diagnostics.add(Error::contradiction, GroupPlaces{group_node(section, later)}.of("servers"),
                      fmt::format("server {} belongs to two tenants, '{}' and '{}'", each.first,
                                  spec::shown(tenants[std::min(each.tenant, furthest.tenant)].name),
                                  spec::shown(tenants[later].name)),
                      "give each server to one of them");
    if (each.last > furthest.last) furthest = each;
  }
}

// Both leaves of a pair have a port for each of its servers.
void check_frontend(const Cluster& cluster, const Node& root, Diagnostics& diagnostics) {
  if (!cluster.file.frontend) return;
  const FrontendSpec& spec = *cluster.file.frontend;
  const GroupPlaces at{root.find("frontend")->value};
  const std::int64_t links = links_per_port(spec.leaf_switch, spec.rate);
  if (links == 0) {
    diagnostics.add(
        Error::port_budget, at.of("rate"),
        fmt::format("a frontend leaf has links of {}, but the ports of {} are {} at most", exact(spec.rate),
                    spec.leaf_switch.kind, exact(spec.leaf_switch.rate)),
        fmt::format("rate: {}, or a faster switch (`weft catalog switches`)", exact(spec.leaf_switch.rate)));
    return;
  }
  const std::int64_t most = spec.leaf_switch.ports * links;
  const std::int64_t servers = std::min<std::int64_t>(spec.servers_per_leaf.value_or(cluster.servers), cluster.servers);
  if (servers > most)
    diagnostics.add(Error::port_budget, at.of(spec.servers_per_leaf ? "servers_per_leaf" : "switch"),
                    fmt::format("a frontend leaf has {} of {}, but {} has room for {}", counted(servers, "server"),
                                exact(spec.rate), spec.leaf_switch.kind, grouped(most)),
                    fmt::format("servers_per_leaf: {} would work", most));
}

void check_storage(const std::vector<StorageTier>& tiers, const Node& root, Diagnostics& diagnostics) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < tiers.size(); ++i)
    if (!tiers[i].name.empty() && !names.insert(tiers[i].name).second)
      diagnostics.add(Error::same_name, GroupPlaces{group_node(root.find("storage")->value, i)}.of("name"),
                      fmt::format("two storage tiers are called '{}'", spec::shown(tiers[i].name)),
                      "give each tier a name of its own");
}

void check_tenants(const Cluster& cluster, const Node& root, Diagnostics& diagnostics) {
  const Entry* section = root.find("tenants");
  if (section == nullptr) return;
  check_owners(cluster.file.tenants, section->value, diagnostics);
  std::set<std::string> names;
  for (std::size_t i = 0; i < cluster.file.tenants.size(); ++i) {
    const TenantSpec& tenant = cluster.file.tenants[i];
    const Node& node = group_node(section->value, i);
    const auto place = [&](std::string_view key) {
      const Entry* entry = node.find(key);
      return entry ? entry->value.place : node.place;
    };
    if (!tenant.name.empty() && !names.insert(tenant.name).second)
      diagnostics.add(Error::same_name, place("name"),
                      fmt::format("two tenants are called '{}'", spec::shown(tenant.name)),
                      "give each tenant a name of its own");
    if (!tenant.servers.ranges.empty() && tenant.servers.max() >= static_cast<std::int64_t>(cluster.servers))
      diagnostics.add(Error::out_of_range, place("servers"), fmt::format("there is no server {}", tenant.servers.max()),
                      fmt::format("servers are numbered 0 to {}", cluster.servers - 1));
  }
}

// Servers and GPUs in all, where every group has said how many; the rest of it may be wrong.
bool count_servers(Cluster& cluster) {
  std::int64_t servers = 0;
  std::int64_t gpus = 0;
  for (const ServerGroup& group : cluster.file.servers) {
    if (group.count < 1 || group.gpus < 1) return false;
    servers += group.count;
    gpus += group.count * group.gpus;
  }
  if (servers == 0 || gpus > kMaxGpus) return false;
  cluster.servers = static_cast<std::uint32_t>(servers);
  cluster.gpus = static_cast<std::uint32_t>(gpus);
  return true;
}

bool is_other_version(const Node& node) {
  return node.is_scalar() && !node.text.empty() && node.text != "1" &&
         node.text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

std::optional<Cluster> load_cluster(std::uint32_t source, const std::string& name, const LoadOptions& options,
                                    const Catalog& catalog, Diagnostics& diagnostics) {
  if (diagnostics.sources().name(source).ends_with(".topo"))
    return load_topo(source, name, options.set, catalog, diagnostics);
  Node root = spec::parse_yaml(source, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  if (root.kind == Node::Kind::null) {
    diagnostics.add(Error::empty_file, {source, 0, 0, 1}, "the file describes nothing",
                    "`weft init` writes a cluster file to start from");
    return std::nullopt;
  }
  for (const std::string& assignment : options.set) spec::apply_set(root, assignment, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;

  // Of a file in another format, nothing else can be said.
  if (const Entry* version = root.find("version"); version && is_other_version(version->value)) {
    diagnostics.add(Error::bad_version, version->value.place,
                    fmt::format("version {} is not known", spec::shown(version->value.text)),
                    "this weft reads version: 1");
    return std::nullopt;
  }
  Cluster cluster;
  cluster.name = name;
  spec::Reader reader = catalog.reader(diagnostics);
  reader.read(root, cluster.file);
  if (const Entry* servers = root.find("servers");
      servers && servers->value.is_sequence() && servers->value.items.empty())
    diagnostics.add(Error::empty_value, servers->value.place, "'servers' is an empty list",
                    "for example servers: {kind: hgx-h100, count: 4}");
  if (!cluster.file.name.empty()) cluster.name = cluster.file.name;
  if (diagnostics.has_errors()) {
    // Who owns and runs what can be checked as long as it is known how many servers there are.
    if (count_servers(cluster)) {
      check_tenants(cluster, root, diagnostics);
      check_storage(cluster.file.storage, root, diagnostics);
      check_run(cluster, root, diagnostics);
    }
    return std::nullopt;
  }

  // The reader has seen to it that the required sections are there.
  number_groups(cluster, root.find("servers")->value, catalog, diagnostics);
  const bool numbered = !diagnostics.has_errors();
  check_breakouts(cluster.file, root, diagnostics);
  const bool can_close = !diagnostics.has_errors();
  check_cables(cluster.file.fabric, root, diagnostics);
  if (numbered) check_tenants(cluster, root, diagnostics);
  if (numbered) check_frontend(cluster, root, diagnostics);
  check_storage(cluster.file.storage, root, diagnostics);
  if (numbered) check_run(cluster, root, diagnostics);
  settle_infiniband(cluster.file, root, diagnostics);
  check_rules(cluster.file, root, diagnostics);
  if (!can_close) return std::nullopt;
  auto shape = derive_shape(cluster, root, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  cluster.shape = std::move(*shape);
  return cluster;
}

std::optional<Cluster> load_cluster(const std::filesystem::path& path, const LoadOptions& options,
                                    const Catalog& catalog, Diagnostics& diagnostics) {
  const auto source = spec::load_file(path, diagnostics);
  if (!source) return std::nullopt;
  std::string name = path.filename().string();
  for (const std::string_view ending : {".weft.yaml", ".yaml", ".topo"})
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  if (name == "-") name = "cluster";
  return load_cluster(*source, name, options, catalog, diagnostics);
}

namespace {

// "spine0,kind=down": the value of the first key, then others with their names. The same as a mapping in the file.
template <class T>
T read_keys(const std::string& option, const std::string& first_key, const std::string& text, const Catalog& catalog,
            spec::Diagnostics& diagnostics) {
  std::string yaml = "{" + first_key + ": '";
  const std::size_t comma = std::min(text.find(','), text.size());
  yaml += text.substr(0, comma) + "'";
  for (std::size_t at = comma; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at + 1), text.size());
    std::string item = text.substr(at, end - at);
    if (const std::size_t equals = item.find('='); equals != std::string::npos) item.replace(equals, 1, ": ");
    yaml += item;
    at = end;
  }
  const std::uint32_t source = diagnostics.sources().add(option, yaml + "}");
  T out;
  const spec::Node node = spec::parse_yaml(source, diagnostics);
  if (!diagnostics.has_errors()) catalog.reader(diagnostics).read(node, out);
  return out;
}

}  // namespace

FaultSpec read_fault(const std::string& text, const Catalog& catalog, spec::Diagnostics& diagnostics) {
  return read_keys<FaultSpec>("--fault", "part", text, catalog, diagnostics);
}

TrafficRun read_traffic(const std::string& text, const Catalog& catalog, spec::Diagnostics& diagnostics) {
  return read_keys<TrafficRun>("--stream", "name", text, catalog, diagnostics);
}

std::optional<std::filesystem::path> find_cluster_file(const std::filesystem::path& directory,
                                                       Diagnostics& diagnostics) {
  std::set<std::filesystem::path> found;
  std::error_code error;
  for (const auto& item : std::filesystem::directory_iterator(directory, error))
    if (item.path().string().ends_with(".weft.yaml")) found.insert(item.path().filename());
  if (found.size() == 1) return *found.begin();
  if (found.empty()) {
    diagnostics.add(Error::no_file_here, {}, "no cluster file is named, and none is here",
                    "name one, or write one with `weft init`");
  } else {
    std::vector<std::string> names;
    for (const auto& path : found) names.push_back(path.string());
    diagnostics.add(Error::no_file_here, {},
                    fmt::format("no cluster file is named, and there are {} here", found.size()),
                    fmt::format("name one of {}", either(names)));
  }
  return std::nullopt;
}

}  // namespace weft::model
