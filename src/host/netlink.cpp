#include "host/netlink.hpp"

#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "host/process.hpp"

namespace weft::host {
namespace {

// Attributes one behind another, by type.
template <class Visit>
void for_each_attribute(const void* first, std::size_t length, Visit visit) {
  auto* at = static_cast<const rtattr*>(first);
  for (int left = static_cast<int>(length); RTA_OK(at, left); at = RTA_NEXT(at, left))
    visit(at->rta_type & NLA_TYPE_MASK, RTA_DATA(at), RTA_PAYLOAD(at));
}

template <class Value>
Value value_at(const void* data, std::size_t length) {
  Value value{};
  std::memcpy(&value, data, std::min(length, sizeof value));
  return value;
}

template <class Header>
const void* behind(const nlmsghdr* message) {
  return static_cast<const char*>(NLMSG_DATA(message)) + NLMSG_ALIGN(sizeof(Header));
}

template <class Header>
std::size_t length_behind(const nlmsghdr* message) {
  return message->nlmsg_len - NLMSG_SPACE(sizeof(Header));
}

}  // namespace

std::optional<Netlink> Netlink::open(const std::string& netns) {
  Descriptor route;
  Descriptor control;
  const bool entered = within(netns, [&] {
    route = Descriptor(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    control = Descriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  });
  if (!entered || !route || !control) return std::nullopt;
  return Netlink(std::move(route), std::move(control));
}

std::optional<Netlink> Netlink::open_here() { return open("/proc/thread-self/ns/net"); }

std::map<std::string, Netlink::Pair> Netlink::pairs() {
  std::map<std::string, Pair> all;
  if (!request(RTM_GETLINK, AF_UNSPEC)) return all;
  answers([&](const nlmsghdr* message) {
    Pair pair{static_cast<const ifinfomsg*>(NLMSG_DATA(message))->ifi_index, 0};
    std::string name;
    for_each_attribute(behind<ifinfomsg>(message), length_behind<ifinfomsg>(message),
                       [&](int type, const void* data, std::size_t length) {
                         if (type == IFLA_IFNAME) name = static_cast<const char*>(data);
                         if (type == IFLA_LINK) pair.peer = value_at<int>(data, length);
                       });
    all[name] = pair;
  });
  return all;
}

std::optional<Netlink::Pair> Netlink::pair(const std::string& interface) {
  const auto all = pairs();
  const auto found = all.find(interface);
  return found == all.end() || found->second.peer == 0 ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> Netlink::interface_paired(int index, int peer) {
  for (const auto& [name, pair] : pairs())
    if (pair.index == index && pair.peer == peer) return name;
  return std::nullopt;
}

bool Netlink::request(std::uint16_t type, unsigned char family) {
  struct {
    nlmsghdr header;
    ifinfomsg body;  // as long as any of the kinds that are asked for; the family stands first in all
  } message{};
  message.header.nlmsg_len = sizeof message;
  message.header.nlmsg_type = type;
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  message.body.ifi_family = family;
  if (type == RTM_GETQDISC) message.header.nlmsg_len = NLMSG_LENGTH(sizeof(tcmsg));
  if (type == RTM_GETROUTE) message.header.nlmsg_len = NLMSG_LENGTH(sizeof(rtmsg));
  char padded[64] = {};
  std::memcpy(padded, &message, sizeof message);
  return ::send(route_.get(), padded, message.header.nlmsg_len, 0) > 0;
}

template <class Visit>
void Netlink::answers(Visit visit) {
  for (;;) {
    const ssize_t got = ::recv(route_.get(), buffer_.data(), buffer_.size(), 0);
    if (got <= 0) return;
    auto left = static_cast<unsigned>(got);
    for (auto* at = reinterpret_cast<const nlmsghdr*>(buffer_.data()); NLMSG_OK(at, left); at = NLMSG_NEXT(at, left)) {
      if (at->nlmsg_type == NLMSG_DONE || at->nlmsg_type == NLMSG_ERROR) return;
      visit(at);
    }
  }
}

std::vector<InterfaceCounters> Netlink::interfaces() {
  std::map<int, InterfaceCounters> by_index;
  if (!request(RTM_GETLINK, AF_UNSPEC)) return {};
  answers([&](const nlmsghdr* message) {
    const auto* link = static_cast<const ifinfomsg*>(NLMSG_DATA(message));
    if ((link->ifi_flags & IFF_LOOPBACK) != 0) return;
    InterfaceCounters& one = by_index[link->ifi_index];
    one.up = (link->ifi_flags & IFF_UP) != 0 && (link->ifi_flags & IFF_RUNNING) != 0;
    for_each_attribute(behind<ifinfomsg>(message), length_behind<ifinfomsg>(message),
                       [&](int type, const void* data, std::size_t length) {
                         if (type == IFLA_IFNAME) one.name = static_cast<const char*>(data);
                         if (type != IFLA_STATS64) return;
                         const auto stats = value_at<rtnl_link_stats64>(data, length);
                         one.tx_bytes = stats.tx_bytes;
                         one.tx_packets = stats.tx_packets;
                         one.rx_bytes = stats.rx_bytes;
                         one.rx_packets = stats.rx_packets;
                       });
  });
  if (!request(RTM_GETQDISC, AF_UNSPEC)) return {};
  answers([&](const nlmsghdr* message) {
    const auto* queue = static_cast<const tcmsg*>(NLMSG_DATA(message));
    const auto found = by_index.find(queue->tcm_ifindex);
    if (found == by_index.end() || queue->tcm_parent != TC_H_ROOT) return;
    for_each_attribute(behind<tcmsg>(message), length_behind<tcmsg>(message),
                       [&](int type, const void* data, std::size_t length) {
                         if (type != TCA_STATS) return;
                         const auto stats = value_at<tc_stats>(data, length);
                         found->second.drops = stats.drops;
                         found->second.backlog = stats.backlog;
                       });
  });
  std::vector<InterfaceCounters> all;
  for (auto& [index, one] : by_index) all.push_back(std::move(one));
  return all;
}

Routes Netlink::host_routes() {
  std::map<int, std::string> names;
  if (!request(RTM_GETLINK, AF_UNSPEC)) return {};
  answers([&](const nlmsghdr* message) {
    const int index = static_cast<const ifinfomsg*>(NLMSG_DATA(message))->ifi_index;
    for_each_attribute(behind<ifinfomsg>(message), length_behind<ifinfomsg>(message),
                       [&](int type, const void* data, std::size_t) {
                         if (type == IFLA_IFNAME) names[index] = static_cast<const char*>(data);
                       });
  });
  Routes routes;
  if (!request(RTM_GETROUTE, AF_INET)) return {};
  answers([&](const nlmsghdr* message) {
    const auto* route = static_cast<const rtmsg*>(NLMSG_DATA(message));
    if (route->rtm_dst_len != 32 || route->rtm_table != RT_TABLE_MAIN) return;
    std::string address;
    std::vector<std::string> interfaces;
    for_each_attribute(behind<rtmsg>(message), length_behind<rtmsg>(message),
                       [&](int type, const void* data, std::size_t length) {
                         char text[INET_ADDRSTRLEN] = "";
                         if (type == RTA_DST) address = ::inet_ntop(AF_INET, data, text, sizeof text);
                         if (type == RTA_OIF) interfaces.push_back(names[value_at<int>(data, length)]);
                         if (type != RTA_MULTIPATH) return;
                         auto* hop = static_cast<const rtnexthop*>(data);
                         for (auto left = static_cast<int>(length); RTNH_OK(hop, left);
                              left -= NLMSG_ALIGN(hop->rtnh_len), hop = RTNH_NEXT(hop))
                           if ((hop->rtnh_flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN)) == 0)
                             interfaces.push_back(names[hop->rtnh_ifindex]);
                       });
    std::sort(interfaces.begin(), interfaces.end());
    routes[address] = std::move(interfaces);
  });
  return routes;
}

bool Netlink::set(const std::string& interface, std::uint32_t command) {
  ethtool_value value{command, 0};
  ifreq request{};
  std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&value);
  return ::ioctl(control_.get(), SIOCETHTOOL, &request) == 0;
}

bool Netlink::turn_offloads_off(const std::string& interface) {
  return set(interface, ETHTOOL_STSO) && set(interface, ETHTOOL_SGSO) && set(interface, ETHTOOL_SGRO);
}

bool Netlink::turn_checksums_off(const std::string& interface) { return set(interface, ETHTOOL_STXCSUM); }

}  // namespace weft::host
