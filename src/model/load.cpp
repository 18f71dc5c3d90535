#include "model/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "model/derive_shape.hpp"
#include "model/topo_file.hpp"
#include "spec/files.hpp"

namespace weft::model {
namespace {

using spec::Complaint;
using spec::Diagnostics;
using spec::Entry;
using spec::Node;
using spec::Place;

constexpr std::int64_t kMaxGpus = 16'777'216;

// Places of one server group in the user's tree.
struct GroupPlaces {
  const Node& node;
  Place of(std::string_view key) const {
    const Entry* entry = node.find(key);
    if (entry == nullptr) entry = node.find("kind");
    return entry != nullptr ? entry->value.place : node.place;
  }
};

void check_list(const std::vector<std::int64_t>& list, std::string_view key, std::int64_t length,
                std::int64_t places, std::string_view what, const GroupPlaces& at,
                Diagnostics& diagnostics) {
  if (list.empty()) return;
  if (static_cast<std::int64_t>(list.size()) != length) {
    diagnostics.add(Complaint::placement_mismatch, at.of(key),
                    fmt::format("'{}' has {} for {} parts", key,
                                counted(static_cast<std::int64_t>(list.size()), "entry"), length),
                    fmt::format("one number per part, from 0 to {}", places - 1));
    return;
  }
  const auto worst = *std::max_element(list.begin(), list.end());
  if (worst >= places)
    diagnostics.add(Complaint::placement_mismatch, at.of(key),
                    fmt::format("'{}' names {} {}, but there are {}", key, what, worst, places),
                    fmt::format("numbers from 0 to {}", places - 1));
}

void check_diagram(const ServerGroup& group, const GroupPlaces& at, Diagnostics& diagnostics) {
  const bool switched = group.pcie_switches > 0;
  const std::int64_t places = switched ? group.pcie_switches : group.sockets;
  const std::string_view what = switched ? "PCIe switch" : "CPU";
  check_list(group.gpu_switch, "gpu_switch", group.gpus, places, what, at, diagnostics);
  check_list(group.nic_switch, "nic_switch", group.nics, places, what, at, diagnostics);
  check_list(group.switch_socket, "switch_socket", group.pcie_switches, group.sockets, "CPU", at,
             diagnostics);
  if (group.sockets > 1 && !group.socket_link)
    diagnostics.add(Complaint::placement_mismatch, at.of("sockets"),
                    fmt::format("{} CPUs need a 'socket_link' between them", group.sockets),
                    "socket_link: upi, xgmi or another of `weft catalog links`");
}

void check_domain(const ServerGroup& group, const GroupPlaces& at, Diagnostics& diagnostics) {
  if (!group.scale_up) return;
  const ScaleUp& domain = *group.scale_up;
  const Place place = at.of("scale_up");
  const std::int64_t chips = group.gpus * domain.servers;
  if (domain.torus.empty() == (domain.switches == 0)) {
    diagnostics.add(Complaint::domain_mismatch, place,
                    "a scale-up network has either switches or a torus",
                    "scale_up: {link: nvlink4, switches: 4}, or {link: neuronlink-v2, torus: [4, 4]}");
    return;
  }
  if (!domain.link.both_ways)
    diagnostics.add(Complaint::missing_key, place,
                    fmt::format("the link '{}' has no 'both_ways' bandwidth", domain.link.kind), "");
  if (!domain.torus.empty()) {
    std::int64_t positions = 1;
    for (const std::int64_t side : domain.torus) positions = std::min(positions * side, kMaxGpus);
    if (positions != chips)
      diagnostics.add(Complaint::domain_mismatch, place,
                      fmt::format("the torus has {} positions for {} chips", grouped(positions), grouped(chips)),
                      "the product of its sides is the chips of one domain");
  }
  if (group.count % domain.servers != 0) {
    const std::int64_t whole = group.count / domain.servers * domain.servers;
    const std::string fewer = whole > 0 ? fmt::format("{} or ", whole) : "";
    diagnostics.add(Complaint::domain_mismatch, at.of("count"),
                    fmt::format("{} servers do not fill scale-up domains of {}", group.count, domain.servers),
                    fmt::format("count: {}{} would work", fewer, whole + domain.servers));
  }
}

void check_breakouts(const FabricSpec& fabric, const Node& root, Diagnostics& diagnostics) {
  const auto check = [&](const std::optional<SwitchKind>& kind, std::string_view key) {
    if (!kind) return;
    for (const std::string& text : kind->breakout) {
      const auto x = text.find('x');
      const bool digits = x != std::string::npos && x > 0 && x <= 3 &&
                          text.find_first_not_of("0123456789") == x && text[0] != '0';
      if (digits && parse<BandwidthDimension>(text.substr(x + 1))) continue;
      const Entry* section = root.find("fabric");
      const Entry* entry = section ? section->value.find(key) : nullptr;
      diagnostics.add(Complaint::wrong_type, entry ? entry->value.place : root.place,
                      fmt::format("'breakout' cannot be '{}'", text), "for example [2x400Gbps]");
    }
  };
  check(fabric.leaf_switch, "switch");
  check(fabric.spine_switch, "spine_switch");
  check(fabric.super_spine_switch, "super_spine_switch");
}

// The user's node for each group: the list's items, or the one mapping.
const Node& group_node(const Node& servers, std::size_t index) {
  return servers.is_sequence() && index < servers.items.size() ? servers.items[index] : servers;
}

void number_groups(Cluster& cluster, const Node& servers, const Catalog& catalog,
                   Diagnostics& diagnostics) {
  std::set<std::string> names;
  std::int64_t total_gpus = 0;
  std::int64_t total_nics = 0;
  for (std::size_t i = 0; i < cluster.file.servers.size(); ++i) {
    ServerGroup& spec = cluster.file.servers[i];
    const GroupPlaces at{group_node(servers, i)};
    if (spec.name.empty())
      spec.name = cluster.file.servers.size() == 1 ? "s" : std::string(1, static_cast<char>('a' + i % 26));
    if (spec.name.find_first_of("/ \t\"<>&'") != std::string::npos || spec.name.size() > 40)
      diagnostics.add(Complaint::out_of_range, at.of("name"), "this name cannot be used for servers",
                      "at most 40 letters, digits, dots and dashes");
    if (!names.insert(spec.name).second)
      diagnostics.add(Complaint::same_name, at.of("name"),
                      fmt::format("two groups of servers are called '{}'", spec.name),
                      "give each group a name of its own");
    check_diagram(spec, at, diagnostics);
    check_domain(spec, at, diagnostics);
    total_gpus += spec.gpus * spec.count;
    total_nics += spec.nics * spec.nic.ports * spec.count;
    if (total_gpus > kMaxGpus || total_nics > 4 * kMaxGpus) {
      diagnostics.add(Complaint::too_many_gpus, at.of("count"),
                      fmt::format("{} GPUs", grouped(total_gpus)),
                      fmt::format("at most {}", grouped(kMaxGpus)));
      return;
    }
    if (diagnostics.has_errors()) continue;

    Group group;
    const auto pcie = [&](std::int64_t gen) {
      return catalog.load<LinkKind>("links", fmt::format("pcie{}", gen), diagnostics).value_or(LinkKind{});
    };
    group.pcie = pcie(spec.pcie_gen);
    group.nic_pcie = spec.nics > 0 ? pcie(spec.nic.pcie_gen) : LinkKind{};
    group.diagram = make_diagram(spec);
    group.servers = static_cast<std::uint32_t>(spec.count);
    group.first_server = cluster.servers;
    group.first_gpu = cluster.gpus;
    group.first_nic = cluster.nics;
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

void check_tenants(const Cluster& cluster, const Node& root, Diagnostics& diagnostics) {
  const Entry* section = root.find("tenants");
  std::set<std::string> names;
  for (std::size_t i = 0; i < cluster.file.tenants.size(); ++i) {
    const TenantSpec& tenant = cluster.file.tenants[i];
    const Node& node = group_node(section->value, i);
    const auto place = [&](std::string_view key) {
      const Entry* entry = node.find(key);
      return entry ? entry->value.place : node.place;
    };
    if (!names.insert(tenant.name).second)
      diagnostics.add(Complaint::same_name, place("name"),
                      fmt::format("two tenants are called '{}'", tenant.name));
    if (tenant.servers.max() >= static_cast<std::int64_t>(cluster.servers))
      diagnostics.add(Complaint::out_of_range, place("servers"),
                      fmt::format("there is no server {}", tenant.servers.max()),
                      fmt::format("servers are numbered 0 to {}", cluster.servers - 1));
  }
}

void check_run(const Cluster& cluster, const Node& root, Diagnostics& diagnostics) {
  const Entry* section = root.find("run");
  if (section == nullptr) return;
  const std::vector<Node> alone = {section->value};
  for (const Node& work : section->value.is_sequence() ? section->value.items : alone) {
    for (const Entry& entry : work.entries) {
      const Entry* gpus = entry.value.find("gpus");
      if (gpus == nullptr || !gpus->value.is_scalar()) continue;
      if (std::atoll(gpus->value.text.c_str()) > static_cast<std::int64_t>(cluster.gpus))
        diagnostics.add(Complaint::out_of_range, gpus->value.place,
                        fmt::format("the cluster has no {} GPUs", gpus->value.text),
                        fmt::format("at most {}", grouped(cluster.gpus)));
    }
  }
}

}  // namespace

std::optional<Cluster> load_cluster(std::uint32_t source, const std::string& name,
                                    const LoadOptions& options, const Catalog& catalog,
                                    Diagnostics& diagnostics) {
  if (diagnostics.sources().name(source).ends_with(".topo"))
    return load_topo(source, name, options.set, catalog, diagnostics);
  Node root = spec::parse_yaml(source, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  if (root.kind == Node::Kind::null) {
    diagnostics.add(Complaint::empty_file, {source, 0, 0, 1}, "the file is empty",
                    "`weft init` writes a cluster file to start from");
    return std::nullopt;
  }
  for (const std::string& assignment : options.set) spec::apply_set(root, assignment, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;

  Cluster cluster;
  cluster.name = name;
  spec::Reader reader = catalog.reader(diagnostics);
  reader.read(root, cluster.file);
  if (const Entry* version = root.find("version"); version && cluster.file.version != 1)
    diagnostics.add(Complaint::bad_version, version->value.place,
                    fmt::format("version {} is not known", version->value.text), "version: 1");
  if (!cluster.file.name.empty()) cluster.name = cluster.file.name;
  if (diagnostics.has_errors()) return std::nullopt;

  // The reader has seen to it that the required sections are there.
  number_groups(cluster, root.find("servers")->value, catalog, diagnostics);
  check_breakouts(cluster.file.fabric, root, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  check_tenants(cluster, root, diagnostics);
  check_run(cluster, root, diagnostics);
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
  return load_cluster(*source, name, options, catalog, diagnostics);
}

std::optional<std::filesystem::path> find_cluster_file(const std::filesystem::path& directory,
                                                       Diagnostics& diagnostics) {
  std::set<std::filesystem::path> found;
  std::error_code error;
  for (const auto& item : std::filesystem::directory_iterator(directory, error))
    if (item.path().string().ends_with(".weft.yaml")) found.insert(item.path().filename());
  if (found.size() == 1) return *found.begin();
  if (found.empty()) {
    diagnostics.add(Complaint::no_file_here, {}, "no cluster file is named, and none is here",
                    "name one, or write one with `weft init`");
  } else {
    std::vector<std::string> names;
    for (const auto& path : found) names.push_back(path.string());
    diagnostics.add(Complaint::no_file_here, {},
                    fmt::format("no cluster file is named, and there are {} here", found.size()),
                    fmt::format("name one of {}", either(names)));
  }
  return std::nullopt;
}

}  // namespace weft::model
