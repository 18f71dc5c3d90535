#include "endpoint/interfaces.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <vector>

namespace weft::endpoint {
namespace {

struct Found {
  Interface interface;
  bool loopback;
};

std::vector<Found> all_of(int family) {
  std::vector<Found> found;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != family || !(each->ifa_flags & IFF_UP)) continue;
    const socklen_t length = family == AF_INET ? socklen_t{sizeof(sockaddr_in)} : socklen_t{sizeof(sockaddr_in6)};
    found.push_back({{each->ifa_name, net::Address(each->ifa_addr, length)}, (each->ifa_flags & IFF_LOOPBACK) != 0});
  }
  freeifaddrs(all);
  return found;
}

// Whether a socket can be bound to it.
bool ours(const net::Address& address) {
  const int fd = socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool bound = fd >= 0 && bind(fd, address.get(), address.length()) == 0;
  if (fd >= 0) close(fd);
  return bound;
}

}  // namespace

std::optional<Interface> interface_named(std::string_view wanted, int family) {
  for (Found& each : all_of(family))
    if (each.interface.name == wanted || each.interface.address.host() == wanted) return each.interface;
  const bool numeric = wanted.find_first_not_of("0123456789abcdef.:[]%") == std::string_view::npos;
  if (!numeric) return std::nullopt;  // the resolver is not asked
  const auto address = net::Address::parse(wanted, 0);
  if (!address || address->family() != family || !ours(*address)) return std::nullopt;
  return Interface{"", *address};
}

Interface usual_interface(int family) {
  std::optional<Interface> loopback;
  for (Found& each : all_of(family)) {
    if (!each.loopback) return each.interface;
    if (!loopback) loopback = each.interface;
  }
  return loopback.value_or(Interface{"", net::Address::any(family)});
}

}  // namespace weft::endpoint
