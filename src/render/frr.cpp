// FRR for every switch and server: BGP unnumbered over every cable, each session with BFD.
//
// A server speaks to both of its frontend leaves (mgmt1, mgmt2) and to the leaf of each rail. It tells the frontend its
// own address; each rail the address of its NIC, and those of pods on that NIC as the CNI plugin adds them. It never
// carries traffic for others: what it may tell is listed, here and again on the leaf.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "render/render.hpp"

namespace weft::render {
namespace {

// FRR detects a dead neighbour after three of them: below a second, and slow enough for a CPU with 64 sessions.
constexpr std::string_view kBfd =
    "bfd\n"
    " profile fabric\n"
    "  detect-multiplier 3\n"
    "  receive-interval 300\n"
    "  transmit-interval 300\n"
    " exit\n"
    "exit\n"
    "!\n";

std::string daemons(const Origin& origin, const std::string& device) {
  return header(origin, "frr", device, "#") +
         "# zebra and staticd are always started.\n"
         "bgpd=yes\n"
         "bfdd=yes\n"
         "\n"
         "vtysh_enable=yes\n"
         "zebra_options=\"  -A 127.0.0.1 -s 90000000\"\n"
         "bgpd_options=\"   -A 127.0.0.1\"\n"
         "staticd_options=\"-A 127.0.0.1\"\n"
         "bfdd_options=\"   -A 127.0.0.1\"\n";
}

// For switches and servers that are Linux machines; SONiC has its own.
std::string sysctl(const Origin& origin, const std::string& device, bool is_server) {
  return header(origin, "frr", device + ", for /etc/sysctl.d", "#") +
         "# Equal paths by addresses and ports, so that connections between two hosts spread.\n"
         "net.ipv4.fib_multipath_hash_policy = 1\n"
         "# BGP unnumbered finds its neighbours by IPv6's router advertisements.\n"
         "net.ipv6.conf.all.disable_ipv6 = 0\n"
         "net.ipv6.conf.all.forwarding = 1\n"
         "net.ipv4.ip_forward = 1\n" +
         (is_server ? "# While a rail is down its packets come by another one.\nnet.ipv4.conf.all.rp_filter = 2\n"
                    : "net.ipv4.conf.all.rp_filter = 0\n");
}

std::string beginning(const Origin& origin, const std::string& device, const std::string& what) {
  return header(origin, "frr", what, "!") + fmt::format(
                                                "frr defaults datacenter\n"
                                                "hostname {}\n"
                                                "log syslog informational\n"
                                                "service integrated-vtysh-config\n"
                                                "!\n",
                                                device);
}

std::string loopback(std::uint32_t address) {
  return fmt::format("interface lo\n ip address {}/32\nexit\n!\n", dotted(address));
}

std::string describe(const Port& port) {
  return fmt::format("{} {}, {}, {}", port.peer, port.peer_interface, exact(port.wire.rate), exact(port.cable));
}

std::string bgp_beginning(std::uint32_t as, std::uint32_t router_id) {
  return fmt::format(
      "router bgp {}\n"
      " bgp router-id {}\n"
      " bgp log-neighbor-changes\n"
      " no bgp ebgp-requires-policy\n"
      " no bgp default ipv4-unicast\n"
      " bgp bestpath as-path multipath-relax\n",
      as, dotted(router_id));
}

std::string peer_group_lines(std::string_view name) {
  return fmt::format(" neighbor {0} peer-group\n neighbor {0} bfd profile fabric\n", name);
}

std::string neighbor(std::string_view interface, std::string_view group) {
  return fmt::format(" neighbor {0} interface remote-as external\n neighbor {0} peer-group {1}\n", interface, group);
}

// ---- switches

std::string allowed(const Port& port) { return fmt::format("FROM-{}", port.interface); }

std::string switch_bgp(const Addressing& plan, std::uint32_t index, const std::vector<Port>& ports) {
  std::string text = bgp_beginning(plan.switch_as(index), plan.switch_loopback(index));
  std::set<std::string> groups;
  for (const Port& port : ports) groups.insert(peer_group(port));
  for (const std::string& group : groups) text += peer_group_lines(group);
  for (const Port& port : ports) text += neighbor(port.interface, peer_group(port));
  text += fmt::format(" !\n address-family ipv4 unicast\n  network {}/32\n", dotted(plan.switch_loopback(index)));
  for (const std::string& group : groups) text += fmt::format("  neighbor {} activate\n", group);
  for (const Port& port : ports)
    if (port.peer_is_server) text += fmt::format("  neighbor {} prefix-list {} in\n", port.interface, allowed(port));
  text += fmt::format("  maximum-paths {}\n exit-address-family\nexit\n!\n", plan.ecmp_width(index));
  return text;
}

std::string switch_config(const Addressing& plan, std::uint32_t index, const Origin& origin) {
  const std::string name = plan.switch_name(index);
  std::vector<Port> ports = plan.switch_ports(index);
  std::erase_if(ports, [](const Port& port) { return !port.connected; });
  std::string text = beginning(origin, name, name) + loopback(plan.switch_loopback(index));
  for (const Port& port : ports)
    text += fmt::format("interface {}\n description {}\nexit\n!\n", port.interface, describe(port));
  text += kBfd;
  // What a session refers to stands before it: FRR would otherwise let everything through for a moment.
  bool any = false;
  for (const Port& port : ports)
    if (port.peer_is_server) {
      if (!any)
        text += port.frontend ? "! A server may announce its own address, and nothing else.\n"
                              : "! A server may announce its own NIC and its own pods, and nothing else.\n";
      any = true;
      text += fmt::format("ip prefix-list {} seq 5 permit {}{}\n", allowed(port), plan.announced_by(port).text(),
                          port.frontend ? "" : " ge 32");
    }
  return text + (any ? "!\n" : "") + switch_bgp(plan, index, ports) + "end\n";
}

// ---- servers

std::string rail_list(std::uint32_t rail) { return fmt::format("RAIL{}", rail); }

std::string server_policies(const Addressing& plan, std::uint32_t server, const std::vector<Port>& ports) {
  std::string text = fmt::format(
      "! The frontend: this server's own address out, whatever it offers in, but nothing of the backend's.\n"
      "ip prefix-list SERVER seq 5 permit {}/32\n"
      "ip prefix-list BACKEND seq 5 permit {} le 32\n"
      "ip prefix-list BACKEND seq 10 permit {} le 32\n"
      "route-map FRONTEND-OUT permit 10\n"
      " match ip address prefix-list SERVER\n"
      "exit\n"
      "route-map FRONTEND-IN deny 10\n"
      " match ip address prefix-list BACKEND\n"
      "exit\n"
      "route-map FRONTEND-IN permit 20\n"
      "exit\n"
      "!\n",
      dotted(plan.server_loopback(server)), Addressing::backend().text(), Addressing::switch_loopbacks().text());
  text +=
      "! The backend: each NIC tells of itself and of pods on it; what is on its own rail is reached by it, other\n"
      "! rails only while their own NICs are down.\n";
  for (const Port& port : ports)
    text += fmt::format(
        "ip prefix-list {0}-OWN seq 5 permit {1} ge 32\n"
        "ip prefix-list {0} seq 5 permit {2} ge 32\n"
        "route-map {0}-OUT permit 10\n"
        " match ip address prefix-list {0}-OWN\n"
        "exit\n"
        "route-map {0}-IN permit 10\n"
        " match ip address prefix-list {0}\n"
        " set local-preference 200\n"
        "exit\n"
        "route-map {0}-IN permit 20\n"
        " match ip address prefix-list BACKEND\n"
        "exit\n"
        "!\n",
        rail_list(port.rail), plan.pods(server, port.rail).text(), plan.rail(port.rail).text());
  return text;
}

std::string server_bgp(const Addressing& plan, std::uint32_t server, const std::vector<Port>& ports) {
  const std::vector<Port> frontend = plan.server_frontend(server);
  std::string text = bgp_beginning(plan.server_as(server), plan.server_loopback(server));
  text += peer_group_lines("BACKEND") + peer_group_lines("FRONTEND");
  for (const Port& port : frontend) text += neighbor(port.interface, "FRONTEND");
  for (const Port& port : ports) text += neighbor(port.interface, "BACKEND");
  text += fmt::format(" !\n address-family ipv4 unicast\n  network {}/32\n", dotted(plan.server_loopback(server)));
  for (const Port& port : ports) text += fmt::format("  network {}/32\n", dotted(plan.nic(server, port.rail)));
  text +=
      "  neighbor BACKEND activate\n"
      "  neighbor FRONTEND activate\n"
      "  neighbor FRONTEND route-map FRONTEND-IN in\n"
      "  neighbor FRONTEND route-map FRONTEND-OUT out\n";
  for (const Port& port : ports)
    text += fmt::format("  neighbor {0} route-map {1}-IN in\n  neighbor {0} route-map {1}-OUT out\n", port.interface,
                        rail_list(port.rail));
  const std::size_t widest = std::max(ports.size(), frontend.size());
  return text + fmt::format("  maximum-paths {}\n exit-address-family\nexit\n!\n", widest);
}

std::string server_config(const Addressing& plan, std::uint32_t server, const Origin& origin) {
  const std::string name = plan.server_name(server);
  const std::vector<Port> ports = plan.server_ports(server);
  std::string text = beginning(origin, name, name) + loopback(plan.server_loopback(server));
  for (const Port& port : plan.server_frontend(server))
    text += fmt::format("interface {}\n description frontend leaf{}\nexit\n!\n", port.interface,
                        port.connected ? ": " + describe(port) : "");
  for (const Port& port : ports)
    text += fmt::format("interface {}\n description rail {}: {}\n ip address {}/32\nexit\n!\n", port.interface,
                        port.rail, describe(port), dotted(plan.nic(server, port.rail)));
  text += "! Addresses of pods that are not there (yet) end here and do not go back to the leaf.\n";
  for (const Port& port : ports) text += fmt::format("ip route {} blackhole\n", plan.pods(server, port.rail).text());
  text += "!\n";
  text += kBfd;
  return text + server_policies(plan, server, ports) + server_bgp(plan, server, ports) + "end\n";
}

}  // namespace

std::vector<File> frr_files(const Addressing& plan, const Origin& origin) {
  std::vector<File> files;
  const auto add = [&](const std::string& device, std::string config, bool is_server) {
    files.push_back({device + "/frr.conf", std::move(config)});
    files.push_back({device + "/daemons", daemons(origin, device)});
    files.push_back({device + "/sysctl.conf", sysctl(origin, device, is_server)});
  };
  for (std::uint32_t i = 0; i < plan.switches(); ++i) add(plan.switch_name(i), switch_config(plan, i, origin), false);
  for (std::uint32_t i = 0; i < plan.servers(); ++i) add(plan.server_name(i), server_config(plan, i, origin), true);
  return files;
}

}  // namespace weft::render
