#include "cni/flows.hpp"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

namespace weft::cni {
namespace {

constexpr std::uint64_t kBaseCookie = 0x77656674;       // "weft"
constexpr std::uint64_t kAnnouncedCookie = 0x77656675;  // what the agent has from BGP
constexpr std::uint64_t kTenantCookie = 0x77656676;

constexpr int kSpoofed = 30;
constexpr int kFromOthers = 31;
constexpr int kToOthers = 32;

std::string flow(std::uint64_t cookie, int table, int priority, const std::string& match, const std::string& actions) {
  return fmt::format("add cookie={:#x},table={},priority={}{}{},actions={}\n", cookie, table, priority,
                     match.empty() ? "" : ",", match, actions);
}

std::uint64_t number_after(const std::string& line, const std::string& key) {
  const std::size_t at = line.find(key);
  if (at == std::string::npos) return 0;
  const char* first = line.data() + at + key.size();
  const bool hex = line.compare(at + key.size(), 2, "0x") == 0;
  std::uint64_t value = 0;
  std::from_chars(hex ? first + 2 : first, line.data() + line.size(), value, hex ? 16 : 10);
  return value;
}

}  // namespace

std::string base_flows(std::optional<std::uint32_t> uplink) {
  const std::string outside = uplink ? fmt::format("in_port={}", *uplink) : "";
  const std::string to_uplink = uplink ? fmt::format("output:{}", *uplink) : "drop";
  std::string text = flow(kBaseCookie, 0, 100, "ip,in_port=LOCAL", "goto_table:5") +
                     flow(kBaseCookie, 0, 0, "", "drop") + flow(kBaseCookie, 5, 0, "", "goto_table:10") +
                     // What comes from outside for a pod that is not here; with an uplink, what the server itself says.
                     flow(kBaseCookie, 10, 10, "in_port=LOCAL", to_uplink) +
                     flow(kBaseCookie, 10, 0, "", "goto_table:15") + flow(kBaseCookie, 15, 0, "", "drop");
  if (!uplink) return text;
  text += flow(kBaseCookie, 0, 100, "ip," + outside, "goto_table:5") + flow(kBaseCookie, 10, 10, outside, "LOCAL");
  // Sessions of BGP and whom they ask for are IPv6 between neighbours.
  return text + flow(kBaseCookie, 0, 50, outside, "LOCAL") + flow(kBaseCookie, 0, 50, "in_port=LOCAL", to_uplink);
}

std::string pod_flows(const PodPort& pod, const std::string& bridge_mac) {
  const std::string from = fmt::format("in_port={}", pod.port);
  const std::string own_arp =
      fmt::format("{},arp,arp_op=1,dl_src={},arp_sha={},arp_spa={}", from, pod.mac, pod.mac, pod.address);
  const std::string is_tenants = fmt::format("write_metadata:{:#x}", pod.tenant.number);
  const auto add = [&](int table, int priority, const std::string& match, const std::string& actions) {
    return flow(pod.cookie, table, priority, match, actions);
  };
  std::string hex_mac = bridge_mac;
  std::erase(hex_mac, ':');
  // Whatever a pod asks for, the bridge says "here": packets go by their addresses alone, and pods see nobody's ARP.
  const std::string answer = fmt::format(
      "move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],mod_dl_src:{0},load:2->NXM_OF_ARP_OP[],"
      "move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],move:NXM_OF_ARP_TPA[]->NXM_NX_REG0[],"
      "move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],move:NXM_NX_REG0[]->NXM_OF_ARP_SPA[],load:0x{1}->NXM_NX_ARP_SHA[],"
      "in_port",
      bridge_mac, hex_mac);
  return add(0, 110, own_arp + ",arp_tpa=" + pod.address, "drop") +  // gratuitous: nobody needs to know
         add(0, 100, own_arp, answer) +
         add(0, 100, fmt::format("{},ip,dl_src={},nw_src={}", from, pod.mac, pod.address),
             is_tenants + ",goto_table:10") +
         add(0, 95, from + ",ipv6", "drop") +  // what every kernel says by itself; rails are IPv4
         add(0, 90, from, fmt::format("{},goto_table:{}", is_tenants, kSpoofed)) +
         add(10, 100, fmt::format("ip,metadata={:#x},nw_dst={}", pod.tenant.number, pod.address),
             fmt::format("mod_dl_src:{},mod_dl_dst:{},output:{}", bridge_mac, pod.mac, pod.port)) +
         add(10, 50, "ip,nw_dst=" + pod.address, fmt::format("{},goto_table:{}", is_tenants, kFromOthers));
}

std::string tenant_flows(const Tenant& tenant) {
  const std::string is = fmt::format("metadata={:#x}", tenant.number);
  std::string text = flow(kTenantCookie, 15, 1, is, fmt::format("goto_table:{}", kToOthers));
  for (const int table : {kSpoofed, kFromOthers, kToOthers}) text += flow(kTenantCookie, table, 1, is, "drop");
  return text;
}

std::string announced_flows(const std::vector<Announced>& all) {
  std::string text = fmt::format("delete cookie={:#x}/-1\n", kAnnouncedCookie);
  for (const Announced& each : all) {
    text += fmt::format("add cookie={:#x},hard_timeout={},table=5,priority=100,ip,nw_src={},", kAnnouncedCookie,
                        kAnnouncedExpire, each.address);
    text += fmt::format("actions=write_metadata:{:#x},goto_table:10\n", each.tenant.number);
    text += fmt::format("add cookie={:#x},hard_timeout={},table=15,priority=100,ip,metadata={:#x},nw_dst={},",
                        kAnnouncedCookie, kAnnouncedExpire, each.tenant.number, each.address);
    text += fmt::format("actions={}\n", each.way);
  }
  return text;
}

std::string by_uplink(std::uint32_t uplink, const std::string& bridge_mac, const std::string& next_hop) {
  return fmt::format("mod_dl_src:{},mod_dl_dst:{},output:{}", bridge_mac, next_hop, uplink);
}

std::string without_pod(std::uint64_t cookie) { return fmt::format("delete cookie={:#x}/-1\n", cookie); }

std::string without_tenant(const Tenant& tenant) {
  std::string text;
  for (const int table : {15, kSpoofed, kFromOthers, kToOthers})
    text += fmt::format("delete cookie={:#x}/-1,table={},metadata={:#x}\n", kTenantCookie, table, tenant.number);
  return text;
}

std::map<std::uint64_t, Drops> parse_drops(const std::string& dump) {
  std::map<std::uint64_t, Drops> drops;
  std::istringstream lines(dump);
  for (std::string line; std::getline(lines, line);) {
    if (number_after(line, "cookie=") != kTenantCookie) continue;
    Drops& of = drops[number_after(line, "metadata=")];
    const std::uint64_t packets = number_after(line, "n_packets=");
    const std::uint64_t table = number_after(line, "table=");
    if (table == kSpoofed) of.spoofed += packets;
    if (table == kFromOthers) of.from_others += packets;
    if (table == kToOthers) of.to_others += packets;
  }
  return drops;
}

}  // namespace weft::cni
