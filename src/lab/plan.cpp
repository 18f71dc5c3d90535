#include "lab/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/wide.hpp"

namespace weft::lab {
namespace {

using render::Addressing;
using render::dotted;
using render::Port;

constexpr std::size_t kLongestName = 32;
constexpr Bandwidth kLeastRate{1'000'000};
// What a queue may hold, in time at the link's rate: as much as a busy core may be late.
constexpr std::int64_t kQueueMicroseconds = 4000;
constexpr std::int64_t kLeastBurst = 32'768;  // a timer's tick at 500 Mb/s, and three full packets

constexpr std::string_view kLogLine = "log syslog informational\n";  // of the rendered frr.conf

// Kernel settings behind those of the rendered sysctl.conf. Policy 1 would reuse the sending socket's random hash,
// which TCP draws anew at every timeout; 3 with these fields is the hash of a switch: addresses, protocol and ports.
constexpr std::pair<std::string_view, std::string_view> kSettings[] = {
    {"net.ipv4.fib_multipath_hash_policy", "3"}, {"net.ipv4.fib_multipath_hash_fields", "55"},
    {"net.ipv6.conf.default.accept_dad", "0"},   {"net.ipv6.conf.all.accept_dad", "0"},
    {"net.ipv4.conf.default.forwarding", "1"},   {"net.ipv6.conf.default.forwarding", "1"},
    {"net.ipv6.conf.default.disable_ipv6", "0"},
};

std::int64_t scaled(std::int64_t value, std::int64_t numerator, std::int64_t denominator) {
  return static_cast<std::int64_t>(static_cast<Wide>(value) * numerator / denominator);
}

void add_links(const Addressing& addressing, Plan& plan) {
  const std::uint32_t switches = addressing.switches();
  for (std::uint32_t server = 0; server < addressing.servers(); ++server) {
    std::vector<Port> ports = addressing.server_ports(server);
    for (Port& port : addressing.server_frontend(server)) ports.push_back(std::move(port));
    for (const Port& port : ports)
      if (port.connected)
        plan.links.push_back({{switches + server, port.interface},
                              {port.peer_index, port.peer_interface},
                              port.wire.rate,
                              port.wire.rate,
                              true});
  }
  for (std::uint32_t index = 0; index < addressing.fabric_switches(); ++index)
    for (const Port& port : addressing.switch_ports(index))
      if (port.connected && !port.peer_is_server && port.peer_index > index)
        plan.links.push_back(
            {{index, port.interface}, {port.peer_index, port.peer_interface}, port.wire.rate, port.wire.rate, false});
}

void scale(Plan& plan, Bandwidth rate) {
  const auto fastest = [&](bool nics) {
    Bandwidth most;
    for (const Link& link : plan.links)
      if (link.is_nic == nics) most = std::max(most, link.planned);
    return most;
  };
  plan.rate = rate;
  plan.planned = fastest(false);
  if (plan.planned.count() == 0) plan.planned = fastest(true);
  for (Link& link : plan.links)
    link.rate = std::max(kLeastRate, Bandwidth(scaled(link.planned.count(), rate.count(), plan.planned.count())));
}

// Collects addresses by the interfaces that lead to them.
class Reaches {
 public:
  void add(std::vector<std::string> interfaces, std::uint32_t address) {
    std::sort(interfaces.begin(), interfaces.end());
    if (!interfaces.empty()) by_interfaces_[std::move(interfaces)].push_back(dotted(address));
  }
  std::vector<Reach> take(bool any = false) {
    std::vector<Reach> all;
    for (auto& [interfaces, addresses] : by_interfaces_) all.push_back({interfaces, std::move(addresses), any});
    return all;
  }

 private:
  std::map<std::vector<std::string>, std::vector<std::string>> by_interfaces_;
};

// A NIC port of a server, and where it hangs.
struct NicPort {
  std::uint32_t server;
  std::uint32_t rail;
  std::uint32_t address;
  fabric::Attachment at;
};

std::vector<NicPort> nic_ports(const Addressing& addressing) {
  const fabric::Fabric& fabric = addressing.fabric();
  std::vector<NicPort> all;
  for (std::uint32_t server = 0; server < addressing.servers(); ++server) {
    const model::Group& group = addressing.group_of(server);
    const auto ports = static_cast<std::uint32_t>(group.spec.nic.ports);
    const std::uint32_t first = group.first_nic + (server - group.first_server) * group.nics();
    for (std::uint32_t rail = 0; rail < group.nics() * ports; ++rail)
      all.push_back({server, rail, addressing.nic(server, rail),
                     fabric.attachment(fabric.endpoint(first + rail / ports, rail % ports))});
  }
  return all;
}

std::vector<Reach> switch_reach(const Addressing& addressing, const std::vector<NicPort>& nics, std::uint32_t index) {
  const fabric::Fabric& fabric = addressing.fabric();
  const std::vector<Port> ports = addressing.switch_ports(index);
  const std::uint32_t local = index % fabric.switches_per_plane();
  Reaches reaches;
  for (const NicPort& nic : nics) {
    if (nic.at.plane != addressing.plane(index)) continue;
    std::vector<std::string> interfaces;
    fabric.ask([&](const auto& network) {
      network.for_each_port(local, nic.at.target, fabric::RouteState{},
                            [&](std::uint32_t port) { interfaces.push_back(ports[port].interface); });
    });
    reaches.add(std::move(interfaces), nic.address);
  }
  return reaches.take();
}

// Links from the switch with this number to all others, over switches alone.
std::vector<std::uint32_t> distances(const std::vector<std::vector<Port>>& ports, std::uint32_t from) {
  std::vector<std::uint32_t> away(ports.size(), UINT32_MAX);
  std::vector<std::uint32_t> next = {from};
  away[from] = 0;
  for (std::size_t i = 0; i < next.size(); ++i)
    for (const Port& port : ports[next[i]])
      if (port.connected && !port.peer_is_server && away[port.peer_index] == UINT32_MAX) {
        away[port.peer_index] = away[next[i]] + 1;
        next.push_back(port.peer_index);
      }
  return away;
}

// By switch, for networks that are no Clos.
std::vector<std::vector<Reach>> shortest_reach(const Addressing& addressing, const std::vector<NicPort>& nics) {
  std::vector<std::vector<Port>> ports;
  for (std::uint32_t i = 0; i < addressing.fabric_switches(); ++i) ports.push_back(addressing.switch_ports(i));
  std::vector<Reaches> reaches(ports.size());
  for (const NicPort& nic : nics) {
    const std::uint32_t last = nic.at.plane * addressing.fabric().switches_per_plane() + nic.at.target.leaf;
    const std::vector<std::uint32_t> away = distances(ports, last);
    for (std::uint32_t i = 0; i < ports.size(); ++i) {
      std::vector<std::string> interfaces;
      if (i == last) interfaces.push_back(ports[i][nic.at.target.port].interface);
      for (const Port& port : ports[i])
        if (port.connected && !port.peer_is_server && away[i] != UINT32_MAX && away[port.peer_index] + 1 == away[i])
          interfaces.push_back(port.interface);
      reaches[i].add(std::move(interfaces), nic.address);
    }
  }
  std::vector<std::vector<Reach>> all;
  for (Reaches& each : reaches) all.push_back(each.take(true));
  return all;
}

// A server reaches what is on a rail by its own NIC on that rail; for a rail that it has no NIC on nothing is planned.
std::vector<Reach> server_reach(const Addressing& addressing, const std::vector<NicPort>& nics, std::uint32_t server) {
  const fabric::Fabric& fabric = addressing.fabric();
  std::vector<const NicPort*> own;
  for (const NicPort& nic : nics)
    if (nic.server == server) own.push_back(&nic);
  const auto joined = [&](const fabric::Attachment& from, const fabric::Attachment& to) {
    return from.plane == to.plane &&
           (from.target.leaf == to.target.leaf || static_cast<bool>(fabric.next_hop(from.target.leaf, to.target, 0)));
  };
  Reaches reaches;
  for (const NicPort& nic : nics)
    if (nic.server != server && nic.rail < own.size() && joined(own[nic.rail]->at, nic.at))
      reaches.add({fmt::format("pf{}", nic.rail + 1)}, nic.address);
  // What hangs on the same two leaves of the frontend, by both; each leaf by its own cable.
  std::vector<std::string> both;
  std::vector<Port> leaf;
  for (const Port& port : addressing.server_frontend(server)) {
    if (!port.connected) continue;
    both.push_back(port.interface);
    leaf = addressing.switch_ports(port.peer_index);
    reaches.add({port.interface}, addressing.switch_loopback(port.peer_index));
  }
  for (const Port& port : leaf)
    if (port.peer_index != server) reaches.add(both, addressing.server_loopback(port.peer_index));
  return reaches.take();
}

// A leaf of the frontend reaches its servers; several pairs are joined by what is not in the file.
std::vector<Reach> frontend_reach(const Addressing& addressing, std::uint32_t index) {
  Reaches reaches;
  for (const Port& port : addressing.switch_ports(index))
    reaches.add({port.interface}, addressing.server_loopback(port.peer_index));
  return reaches.take();
}

std::vector<RailOfServer> rails_of(const Addressing& addressing, std::uint32_t server) {
  std::vector<RailOfServer> rails;
  for (const Port& port : addressing.server_ports(server))
    if (port.connected)
      rails.push_back({port.interface, dotted(addressing.nic(server, port.rail)),
                       addressing.pods(server, port.rail).text(), addressing.rail(port.rail).text()});
  return rails;
}

std::vector<std::string> owners(const Addressing& addressing) {
  std::vector<std::string> owner(addressing.servers());
  for (const model::TenantSpec& tenant : addressing.fabric().cluster().file.tenants)
    for (const Indices::Range& range : tenant.servers.ranges)
      for (std::int64_t i = range.first; i <= range.last && i < static_cast<std::int64_t>(owner.size()); ++i)
        owner[static_cast<std::size_t>(i)] = tenant.name;
  return owner;
}

std::string ratio(const Plan& plan) {
  const double times = static_cast<double>(plan.planned.count()) / static_cast<double>(plan.rate.count());
  return times >= 10 ? fmt::format("1:{:.0f}", times) : fmt::format("1:{:.2g}", times);
}

}  // namespace

std::uint32_t Device::planned_width() const {
  std::size_t widest = 0;
  for (const Reach& each : reach) widest = std::max(widest, each.any ? 1 : each.interfaces.size());
  return static_cast<std::uint32_t>(widest);
}

std::string Plan::netns(std::uint32_t device) const { return netns(devices[device].name); }
std::string Plan::netns(const std::string& device) const { return fmt::format("weft-{}-{}", name, device); }

const Device* Plan::find(std::string_view device) const {
  const auto found = std::find_if(devices.begin(), devices.end(), [&](const Device& d) { return d.name == device; });
  return found == devices.end() ? nullptr : &*found;
}

std::string lab_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain || upper)
      name += upper ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  name = name.substr(0, kLongestName);
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "lab" : name;
}

Result<Plan, render::Refusal> plan_lab(const Addressing& addressing, std::string name, Bandwidth rate) {
  if (rate < kLeastRate)
    return Failure<render::Refusal>({fmt::format("a lab's links carry at least {}", exact(kLeastRate)),
                                     fmt::format("{} is the default", exact(kDefaultRate))});
  Plan plan;
  plan.name = std::move(name);
  plan.cluster = addressing.fabric().cluster().name;
  const std::vector<NicPort> nics = nic_ports(addressing);
  const bool is_clos = addressing.fabric().clos() != nullptr;
  std::vector<std::vector<Reach>> shortest;
  if (!is_clos) shortest = shortest_reach(addressing, nics);
  for (std::uint32_t i = 0; i < addressing.switches(); ++i)
    plan.devices.push_back({addressing.switch_name(i), std::string(addressing.tier_noun(i)), false,
                            addressing.is_frontend(i) ? frontend_reach(addressing, i)
                            : is_clos                 ? switch_reach(addressing, nics, i)
                                                      : std::move(shortest[i])});
  plan.has_frontend = addressing.switches() > addressing.fabric_switches();
  const std::vector<std::string> owner = owners(addressing);
  for (std::uint32_t i = 0; i < addressing.servers(); ++i)
    plan.devices.push_back({addressing.server_name(i), "server", true, server_reach(addressing, nics, i),
                            rails_of(addressing, i), owner[i]});
  add_links(addressing, plan);
  scale(plan, rate);
  return plan;
}

std::vector<Overlay> overlays(const Plan& plan) {
  std::vector<Overlay> all = {
      {"rates", exact(plan.planned), exact(plan.rate),
       fmt::format("all links {}: one machine carries them", ratio(plan))},
      {"hash policy", "net.ipv4.fib_multipath_hash_policy=1", "3, fields 55",
       "with 1 Linux hashes what the sending socket drew, and no 5-tuple"},
      {"accept_dad", "1 (IPv6)", "0", "neighbours are found at once"},
      {"log", "syslog", "a file per device", "nothing of the machine's is touched"},
      {"zebra", "nexthop kernel enable", "no nexthop kernel enable",
       "FRR 8.4 does not put a link that came back into groups that the kernel took it out of"},
      {"CNI chain", "ovs-cni and nvidia-k8s-ipam before weft's own", "host-device and host-local",
       "veth pairs stand for virtual functions, and there is no Kubernetes to ask"},
      {"Open vSwitch", "in the kernel, with representors", "in user space, with veth pairs",
       "kernels need not have its module"},
  };
  if (!plan.has_frontend)
    all.push_back({"mgmt1, mgmt2", "sessions", "no cable", "the cluster file does not describe the frontend"});
  return all;
}

std::vector<std::string> not_exercised() {
  return {"ECN marking (the lab's queues drop only: kernels need not have RED)", "PFC", "lengths of cables",
          "buffers shared between ports"};
}

Shaping shaping(Bandwidth rate) {
  const std::int64_t bytes_per_second = rate.count() / 8;
  const std::int64_t burst = std::max(kLeastBurst, bytes_per_second / 2000);  // half a millisecond
  return {rate, burst, burst + std::max(scaled(bytes_per_second, kQueueMicroseconds, 1'000'000), kLeastBurst)};
}

std::string shaping_line(std::string_view verb, const std::string& interface, Bandwidth rate) {
  const Shaping shape = shaping(rate);
  return fmt::format("qdisc {} dev {} root tbf rate {}bit burst {}b limit {}b\n", verb, interface, shape.rate.count(),
                     shape.burst, shape.limit);
}

std::string namespaces_batch(const Plan& plan) {
  std::string text;
  for (std::uint32_t i = 0; i < plan.devices.size(); ++i) text += fmt::format("netns add {}\n", plan.netns(i));
  return text;
}

std::string links_batch(const Plan& plan) {
  std::string text;
  for (const Link& link : plan.links)
    text += fmt::format("link add name {} netns {} mtu {} type veth peer name {} mtu {} netns {}\n", link.a.interface,
                        plan.netns(link.a.device), kMtu, link.b.interface, kMtu, plan.netns(link.b.device));
  return text;
}

std::string interfaces_batch(const Plan& plan, std::uint32_t device) {
  std::string text = "link set lo up\n";
  for (const Link& link : plan.links)
    for (const End& end : {link.a, link.b})
      if (end.device == device) text += fmt::format("link set {} up\n", end.interface);
  return text;
}

std::string shaping_batch(const Plan& plan, std::uint32_t device) {
  std::string text;
  for (const Link& link : plan.links)
    for (const End& end : {link.a, link.b})
      if (end.device == device) text += shaping_line("add", end.interface, link.rate);
  return text;
}

std::vector<std::pair<std::string, std::string>> kernel_settings(std::string_view sysctl_conf) {
  std::vector<std::pair<std::string, std::string>> settings;
  while (!sysctl_conf.empty()) {
    const std::string_view line = sysctl_conf.substr(0, sysctl_conf.find('\n'));
    sysctl_conf.remove_prefix(std::min(sysctl_conf.size(), line.size() + 1));
    const std::size_t equals = line.find(" = ");
    if (!line.starts_with('#') && equals != std::string_view::npos)
      settings.emplace_back(line.substr(0, equals), line.substr(equals + 3));
  }
  settings.insert(settings.end(), std::begin(kSettings), std::end(kSettings));
  return settings;
}

std::string frr_for_lab(std::string rendered, const std::string& log_file) {
  const std::size_t at = rendered.find(kLogLine);
  const std::string instead = fmt::format("log file {} informational\nno zebra nexthop kernel enable\n", log_file);
  return at == std::string::npos ? instead + rendered : rendered.replace(at, kLogLine.size(), instead);
}

}  // namespace weft::lab
