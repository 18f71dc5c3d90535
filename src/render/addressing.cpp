#include "render/addressing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "base/text.hpp"
#include "fabric/cables.hpp"

namespace weft::render {
namespace {

using fabric::LinkTier;
using fabric::Peer;

constexpr std::uint32_t kServers = 10u << 24;
constexpr std::uint32_t kFrontendLeaves = kServers + (48u << 16);
constexpr std::uint32_t kSwitches = kServers + (64u << 16);
constexpr std::uint32_t kBackend = kServers + (128u << 16);
constexpr std::uint32_t kLoopbackBits = 22;  // of a /10
constexpr std::uint32_t kBackendBits = 23;   // of a /9
constexpr std::uint32_t kLeastServerBits = 1;

constexpr std::string_view kFrontendName = "frontend-leaf";

constexpr std::uint32_t kMostPaths = 256;  // of FRR as Debian and SONiC build it

constexpr std::uint32_t kGatewayAs = 4'200'000'000;
constexpr std::uint32_t kSuperSpineAs = 4'210'000'000;
constexpr std::uint32_t kSpineAs = 4'220'000'000;
constexpr std::uint32_t kLeafAs = 4'230'000'000;
constexpr std::uint32_t kFrontendAs = 4'250'000'000;
constexpr std::uint32_t kServerAs = 4'260'000'000;

// Electrical lanes of a front-panel port: OSFP and QSFP-DD have 8, what is slower than 400G comes in QSFP with 4.
std::uint32_t lanes_of(const model::SwitchKind& kind) { return kind.rate >= gigabits_per_second(400) ? 8 : 4; }

// What DNS, Kubernetes and Slurm all take.
std::string host_name(std::string name) {
  for (char& c : name) {
    if (c == '/' || c == '_' || c == '.') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

bool is_above(LinkTier tier, const fabric::Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  // Switches are numbered from the leaves up; between equals (Dragonfly, gateways of sites) nobody is above.
  if (tier == LinkTier::local || tier == LinkTier::global || tier == LinkTier::site) return false;
  return to % fabric.switches_per_plane() > from % fabric.switches_per_plane();
}

}  // namespace

std::string dotted(std::uint32_t address) {
  return fmt::format("{}.{}.{}.{}", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
}

std::string Prefix::text() const { return fmt::format("{}/{}", dotted(address), length); }

std::string peer_group(const Port& port) {
  if (port.peer_is_server) return "SERVERS";
  switch (port.tier) {
    case LinkTier::site:
      return "SITES";
    case LinkTier::local:
    case LinkTier::global:
      return "ROUTERS";
    default:
      return port.up ? "ABOVE" : "BELOW";
  }
}

Addressing::Addressing(const fabric::Fabric& fabric) : fabric_(&fabric), runs_(switches()) {
  for (const model::Group& group : fabric.cluster().groups)
    rails_ = std::max(rails_, group.nics() * static_cast<std::uint32_t>(group.spec.nic.ports));
  rail_bits_ = static_cast<std::uint32_t>(std::bit_width(std::max(rails_, 1u) - 1));
  while (server_bits_ > kLeastServerBits &&
         (std::uint64_t{servers()} << server_bits_) > (std::uint64_t{1} << (kBackendBits - rail_bits_)))
    --server_bits_;
}

Result<Addressing, Refusal> Addressing::of(const fabric::Fabric& fabric) {
  Addressing made(fabric);
  const auto too_many = [](std::uint64_t count, std::string_view noun, std::uint64_t most) {
    return Failure<Refusal>(Refusal{fmt::format("{} are more than the addressing plan has room for",
                                                counted(static_cast<std::int64_t>(count), noun)),
                                    fmt::format("at most {}", counted(static_cast<std::int64_t>(most), noun))});
  };
  const std::uint64_t loopbacks = (std::uint64_t{1} << kLoopbackBits) - 2;
  const std::uint64_t most_servers = kFrontendLeaves - kServers - 1;
  const std::uint64_t most_frontend = kSwitches - kFrontendLeaves - 2;
  const std::uint64_t frontend = made.switches() - made.fabric_switches();
  if (made.servers() > most_servers) return too_many(made.servers(), "server", most_servers);
  if (made.fabric_switches() > loopbacks) return too_many(made.fabric_switches(), "switch", loopbacks);
  if (frontend > most_frontend) return too_many(frontend, "frontend leaf", most_frontend);
  const std::uint64_t most = std::uint64_t{1} << (kBackendBits - made.rail_bits_ - made.server_bits_);
  if (made.servers() > most) return too_many(made.servers(), "server", most);
  if (const auto clash = made.name_clash()) return Failure<Refusal>(*clash);
  return made;
}

std::optional<Refusal> Addressing::name_clash() const {
  std::map<std::string, std::string> taken;  // by host name without its number
  for (std::uint32_t plane = 0; plane < fabric_->planes(); ++plane)
    for (const fabric::SwitchTier& tier : fabric_->tiers()) {
      std::string name = switch_name(plane * fabric_->switches_per_plane() + tier.first);
      if (tier.count > 0) taken.emplace(name.substr(0, name.size() - 1), "switches");
    }
  taken.emplace(kFrontendName, "leaves of the frontend");
  for (const model::Group& group : fabric_->cluster().groups) {
    const std::string name = host_name(group.spec.name);
    if (name.empty() || name.front() == '-')
      return Refusal{fmt::format("'{}0' is no name for a host", group.spec.name), "names begin with a letter or digit"};
    if (const auto [other, is_new] = taken.emplace(name, fmt::format("servers '{}'", group.spec.name)); !is_new)
      return Refusal{fmt::format("servers '{}' and {} would have the same host names", group.spec.name, other->second),
                     "host names know neither case nor '_' and '.'; give the group another name"};
  }
  return std::nullopt;
}

const model::Group& Addressing::group_of(std::uint32_t server) const {
  const auto& groups = fabric_->cluster().groups;
  std::size_t at = groups.size() - 1;
  while (groups[at].first_server > server) --at;
  return groups[at];
}

std::string Addressing::server_name(std::uint32_t server) const {
  const model::Group& group = group_of(server);
  return host_name(fmt::format("{}{}", group.spec.name, server - group.first_server));
}

std::string Addressing::switch_name(std::uint32_t index) const {
  if (is_frontend(index)) return fmt::format("{}{}", kFrontendName, index - fabric_switches());
  return host_name(fabric_->name(fabric_->node(fabric::NodeKind::network_switch, index)));
}

const model::SwitchKind& Addressing::switch_kind(std::uint32_t index) const {
  return is_frontend(index) ? fabric_->cluster().file.frontend->leaf_switch : fabric_->switch_kind(index);
}

std::string_view Addressing::tier_noun(std::uint32_t switch_index) const {
  if (is_frontend(switch_index)) return kFrontendName;
  const std::uint32_t local = switch_index % fabric_->switches_per_plane();
  for (const fabric::SwitchTier& tier : fabric_->tiers())
    if (local < tier.first + tier.count) return tier.noun;
  return "switch";
}

std::uint32_t Addressing::server_as(std::uint32_t server) const { return kServerAs + server; }

std::uint32_t Addressing::switch_as(std::uint32_t index) const {
  if (is_frontend(index)) return kFrontendAs + (index - fabric_switches());
  const std::uint32_t local = index % fabric_->switches_per_plane();
  const fabric::Clos* clos = fabric_->clos();
  if (clos == nullptr) return kLeafAs + index;
  const fabric::Clos::Position at = clos->position(local);
  const auto sites = static_cast<std::uint32_t>(clos->shape().sites.size());
  std::uint32_t pods = 0;
  for (const model::SiteShape& site : clos->shape().sites) pods += site.pods;
  switch (at.tier) {
    case fabric::Clos::Tier::leaf:
      return kLeafAs + plane(index) * clos->count(fabric::Clos::Tier::leaf) + at.index;
    case fabric::Clos::Tier::spine:
      return kSpineAs + plane(index) * pods + at.pod;
    case fabric::Clos::Tier::super_spine:
      return kSuperSpineAs + plane(index) * sites + at.site;
    case fabric::Clos::Tier::gateway:
      return kGatewayAs + plane(index) * sites + at.site;
  }
  return 0;
}

// From 1 on: some programs take an address that ends in 0 for a network's.
std::uint32_t Addressing::server_loopback(std::uint32_t server) const { return kServers + server + 1; }
std::uint32_t Addressing::switch_loopback(std::uint32_t index) const {
  return is_frontend(index) ? kFrontendLeaves + (index - fabric_switches()) + 1 : kSwitches + index + 1;
}

Prefix Addressing::backend() { return {kBackend, 32 - kBackendBits}; }
Prefix Addressing::switch_loopbacks() { return {kSwitches, 32 - kLoopbackBits}; }

Prefix Addressing::rail(std::uint32_t rail) const {
  return {kBackend + (rail << (kBackendBits - rail_bits_)), 32 - kBackendBits + rail_bits_};
}

Prefix Addressing::pods(std::uint32_t server, std::uint32_t rail) const {
  return {this->rail(rail).address + (server << server_bits_), 32 - server_bits_};
}

std::uint32_t Addressing::nic(std::uint32_t server, std::uint32_t rail) const { return pods(server, rail).address + 1; }

// Front-panel ports are filled in the fabric's order; a new one begins where the tier or the rate changes, as counts of
// ports have it (model::ports_needed). So a few runs of equal ports describe a switch.
const std::vector<Addressing::Run>& Addressing::runs(std::uint32_t index) const {
  std::vector<Run>& runs = runs_[index];
  if (!runs.empty()) return runs;
  const model::SwitchKind& kind = switch_kind(index);
  const auto split = [&](Bandwidth rate) {
    return static_cast<std::uint32_t>(std::max<std::int64_t>(1, model::links_per_port(kind, rate)));
  };
  if (is_frontend(index)) {
    const Bandwidth rate = fabric_->cluster().file.frontend->rate;
    runs.push_back({0, 0, split(rate), LinkTier::nic, {rate, Duration(0)}});
    return runs;
  }
  const std::uint32_t count = fabric_->ports(index);
  std::uint32_t group = 0;  // of the servers on it; a port that waits for one is like its neighbours
  for (std::uint32_t i = count; i-- > 0;)
    if (const auto endpoint = endpoint_on(index, i)) group = fabric_->describe(fabric_->nic_of(*endpoint)).group;
  std::uint32_t panels = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Peer peer = fabric_->peer(index, i);
    const LinkTier tier = peer.kind == Peer::Kind::other_switch ? peer.tier : LinkTier::nic;
    if (const auto endpoint = endpoint_on(index, i)) group = fabric_->describe(fabric_->nic_of(*endpoint)).group;
    const model::Wire wire = fabric_->wire(tier, group);
    if (!runs.empty() && runs.back().tier == tier && runs.back().wire.rate == wire.rate) continue;
    if (!runs.empty()) panels += (i - runs.back().first + runs.back().breakout - 1) / runs.back().breakout;
    runs.push_back({i, panels, split(wire.rate), tier, wire});
  }
  return runs;
}

Port Addressing::bare_port(std::uint32_t index, std::uint32_t number) const {
  const std::vector<Run>& all = runs(index);
  const Run& run = *std::prev(std::upper_bound(all.begin(), all.end(), number,
                                               [](std::uint32_t at, const Run& each) { return at < each.first; }));
  const std::uint32_t lanes = lanes_of(switch_kind(index));
  const model::ClusterFile& file = fabric_->cluster().file;
  Port port;
  port.tier = run.tier;
  port.wire = run.wire;
  port.frontend = is_frontend(index);
  port.cable = port.frontend ? file.frontend->cable : fabric::cable_length(run.tier, run.wire.latency, file.fabric);
  port.breakout = run.breakout;
  port.part = (number - run.first) % run.breakout;
  port.panel = run.panel + (number - run.first) / run.breakout;
  port.lanes = std::max(1u, lanes / run.breakout);
  port.interface = fmt::format("Ethernet{}", port.panel * lanes + port.part * port.lanes);
  return port;
}

std::optional<std::uint32_t> Addressing::endpoint_on(std::uint32_t index, std::uint32_t port) const {
  if (fabric_->peer(index, port).kind == Peer::Kind::other_switch) return std::nullopt;
  return fabric_->endpoint_at(plane(index), {index % fabric_->switches_per_plane(), port});
}

// Leaf 2k has mgmt1 of every server of pair k, leaf 2k + 1 mgmt2.
std::vector<Port> Addressing::frontend_leaf_ports(std::uint32_t leaf) const {
  const std::uint32_t each = fabric_->cluster().servers_per_frontend_leaf();
  const std::uint32_t first = leaf / 2 * each;
  std::vector<Port> ports;
  for (std::uint32_t server = first; server < std::min(first + each, servers()); ++server) {
    Port& port = ports.emplace_back(bare_port(fabric_switches() + leaf, server - first));
    port.connected = true;
    port.peer_is_server = true;
    port.peer_index = server;
    port.peer = server_name(server);
    port.peer_interface = fmt::format("mgmt{}", leaf % 2 + 1);
  }
  return ports;
}

std::vector<Port> Addressing::server_frontend(std::uint32_t server) const {
  const std::uint32_t each = fabric_->cluster().servers_per_frontend_leaf();
  std::vector<Port> ports(2);
  for (std::uint32_t i = 0; i < ports.size(); ++i) {
    if (each > 0) {
      const std::uint32_t leaf = fabric_switches() + server / each * 2 + i;
      const Port other = bare_port(leaf, server % each);
      ports[i].connected = true;
      ports[i].wire = other.wire;
      ports[i].cable = other.cable;
      ports[i].peer = switch_name(leaf);
      ports[i].peer_index = leaf;
      ports[i].peer_interface = other.interface;
    }
    ports[i].interface = fmt::format("mgmt{}", i + 1);
    ports[i].up = true;
    ports[i].frontend = true;
  }
  return ports;
}

Prefix Addressing::announced_by(const Port& to_server) const {
  return to_server.frontend ? Prefix{server_loopback(to_server.peer_index), 32}
                            : pods(to_server.peer_index, to_server.rail);
}

std::vector<Port> Addressing::switch_ports(std::uint32_t index) const {
  if (is_frontend(index)) return frontend_leaf_ports(index - fabric_switches());
  std::vector<Port> ports;
  for (std::uint32_t i = 0; i < fabric_->ports(index); ++i) {
    Port& port = ports.emplace_back(bare_port(index, i));
    if (const auto endpoint = endpoint_on(index, i)) {
      const fabric::NodeId nic = fabric_->nic_of(*endpoint);
      const fabric::Node at = fabric_->describe(nic);
      const std::uint32_t first = fabric_->endpoint(value(nic) - value(fabric_->node(fabric::NodeKind::nic, 0)), 0);
      port.connected = true;
      port.peer_is_server = true;
      port.peer_index = at.server;
      port.rail = at.local * static_cast<std::uint32_t>(group_of(at.server).spec.nic.ports) + (*endpoint - first);
      port.peer = server_name(at.server);
      port.peer_interface = fmt::format("pf{}", port.rail + 1);
    } else if (const Peer peer = fabric_->peer(index, i); peer.kind == Peer::Kind::other_switch) {
      port.connected = true;
      port.peer_index = plane(index) * fabric_->switches_per_plane() + peer.switch_index;
      port.up = is_above(port.tier, *fabric_, index, port.peer_index);
      port.peer = switch_name(port.peer_index);
      port.peer_interface = bare_port(port.peer_index, peer.port).interface;
    }
  }
  return ports;
}

std::vector<Port> Addressing::server_ports(std::uint32_t server) const {
  const model::Group& group = group_of(server);
  const auto nic_ports = static_cast<std::uint32_t>(group.spec.nic.ports);
  const std::uint32_t first_nic = group.first_nic + (server - group.first_server) * group.nics();
  std::vector<Port> ports;
  for (std::uint32_t rail = 0; rail < group.nics() * nic_ports; ++rail) {
    Port port;
    port.interface = fmt::format("pf{}", rail + 1);
    port.rail = rail;
    port.up = true;
    if (fabric_->has_network()) {
      const fabric::Attachment at =
          fabric_->attachment(fabric_->endpoint(first_nic + rail / nic_ports, rail % nic_ports));
      port.connected = true;
      port.wire = fabric_->wire(LinkTier::nic, static_cast<std::uint32_t>(&group - fabric_->cluster().groups.data()));
      port.cable = fabric::cable_length(LinkTier::nic, port.wire.latency, fabric_->cluster().file.fabric);
      port.peer_index = at.plane * fabric_->switches_per_plane() + at.target.leaf;
      port.peer = switch_name(port.peer_index);
      port.peer_interface = bare_port(port.peer_index, at.target.port).interface;
    }
    ports.push_back(port);
  }
  return ports;
}

std::uint32_t Addressing::ecmp_width(std::uint32_t switch_index) const {
  if (is_frontend(switch_index)) return 1;
  const std::uint32_t local = switch_index % fabric_->switches_per_plane();
  std::uint32_t widest = 1;
  if (const fabric::Clos* clos = fabric_->clos()) {
    // What lies in its own pod, in another and on another site is all there is to ask for.
    const model::ClosShape& shape = clos->shape();
    const fabric::Clos::Position own = clos->position(local);
    std::vector<std::uint32_t> leaves;
    for (const model::SiteShape& site : shape.sites) {
      leaves.insert(leaves.end(), {site.first_leaf, site.first_leaf + site.leaves - 1});
      const std::uint32_t in_site = own.pod - site.first_pod;
      if (own.tier <= fabric::Clos::Tier::spine && own.pod >= site.first_pod && in_site < site.pods) {
        const std::uint32_t first = site.first_leaf + in_site * shape.leaves_per_pod;
        leaves.insert(leaves.end(), {first, std::min(first + shape.leaves_per_pod, site.first_leaf + site.leaves) - 1});
      }
    }
    for (const std::uint32_t leaf : leaves)
      if (leaf != local) widest = std::max(widest, clos->towards(local, {leaf, 0}).count);
  } else if (fabric_->has_network()) {
    for (std::uint32_t leaf = 0; leaf < fabric_->tiers().front().count; ++leaf) {
      if (leaf == local) continue;
      std::uint32_t ports = 0;
      fabric_->ask([&](const auto& network) {
        network.for_each_port(local, fabric::Target{leaf, 0}, fabric::RouteState{}, [&](std::uint32_t) { ++ports; });
      });
      widest = std::max(widest, ports);
    }
  }
  return std::min(widest, kMostPaths);
}

}  // namespace weft::render
