// What people need who rack the machines: an inventory, every cable with both of its ends, and names for /etc/hosts.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "fabric/cables.hpp"
#include "fabric/position.hpp"
#include "render/render.hpp"

namespace weft::render {
namespace {

using fabric::Position;
using fabric::position_of;
using fabric::unit_name;

// A field of CSV (RFC 4180).
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// The label on the front: port 3, or its second half 3/2.
std::string label(const Port& port) {
  return port.breakout > 1 ? fmt::format("{}/{}", port.panel + 1, port.part + 1) : fmt::format("{}", port.panel + 1);
}

std::string metres_of(Length length) {
  return length.count() % 1000 == 0 ? fmt::format("{}", length.count() / 1000)
                                    : fmt::format("{:.3f}", static_cast<double>(length.count()) / 1000);
}

std::ptrdiff_t ports_used(const std::vector<Port>& ports) {
  return std::count_if(ports.begin(), ports.end(), [](const Port& port) { return port.connected; });
}

std::string inventory(const Addressing& plan, const Origin& origin) {
  const fabric::Fabric& fabric = plan.fabric();
  std::string text =
      header(origin, "hosts", "inventory", "#") + "name,role,kind,unit,pod,site,loopback,as,ports_used\n";
  const auto site = [&](std::uint32_t index) {
    const auto& sites = fabric.cluster().sites;
    return index < sites.size() ? field(sites[index]) : std::string();
  };
  for (std::uint32_t i = 0; i < plan.switches(); ++i) {
    std::string pod;
    std::string where;
    if (const fabric::Clos* clos = fabric.clos(); clos != nullptr && !plan.is_frontend(i)) {
      const fabric::Clos::Position at = clos->position(i % fabric.switches_per_plane());
      if (at.tier <= fabric::Clos::Tier::spine) pod = fmt::format("{}", at.pod);
      where = site(at.site);
    }
    text += fmt::format("{},{},{},,{},{},{},{},{}\n", plan.switch_name(i), plan.tier_noun(i),
                        field(plan.switch_kind(i).kind), pod, where, dotted(plan.switch_loopback(i)), plan.switch_as(i),
                        ports_used(plan.switch_ports(i)));
  }
  for (std::uint32_t i = 0; i < plan.servers(); ++i) {
    const Position at = position_of(fabric, i);
    text += fmt::format("{},server,{},{},{},{},{},{},{}\n", plan.server_name(i), field(plan.group_of(i).spec.kind),
                        unit_name(fabric, i), at.pod, site(at.site), dotted(plan.server_loopback(i)), plan.server_as(i),
                        ports_used(plan.server_ports(i)) + ports_used(plan.server_frontend(i)));
  }
  return text;
}

std::string cable(const fabric::Fabric& fabric, const std::string& device, const std::string& port_label,
                  const Port& port, const std::string& peer_label) {
  const model::LinkSpec* spec = port.frontend ? nullptr : fabric::cable_spec(port.tier, fabric.cluster().file.fabric);
  return fmt::format("{},{},{},{},{},{},{},{},{}\n", device, port_label, port.interface, port.peer, peer_label,
                     port.peer_interface, exact(port.wire.rate), metres_of(port.cable),
                     spec != nullptr ? field(spec->medium.kind) : "");
}

// Each cable once: from the server or the lower switch.
std::string cables(const Addressing& plan, const Origin& origin) {
  const fabric::Fabric& fabric = plan.fabric();
  std::string text = header(origin, "hosts", "cable list", "#") +
                     "from,from_port,from_interface,to,to_port,to_interface,rate,length_m,cable\n";
  // Labels of a switch's ports, by interface: a cable ends at one of them.
  const auto labels = [&](std::uint32_t index) {
    std::map<std::string, std::string> all;
    for (const Port& port : plan.switch_ports(index)) all[port.interface] = label(port);
    return all;
  };
  std::vector<std::map<std::string, std::string>> of_switch;
  for (std::uint32_t i = 0; i < plan.switches(); ++i) of_switch.push_back(labels(i));
  for (std::uint32_t i = 0; i < plan.servers(); ++i) {
    const auto nic_ports = static_cast<std::uint32_t>(plan.group_of(i).spec.nic.ports);
    for (const Port& port : plan.server_ports(i)) {
      if (!port.connected) continue;
      text += cable(fabric, plan.server_name(i),
                    nic_ports > 1 ? fmt::format("nic{}/{}", port.rail / nic_ports, port.rail % nic_ports + 1)
                                  : fmt::format("nic{}", port.rail),
                    port, of_switch[port.peer_index][port.peer_interface]);
    }
    for (const Port& port : plan.server_frontend(i))
      if (port.connected)
        text +=
            cable(fabric, plan.server_name(i), port.interface, port, of_switch[port.peer_index][port.peer_interface]);
  }
  for (std::uint32_t i = 0; i < plan.switches(); ++i)
    for (const Port& port : plan.switch_ports(i)) {
      const bool first_end = port.up || (port.peer_index > i && port.tier >= fabric::LinkTier::site);
      if (!port.connected || port.peer_is_server || !first_end) continue;
      text += cable(fabric, plan.switch_name(i), label(port), port, of_switch[port.peer_index][port.peer_interface]);
    }
  return text;
}

std::string etc_hosts(const Addressing& plan, const Origin& origin) {
  std::string text = header(origin, "hosts", "names", "#");
  for (std::uint32_t i = 0; i < plan.switches(); ++i)
    text += fmt::format("{}\t{}\n", dotted(plan.switch_loopback(i)), plan.switch_name(i));
  for (std::uint32_t i = 0; i < plan.servers(); ++i) {
    text += fmt::format("{}\t{}\n", dotted(plan.server_loopback(i)), plan.server_name(i));
    for (const Port& port : plan.server_ports(i))
      text += fmt::format("{}\t{}-{}\n", dotted(plan.nic(i, port.rail)), plan.server_name(i), port.interface);
  }
  return text;
}

}  // namespace

std::vector<File> hosts_files(const Addressing& plan, const Origin& origin) {
  return {{"hosts/inventory.csv", inventory(plan, origin)},
          {"hosts/cables.csv", cables(plan, origin)},
          {"hosts/etc-hosts", etc_hosts(plan, origin)}};
}

}  // namespace weft::render
